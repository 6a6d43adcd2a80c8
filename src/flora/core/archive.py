"""Zip archives that are the same bytes for the same files, and that are not trusted when they come back."""

import io
import zipfile
from collections.abc import Mapping

from flora.errors import InputError

MOST_BYTES = 256 * 2**20  # of an archive, unpacked


def archive_of(files: Mapping[str, bytes]) -> bytes:
    """Return a zip archive of ``files``: the same bytes for the same files, so nothing is compressed or dated."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, files[name])
    return buffer.getvalue()


def members_of(data: bytes, most: int) -> dict[str, bytes]:
    """Return the files of a zip archive, which says beforehand how many they are and how large."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            names, size = {entry.filename for entry in entries}, sum(entry.file_size for entry in entries)
            if len(entries) > most or len(names) < len(entries):
                raise InputError(f"an archive has at most {most} files of different names, got {len(entries)}")
            if size > MOST_BYTES:
                raise InputError(f"an archive has at most {MOST_BYTES} bytes unpacked, got {size}")
            return {entry.filename: archive.read(entry) for entry in entries}  # never more than the entry says
    except InputError:
        raise
    except Exception as error:  # a damaged archive fails in many ways
        raise InputError(f"not a zip archive that can be read ({error})") from error
