"""Reading C well enough to check it: code without comments and texts, includes, calls, functions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator, NamedTuple

ROOT = Path(__file__).resolve().parent.parent

TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>\n]+)>|"([^"\n]+)"|([^\n]*))', re.MULTILINE)
CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
NOT_A_CALL = frozenset("if for while switch return sizeof defined _Alignof _Static_assert __attribute__".split())


class Include(NamedTuple):
    line: int
    path: str
    is_system: bool  # <path> rather than "path"


class Function(NamedTuple):
    name: str
    line: int
    lines: int


def c_files(root: Path, *folders: str) -> Iterator[Path]:
    """Every .c and .h below the folders of a tree, in a fixed order."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".c", ".h") and path.is_file():
                yield path


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def blank(found: re.Match[str]) -> str:
    """As many lines as before, nothing else; texts keep their quotes."""
    token = found.group()
    inside = re.sub(r"[^\n]", " ", token[1:-1])
    return token[0] + inside + token[-1] if token[0] in "\"'" else " " + inside + " "


def without_comments(text: str) -> str:
    """The same text at the same offsets, comments blanked, texts kept."""
    return TOKEN.sub(lambda found: blank(found) if found.group()[0] == "/" else found.group(), text)


def code_of(text: str) -> str:
    """The same text at the same offsets, comments and the inside of texts blanked."""
    return TOKEN.sub(blank, text)


def includes(text: str) -> Iterator[Include]:
    for found in INCLUDE.finditer(without_comments(text)):
        system, own, other = found.groups()
        yield Include(line_of(text, found.start()), (system or own or other).strip(), system is not None)


def calls(code: str) -> Iterator[tuple[int, str]]:
    """Line and name of everything that looks like a call (declarations too)."""
    for found in CALL.finditer(code):
        if found.group(1) not in NOT_A_CALL:
            yield line_of(code, found.start()), found.group(1)


def without_directives(code: str) -> str:
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda found: re.sub(r"[^\n]", " ", found.group()), code,
                  flags=re.MULTILINE)


def functions(code: str) -> Iterator[Function]:
    """Functions with a body: a brace at the outermost level behind a closing parenthesis."""
    code = without_directives(code)
    depth, start = 0, None
    for found in re.finditer(r"[{}]", code):
        if found.group() == "{":
            depth += 1
            head = code[:found.start()].rstrip()
            if depth == 1 and head.endswith(")"):
                begin = max(head.rfind(";"), head.rfind("}")) + 1
                name = CALL.search(head, begin)
                start = (name.group(1), line_of(code, name.start())) if name else None
        else:
            depth = max(0, depth - 1)
            if depth == 0 and start is not None:
                yield Function(start[0], start[1], line_of(code, found.start()) - start[1] + 1)
                start = None
