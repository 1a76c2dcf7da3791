#!/usr/bin/env python3
"""The requests of "clef bench --server": with the published vocabulary they have exactly the numbers of tokens that
other servers were measured with. Skips where that vocabulary cannot be had."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

from program import ROOT, TINY, answer

SCENARIOS = ROOT / "bench/scenarios"
# Name: questions, tokens of the fixed text and the state, tokens of all.
TOTALS = {"triage": (3, 48, 346), "short-2": (2, 66, 274), "short-6": (6, 66, 723), "medium-5": (5, 402, 964),
          "long-5": (5, 2227, 2789)}
KINDS = {"triage": "noul choice3 score4", "short-2": "choice3 noul",
         "short-6": "choice3 choice5 choice4 choice3 noul score3", "medium-5": "choice3 choice5 choice4 noul score3",
         "long-5": "choice3 choice5 choice4 noul score3"}
REAL = Path(os.environ["CLEF_BUILD"]) / "real-tokenizer"
SKIPPED = 77


def encode(model: Path, request: dict) -> tuple[int, int]:
    record = json.loads(answer("encode", "--model", model, "-", stdin=json.dumps(request).encode()))
    return record["state_tokens"], len(record["input_ids"])


@functools.cache
def make_vocabulary() -> str:
    """Why there is none, or nothing."""
    made = subprocess.run([sys.executable, "-B", str(ROOT / "tools/make_tokenizer.py"), str(REAL)], capture_output=True,
                          text=True)
    if made.returncode == SKIPPED:
        return made.stdout.strip().removeprefix("SKIP: ")
    if made.returncode != 0:
        raise AssertionError(made.stdout + made.stderr)
    return ""


def read(name: str) -> dict:
    return json.loads((SCENARIOS / f"{name}.json").read_text(encoding="utf-8"))


def kind(question: dict) -> str:
    return question["type"] + (str(len(question["criteria"])) if question["type"] != "noul" else "")


class Scenarios(unittest.TestCase):
    def test_they_are_what_they_are_called(self) -> None:
        self.assertEqual({path.stem for path in SCENARIOS.glob("*.json")}, set(TOTALS))
        for name, (questions, _, _) in TOTALS.items():
            request = read(name)
            self.assertEqual(sorted(map(kind, request["questions"].values())), sorted(KINDS[name].split()), name)
            self.assertEqual(len(request["questions"]), questions)
            self.assertGreater(encode(TINY, request)[1], 0)
        self.assertEqual(read("medium-5")["questions"], read("long-5")["questions"])
        self.assertEqual(read("short-2")["state"], read("short-6")["state"])


class Totals(unittest.TestCase):
    def setUp(self) -> None:
        if reason := make_vocabulary():
            self.skipTest(reason)

    def test_totals(self) -> None:
        for name, (_, state, total) in TOTALS.items():
            self.assertEqual(encode(REAL / "qwen2", read(name)), (state, total), name)

    def test_what_a_ticket_adds(self) -> None:
        for name, (_, _, total) in TOTALS.items():
            request = read(name)
            request["state"] = "Ticket 31415. " + request["state"]
            self.assertIn(encode(REAL / "qwen2", request)[1] - total, (7, 8), name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
