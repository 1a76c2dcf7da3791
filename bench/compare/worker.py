"""The loop of a worker: a peer in a process of its own that measures what a line of JSON asks for.

A worker says what it is in its first line, then answers every line of its input with one line, until its input
ends. Whatever libraries print goes to the standard error stream instead.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from typing import Any, Callable

Request = dict[str, Any]


def serve(facts: dict[str, Any], measure: Callable[[Request], dict[str, Any]]) -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    print(json.dumps(facts), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(measure(json.loads(line))), file=answers, flush=True)


def median_seconds(runs: int, work: Callable[[], Any], *, prepare: Callable[[], Any] = lambda: None,
                   clock: Callable[[], float] = time.perf_counter) -> float:
    """The median time of that many runs; what prepares each of them is not counted."""
    times = []
    for _ in range(runs):
        prepare()
        start = clock()
        work()
        times.append(clock() - start)
    return statistics.median(times)
