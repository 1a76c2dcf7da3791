"""What libclef shows and keeps: the exported symbols are those of the public headers, and no file of it
has a variable that can change.

    symbols_test.py --update      writes exported_symbols.txt from the headers

CTest names the built libraries in CLEF_SHARED and CLEF_STATIC.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("exported_symbols.txt")
MUTABLE = re.compile(r"^\.(data|bss|tdata|tbss)(?!\.rel\.ro)|^\*COM\*$")


def declared() -> list[str]:
    """Every name behind CLEF_API in include/clef."""
    names: list[str] = []
    for header in sorted((ROOT / "include/clef").glob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.DOTALL)
        text = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)
        names += re.findall(r"\bCLEF_API\b[^;(]*?\b(\w+)\s*\(", text)
    return sorted(names)


def symbols(library: str, *options: str) -> list[list[str]]:
    """Rows of nm: name, value, class, type, size, line, section."""
    output = subprocess.run(["nm", "--format=sysv", "--defined-only", *options, library],
                            capture_output=True, text=True, check=True).stdout
    rows = [[cell.strip() for cell in line.split("|")] for line in output.splitlines()]
    return [row for row in rows if len(row) == 7 and row[0] != "Name"]


class Symbols(unittest.TestCase):
    def test_list_is_that_of_the_headers(self) -> None:
        self.assertEqual(LIST.read_text().split(), declared())
        self.assertGreater(len(declared()), 20)

    def test_shared_library_exports_the_list(self) -> None:
        library = os.environ["CLEF_SHARED"]
        # Sanitizers and the linker add names of their own, which the language reserves.
        names = sorted({row[0].split("@")[0] for row in symbols(library, "--dynamic")})
        self.assertEqual([name for name in names if not name.startswith("_")], LIST.read_text().split())

    def test_library_has_no_variables(self) -> None:
        if os.environ.get("CLEF_SANITIZE") == "ON":
            self.skipTest("sanitizers add variables of their own")
        found = [f"{row[0]} in {row[6]}" for row in symbols(os.environ["CLEF_STATIC"]) if MUTABLE.match(row[6])]
        self.assertEqual(found, [], "libclef must not have mutable file-scope variables")


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        LIST.write_text("\n".join(declared()) + "\n")
    else:
        unittest.main(verbosity=2)
