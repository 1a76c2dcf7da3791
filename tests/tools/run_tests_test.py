"""tools/run_tests.py on recorded output: what it counts, and what makes a run fail."""

from __future__ import annotations

import sys
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from run_tests import Result, faults_of, read_test

MIXED = """[==========] Running 3 test(s).
[ RUN      ] a
[       OK ] a
[ RUN      ] b
SKIP: no such level here
[  SKIPPED ] b
[ RUN      ] c
[  ERROR   ] --- 0x1 != 0
[  FAILED  ] c
[  SKIPPED ] 1 test(s), listed below:
[  SKIPPED ] b
[  FAILED  ] 1 test(s), listed below:
[  FAILED  ] c
"""
LABELS = {"unit/base/x": ["unit"]}


def read(status: str, output: str, inner: str = "") -> Result:
    case = xml.fromstring(f'<testcase name="unit/base/x" time="0.5" status="{status}">{inner}<system-out/></testcase>')
    case.find("system-out").text = output
    return read_test(case, LABELS)


class RunTests(unittest.TestCase):
    def counts(self, result: Result) -> tuple[int, int, int]:
        return result.passed, result.failed, len(result.skips)

    def test_cases_of_one_program(self) -> None:
        result = read("fail", MIXED, '<failure message=""/>')
        self.assertEqual(self.counts(result), (1, 1, 1))
        self.assertEqual(result.skips, [("b", "no such level here")])

    def test_a_program_without_cases_counts_once(self) -> None:
        self.assertEqual(self.counts(read("run", "fine\n")), (1, 0, 0))
        self.assertEqual(self.counts(read("fail", "", '<failure message=""/>')), (0, 1, 0))

    def test_a_crash_in_a_case(self) -> None:
        self.assertEqual(self.counts(read("fail", "[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\n")), (1, 1, 0))

    def test_a_fault_after_all_cases_passed(self) -> None:
        self.assertEqual(self.counts(read("fail", "[ RUN      ] a\n[       OK ] a\n")), (1, 1, 0))

    def test_status_77(self) -> None:
        result = read("notrun", "SKIP: needs a compiler\n", '<skipped message="SKIP_RETURN_CODE=77"/>')
        self.assertEqual(result.skips, [("", "needs a compiler")])

    def test_a_program_that_is_missing_is_no_skip(self) -> None:
        result = read("notrun", "", '<skipped message="Unable to find executable"/>')
        self.assertEqual(self.counts(result), (0, 1, 0))

    def test_python_cases(self) -> None:
        output = "test_a (x.Y.test_a) ... skipped 'no C++ compiler'\ntest_b (x.Y.test_b) ... ok\n\nRan 2 tests in 0.1s\n\nOK\n"
        result = read("run", output)
        self.assertEqual(self.counts(result), (1, 0, 1))
        self.assertEqual(result.skips, [("test_a", "no C++ compiler")])

    def test_what_fails_a_run(self) -> None:
        passed, skipped = Result("a/b/c", ["unit"], 0, passed=1), Result("a/b/d", ["api"], 0, skips=[("", "a reason")])
        silent = Result("a/b/e", ["unit"], 0, skips=[("case", "no reason given")])
        self.assertEqual(faults_of([passed]), [])
        self.assertEqual(faults_of([passed, Result("a/b/f", ["unit"], 0, skips=[("", "a reason")])]), [])
        self.assertEqual(faults_of([]), ["there was no test to run"])
        self.assertEqual(faults_of([passed, skipped]), ["every test with label api was skipped"])
        self.assertIn("without a reason", faults_of([passed, silent])[0])
        self.assertEqual(faults_of([passed, Result("a/b/g", ["unit"], 0, passed=3, failed=1)]), ["a/b/g failed"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
