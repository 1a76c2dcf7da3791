#!/usr/bin/env python3
"""Most memory of `clef ask` on a model directory, held against `clef info` and a bar.

    tools/measure_memory.py --model DIR [--tokens 2048] [--questions 4] [--clef build/clef] [--bar 600] [-- OPTION...]

Asks one request that is cut to --tokens and reads /proc/PID/status all the while. What counts is the memory that no
file backs, the program's own beside the mapped weights: at least the most of RssAnon + RssShmem that was seen, at
most the peak that the kernel noted (ru_maxrss) less the most of RssFile that was seen. The estimate of `clef info`
for the same tokens is its model, scratch and sequence bytes. Exit status 1 when the upper bound is over --bar
megabytes (10^6) or the estimate is more than a tenth outside of the bounds. Options behind -- go to both commands.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TOLERANCE = 0.10


def make_request(count: int) -> dict[str, Any]:
    kinds: list[dict[str, Any]] = [
        {"type": "noul", "instructions": "Is a service down?"},
        {"type": "choice", "instructions": "Which team?", "criteria": {"a": "Payments", "b": "Bugs", "c": "Offers"}},
        {"type": "score", "instructions": "How urgent is it?", "criteria": ["Can wait", "This week", "Today"]},
    ]
    return {"model": "made", "state": "Our checkout started returning errors and orders are blocked. " * 4096,
            "questions": {f"q{i}": kinds[i % 3] for i in range(count)}}


def read_status(process: int) -> dict[str, int]:
    """Bytes by name; empty when the process has ended."""
    try:
        text = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return {}
    lines = (line.split() for line in text.splitlines())
    return {words[0][:-1]: int(words[1]) * 1024 for words in lines if words[0].startswith("Rss")}


@dataclass
class Taken:
    """Bytes of one run, and its seconds."""

    seen: int = 0  # most of RssAnon + RssShmem
    file: int = 0  # most of RssFile
    peak: int = 0
    seconds: float = 0.0

    @property
    def bound(self) -> int:
        return max(self.seen, self.peak - self.file)

    def distance(self, estimate: int) -> float:
        """How far an estimate is outside of what was taken, as a share; negative: too low."""
        if estimate < self.seen:
            return estimate / self.seen - 1
        return max(0.0, estimate / self.bound - 1)


def watch(command: list[str], variables: dict[str, str] | None) -> Taken:
    """Runs a command to its end."""
    taken = Taken()
    begin = time.monotonic()
    with tempfile.TemporaryFile() as said, subprocess.Popen(command, stdout=said, stderr=said, env=variables) as child:
        ended = 0
        while ended == 0:
            now = read_status(child.pid)
            taken.seen = max(taken.seen, now.get("RssAnon", 0) + now.get("RssShmem", 0))
            taken.file = max(taken.file, now.get("RssFile", 0))
            time.sleep(0.002)
            ended, status, usage = os.wait4(child.pid, os.WNOHANG)
        child.returncode = os.waitstatus_to_exitcode(status)
        taken.peak = usage.ru_maxrss * 1024
        taken.seconds = time.monotonic() - begin
        if child.returncode != 0:
            said.seek(0)
            sys.exit(f"{command[:2]} ended with status {child.returncode}: {said.read().decode()}")
    return taken


def estimate(clef: Path, options: list[str], tokens: int, variables: dict[str, str] | None) -> dict[str, int]:
    command = [str(clef), "info", "--output", "json", "--max-tokens", str(tokens), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
    if done.returncode != 0:
        sys.exit(f"clef info ended with status {done.returncode}: {done.stderr}")
    memory: dict[str, int] = json.loads(done.stdout)["memory"]
    return {name: value for name, value in memory.items() if name.endswith("_bytes")}


def measure(clef: Path, options: list[str], tokens: int, questions: int,
            variables: dict[str, str] | None = None) -> tuple[Taken, dict[str, int]]:
    """What `clef ask` took, and what `clef info` foretold, in this environment; None: in our own."""
    with tempfile.TemporaryDirectory() as folder:
        request = Path(folder) / "request.json"
        request.write_text(json.dumps(make_request(questions)), encoding="utf-8")
        taken = watch([str(clef), "ask", "--max-tokens", str(tokens), "--truncate", *options, str(request)],
                      variables)
    return taken, estimate(clef, options, tokens, variables)


def print_row(name: str, count: int) -> None:
    print(f"{name:28} {count / 1e6:9.1f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", type=Path, required=True, metavar="DIR")
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--questions", type=int, default=4)
    parser.add_argument("--clef", type=Path, default=ROOT / "build/clef", metavar="PROGRAM")
    parser.add_argument("--bar", type=int, default=600, metavar="MB", help="most memory beside the weights")
    parser.add_argument("option", nargs="*", help="for clef, behind --")
    options = parser.parse_args()
    taken, foretold = measure(options.clef, ["--model", str(options.model), *options.option], options.tokens,
                              options.questions)
    mapped = foretold.pop("mapped_bytes")
    total = sum(foretold.values())
    print(f"{options.tokens} tokens, {taken.seconds:.1f} s")
    print_row("weights, mapped", mapped)
    print_row("files in memory", taken.file)
    print_row("own memory, seen", taken.seen)
    print_row("own memory, upper bound", taken.bound)
    for name, value in foretold.items():
        print_row("  foretold " + name, value)
    print_row("own memory, foretold", total)
    if taken.bound > options.bar * 1_000_000 or abs(taken.distance(total)) > TOLERANCE:
        sys.exit(f"measure_memory.py: over {options.bar} MB, or foretold {taken.distance(total):+.1%} off")


if __name__ == "__main__":
    main()
