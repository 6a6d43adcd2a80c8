"""The program itself, as a shell starts it."""

import os
import subprocess
import sys
from pathlib import Path

STOPPED = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"  # in the place of a module that is imported early


def test_who_stops_it_while_it_is_imported_sees_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "shlex.py").write_text(STOPPED)
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    command = [sys.executable, "-P", "-m", "flora", "spaces"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "flora: stopped\n")
