"""A party's table from a database: ``postgresql://HOST/NAME?query=SELECT ...`` or ``sqlite:///FILE?table=NAME``.

A password is refused in the address, which would stand in process lists, shell histories and the run's own command:
PostgreSQL takes it from ``$PGPASSWORD`` or ``~/.pgpass``. What is read is read in a transaction that cannot write.
"""

import re
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import pandas as pd

from flora.errors import DataError

SCHEMES = ("postgresql", "sqlite")
_WRITTEN_QUERY = re.compile(r"(?s)[?&]query=(?=\S*\s)(.*)")  # with blanks in it: no part of an address has any
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)


def is_database(path: str | Path) -> bool:
    """Whether a path is the address of a database."""
    return isinstance(path, str) and _ADDRESS.match(path) is not None


def name_of_database(address: str) -> str:
    """Return what a table from there is called: the table's name, or the database's.

    >>> name_of_database("postgresql://db.example.org/ward?table=public.cases"), name_of_database("sqlite:///a/b.db")
    ('cases', 'b')
    """
    parts = urlsplit(address)
    named = dict(parse_qsl(parts.query)).get("table")
    return named.split(".")[-1] if named else unquote(parts.path).rstrip("/").split("/")[-1].split(".")[0] or "database"


def read_database(address: str) -> pd.DataFrame:
    """Return what a query, or a whole table, of a database gives."""
    from sqlalchemy import create_engine
    from sqlalchemy.exc import SQLAlchemyError

    url, query = _parsed(address)
    try:
        engine = create_engine(url)
        try:
            with engine.connect() as connection:
                read_only = connection.execution_options(postgresql_readonly=True)
                if engine.dialect.paramstyle in ("format", "pyformat"):
                    query = query.replace("%", "%%")
                found = read_only.exec_driver_sql(query)  # as it is written: no sign in it stands for a parameter
                return pd.DataFrame([tuple(row) for row in found], columns=list(found.keys()))
        finally:
            engine.dispose()
    except ImportError:
        raise DataError(f"{_shown(address)}: PostgreSQL needs psycopg: pip install 'flora-hpo[database]'") from None
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", error)).strip().splitlines()[0]
        raise DataError(f"{_shown(address)}: the database says: {reason:.200}") from error


def _parsed(address: str) -> tuple[str, str]:
    """Return SQLAlchemy's address and the query; refuse what is not a database, or has a password in it.

    A query with blanks is as it was written: ``LIKE '%ab%'`` has no letter in its percent signs, and + adds.
    """
    written = _WRITTEN_QUERY.search(address)
    parts = urlsplit(address[: written.start()] if written else address)
    if parts.scheme not in SCHEMES:
        raise DataError(
            f"{_shown(address)}: a table is a file, or begins with {' or '.join(f'{each}://' for each in SCHEMES)}, "
            f"got {parts.scheme!r:.40}"
        )
    if parts.password is not None:
        raise DataError(
            f"{_shown(address)}: no password in an address, where others can read it; $PGPASSWORD or ~/.pgpass has it"
        )
    options = dict(parse_qsl(parts.query))
    query, table = written[1] if written else options.pop("query", None), options.pop("table", None)
    if (query is None) == (table is None):
        raise DataError(f"{_shown(address)}: say ?query=SELECT ... or ?table=NAME, one of them")
    rest = f"?{urlencode(options)}" if options else ""
    if parts.scheme == "sqlite":
        return _sqlite(parts.path, address), query or _whole(str(table))
    return f"postgresql+psycopg://{parts.netloc}{parts.path}{rest}", query or _whole(str(table))


def _sqlite(path: str, address: str) -> str:
    """Return the address of a file that is there, to be read only: SQLite itself would make a new one."""
    file = Path(unquote(path).removeprefix("/"))
    if not file.is_file():
        raise DataError(f"{_shown(address)}: no such file, {str(file)!r} (an absolute path has four strokes)")
    return f"sqlite:///file:{file}?mode=ro&uri=true"


def _whole(table: str) -> str:
    """Return the query of a whole table; its name, and that of its schema, are quoted."""
    quoted = ".".join('"' + part.replace('"', '""') + '"' for part in table.split("."))
    return f"SELECT * FROM {quoted}"  # noqa: S608  (quoted, and the party's own)


def _shown(address: str) -> str:
    """Return an address without its password and its query."""
    return re.sub(r"//([^/@:]*):[^@/]*@", r"//\1:***@", address.partition("?")[0])
