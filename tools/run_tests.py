#!/usr/bin/env python3
"""Runs the suites of a build with CTest and counts what passed, failed and was skipped, with reasons.

    tools/run_tests.py [--build DIR] [--label LABEL] [--exclude LABEL] [--jobs N]

A test program that cannot run here prints "SKIP: reason" and ends with status 77; a cmocka case prints
the same line before skip(). The run fails when a test fails, when a skip gives no reason, when every
case of a label was skipped, and when there was nothing to run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CASE = re.compile(r"^\[ *(RUN|OK|FAILED|SKIPPED|ERROR) *\] (\S.*)$")
REASON = re.compile(r"^.*\bSKIP: (.+)$")
UNITTEST_RAN = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)
UNITTEST_SKIP = re.compile(r"^(\w+) \(.*\.\.\. skipped (['\"])(.*)\2$", re.MULTILINE)
NO_REASON = "no reason given"


@dataclass
class Result:
    """What one CTest test did: its cases, or itself as the one case when it does not list any."""

    name: str
    labels: list[str]
    seconds: float
    passed: int = 0
    failed: int = 0
    skips: list[tuple[str, str]] = field(default_factory=list)  # case, reason
    output: str = ""

    @property
    def suite(self) -> str:
        return self.name.rpartition("/")[0] or self.name


def count_cases(result: Result) -> None:
    """Counts the lines that cmocka prints; a case that began and did not end has failed."""
    running, reason = "", NO_REASON
    for line in result.output.splitlines():
        if found := REASON.match(line):
            reason = found.group(1).strip()
        if not (found := CASE.match(line)):
            continue
        word, name = found.groups()
        if word == "RUN":
            result.failed += running != ""
            running, reason = name, NO_REASON
        elif name == running:
            result.passed += word == "OK"
            result.failed += word in ("FAILED", "ERROR")
            if word == "SKIPPED":
                result.skips.append((name, reason))
            running = ""
    result.failed += running != ""
    for ran in UNITTEST_RAN.findall(result.output):
        skips = [(name, reason) for name, _, reason in UNITTEST_SKIP.findall(result.output)]
        result.skips += skips
        result.passed += int(ran) - len(skips)


def read_test(case: xml.Element, labels: dict[str, list[str]]) -> Result:
    name = case.get("name", "")
    result = Result(name, labels.get(name, []), float(case.get("time", "0")), output=case.findtext("system-out") or "")
    skipped = case.find("skipped")
    if case.get("status") == "run":
        count_cases(result)
        if result.passed + result.failed + len(result.skips) == 0:
            result.passed = 1
    elif skipped is not None and "SKIP_RETURN_CODE" in skipped.get("message", ""):
        reasons = [found.group(1).strip() for line in result.output.splitlines() if (found := REASON.match(line))]
        result.skips = [("", reasons[0] if reasons else NO_REASON)]
    else:
        count_cases(result)
        if result.failed == 0:
            result.failed = 1
        problem = case.find("failure") if skipped is None else skipped
        result.output += "" if problem is None else f"\n{problem.get('message', '')}"
    return result


def labels_of(build: Path) -> dict[str, list[str]]:
    listing = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, capture_output=True, text=True, check=True)
    labels = {}
    for test in json.loads(listing.stdout)["tests"]:
        values = [entry["value"] for entry in test.get("properties", []) if entry["name"] == "LABELS"]
        labels[test["name"]] = values[0] if values else []
    return labels


def faults_of(results: list[Result]) -> list[str]:
    """What makes the run as a whole fail, in words."""
    faults = [] if results else ["there was no test to run"]
    faults += [f"{result.name} failed" for result in results if result.failed]
    faults += [f"{result.name}: {case or 'the whole test'} was skipped without a reason (print \"SKIP: reason\")"
               for result in results for case, reason in result.skips if reason == NO_REASON]
    alive: dict[str, bool] = defaultdict(bool)
    for result in results:
        for label in result.labels:
            alive[label] |= result.passed + result.failed > 0
    return faults + [f"every test with label {label} was skipped" for label in sorted(alive) if not alive[label]]


def print_summary(results: list[Result]) -> None:
    suites: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        suites[result.suite].append(result)
    width = max([len(name) for name in suites] + [5])
    print(f"\n{'suite':{width}}  tests  passed  failed  skipped  seconds")
    for name in [*sorted(suites), ""]:
        rows = suites[name] if name else results
        counts = sum(row.passed for row in rows), sum(row.failed for row in rows), sum(len(row.skips) for row in rows)
        print(f"{name or 'total':{width}}  {len(rows):5}  {counts[0]:6}  {counts[1]:6}  {counts[2]:7}"
              f"  {sum(row.seconds for row in rows):7.1f}")
    skips = [(f"{row.name}{': ' if case else ''}{case}", reason) for row in results for case, reason in row.skips]
    if skips:
        print("\nskipped:")
    for where, reason in skips:
        print(f"  {where}: {reason}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--label", help="run tests with this label only")
    parser.add_argument("--exclude", help="leave out tests with this label")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    labels = labels_of(arguments.build)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = ["ctest", "--output-on-failure", "--parallel", str(arguments.jobs), "--output-junit", str(report),
                   "--test-output-size-passed", "100000000", "--test-output-size-failed", "100000000"]
        command += ["--label-regex", f"^{arguments.label}$"] if arguments.label else []
        command += ["--label-exclude", f"^{arguments.exclude}$"] if arguments.exclude else []
        status = subprocess.run(command, cwd=arguments.build).returncode
        cases = xml.parse(report).getroot().iter("testcase") if report.exists() else []
        results = [read_test(case, labels) for case in cases]
    print_summary(results)
    faults = faults_of(results)
    if status != 0 and not faults:
        faults.append(f"ctest ended with status {status}")
    passed, skipped = sum(row.passed for row in results), sum(len(row.skips) for row in results)
    print("\n" + "\n".join(f"FAILED: {fault}" for fault in faults) if faults
          else f"\nall {passed} cases passed, {skipped} skipped")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
