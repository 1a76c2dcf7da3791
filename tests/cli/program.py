"""Runs the program under test, in a clean environment, with pipes or on a terminal of a given width."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import termios
from pathlib import Path
from typing import Any, Iterator

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ["CLEF_PROGRAM"]
FIXTURES = ROOT / "tests/fixtures"
TINY = ROOT / "models/clef-tiny"  # trained: knows the answers of fixtures/clef-tiny
RANDOM = FIXTURES / "tiny-random/release"  # random weights: what fixtures/tiny-random/text was recorded with
DEMO = FIXTURES / "clef-tiny/demo.json"
SIZE_LIMIT = 64 << 20


def environment(**more: str) -> dict[str, str]:
    """What a program needs to run at all, and what the test gives: nothing of the host's settings. One thread, because
    suites run side by side."""
    kept = ("PATH", "HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS")
    return {**{name: os.environ[name] for name in kept if name in os.environ}, "CLEF_MODEL": str(TINY),
            "CLEF_THREADS": "1", **more}


def run(*arguments: object, stdin: bytes = b"", **variables: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([PROGRAM, *map(str, arguments)], input=stdin, capture_output=True,
                          env=environment(**variables), timeout=300)


def answer(*arguments: object, stdin: bytes = b"", **variables: str) -> bytes:
    """Standard output of a run that must succeed and say nothing else."""
    done = run(*arguments, stdin=stdin, **variables)
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f"{arguments}: status {done.returncode}\n{done.stderr.decode(errors='replace')}")
    return done.stdout


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def open_terminal(columns: int) -> tuple[int, int]:
    """Our end and the program's end of a terminal that passes bytes through unchanged."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    settings = termios.tcgetattr(theirs)
    settings[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    return ours, theirs


def read_all(stream: int) -> bytes:
    parts = []
    while True:
        try:
            part = os.read(stream, 65536)
        except OSError:  # a terminal whose other end is closed
            part = b""
        if not part:
            return b"".join(parts)
        parts.append(part)


def run_on_terminal(*arguments: object, columns: int = 80, streams: tuple[str, ...] = ("stdout",), stdin: bytes = b"",
                    **variables: str) -> tuple[int, bytes]:
    """Exit status, and what was written to the terminal that the named streams are."""
    ours, theirs = open_terminal(columns)
    variables = {"TERM": "xterm", "LANG": "C.UTF-8", **variables}
    places = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **{name: theirs for name in streams}}
    child = subprocess.Popen([PROGRAM, *map(str, arguments)], stdin=subprocess.PIPE,
                             env=environment(**variables), **places)
    os.close(theirs)
    child.stdin.write(stdin)
    child.stdin.close()
    shown = read_all(ours)
    os.close(ours)
    return child.wait(timeout=300), shown
