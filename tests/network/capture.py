"""A packet capture of loopback, as an outsider on the wire would make it. It needs the right to open a raw socket.

Other tests run beside and talk over loopback as well: what is found in the clear counts unless it is a line of theirs.
"""

import os
import socket
import struct
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event, Thread

import psutil

ALL_PACKETS, TCP = 3, 6
ETHERNET = 14  # bytes of its header
Line = tuple[int, int]  # the ports from and to


@dataclass
class Capture:
    """What has travelled: bytes by line, how each line began, and which of the words went by in the clear."""

    words: Sequence[bytes]
    bytes_of: dict[Line, int] = field(default_factory=lambda: defaultdict(int))
    opening: dict[Line, bytes] = field(default_factory=dict)
    seen: set[tuple[bytes, Line]] = field(default_factory=set)
    _over: Event = field(default_factory=Event)

    def start(self) -> None:
        """Listen until :meth:`stop`; raise PermissionError where that is not allowed."""
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(ALL_PACKETS))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 2**20)
        self._socket.bind(("lo", 0))
        self._socket.settimeout(0.2)
        self._thread = Thread(target=self._listen, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()
        self._socket.close()

    def _listen(self) -> None:
        while not self._over.is_set():
            try:
                packet, address = self._socket.recvfrom(2**17)
            except TimeoutError:
                continue
            if address[2] != socket.PACKET_OUTGOING:  # on loopback each packet comes by twice
                self._take(packet[ETHERNET:])

    def _take(self, packet: bytes) -> None:
        if packet[0] >> 4 == 4 and packet[9] == TCP:
            segment = packet[4 * (packet[0] & 15) :]
        elif packet[0] >> 4 == 6 and packet[6] == TCP:
            segment = packet[40:]
        else:
            return
        line: Line = struct.unpack("!HH", segment[:4])
        data = segment[4 * (segment[12] >> 4) :]
        if not data:
            return
        self.bytes_of[line] += len(data)
        self.opening.setdefault(line, data[:3])
        found = {(word, line) for word in self.words if word in data} - self.seen
        if found and not is_of_others(line):
            self.seen |= found


def is_of_others(line: Line) -> bool:
    """Return whether an end of a line is known, and none was started by this process: a browser's may be gone."""
    ends = {end.pid for end in psutil.net_connections("tcp") if end.laddr and end.laddr.port in line and end.pid}
    return bool(ends) and not any(map(_is_ours, ends))


def _is_ours(pid: int) -> bool:
    try:
        return os.getpid() in {pid, *(parent.pid for parent in psutil.Process(pid).parents())}
    except psutil.NoSuchProcess:
        return True  # nobody can tell any more
