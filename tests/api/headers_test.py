"""Each public header compiles alone and twice, in every C and C++ a user may choose, without a warning.

CTest names the C compiler in CLEF_C_COMPILER; a C++ compiler is looked for.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

INCLUDE = Path(__file__).resolve().parents[2] / "include"
HEADERS = sorted(path.relative_to(INCLUDE).as_posix() for path in (INCLUDE / "clef").glob("*.h"))
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wundef", "-Werror"]


class Headers(unittest.TestCase):
    def compile(self, compiler: str, standard: str, suffix: str, header: str, use: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, f"alone{suffix}")
            source.write_text(f"#include <{header}>\n#include <{header}>\n{use}\n")
            done = subprocess.run([compiler, f"-std={standard}", *WARNINGS, f"-I{INCLUDE}", "-c", str(source),
                                   "-o", str(Path(folder, "alone.o"))], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, f"{header} as {standard}:\n{done.stderr}")

    def compile_all(self, compiler: str, standards: list[str], suffix: str) -> None:
        for header in HEADERS:
            for standard in standards:
                with self.subTest(header=header, standard=standard):
                    self.compile(compiler, standard, suffix, header, "int use(void);\nint use(void) { return CLEF_OK; }")

    def test_there_are_headers(self) -> None:
        self.assertEqual(HEADERS, ["clef/clef.h", "clef/measure.h", "clef/status.h"])

    def test_c(self) -> None:
        self.compile_all(os.environ.get("CLEF_C_COMPILER", "cc"), ["c99", "c11", "c17"], ".c")

    def test_cxx(self) -> None:
        compiler = next((name for name in ("c++", "g++", "clang++") if shutil.which(name)), None)
        if compiler is None:
            self.skipTest("no C++ compiler on this machine")
        self.compile_all(compiler, ["c++11", "c++17"], ".cc")


if __name__ == "__main__":
    unittest.main(verbosity=2)
