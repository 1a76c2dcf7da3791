"""tools/check_style.py on small trees: each rule is broken once and must be named with its place."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import check_style
from c_source import code_of, functions

SOURCE = "/* Owns text. */\nint f(void) {\n    return 1;\n}\n"
HEADER = "/* Owns text. */\n#ifndef CLEF_BASE_TEXT_H\n#define CLEF_BASE_TEXT_H\n#endif\n"


def function_of(lines: int) -> str:
    return "/* Owns text. */\nint f(int a,\n      int b) {\n" + "    a += b;\n" * (lines - 4) + "    return a;\n}\n"


class CheckStyle(unittest.TestCase):
    def check(self, name: str, text: str) -> tuple[list[str], list[str]]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, name)
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
            return check_style.check_tree(Path(folder))

    def refused(self, name: str, text: str, line: int, word: str) -> None:
        faults, _ = self.check(name, text)
        self.assertEqual(len(faults), 1, faults)
        self.assertTrue(faults[0].startswith(f"{name}:{line}: "), faults[0])
        self.assertIn(word, faults[0])

    def test_good_files(self) -> None:
        self.assertEqual(self.check("src/base/text.c", SOURCE), ([], []))
        self.assertEqual(self.check("src/base/text.h", HEADER), ([], []))
        self.assertEqual(self.check("include/clef/text.h", HEADER.replace("BASE_TEXT", "TEXT")), ([], []))
        self.assertEqual(self.check("tests/support/text.h", HEADER.replace("BASE", "TEST")), ([], []))

    def test_contract_comment(self) -> None:
        self.refused("src/base/text.c", "int f(void);\n", 1, "contract")
        self.refused("src/base/text.c", "/*" + "\n" * 30 + "*/\n", 1, "contract")

    def test_header_guard(self) -> None:
        self.refused("src/base/text.h", HEADER.replace("BASE_TEXT", "TEXT"), 1, "CLEF_BASE_TEXT_H")
        self.refused("src/base/text.h", HEADER.replace("#define CLEF_BASE", "#define CLEF_BASIS"), 1, "CLEF_BASE_TEXT_H")
        self.assertEqual(self.check("src/cpu/kernels/text/text.h", HEADER.replace("BASE", "KERNELS")), ([], []))
        self.refused("src/base/text.h", "/* Owns text. */\n#pragma once\n", 1, "CLEF_BASE_TEXT_H")

    def test_file_length(self) -> None:
        self.assertEqual(self.check("src/base/text.c", SOURCE + "int a;\n" * 596), ([], []))
        self.refused("src/base/text.c", SOURCE + "int a;\n" * 597, 601, "600")
        self.assertEqual(self.check("src/base/text_tables.c", SOURCE + "int a;\n" * 900), ([], []))

    def test_function_length(self) -> None:
        self.assertEqual(self.check("src/base/text.c", function_of(60)), ([], []))
        faults, notes = self.check("src/base/text.c", function_of(61))
        self.assertEqual((faults, len(notes)), ([], 1))
        self.assertIn("f has 61 lines", notes[0])
        self.assertEqual(self.check("src/base/text.c", function_of(100))[0], [])
        self.refused("src/base/text.c", function_of(101), 2, "f has 101 lines")

    def test_what_a_function_is(self) -> None:
        code = code_of("struct a {\n int b;\n};\nint t[] = {\n1, 2};\nstatic int g(void) {\n if (1) {\n }\n}\n"
                       "#define M(x) { \\\n x }\nvoid h(void (*run)(int), char c) {\n c = '}';\n}\n")
        self.assertEqual([tuple(found) for found in functions(code)], [("g", 6, 4), ("h", 12, 3)])

    def test_banned_functions(self) -> None:
        for name in ("strcpy", "strcat", "sprintf", "gets", "strtok", "alloca", "rand", "atoi", "strtod"):
            with self.subTest(name):
                self.refused("src/base/text.c", SOURCE + f"\nint g(void) {{\n    return {name}(0);\n}}\n", 7, name)
        self.assertEqual(self.check("src/base/text.c", SOURCE + "/* strcpy(a, b) */\n")[0], [])

    def test_unfinished_work(self) -> None:
        for mark in ("TO" "DO", "FIX" "ME", "XX" "X"):
            with self.subTest(mark):
                self.refused("src/base/text.c", SOURCE + f"/* {mark}: more */\n", 5, "unfinished")

    def test_machine_paths(self) -> None:
        for folder in ("wo" "rk", "ro" "ot", "ho" "me"):
            with self.subTest(folder):
                self.refused("docs/page.md", f"see\n`/{folder}/x`\n", 2, "path")
        self.assertEqual(self.check("docs/page.md", "see frame" + "wo" "rk/home/x\n")[0], [])

    def test_white_space(self) -> None:
        self.refused("docs/page.md", "a \nb\n", 1, "white space")
        self.refused("docs/page.md", "a\n\tb\n", 2, "tab")
        self.refused("docs/page.md", "a\nb", 2, "newline")
        self.refused("docs/page.md", "a\nb\n\n", 4, "newline")

    def test_bytes_that_are_not_utf8(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "page.md").write_bytes(b"a\xff\n")
            faults, _ = check_style.check_tree(Path(folder))
        self.assertEqual(faults, ["page.md:1: not UTF-8 at byte 1"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
