#!/usr/bin/env python3
"""Most memory of `clef ask` on a model directory, held against `clef info` and a bar.

    tools/measure_memory.py --model DIR [--tokens 2048] [--questions 4] [--clef build/clef] [--bar 600] [-- OPTION...]

Asks one request that is cut to --tokens and reads /proc/PID/status all the while. "own" is the most memory that is
not backed by a file (RssAnon + RssShmem): what the program takes beside the mapped weights. The estimate of
`clef info` for the same tokens is its scratch, sequence and model bytes. Exit status 1 when own is over --bar
megabytes (10^6) or the estimate is off by more than a tenth. Options behind -- go to both commands.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TOLERANCE = 0.10
FIELDS = ("VmHWM", "VmRSS", "RssAnon", "RssFile", "RssShmem")


def make_request(count: int) -> dict[str, Any]:
    kinds: list[dict[str, Any]] = [
        {"type": "noul", "instructions": "Is a service down?"},
        {"type": "choice", "instructions": "Which team?", "criteria": {"a": "Payments", "b": "Bugs", "c": "Offers"}},
        {"type": "score", "instructions": "How urgent is it?", "criteria": ["Can wait", "This week", "Today"]},
    ]
    return {"model": "made", "state": "Our checkout started returning errors and orders are blocked. " * 4096,
            "questions": {f"q{i}": kinds[i % 3] for i in range(count)}}


def read_status(process: int) -> dict[str, int]:
    """Bytes by name; empty when the process is gone."""
    try:
        text = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return {}
    lines = (line.split() for line in text.splitlines())
    return {words[0][:-1]: int(words[1]) * 1024 for words in lines if words[0][:-1] in FIELDS}


def watch(command: list[str]) -> dict[str, int]:
    """Runs a command to its end; the most of each figure, and its time in ms."""
    most: dict[str, int] = {"own": 0, **{name: 0 for name in FIELDS}}
    begin = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        while child.poll() is None:
            now = read_status(child.pid)
            now["own"] = now.get("RssAnon", 0) + now.get("RssShmem", 0)
            most = {name: max(value, now.get(name, 0)) for name, value in most.items()}
            time.sleep(0.002)
        assert child.stderr
        if child.returncode != 0:
            sys.exit(f"{command[:2]} ended with status {child.returncode}: {child.stderr.read().decode()}")
    most["ms"] = int((time.monotonic() - begin) * 1000)
    return most


def estimate(clef: Path, options: list[str], tokens: int) -> dict[str, int]:
    command = [str(clef), "info", "--output", "json", "--max-tokens", str(tokens), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"clef info ended with status {done.returncode}: {done.stderr}")
    memory: dict[str, int] = json.loads(done.stdout)["memory"]
    return {name: value for name, value in memory.items() if name.endswith("_bytes")}


def measure(clef: Path, options: list[str], tokens: int, questions: int) -> tuple[dict[str, int], dict[str, int]]:
    """What `clef ask` took, and what `clef info` foretold."""
    with tempfile.TemporaryDirectory() as folder:
        request = Path(folder) / "request.json"
        request.write_text(json.dumps(make_request(questions)), encoding="utf-8")
        taken = watch([str(clef), "ask", "--max-tokens", str(tokens), "--truncate", *options, str(request)])
    return taken, estimate(clef, options, tokens)


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
    off = total / taken["own"] - 1
    print(f"{options.tokens} tokens, {taken['ms'] / 1000:.1f} s, {mapped / 1e6:.1f} MB mapped")
    for name in ("own", "RssFile", "VmHWM"):
        print(f"{name:16} {taken[name] / 1e6:9.1f} MB")
    for name, value in foretold.items():
        print(f"{name:16} {value / 1e6:9.1f} MB")
    print(f"{'estimate':16} {total / 1e6:9.1f} MB  {off:+.1%}")
    if taken["own"] > options.bar * 1_000_000 or abs(off) > TOLERANCE:
        sys.exit(f"measure_memory.py: the bar is {options.bar} MB and {TOLERANCE:.0%}")


if __name__ == "__main__":
    main()
