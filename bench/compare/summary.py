#!/usr/bin/env python3
"""What a table of compare.py says: speeds as Markdown, then each goal with its ratio and whether it is met.

    summary.py TABLE.csv [--check]

Ratios are those of the medians. With --check the exit status is 1 when a goal is missed or was not measured.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from table import Row, Table, Work

Engine = tuple[str, str]  # name, numbers


@dataclass(frozen=True)
class Goal:
    """`ours` is at least `factor` times as fast as the fastest of `peers`, in every case of `work`."""

    work: str
    ours: Engine
    factor: float
    peers: tuple[Engine, ...]


GOALS = (
    Goal("prefill", ("clef", "bf16"), 1.35, (("PyTorch", "bf16"), ("llama.cpp", "bf16"))),
    Goal("prefill", ("clef", "int8"), 2.0, (("PyTorch", "bf16"),)),
    Goal("prefill", ("clef", "int8"), 3.0, (("llama.cpp", "Q8_0"),)),
    Goal("prefill", ("clef", "int4"), 2.3, (("llama.cpp", "Q4_K_M"),)),
    Goal("vision", ("clef", "bf16"), 1.4, (("PyTorch", "bf16"),)),
    Goal("image", ("clef", "uint8"), 2.0, (("Pillow and transformers", "uint8"),)),
    Goal("encode", ("clef", ""), 1.5, (("tiktoken", ""),)),
    Goal("encode", ("clef", ""), 10.0, (("HF tokenizers", ""),)),
)


def label(engine: Engine) -> str:
    return " ".join(engine).strip()


def case_label(work: Work) -> str:
    name, sequences, tokens = work
    if tokens == 0:
        return name
    return f"{name} {f'{sequences} x ' if sequences > 1 else ''}{tokens}"


def print_speeds(table: Table) -> None:
    """A table for each unit: engines down, cases across; least and most below each median."""
    for unit in dict.fromkeys(row["unit"] for row in table.rows):
        rows = [row for row in table.rows if row["unit"] == unit]
        works = [work for name in dict.fromkeys(row["work"] for row in rows) for work in table.works(name)]
        engines = list(dict.fromkeys((row["engine"], row["numbers"]) for row in rows))
        print(f"| {unit} | " + " | ".join(map(case_label, works)) + " |")
        print("|---" * (len(works) + 1) + "|")
        for engine in engines:
            cells = (cell(table.find(work, *engine)) for work in works)
            print(f"| {label(engine)} | " + " | ".join(cells) + " |")
        print()


def cell(row: Row | None) -> str:
    if row is None:
        return "–"
    text = f"{row['median']} ({row['least']} to {row['most']})"
    return text + (f", {100 * float(row['share_of_memory']):.0f} % of memory" if row["share_of_memory"] else "")


def judge(table: Table, goal: Goal) -> bool:
    """Prints a line a case; true when all cases were measured and the goal is met in each."""
    works = table.works(goal.work)
    if not works:
        print(f"not measured  {goal.work}: {label(goal.ours)} against {', '.join(map(label, goal.peers))}")
    return all([judge_case(table, goal, work) for work in works]) and bool(works)


def judge_case(table: Table, goal: Goal, work: Work) -> bool:
    speeds = {engine: table.speed(work, *engine) for engine in (goal.ours, *goal.peers)}
    missing = [label(engine) for engine, speed in speeds.items() if speed is None]
    if missing:
        print(f"not measured  {case_label(work)}: {', '.join(missing)}")
        return False
    fastest = max(goal.peers, key=lambda peer: speeds[peer] or 0)
    ratio = (speeds[goal.ours] or 0) / (speeds[fastest] or 1)
    is_met = ratio >= goal.factor
    print(f"{'met   ' if is_met else 'MISSED'}  {case_label(work)}: {label(goal.ours)} is {ratio:.2f} x "
          f"{label(fastest)}, goal {goal.factor:g} x")
    return is_met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("--check", action="store_true", help="status 1 when a goal is missed")
    arguments = parser.parse_args()
    table = Table.read(arguments.table)
    first = table.rows[0]
    busiest = max(float(row["busy"]) for row in table.rows)
    print(f"{first['machine']}, {first['cores']} cores, {first['level']}, {first['threads']} threads; {first['run']}, "
          f"commit {first['commit']}; others used at most {100 * busiest:.0f} % of the machine before a round.\n")
    print_speeds(table)
    verdicts = [judge(table, goal) for goal in GOALS]
    return 1 if arguments.check and not all(verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
