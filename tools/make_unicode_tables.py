#!/usr/bin/env python3
"""Makes src/tokenizer/unicode_tables.c, the character tables of the tokenizer.

    python3 tools/make_unicode_tables.py            tools/data/unicode.json -> the C file
    python3 tools/make_unicode_tables.py --record   the reference library -> tools/data/unicode.json
    python3 tools/make_unicode_tables.py --cases    the reference library -> strings with their NFC

The reference uses Unicode 16.0 for the classes of its pattern and Unicode 9.0 for NFC, a mixture
that no table of the Unicode consortium or of Python has. So --record (and --cases, which makes
tests/fixtures/tokenizer/nfc.jsonl) ask the library itself; both need the package ``tokenizers``.
The default needs the standard library alone.

tools/data/unicode.json, one object:
  classes         ranges [first, last] of the classes L, M, N and whitespace
  combining       ranges [first, last, class] of the marks that NFC puts in order
  decompositions  [character, parts...] in full, without the Hangul syllables
  compositions    [first, second, character] without the Hangul syllables
"""

import argparse
import json
import random
import unicodedata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tools/data/unicode.json"
TABLES = ROOT / "src/tokenizer/unicode_tables.c"
CASES = ROOT / "tests/fixtures/tokenizer/nfc.jsonl"

POINTS = [point for point in range(0x110000) if not 0xD800 <= point < 0xE000]
HANGUL_SYLLABLES = range(0xAC00, 0xAC00 + 11172)
# Jamo that join with what stands before them.
HANGUL_VOWELS_AND_TAILS = [*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)]

# The byte of a character in the tables; unicode_tables.h has the same numbers.
OTHER, LETTER, MARK, NUMBER, SPACE, NEWLINE = range(6)
ACTIVE, DECOMPOSES = 8, 16
BLOCK = 128


# ---- asking the reference library -------------------------------------------------------------

def reference_nfc():
    from tokenizers import normalizers
    return normalizers.NFC().normalize_str


def record_class(pattern: str) -> list[int]:
    """Code points that match, as what is left when all others are cut out."""
    from tokenizers import Regex, pre_tokenizers
    cut = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    found = []
    for start in range(0, len(POINTS), 8192):
        text = "".join(map(chr, POINTS[start:start + 8192]))
        found += [ord(part) for part, _ in cut.pre_tokenize_str(text)]
    return found


def record_combining(nfc) -> dict[int, int]:
    """Marks that move in front of U+0345, whose class 240 is the highest of all."""
    highest = "\u0345"
    marks = {ord(highest): unicodedata.combining(highest)}
    for point in POINTS:
        if nfc("q" + highest + chr(point)) == "q" + chr(point) + highest:
            marks[point] = unicodedata.combining(chr(point))
    return marks


