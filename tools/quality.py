#!/usr/bin/env python3
"""What each number type costs: accuracy, calibration and distance from f32, in one table.

    tools/quality.py [--count 2400] [--clef build/clef] [--model models/clef-tiny]

Quantises the model into a temporary folder, asks the records of the test split (see evaluate.py) once for each
number type, and prints a row each: accuracy, ECE, flips (questions whose first option is another one than in f32),
the widest f32 margin among them (probability of the first option minus the second), and the largest and mean change
of a probability. The row bf16 is the noise floor: what rounding to the stored type does by itself.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import evaluate

ROOT = Path(__file__).resolve().parent.parent
RECIPES = ("int8", "mixed", "int4")
Answers = list[list[dict[str, float]]]  # record, question: option id to probability


def ask(program: Path, model: Path, precision: str, made: list[dict[str, Any]]) -> Answers:
    lines = evaluate.ask(program, model, made, ["--precision", precision])
    return [[{option["id"]: option["probability"] for option in question["options"]} for question in line["questions"]]
            for line in lines]


def first(values: dict[str, float]) -> str:
    return max(values, key=values.__getitem__)


def margin(values: dict[str, float]) -> float:
    ranked = sorted(values.values(), reverse=True)
    return ranked[0] - (ranked[1] if len(ranked) > 1 else 0.0)


def row(name: str, made: list[dict[str, Any]], answers: Answers, exact: Answers) -> str:
    score = evaluate.Score()
    flips, widest, largest, total, count = 0, 0.0, 0.0, 0.0, 0
    for record, found, wanted in zip(made, answers, exact):
        for (question, truth), values, before in zip(record["answers"].items(), found, wanted):
            score.add(max(values.values()), first(values) == evaluate.option_id(truth))
            if first(values) != first(before):
                flips += 1
                widest = max(widest, margin(before))
            changes = [abs(values[option] - before[option]) for option in values]
            largest = max(largest, *changes)
            total += sum(changes)
            count += len(changes)
    report = score.report()
    return (f"| {name} | {100 * report['accuracy']:.2f} % | {report['ece']:.4f} | {flips} of {report['questions']} "
            f"({100 * flips / report['questions']:.2f} %) | {widest:.3f} | {largest:.4f} | {total / count:.6f} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--clef", type=Path, default=ROOT / "build" / "clef", help="the program")
    parser.add_argument("--model", type=Path, default=ROOT / "models" / "clef-tiny")
    parser.add_argument("--count", type=int, default=2400, help="records")
    parser.add_argument("--seed", type=int, default=9_000_000, help="of the first record")
    arguments = parser.parse_args()
    made = [evaluate.records.make_record(arguments.seed + number, "test") for number in range(arguments.count)]
    print("| numbers | accuracy | ECE | flips | widest margin | max change | mean change |\n|---|---|---|---|---|---|---|")
    exact = ask(arguments.clef, arguments.model, "f32", made)
    print(row("f32", made, exact, exact))
    print(row("bf16", made, ask(arguments.clef, arguments.model, "bf16", made), exact), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for recipe in RECIPES:
            output = Path(folder, recipe)
            subprocess.run([arguments.clef, "quantize", arguments.model, "-o", output, "--recipe", recipe], check=True,
                           stdout=subprocess.DEVNULL)
            print(row(recipe, made, ask(arguments.clef, output, "auto", made), exact), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
