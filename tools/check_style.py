#!/usr/bin/env python3
"""Checks the house style that a formatter and a compiler do not.

    tools/check_style.py [ROOT]

C files: a contract comment first, at most 600 lines (tables exempt), functions of at most 100, header
guards named after the path, no banned function. All text files: no marks of unfinished work, no paths
of one machine, no trailing white space, one newline at the end. Prints one line a fault and ends with
status 1 when there is any; long functions (above 60 lines) are a warning.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Iterator

from c_source import ROOT, c_files, calls, code_of, functions, line_of

FILE_LINES = 600
FUNCTION_LINES, FUNCTION_LINES_WARN = 100, 60
CONTRACT_LINES = 24

BANNED = {
    "strcpy": "clef_buffer_append", "strcat": "clef_buffer_append", "strncpy": "memcpy with a length",
    "strncat": "clef_buffer_append", "sprintf": "snprintf", "vsprintf": "vsnprintf", "gets": "fgets",
    "strtok": "clef_text", "alloca": "an arena", "rand": "a generator with a seed of its own",
    "srand": "a generator with a seed of its own", "random": "a generator with a seed of its own",
    "atoi": "the number readers of base", "atol": "the number readers of base", "atoll": "the number readers of base",
    "atof": "the number readers of base", "strtod": "the number readers of base (no locale)",
    "strtof": "the number readers of base (no locale)", "scanf": "a reader of base",
    "fscanf": "a reader of base", "tmpnam": "mkstemp", "mktemp": "mkstemp", "setjmp": "a status", "longjmp": "a status",
}
# The readers themselves, and the one way out of libraries that cannot return.
EXEMPT = {("strtod", "src/base/json_number.c"), ("strtof", "src/base/json_number.c"),
          ("setjmp", "src/media/escape.c"), ("longjmp", "src/media/escape.c")}

TEXT_SUFFIXES = {".c", ".h", ".def", ".cmake", ".py", ".sh", ".md", ".txt", ".json", ".yml", ".in", ".1", ".jinja"}
TEXT_NAMES = {"Makefile", "run", "MANIFEST", "LICENSE", ".clang-format", ".clang-tidy", ".editorconfig", ".gitignore"}
SKIPPED_FOLDERS = {".git", "build", "fixtures", "models", "corpus", "__pycache__"}

# Written in pieces so that this file does not hold what it looks for.
UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
MACHINE_PATH = re.compile(r"(?:^|[^A-Za-z0-9_.])/(?:work|root|home|farm)/")


def text_files(root: Path) -> Iterator[Path]:
    def walk(folder: Path) -> Iterator[Path]:
        for path in sorted(folder.iterdir()):
            if path.is_symlink():
                continue
            if path.is_dir():
                if path.name not in SKIPPED_FOLDERS and not path.name.startswith("build-"):
                    yield from walk(path)
            elif path.suffix in TEXT_SUFFIXES or path.name in TEXT_NAMES:
                yield path
    return walk(root)


def guards_of(path: str) -> list[str]:
    """src/base/text.h: CLEF_BASE_TEXT_H; include/clef/clef.h: CLEF_CLEF_H; tests/parity/x.h: CLEF_TEST_X_H
    or CLEF_PARITY_X_H.

    Kernels may start at their folder, and a folder that the next name repeats may be left out:
    src/backend/cpu/kernels/norm/norm.h: CLEF_KERNELS_NORM_H.
    """
    parts = list(Path(path).with_suffix("").parts)
    if parts[0] == "src":
        words = parts[1:]
    elif parts[0] == "include":
        words = parts[2:]
    else:
        return [f"CLEF_{folder}_{parts[-1]}_H".upper() for folder in ("test", parts[1])]
    choices = [words, [word for word, after in zip(words, words[1:] + [""]) if not after.startswith(word)]]
    choices += [choice[choice.index("kernels"):] for choice in choices if "kernels" in choice]
    return ["_".join(("clef", *choice, "h")).upper().replace("-", "_") for choice in choices]


def check_contract(path: str, text: str) -> Iterator[str]:
    if not text.startswith("/*"):
        yield f"{path}:1: no contract comment; say what the file owns and what it must not know"
        return
    lines = text[:text.find("*/")].count("\n") + 1 if "*/" in text else 0
    if lines == 0 or lines > CONTRACT_LINES:
        yield f"{path}:1: the contract comment has {lines} lines; at most {CONTRACT_LINES}"


def check_guard(path: str, code: str) -> Iterator[str]:
    guards = guards_of(path)
    first = re.search(r"^[ \t]*#[ \t]*(\w+)[ \t]*(\w*)[^\n]*\n[ \t]*#[ \t]*(\w+)[ \t]*(\w*)", code, re.MULTILINE)
    if not first or first.groups() not in [("ifndef", guard, "define", guard) for guard in guards]:
        yield f"{path}:1: the header guard is not {guards[0]}"


def check_c(path: str, text: str) -> Iterator[str]:
    code = code_of(text)
    lines = text.count("\n")
    is_table = Path(path).stem.endswith("_tables")
    yield from check_contract(path, text)
    if path.endswith(".h") and not path.endswith("_vector.h"):  # these are included once a level
        yield from check_guard(path, code)
    if lines > FILE_LINES and not is_table:
        yield f"{path}:{lines}: {lines} lines; at most {FILE_LINES}: split it by idea"
    for function in functions(code):
        if function.lines > FUNCTION_LINES:
            yield f"{path}:{function.line}: {function.name} has {function.lines} lines; at most {FUNCTION_LINES}"
    for line, name in calls(code) if path.startswith(("src/", "include/", "examples/")) else ():
        if name in BANNED and (name, path) not in EXEMPT:
            yield f"{path}:{line}: {name}() is banned; use {BANNED[name]}"


def warnings(path: str, text: str) -> Iterator[str]:
    for function in functions(code_of(text)):
        if FUNCTION_LINES_WARN < function.lines <= FUNCTION_LINES:
            yield f"{path}:{function.line}: warning: {function.name} has {function.lines} lines; aim at {FUNCTION_LINES_WARN}"


def check_text(path: str, text: str) -> Iterator[str]:
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            yield f"{path}:{number}: white space at the end of the line"
        if "\t" in line and Path(path).name != "Makefile":
            yield f"{path}:{number}: a tab"
        if UNFINISHED.search(line):
            yield f"{path}:{number}: a mark of unfinished work"
        if MACHINE_PATH.search(line):
            yield f"{path}:{number}: a path of one machine"
    if text and (not text.endswith("\n") or text.endswith("\n\n")):
        yield f"{path}:{text.count(chr(10)) + 1}: the file does not end in exactly one newline"


def check_tree(root: Path) -> tuple[list[str], list[str]]:
    faults: list[str] = []
    notes: list[str] = []
    for path in text_files(root):
        name = path.relative_to(root).as_posix()
        try:
            faults += check_text(name, path.read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            faults.append(f"{name}:1: not UTF-8 at byte {error.start}")
    for path in c_files(root, "src", "include", "tests", "examples"):
        name, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        faults += check_c(name, text)
        notes += warnings(name, text)
    return faults, notes


def main() -> int:
    root = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
    faults, notes = check_tree(root)
    print("\n".join(notes + faults) if faults or notes else "style: nothing to say")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
