#!/usr/bin/env python3
"""Puts clef beside its peers on the same work, in turn, in one run; appends medians to a table.

    compare.py --folder build/compare --clef build/clef --encode-timing build/tests/encode_timing
        --image-timing build/tests/image_timing [--quick]

A round asks every engine for one sample of every case of that round; the order of the engines moves on by one each
round. A row of the table is an engine and a case: the median, least and most of the rounds. run.sh makes everything
this needs.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import machine
from engines import Case, Facts
from parts import PARTS, Part, Place

COLUMNS = ["run", "machine", "cores", "level", "threads", "commit", "busy", "engine", "version", "numbers", "work",
           "sequences", "tokens", "rounds", "unit", "median", "least", "most", "share_of_peak", "bytes_per_second",
           "share_of_memory"]
QUIET = 0.05


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def measure(name: str, part: Part) -> tuple[dict[tuple[int, Case], list[Facts]], list[float]]:
    """Samples by engine and case, and how busy others were before each round."""
    samples: dict[tuple[int, Case], list[Facts]] = {}
    busy = []
    try:
        for number in range(part.rounds):
            start = time.monotonic()
            busy.append(machine.busy_share())
            for turn in range(len(part.engines)):
                index = (turn + number) % len(part.engines)
                cases = part.turn(number, part.engines[index])
                for case, facts in zip(cases, part.engines[index].sample(cases)):
                    samples.setdefault((index, case), []).append(facts)
            say(f"{name}: round {number + 1} of {part.rounds}, {time.monotonic() - start:.0f} s, "
                f"others used {100 * busy[-1]:.0f} % of the machine before it")
    finally:
        for engine in part.engines:
            engine.close()
    return samples, busy


def check_ids(part: Part, samples: dict[tuple[int, Case], list[Facts]]) -> None:
    """Tokenizers are compared only while they agree, and pictures while they have as many patches."""
    for what in ("ids", "patches"):
        found = {str(facts[what]): part.engines[index].name for (index, case), list_ in samples.items() for facts in list_
                 if what in facts and case.work != "vision"}
        if len(found) > 1:
            raise SystemExit(f"different {what}: {', '.join(f'{name} {value[:12]}' for value, name in found.items())}")


def digits(value: float) -> str:
    return f"{value:.5g}" if value < 1e5 else f"{value:.0f}"


def rows(part: Part, samples: dict[tuple[int, Case], list[Facts]]) -> list[dict[str, Any]]:
    readings = [facts["read_bytes_per_second"] for list_ in samples.values() for facts in list_
                if "read_bytes_per_second" in facts]
    made = []
    for (index, case), found in sorted(samples.items(), key=lambda entry: (part.cases.index(entry[0][1]), entry[0][0])):
        engine = part.engines[index]
        speeds = sorted(case.amount / facts["seconds"] for facts in found)
        row = {"engine": engine.name, "version": engine.version, "numbers": engine.numbers, "work": case.work,
               "sequences": case.sequences, "tokens": case.tokens, "rounds": len(found), "unit": case.unit,
               "median": digits(statistics.median(speeds)), "least": digits(speeds[0]), "most": digits(speeds[-1])}
        if case.work == "prefill" and "share_of_peak" in found[0]:
            row["share_of_peak"] = digits(statistics.median(facts["share_of_peak"] for facts in found))
        if case.work == "generate":
            bytes_per_second = statistics.median(facts["bytes_per_second"] for facts in found)
            row["bytes_per_second"] = f"{bytes_per_second:.0f}"
            if "share_of_memory" in found[0]:  # of the moment of each sample
                row["share_of_memory"] = digits(statistics.median(facts["share_of_memory"] for facts in found))
            elif readings:
                row["share_of_memory"] = digits(bytes_per_second / statistics.median(readings))
        made.append(row)
    return made


def append(path: Path, made: list[dict[str, Any]]) -> None:
    is_new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(made)


def highest_level(clef: Path) -> str:
    done = subprocess.run([clef, "bench", "--machine", "--output", "json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["level"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, required=True, help="of gguf/ and tokenizer/")
    parser.add_argument("--clef", type=Path, required=True, help="the program")
    parser.add_argument("--encode-timing", type=Path, required=True, help="tests/encode_timing of a build")
    parser.add_argument("--image-timing", type=Path, required=True, help="tests/image_timing of a build")
    parser.add_argument("--output", type=Path, required=True, help="the table to append to")
    parser.add_argument("--threads", type=int, default=machine.cores())
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="tiny work: shows that everything runs, measures nothing")
    arguments = parser.parse_args()
    names = arguments.parts.split(",")
    if unknown := set(names) - set(PARTS):
        parser.error(f"--parts takes {', '.join(PARTS)}, not {', '.join(sorted(unknown))}")
    place = Place(arguments.folder, arguments.clef, arguments.encode_timing, arguments.image_timing, arguments.threads, arguments.quick)
    common = {"run": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
              "machine": machine.label(), "cores": machine.cores(), "level": highest_level(arguments.clef),
              "threads": arguments.threads, "commit": machine.commit()}
    busiest = 0.0
    for name in names:
        part = PARTS[name](place)
        samples, busy = measure(name, part)
        check_ids(part, samples)
        busiest = max(busiest, *busy)
        append(arguments.output, [{**common, "busy": f"{max(busy):.2f}", **row} for row in rows(part, samples)])
    if busiest > QUIET:
        say(f"Others used up to {100 * busiest:.0f} % of this machine: these figures are not for comparison.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