def record_compositions(nfc) -> list[list[int]]:
    found = []
    for point in POINTS:
        parts = unicodedata.decomposition(chr(point)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            first, second = (int(part, 16) for part in parts)
            if nfc(chr(first) + chr(second)) == chr(point):
                found.append([first, second, point])
    return sorted(found)


def record_decompositions() -> list[list[int]]:
    from tokenizers import normalizers
    nfd = normalizers.NFD().normalize_str
    found = []
    for point in POINTS:
        parts = [ord(part) for part in nfd(chr(point))]
        if parts != [point] and point not in HANGUL_SYLLABLES:
            found.append([point, *parts])
    return found


def ranges_of(values: dict[int, int]) -> list[list[int]]:
    """Runs of neighbours of one value: [first, last, value]."""
    out: list[list[int]] = []
    for point in sorted(values):
        if out and out[-1][1] == point - 1 and out[-1][2] == values[point]:
            out[-1][1] = point
        else:
            out.append([point, point, values[point]])
    return out


def record() -> None:
    nfc = reference_nfc()
    patterns = {"L": r"\p{L}", "M": r"\p{M}", "N": r"\p{N}", "whitespace": r"\s"}
    classes = {name: [row[:2] for row in ranges_of(dict.fromkeys(record_class(pattern), 0))]
               for name, pattern in patterns.items()}
    tables = {"classes": classes, "combining": ranges_of(record_combining(nfc)),
              "decompositions": record_decompositions(), "compositions": record_compositions(nfc)}
    lines = [f"{json.dumps(name)}:{json.dumps(table, separators=(',', ':'))}"
             for name, table in tables.items()]
    DATA.write_text("{" + ",\n".join(lines) + "}\n")


def write_cases() -> None:
    """Strings whose NFC is hard: single characters, random runs of what can change, long runs."""
    nfc = reference_nfc()
    data = json.loads(DATA.read_text())
    marks = [point for first, last, _ in data["combining"] for point in range(first, last + 1)]
    composed = [row[0] for row in data["decompositions"]]
    seconds = sorted({row[1] for row in data["compositions"]})
    firsts = sorted({row[0] for row in data["compositions"]})
    jamo = [*range(0x1100, 0x1113), *HANGUL_VOWELS_AND_TAILS, 0x11A7, 0x11C3, 0xAC00, 0xAC01, 0xAC1C]
    later = [0x11935, 0x11930, 0x0EBA, 0x07FD, 0x1ABF, 0x16FF0, 0x110BD, 0x113D1]
    pick = random.Random(9)
    texts = ["", "plain", "e\u0301", "\u212b", "\u0344", "\u0958", "\u1100\u1161\u11a8", "\U00011935\U00011930"]
    texts += ["".join(map(chr, composed[at:at + 64])) for at in range(0, len(composed), 64)]
    texts += ["".join(chr(first) + chr(second) + "." for first, second, _ in data["compositions"][at:at + 64])
              for at in range(0, len(data["compositions"]), 64)]
    texts += ["q" + "".join(map(chr, pick.sample(marks, 40))) for _ in range(40)]
    for _ in range(400):
        pool = [marks, composed, seconds, firsts, jamo, later, [0x41, 0x20, 0x4E00, 0xE9]]
        texts.append("".join(chr(pick.choice(pick.choice(pool))) for _ in range(pick.randint(2, 24))))
    lines = [json.dumps({"text": text, "nfc": nfc(text)}) for text in texts]
    CASES.write_text("\n".join([*lines, ""]))


# ---- writing the C file -----------------------------------------------------------------------

def properties(data: dict) -> bytearray:
    """One byte a code point: its class, and whether NFC may have to touch it."""
    table = bytearray(0x110000)
    for name, number in (("L", LETTER), ("M", MARK), ("N", NUMBER), ("whitespace", SPACE)):
        for first, last in data["classes"][name]:
            table[first:last + 1] = bytes([number]) * (last + 1 - first)
    table[ord("\r")] = table[ord("\n")] = NEWLINE

    composed = {row[2] for row in data["compositions"]}
    active = {point for first, last, _ in data["combining"] for point in range(first, last + 1)}
    active.update(row[1] for row in data["compositions"])
    active.update(row[0] for row in data["decompositions"] if row[0] not in composed)
    active.update(HANGUL_VOWELS_AND_TAILS)
    for point in active:
        table[point] |= ACTIVE
    for row in data["decompositions"]:
        table[row[0]] |= DECOMPOSES
    # Surrogates never occur in valid text, so they may share the block of their neighbours.
    table[0xD800:0xE000] = bytes(0x800)
    return table


def rows(cells: list[str], width: int = 100) -> str:
    lines, line = [], "   "
    for cell in cells:
        if len(line) + len(cell) + 2 > width:
            lines.append(line)
            line = "   "
        line += f" {cell},"
    return "\n".join([*lines, line])


def write_tables() -> None:
    data = json.loads(DATA.read_text())
    table = properties(data)
    blocks: dict[bytes, int] = {}
    index = [blocks.setdefault(bytes(table[at:at + BLOCK]), len(blocks))
             for at in range(0, len(table), BLOCK)]
    if len(blocks) > 256:
        raise SystemExit(f"{len(blocks)} different blocks of {BLOCK} do not fit a byte")
    parts, places = [], []
    for character, *pieces in data["decompositions"]:
        places.append(f"{{{character:#x}, {len(parts)}, {len(pieces)}}}")
        parts += [f"{piece:#x}" for piece in pieces]
    combining = [f"{{{first:#x}, {last:#x}, {number}}}" for first, last, number in data["combining"]]
    compositions = [f"{{{first:#x}, {second:#x}, {whole:#x}}}" for first, second, whole in data["compositions"]]
    cells = [str(value) for block in blocks for value in block]
    TABLES.write_text(f"""\
/* Made by tools/make_unicode_tables.py from tools/data/unicode.json; do not edit. The classes are
 * those of Unicode 16.0, the rest is Unicode 9.0: see the script. */
#include "tokenizer/unicode_tables.h"

/* clang-format off */
const uint8_t clef_unicode_blocks[0x110000 / CLEF_UNICODE_BLOCK] = {{
{rows([str(number) for number in index])}
}};

const uint8_t clef_unicode_properties[{len(blocks)} * CLEF_UNICODE_BLOCK] = {{
{rows(cells)}
}};

const clef_combining_range clef_combining_ranges[] = {{
{rows(combining)}
}};
const size_t clef_combining_range_count = {len(combining)};

const clef_decomposition clef_decompositions[] = {{
{rows(places)}
}};
const size_t clef_decomposition_count = {len(places)};

const uint32_t clef_decomposition_parts[] = {{
{rows(parts)}
}};

const clef_composition clef_compositions[] = {{
{rows(compositions)}
}};
const size_t clef_composition_count = {len(compositions)};
""")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", action="store_true", help="ask the reference library, write unicode.json")
    parser.add_argument("--cases", action="store_true", help="ask the reference library, write nfc.jsonl")
    arguments = parser.parse_args()
    if arguments.record:
        record()
    elif arguments.cases:
        write_cases()
    else:
        write_tables()


if __name__ == "__main__":
    main()
