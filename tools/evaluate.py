#!/usr/bin/env python3
"""Accuracy and calibration of clef-tiny, measured through the program.

    tools/evaluate.py [--count 2400] [--check] [--at-least SHARE] [--clef build/clef] [--model DIR]

Makes the records of the test split (tools/tiny_model/records.py), sends them through `clef ask --batch`
and prints one line a group. A question is right when its most probable option is the known answer; ECE
takes 15 equal bins of the largest probability. --check compares with the figures recorded beside the
model when it was trained (models/clef-tiny/evaluation.json) and ends with status 1 when an accuracy or an
ECE is off by more than 0.1 point; it needs the recorded count and seed. --at-least sets a bar instead.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, Iterator

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools" / "tiny_model"))
import records

TOLERANCE = 0.001
BINS = 15
Report = dict[str, dict[str, float]]


class Score:
    """Questions of one group, in bins of confidence: count, sum of confidence, right answers."""

    def __init__(self) -> None:
        self.bins = [[0, 0.0, 0] for _ in range(BINS)]

    def add(self, confidence: float, is_right: bool) -> None:
        entry = self.bins[min(BINS - 1, int(confidence * BINS))]
        entry[0] += 1
        entry[1] += confidence
        entry[2] += is_right

    def report(self) -> dict[str, float]:
        total = sum(count for count, _, _ in self.bins)
        error = sum(abs(confidence - right) for _, confidence, right in self.bins)
        return {"questions": total, "accuracy": sum(right for _, _, right in self.bins) / total, "ece": error / total}


def option_id(answer: Any) -> str:
    """The option that a known answer names: "true", "2", an id."""
    return str(answer).lower() if isinstance(answer, bool) else str(answer)


def groups_of(record: dict[str, Any], question: dict[str, Any]) -> list[str]:
    wording = "text, held-out wording" if record["unseen"] else "text, known wordings"
    return ["all", "text", wording, f"type {question['type']}", f"kind {record['kind']}"]


def body_of(record: dict[str, Any]) -> str:
    """The request that asks a record's questions."""
    return json.dumps({"model": "clef-tiny", "state": record["state"], "questions": record["questions"]},
                      ensure_ascii=False)


def ask(program: Path, model: Path, bodies: list[str], options: list[str]) -> Iterator[dict[str, Any]]:
    """The raw answer to every request, in order. options: of `clef ask`."""
    with tempfile.TemporaryDirectory() as folder:
        requests = Path(folder, "requests.jsonl")
        requests.write_text("".join(body + "\n" for body in bodies), encoding="utf-8")
        command = [str(program), "ask", "--batch", "--output", "raw", "--model", str(model), *options, str(requests)]
        done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8")
    lines = done.stdout.removesuffix("\n").split("\n")
    if done.returncode != 0 or len(lines) != len(bodies):
        failed = next((line for line in lines if '"error"' in line), "")
        sys.exit(f"{' '.join(command)}: status {done.returncode}, {len(lines)} answers to {len(bodies)} requests {failed}")
    return map(json.loads, lines)


def evaluate(program: Path, model: Path, count: int, seed: int) -> Report:
    made = [records.make_record(seed + number, "test") for number in range(count)]
    scores: dict[str, Score] = defaultdict(Score)
    answers = ask(program, model, [body_of(record) for record in made], ["--precision", "f32"])
    for record, answer in zip(made, answers):
        for question in answer["questions"]:
            name = question["id"]
            values = {option["id"]: option["probability"] for option in question["options"]}
            best = max(values, key=values.__getitem__)
            for group in groups_of(record, record["questions"][name]):
                scores[group].add(values[best], best == option_id(record["answers"][name]))
    return {name: scores[name].report() for name in sorted(scores)}


def differences(found: Report, recorded: dict[str, Any]) -> Iterator[str]:
    """Groups whose figures are not those recorded. Recorded figures have four places."""
    for name, values in found.items():
        if name not in recorded:
            yield f"{name}: not recorded"
            continue
        for figure, value in values.items():
            limit = 0 if figure == "questions" else TOLERANCE + 0.00005
            if abs(value - recorded[name][figure]) > limit:
                yield f"{name}: {figure} is {value:.4f}, recorded is {recorded[name][figure]:.4f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--clef", type=Path, default=ROOT / "build" / "clef", help="the program")
    parser.add_argument("--model", type=Path, default=ROOT / "models" / "clef-tiny")
    parser.add_argument("--count", type=int, default=2400, help="records")
    parser.add_argument("--seed", type=int, default=9_000_000, help="of the first record")
    parser.add_argument("--check", action="store_true", help="compare with evaluation.json of the model")
    parser.add_argument("--at-least", type=float, help="the share of right answers that is expected")
    arguments = parser.parse_args()
    recorded = json.loads((arguments.model / "evaluation.json").read_text()) if arguments.check else {}
    if arguments.check and (arguments.count, arguments.seed) != (recorded["count"], recorded["seed"]):
        parser.error(f"--check needs --count {recorded['count']} --seed {recorded['seed']}")
    began = time.monotonic()
    found = evaluate(arguments.clef, arguments.model, arguments.count, arguments.seed)
    for name, values in found.items():
        print(f"{name:32} {values['questions']:6}  accuracy {values['accuracy']:.4f}  ece {values['ece']:.4f}")
    print(f"{arguments.count} records in {time.monotonic() - began:.1f} s")
    faults = list(differences(found, recorded)) if arguments.check else []
    if arguments.at_least is not None and found["all"]["accuracy"] < arguments.at_least:
        faults.append(f"accuracy {found['all']['accuracy']:.4f} is below {arguments.at_least}")
    for fault in faults:
        print(f"FAILED: {fault}")
    if arguments.check and not faults:
        print("equal to the recorded figures within 0.1 point")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
