"""Between the process that works for a run and the command in the foreground: status lines, and one question at a time.

They are files in the kit's own folder, which only its owner can read.
"""

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flora.core.files import write_whole
from flora.errors import FloraError

FOLDER = "foreground"


@dataclass(frozen=True)
class Foreground:
    """The folder in a kit's state where both sides meet."""

    state: Path

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return self.state / FOLDER

    @property
    def _lines(self) -> Path:
        return self.folder / "status.jsonl"

    @property
    def _question(self) -> Path:
        return self.folder / "question.json"

    @property
    def _answer(self) -> Path:
        return self.folder / "answer.json"

    def open(self) -> None:
        """Begin anew: no old lines, no old question."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for file in (self._lines, self._question, self._answer):
            file.unlink(missing_ok=True)

    def say(self, text: str) -> None:
        """Tell the person in the foreground something."""
        line = json.dumps({"time": time.time(), "text": text}) + "\n"
        with os.fdopen(os.open(self._lines, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "w") as file:
            file.write(line)

    def lines(self, start: int) -> tuple[list[str], int]:
        """Return the lines after byte ``start``, and where the next ones begin."""
        try:
            with self._lines.open("rb") as file:
                file.seek(start)
                data = file.read()
        except FileNotFoundError:
            return [], 0
        whole = data[: data.rfind(b"\n") + 1]
        return [str(json.loads(line)["text"]) for line in whole.splitlines()], start + len(whole)

    def ask(self, text: str, stopped: Callable[[], bool]) -> bool:
        """Show a text, and wait for the person's yes or no."""
        name = f"{os.getpid()}-{time.monotonic_ns()}"
        _write(self._question, {"name": name, "text": text})
        try:
            while (answer := _read(self._answer)) is None or answer.get("name") != name:
                if stopped():
                    raise FloraError("the run was stopped before there was an answer")
                time.sleep(0.2)
        finally:
            self._question.unlink(missing_ok=True)  # or it is asked again, where its answer makes way for the next one
        return answer.get("yes") is True

    def question(self) -> tuple[str, str] | None:
        """Return the name and text of the question that waits for an answer, if there is one."""
        found = _read(self._question)
        answered = _read(self._answer)
        if found is None or (answered is not None and answered.get("name") == found["name"]):
            return None
        return found["name"], found["text"]

    def answer(self, name: str, *, yes: bool) -> None:
        """Answer the question of that name."""
        _write(self._answer, {"name": name, "yes": yes})


def _write(path: Path, document: dict[str, Any]) -> None:
    write_whole(path, json.dumps(document).encode(), mode=0o600)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        document: dict[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return document
