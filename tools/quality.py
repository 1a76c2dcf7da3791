#!/usr/bin/env python3
"""What each number type costs: accuracy, calibration and distance from f32, in one table a model.

    tools/quality.py [--count 2400] [--calibrate 256] [--flips] [--clef build/clef]

Two models: clef-tiny on records of the test split (see evaluate.py), and the model with random weights on its recorded
requests (tests/fixtures/tiny-random/text), whose answers mean nothing but are far more sensitive. Each is quantised
into a temporary folder by every recipe, without and with --calibrate on records of the training split, and asked once
for each number type. A row gives

  accuracy, ECE   of the trained model, as in evaluate.py;
  flips           questions whose first option is another one than in f32;
  widest margin   the largest lead, in f32, of an option that lost the first place so;
  max, mean change   of a probability.

The row "f32, shuffled" is the noise floor of this build: the same requests in another order, so in other company; it
must be all zeros, or the run fails. The row bf16 is the noise floor of the stored type. --flips names every flip.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import evaluate

ROOT = Path(__file__).resolve().parent.parent
RANDOM_MODEL = ROOT / "tests/fixtures/tiny-random/release"
RANDOM_REQUESTS = ROOT / "tests/fixtures/tiny-random/text/requests.jsonl"
RECIPES = ("int8", "mixed", "int4")
TRAINING_SEED = 4_000_000
Answers = list[dict[str, dict[str, float]]]  # record, question id, option id: probability


@dataclass
class Sample:
    """Requests to one model; `truths` is empty where nobody knows the answers."""
    title: str
    model: Path
    bodies: list[str]
    names: list[str]
    truths: list[dict[str, Any]] = field(default_factory=list)


def trained_sample(count: int, seed: int, model: Path) -> Sample:
    made = [evaluate.records.make_record(seed + number, "test") for number in range(count)]
    return Sample(f"{model.name}, {count:,} records of the test split", model, [evaluate.body_of(record) for record in made],
                  [f"seed {seed + number}" for number in range(count)], [record["answers"] for record in made])


def random_sample() -> Sample:
    lines = [json.loads(line) for line in RANDOM_REQUESTS.read_text(encoding="utf-8").splitlines()]
    return Sample(f"random weights, {len(lines)} recorded requests", RANDOM_MODEL,
                  [line["request"].replace("\n", " ") for line in lines], [line["name"] for line in lines])


def ask(program: Path, model: Path, bodies: list[str], precision: str = "auto") -> Answers:
    return [{question["id"]: {option["id"]: option["probability"] for option in question["options"]}
             for question in line["questions"]}
            for line in evaluate.ask(program, model, bodies, ["--precision", precision])]


def ask_shuffled(program: Path, sample: Sample, precision: str) -> Answers:
    order = list(range(len(sample.bodies)))
    random.Random(1).shuffle(order)
    found = ask(program, sample.model, [sample.bodies[index] for index in order], precision)
    answers: Answers = [{}] * len(order)
    for index, answer in zip(order, found):
        answers[index] = answer
    return answers


def first(values: dict[str, float]) -> str:
    return max(values, key=values.__getitem__)


def margin(values: dict[str, float]) -> float:
    ranked = sorted(values.values(), reverse=True)
    return ranked[0] - (ranked[1] if len(ranked) > 1 else 0.0)


@dataclass
class Row:
    questions: int = 0
    changes: list[float] = field(default_factory=list)
    flips: list[tuple[float, str]] = field(default_factory=list)  # margin, where
    score: evaluate.Score = field(default_factory=evaluate.Score)

    def cells(self, has_truths: bool) -> list[str]:
        cells = []
        if has_truths:
            report = self.score.report()
            cells = [f"{100 * report['accuracy']:.2f} %", f"{report['ece']:.4f}"]
        return [*cells, f"{len(self.flips)} of {self.questions} ({100 * len(self.flips) / self.questions:.2f} %)",
                f"{max(self.flips, default=(0.0, ''))[0]:.3f}", f"{max(self.changes):.4f}",
                f"{sum(self.changes) / len(self.changes):.6f}"]


def compare(sample: Sample, answers: Answers, exact: Answers) -> Row:
    row = Row()
    for index, (found, wanted) in enumerate(zip(answers, exact)):
        for name, before in wanted.items():
            values = found[name]
            row.questions += 1
            row.changes.extend(abs(values[option] - before[option]) for option in before)
            if first(values) != first(before):
                row.flips.append((margin(before), f"{sample.names[index]}, {name}: {first(before)} became {first(values)}"))
            if sample.truths:
                row.score.add(max(values.values()), first(values) == evaluate.option_id(sample.truths[index][name]))
    return row


class Table:
    """Prints rows as they come."""

    def __init__(self, sample: Sample, exact: Answers, shows_flips: bool) -> None:
        self.sample, self.exact, self.shows_flips = sample, exact, shows_flips
        titles = ["numbers", *(["accuracy", "ECE"] if sample.truths else []), "flips", "widest margin", "max change",
                  "mean change"]
        print(f"\n{sample.title}:\n\n| {' | '.join(titles)} |\n|{'---|' * len(titles)}")

    def add(self, name: str, answers: Answers) -> Row:
        row = compare(self.sample, answers, self.exact)
        print(f"| {' | '.join([name, *row.cells(bool(self.sample.truths))])} |", flush=True)
        if self.shows_flips:
            for lead, where in sorted(row.flips, reverse=True):
                print(f"    margin {lead:.3f}: {where}")
        return row


def measure(program: Path, sample: Sample, calibration: Path | None, shows_flips: bool) -> bool:
    """Prints the table of a model. False when the same build gave other answers in other company."""
    exact = ask(program, sample.model, sample.bodies, "f32")
    table = Table(sample, exact, shows_flips)
    table.add("f32", exact)
    noise = table.add("f32, shuffled", ask_shuffled(program, sample, "f32"))
    table.add("bf16", ask(program, sample.model, sample.bodies, "bf16"))
    for recipe in RECIPES:
        for options in ([], ["--calibrate", str(calibration)]) if calibration else ([],):
            with tempfile.TemporaryDirectory() as folder:
                output = Path(folder, recipe)
                subprocess.run([program, "quantize", sample.model, "-o", output, "--recipe", recipe, *options], check=True,
                               stdout=subprocess.DEVNULL)
                table.add(f"{recipe}{', calibrated' if options else ''}", ask(program, output, sample.bodies))
    return max(noise.changes) == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--clef", type=Path, default=ROOT / "build" / "clef", help="the program")
    parser.add_argument("--model", type=Path, default=ROOT / "models" / "clef-tiny", help="the trained model")
    parser.add_argument("--count", type=int, default=2400, help="records for the trained model; 0: leave it out")
    parser.add_argument("--seed", type=int, default=9_000_000, help="of the first record")
    parser.add_argument("--calibrate", type=int, default=256, metavar="COUNT", help="records to calibrate with; 0: do not")
    parser.add_argument("--flips", action="store_true", help="name every flip below its row")
    arguments = parser.parse_args()
    samples = [trained_sample(arguments.count, arguments.seed, arguments.model)] if arguments.count > 0 else []
    with tempfile.TemporaryDirectory() as folder:
        calibration = Path(folder, "calibration.jsonl") if arguments.calibrate > 0 else None
        if calibration:
            calibration.write_text("".join(
                evaluate.body_of(evaluate.records.make_record(TRAINING_SEED + number, "train")) + "\n"
                for number in range(arguments.calibrate)), encoding="utf-8")
        steady = [measure(arguments.clef, sample, calibration, arguments.flips)
                  for sample in (*samples, random_sample())]
    if not all(steady):
        print("FAILED: answers depend on what shares a step with them")
    return 0 if all(steady) else 1


if __name__ == "__main__":
    sys.exit(main())
