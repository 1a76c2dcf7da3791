"""Reading the table that compare.py appends to: the newest run, found by what was measured."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Iterable

Row = dict[str, str]
Work = tuple[str, int, int]  # work, sequences, tokens


def work_of(row: Row) -> Work:
    return row["work"], int(row["sequences"]), int(row["tokens"])


class Table:
    """Of each kind of work the newest run that has it: parts can be measured one at a time."""

    def __init__(self, rows: Iterable[Row]) -> None:
        rows = list(rows)
        newest = {row["work"]: row["run"] for row in sorted(rows, key=lambda row: row["run"])}
        self.rows = [row for row in rows if row["run"] == newest[row["work"]]]

    @classmethod
    def read(cls, path: Path) -> Table:
        with path.open(encoding="utf-8", newline="") as file:
            return cls(csv.DictReader(file))

    def works(self, name: str) -> list[Work]:
        """The cases of one kind of work, in order."""
        return list(dict.fromkeys(work_of(row) for row in self.rows if row["work"] == name))

    def find(self, work: Work, engine: str, numbers: str = "") -> Row | None:
        return next((row for row in self.rows
                     if work_of(row) == work and (row["engine"], row["numbers"]) == (engine, numbers)), None)

    def speed(self, work: Work, engine: str, numbers: str = "") -> float | None:
        row = self.find(work, engine, numbers)
        return float(row["median"]) if row else None
