"""Engines under one roof: a worker that stays alive between its turns, or a program that starts for each turn.

An engine is asked for a sample of each case of its part and gives seconds, with what else it knows.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Sequence

import shape

HERE = Path(__file__).resolve().parent
Facts = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One piece of work. A sample is the median of `runs` runs, `amount` units of work each. It is asked for in the
    first round and in every `every`th one behind it: long work takes part less often."""

    work: str  # prefill, generate, vision, image, encode
    sequences: int
    tokens: int  # of each sequence; patches of a picture; 0 where it has no such number
    runs: int
    unit: str
    amount: float
    every: int = 1


@dataclass
class Engine:
    """name and numbers: columns of the table; version is known after the first sample."""

    name: str
    numbers: str
    version: str = field(default="", init=False)

    def sample(self, cases: Sequence[Case]) -> list[Facts]:
        """One sample of each case, in their order: at least {"seconds": …}."""
        raise NotImplementedError

    def close(self) -> None:
        """Ends what was started."""


def failed(what: Sequence[str], log: str) -> SystemExit:
    return SystemExit(f"{' '.join(what)} failed:\n{log.strip()[-2000:]}")


@dataclass
class Worker(Engine):
    """A worker_*.py of this folder with its arguments; starts at its first turn."""

    script: str
    arguments: Sequence[str]
    process: subprocess.Popen[str] | None = field(default=None, init=False)
    facts: Facts = field(default_factory=dict, init=False)

    def start(self) -> None:
        self.log = tempfile.TemporaryFile("w+", encoding="utf-8")
        self.command = [sys.executable, str(HERE / self.script), *self.arguments]
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
                                        text=True, bufsize=1)
        self.facts = self.read()
        self.version = self.facts["version"]

    def read(self) -> Facts:
        line = self.process.stdout.readline()
        if not line:
            self.log.seek(0)
            raise failed(self.command, self.log.read())
        return json.loads(line)

    def ask(self, case: Case) -> Facts:
        request = {"work": case.work, "sequences": case.sequences, "tokens": case.tokens, "runs": case.runs}
        self.process.stdin.write(json.dumps(request) + "\n")
        answer = self.read()
        if case.work == "generate":
            answer["bytes_per_second"] = (self.facts["weight_bytes"] + shape.state_bytes(case.sequences)) / answer["seconds"]
        return answer

    def sample(self, cases: Sequence[Case]) -> list[Facts]:
        if self.process is None:
            self.start()
        return [self.ask(case) for case in cases]

    def close(self) -> None:
        if self.process is not None:
            self.process.communicate()  # ends its input, and waits
            self.log.close()


@dataclass
class ClefBench(Engine):
    """`clef bench`: a process for each turn, whose first run warms up and is not counted."""

    program: Path
    shape: str
    threads: int

    def run(self, cases: Sequence[Case]) -> list[Facts]:
        sizes = ",".join(str(case.tokens) for case in cases)
        work = ["--patches", sizes] if cases[0].work == "vision" else ["--sequences", str(cases[0].sequences), "--tokens", sizes]
        command = [str(self.program), "bench", "--shape", self.shape, "--precision", self.numbers, "--output", "json",
                   "--threads", str(self.threads), "--repeat", str(cases[0].runs), *work]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise failed(command, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def sample(self, cases: Sequence[Case]) -> list[Facts]:
        if not self.version:
            self.version = subprocess.run([self.program, "--version"], capture_output=True, text=True).stdout.strip()
        # Cases that differ in their tokens alone share a process.
        groups = groupby(cases, key=lambda case: (case.sequences, case.runs))
        return [facts for _, group in groups for facts in self.run(list(group))]


@dataclass
class ClefEncode(Engine):
    """The timing program of the tests (tests/timings): encodes once to warm up, then for the clock."""

    program: Path
    clef: Path
    tokenizer: Path
    text: Path

    def sample(self, cases: Sequence[Case]) -> list[Facts]:
        self.version = subprocess.run([self.clef, "--version"], capture_output=True, text=True).stdout.strip()
        return [self.run(case) for case in cases]

    def run(self, case: Case) -> Facts:
        with tempfile.NamedTemporaryFile() as ids:
            command = [str(self.program), str(self.tokenizer), str(self.text), str(case.runs), ids.name]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                raise failed(command, done.stderr)
            made = Path(ids.name).read_bytes()
        return {"seconds": statistics.median(map(float, done.stdout.split())), "count": len(made) // 4,
                "ids": hashlib.sha256(made).hexdigest()}


@dataclass
class ClefImage(Engine):
    """The timing program of the tests (tests/timings): makes patches once to warm up, then for the clock, on one thread."""

    program: Path
    clef: Path
    picture: Path

    def sample(self, cases: Sequence[Case]) -> list[Facts]:
        self.version = subprocess.run([self.clef, "--version"], capture_output=True, text=True).stdout.strip()
        return [self.run(case) for case in cases]

    def run(self, case: Case) -> Facts:
        command = [str(self.program), str(self.picture), str(case.runs)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise failed(command, done.stderr)
        patches, *seconds = done.stdout.split()
        return {"seconds": statistics.median(map(float, seconds)), "patches": int(patches)}
