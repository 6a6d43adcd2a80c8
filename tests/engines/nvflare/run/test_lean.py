"""What a party's processes hold in memory for weeks: counted in modules, for megabytes are each machine's own."""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd

RUN = """
import json, sys
from contextlib import suppress
from flora.engines.nvflare.guard.party_main import party_run
with suppress(SystemExit):  # it was told no kit
    party_run()
from nvflare.fuel.f3.drivers.driver_manager import DriverManager
import nvflare.fuel.f3.drivers as drivers
DriverManager().search_folder(drivers.__path__[0], drivers.__package__)
import optuna
from flora.engines.nvflare.run import executor
from flora.models import family_of
for name in ("hgb", "svm", "mlp"):
    family_of(name)
optuna.create_study(storage=optuna.storages.RDBStorage(f"sqlite:///{sys.argv[1]}/study.db"))
loaded = sorted(name for name, module in sys.modules.items() if module is not None and "." not in name)
"""
READ = """
from pathlib import Path
from flora.party.tables.format import TableFormat
from flora.party.tables.table import describe, open_table
table = open_table(f"{sys.argv[1]}/a.parquet", "kind", (), TableFormat())
words = describe(table.frame, "kind").to_json()
"""
COMMAND = """
import json, sys
from flora.cli.main import main
try:
    main(["party", "--help"])
except SystemExit:
    pass
loaded = sorted(sys.modules)
"""


def last_line(program: str, folder: Path) -> object:
    done = subprocess.run([sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def test_the_process_of_a_run_holds_nothing_that_it_does_not_use(tmp_path: Path) -> None:
    loaded = last_line(f"{RUN}print(json.dumps(loaded))", tmp_path)
    assert isinstance(loaded, list)
    assert {"pandas", "sklearn", "optuna", "sqlalchemy", "grpc"} <= set(loaded)
    assert not {"pyarrow", "aiohttp", "pygments", "rich", "charset_normalizer"} & set(loaded)


def test_a_parquet_table_is_read_as_ever(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": range(40), "place": ["a", None, "b", "c"] * 10, "kind": ["yes", "no"] * 20})
    frame.to_parquet(tmp_path / "a.parquet")
    lean = last_line(f"{RUN}{READ}print(json.dumps(words))", tmp_path)
    assert lean == last_line(f"import json, sys{READ}print(json.dumps(words))", tmp_path)


def test_the_command_of_a_party_loads_no_package_of_others(tmp_path: Path) -> None:
    loaded = last_line(f"{COMMAND}print(json.dumps(loaded))", tmp_path)
    assert isinstance(loaded, list)
    assert not {"numpy", "pandas", "sklearn", "optuna", "rich", "nvflare"} & set(loaded)
