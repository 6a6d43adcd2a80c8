"""Tables from databases: SQLite here and everywhere, and a real PostgreSQL server where Debian's is installed."""

import getpass
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from flora.cli.commands.tune import _named
from flora.cli.main import PASSWORD, main
from flora.errors import DataError
from flora.party.tables.database import is_database, name_of_database
from flora.party.tables.file import read_table
from flora.party.tables.format import TableFormat
from flora.party.tables.table import open_table
from tests.conftest import two_moons


def sqlite_in(folder: Path) -> str:
    with sqlite3.connect(folder / "ward.db") as connection:
        two_moons(60, 1).to_sql("cases", connection, index=False)
    connection.close()
    return f"sqlite:////{str(folder / 'ward.db').lstrip('/')}"


def test_a_whole_table_and_a_query(tmp_path: Path) -> None:
    base = sqlite_in(tmp_path)
    whole = read_table(f"{base}?table=cases")
    pd.testing.assert_frame_equal(whole, two_moons(60, 1), check_dtype=False)
    some = read_table(f"{base}?query=SELECT x, kind FROM cases WHERE kind = 'upper'")
    assert list(some) == ["x", "kind"]
    assert set(some["kind"]) == {"upper"}


def test_names_of_parties() -> None:
    address = "postgresql://db/ward?query=SELECT * FROM a WHERE b = 1"
    assert is_database(address)
    assert not is_database("a.csv")
    assert _named(address) == ("ward", address)
    assert _named("north=sqlite:///w.db?table=t") == ("north", "sqlite:///w.db?table=t")
    assert name_of_database("sqlite:///x/y.db?table=main.cases") == "cases"


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("mysql://host/db?table=t", "a table is a file, or begins with postgresql:// or sqlite://, got 'mysql'"),
        ("postgresql://me:geheim@host/db?table=t", "no password in an address"),
        ("postgresql://host/db", r"say \?query=SELECT ... or \?table=NAME"),
        ("sqlite:///nothing.db?table=t", "no such file, 'nothing.db'"),
    ],
)
def test_what_is_refused_and_that_no_password_is_shown(address: str, says: str) -> None:
    with pytest.raises(DataError, match=says) as caught:
        read_table(address)
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT x + 1 AS more, kind FROM cases WHERE kind LIKE '%er%' AND kind <> '&#'",
        "SELECT%20x%2B1%20AS%20more,kind%20FROM%20cases",
        "SELECT+x%2B1+AS+more,kind+FROM+cases",
    ],
)
def test_a_query_is_as_it_was_written_or_all_of_it_is_encoded(tmp_path: Path, query: str) -> None:
    found = read_table(f"{sqlite_in(tmp_path)}?query={query}")
    assert (len(found), list(found.columns)) == (60, ["more", "kind"])


def test_what_the_database_says_is_one_line(tmp_path: Path) -> None:
    base = sqlite_in(tmp_path)
    with pytest.raises(DataError, match="the database says: no such table: nobody"):
        read_table(f"{base}?table=nobody")
    with pytest.raises(DataError, match=r"the database says: .*readonly"):
        read_table(f"{base}?query=DELETE FROM cases")
    assert len(read_table(f"{base}?table=cases")) == 60
    with pytest.raises(DataError, match="need at least one row"):
        read_table(f"{base}?query=SELECT * FROM cases WHERE x > 99")


def test_a_password_goes_into_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "postgresql://me:geheim@host/db?table=t", "x.csv", "--target", "y"]) == 2
    printed = capsys.readouterr()
    assert "no password in an address" in printed.err
    assert "geheim" not in printed.out + printed.err
    assert (
        PASSWORD.sub(r"\1:***@", "flora tune n=postgresql://me:geheim@h/db") == "flora tune n=postgresql://me:***@h/db"
    )


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    """The address of a server of our own, on a socket in a folder of its own."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin")) if Path("/usr/lib/postgresql").is_dir() else []
    if not folders:
        pytest.skip("no PostgreSQL server here: apt-get install postgresql")
    pytest.importorskip("psycopg")
    user = "postgres" if os.getuid() == 0 else getpass.getuser()  # the server refuses to be root

    def call(*words: str) -> None:
        as_user = ["runuser", "-u", user, "--"] if os.getuid() == 0 else []
        subprocess.run([*as_user, *words], check=True, capture_output=True, cwd="/")

    home = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # a socket's path must be short
    if os.getuid() == 0:
        shutil.chown(home, user)
    call(str(folders[-1] / "initdb"), "-D", f"{home}/data", "-A", "trust", "-U", "flora", "--no-sync")
    options = f"-k {home} -c listen_addresses='' -c fsync=off"
    call(str(folders[-1] / "pg_ctl"), "-D", f"{home}/data", "-o", options, "-l", f"{home}/log", "-w", "start")
    try:
        yield f"postgresql://flora@/postgres?host={home}"
    finally:
        call(str(folders[-1] / "pg_ctl"), "-D", f"{home}/data", "-m", "immediate", "stop")
        shutil.rmtree(home)


def test_a_real_postgresql(postgresql: str) -> None:
    import psycopg

    table = two_moons(50, 2).assign(cost=1.5, since=pd.Timestamp("2024-01-31"), smokes=True)
    host = postgresql.partition("host=")[2]
    with psycopg.connect(host=host, user="flora", dbname="postgres") as connection:
        connection.execute(
            "CREATE TABLE cases (x double precision, y double precision, kind text, cost numeric(8,2), since date, "
            "smokes boolean)"
        )
        with connection.cursor() as cursor:
            rows = [tuple(v.item() if hasattr(v, "item") else v for v in row) for row in table.to_numpy()]
            cursor.executemany("INSERT INTO cases VALUES (%s, %s, %s, %s, %s, %s)", rows)
        connection.execute("INSERT INTO cases (kind) VALUES ('upper')")
    found = read_table(f"{postgresql}&table=cases")
    assert found.shape == (51, 6)
    assert found["x"].iloc[:50].tolist() == table["x"].tolist()
    said: list[str] = []
    opened = open_table(f"{postgresql}&table=cases", "kind", (), TableFormat(dates="parts"), say=said.append)
    assert said == ["cases: column 'since': dates, taken as since.year, since.month, since.weekday, since.days"]
    schema = opened.described(None, None)[0]
    assert {column.name: column.kind for column in schema.columns}["cost"] == "numeric"
    some = read_table(f"{postgresql}&query=SELECT kind, count(*) AS n FROM cases GROUP BY kind")
    assert some["n"].sum() == 51
    alike = read_table(f"{postgresql}&query=SELECT kind, 1+1 AS two FROM cases WHERE kind LIKE '%er%' AND kind <> '#&'")
    assert (len(alike), set(alike["two"])) == (51, {2})
    with pytest.raises(DataError, match=r"the database says: .*read-only transaction"):
        read_table(f"{postgresql}&query=DROP TABLE cases")
    with pytest.raises(DataError, match=r'the database says: .*"nobody" does not exist'):
        read_table(f"{postgresql}&table=nobody")
