#!/usr/bin/env python3
"""What serving costs beside computing, measured with one program on one machine; wants a quiet one.

    bench/serving.py throughput [--model DIR] [--rounds N] [--requests N] ...
    bench/serving.py beside     [--model DIR] [--shorts N] ...
    bench/serving.py start      [--model DIR] [--cold] [--times N] ...

throughput: tokens a second of 64 clients over HTTP beside "clef bench" on the same tokens packed into the same steps, and beside
the same server with one request at a time. No states are kept, so that every token that is counted is computed. With --kept the
server is as it is by default, and what is timed repeats what it has seen; there is no packed bench of that.
beside: how long a short request takes while one of 16,384 tokens runs: the time alone, the 95th percentile, and what one step of
the long one takes.
start: from the start of the process to the open port, to "ready", and to the first answer. --cold drops the model's files from
the page cache before each start (by advice to the system; what is really cached is printed before and after).

Without --model a model of --shape (qwen3.5-0.8b; start: clef-flash, 18 GB) with weights by formula is written into a temporary
folder by tools/make_model.py. Prints one JSON object a line, and sentences on standard error.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Iterator

ROOT = Path(__file__).resolve().parent.parent
SCENARIOS = ROOT / "bench/scenarios"
ROWS_PER_STEP = 512
PACKED_SEQUENCES = 32  # as many records as a server computes at once


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def report(**values: Any) -> None:
    print(json.dumps(values), flush=True)


@contextlib.contextmanager
def find_model(options: argparse.Namespace, shape: str) -> Iterator[Path]:
    if options.model:
        yield options.model
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        model = Path(folder) / (options.shape or shape)
        more = ["--layers", str(options.layers)] if options.layers else []
        say(f"writing {model.name} to {folder}")
        subprocess.run([sys.executable, "-B", str(ROOT / "tools/make_model.py"), model.name, "-o", str(model), "--head",
                        "--no-vision", "--tokenizer", str(options.tokenizer), *more], check=True)
        yield model


class Server:
    """A server on a free port; notes when it says what."""

    def __init__(self, options: argparse.Namespace, model: Path, *arguments: object) -> None:
        threads = ["--threads", str(options.threads)] if options.threads else []
        self.begin = time.monotonic()
        self.process = subprocess.Popen(
            [options.program, "serve", "--port", "0", "--model", model, "--precision", options.precision, *threads,
             *map(str, arguments)], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        self.url = re.search(r"http://\S+", self.wait_line("listening on "))[0]
        self.listening_seconds = time.monotonic() - self.begin
        self.wait_line("ready: ")
        self.ready_seconds = time.monotonic() - self.begin
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def wait_line(self, text: str) -> str:
        for line in self.process.stderr:
            if text in line:
                return line
        raise SystemExit(f"the server ended with status {self.process.wait()}")

    def decide(self, body: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        """Seconds and answer."""
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=3600)
        begin = time.monotonic()
        connection.request("POST", "/v1/systemone", json.dumps(body).encode())
        reply = connection.getresponse()
        answer = json.loads(reply.read())
        seconds = time.monotonic() - begin
        connection.close()
        if reply.status != 200:
            raise SystemExit(f"status {reply.status}: {answer}")
        return seconds, answer

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *rest: object) -> None:
        self.process.terminate()
        self.process.wait()


def read_scenario(name: str) -> dict[str, Any]:
    return json.loads((SCENARIOS / f"{name}.json").read_text(encoding="utf-8"))


def rank(values: list[float], percent: int) -> float:
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


# ---- throughput --------------------------------------------------------------------------------------------------


def measure_packed(options: argparse.Namespace, model: Path, tokens: int) -> dict[str, Any]:
    threads = ["--threads", str(options.threads)] if options.threads else []
    text = subprocess.run([options.program, "bench", "--shape", str(model), "--precision", options.precision, "--tokens",
                           str(tokens), "--sequences", str(PACKED_SEQUENCES), "--rows", str(ROWS_PER_STEP), "--repeat", "1",
                           "--output", "json", *threads], check=True, capture_output=True, text=True).stdout
    return json.loads(text)


def measure_clients(options: argparse.Namespace, server: Server, clients: int, requests: int) -> dict[str, Any]:
    text = subprocess.run([options.program, "bench", "--server", server.url, "--measure", "throughput", "--scenarios",
                           "short-6", "--clients", str(clients), "--requests", str(requests), "--timeout", "3600", "--output",
                           "json"], check=True, capture_output=True, text=True).stdout
    return json.loads(text)


def throughput(options: argparse.Namespace, model: Path) -> None:
    rates: dict[str, list[float]] = {"packed": [], "many": [], "one": []}
    with Server(options, model, *([] if options.kept else ["--prefix-cache-bytes", "0"])) as server:
        scenario = read_scenario("short-6")
        scenario["state"] = "Ticket 31415. " + scenario["state"]
        tokens = server.decide(scenario)[1]["usage"]["input_tokens"]
        for turn in range(options.rounds):
            case = measure_packed(options, model, tokens) if not options.kept else None
            many = measure_clients(options, server, options.clients, options.requests)
            one = measure_clients(options, server, 1, max(1, options.requests // 8))
            for name, row in (("packed", case), ("many", many), ("one", one)):
                if row is not None:
                    rates[name].append(row["tokens_per_second"])
                    say(f"round {turn + 1}, {name}: {row['tokens_per_second']:.1f} tokens/s")
            report(measure="round", packed=case, many=many, one=one)
    packed, many, one = (statistics.median(rates[name]) for name in ("packed", "many", "one"))
    # Each round is a pair of neighbours in time: the median of ratios, not the ratio of medians.
    of_packed = statistics.median(a / b for a, b in zip(rates["many"], rates["packed"]))
    of_one = statistics.median(a / b for a, b in zip(rates["many"], rates["one"]))
    report(measure="throughput", model=model.name, precision=case["precision"], level=case["level"], threads=case["threads"],
           layers=case["layers"], tokens=tokens, clients=options.clients, requests=options.requests, rounds=options.rounds, kept=options.kept,
           packed_tokens_per_second=packed, many_tokens_per_second=many, one_tokens_per_second=one,
           many_of_packed=of_packed, many_of_one=of_one)
    say(f"{options.clients} clients: {many:.1f} tokens/s, {of_packed:.3f} of the packed bench (wanted 0.90), "
        f"{of_one:.3f} of one request at a time (wanted 1.20)")


# ---- a short request beside a long one ----------------------------------------------------------------------------


def beside(options: argparse.Namespace, model: Path) -> None:
    short = read_scenario("triage")
    # More than fits: the server cuts it to its limit of tokens for a request, 16,384.
    long = {**read_scenario("triage"), "state": " ".join(f"Line {i}: the order was late again." for i in range(5000))}
    with Server(options, model, "--prefix-cache-bytes", "0", "--truncate", "--max-tokens", options.tokens) as server:
        alone = [server.decide(short)[0] for _ in range(5)][1:]
        times: list[float] = []
        runs = 0
        while len(times) < options.shorts:
            done: list[tuple[float, dict[str, Any]]] = []
            work = threading.Thread(target=lambda done=done, runs=runs: done.append(
                server.decide({**long, "state": f"{runs} {long['state']}"})))
            work.start()
            time.sleep(0.2)
            while not done and len(times) < options.shorts:
                seconds, _ = server.decide(short)
                if not done:  # else the long one was over meanwhile
                    times.append(seconds)
            work.join()
            runs += 1
            if not times:
                raise SystemExit("the long request is over before a short one is: give more --tokens or a larger model")
        long_seconds, answer = server.decide({**long, "state": f"alone {long['state']}"})
    tokens = answer["usage"]["input_tokens"]
    step = long_seconds * ROWS_PER_STEP / tokens
    own = statistics.median(alone)
    report(measure="beside", model=model.name, long_tokens=tokens, long_seconds=long_seconds, step_seconds=step,
           short_alone_seconds=own, shorts=len(times), short_median_seconds=statistics.median(times),
           short_p95_seconds=rank(times, 95), p95_of_step_and_alone=rank(times, 95) / (step + own))
    say(f"short request beside {tokens} tokens: median {statistics.median(times):.3f} s, p95 {rank(times, 95):.3f} s; alone "
        f"{own:.3f} s, one step of {ROWS_PER_STEP} tokens {step:.3f} s on average")


# ---- start -------------------------------------------------------------------------------------------------------


def weight_files(model: Path) -> list[Path]:
    return sorted(model.glob("*.safetensors"))


def cached_bytes(model: Path) -> int | None:
    """Bytes of the weight files in the page cache, where util-linux can tell."""
    try:
        text = subprocess.run(["fincore", "--bytes", "--noheadings", "--output", "RES", *map(str, weight_files(model))],
                              check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return sum(map(int, text.split()))


def drop_from_cache(model: Path) -> None:
    for path in weight_files(model):
        file = os.open(path, os.O_RDONLY)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def start(options: argparse.Namespace, model: Path) -> None:
    size = sum(path.stat().st_size for path in weight_files(model))
    for _ in range(options.times):
        if options.cold:
            drop_from_cache(model)
        before = cached_bytes(model)
        with Server(options, model) as server:
            server.decide(read_scenario("short-2"))
            answered = time.monotonic() - server.begin
        report(measure="start", model=model.name, weight_bytes=size, is_cold=options.cold, cached_bytes_before=before,
               cached_bytes_after=cached_bytes(model), listening_seconds=server.listening_seconds,
               ready_seconds=server.ready_seconds, first_answer_seconds=answered)
        say(f"{size / 1e9:.1f} GB of weights, page cache {'cold' if options.cold else 'as it was'} "
            f"({'unknown' if before is None else f'{before / 1e9:.1f} GB'} cached): listening after "
            f"{server.listening_seconds:.2f} s, ready after {server.ready_seconds:.2f} s, first answer after {answered:.2f} s")


MEASURES = {"throughput": (throughput, "qwen3.5-0.8b"), "beside": (beside, "qwen3.5-0.8b"), "start": (start, "clef-flash")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measure", choices=MEASURES)
    parser.add_argument("--program", default=str(ROOT / "build/clef"), metavar="FILE")
    parser.add_argument("--model", type=Path, metavar="DIR")
    parser.add_argument("--shape", metavar="NAME", help="of the model that is written without --model")
    parser.add_argument("--layers", type=int, default=0, metavar="N", help="of that model; all by default")
    parser.add_argument("--tokenizer", type=Path, default=ROOT / "models/clef-tiny/tokenizer.json", metavar="FILE",
                        help="of that model; tools/make_tokenizer.py writes the published one")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where that model is written for a while")
    parser.add_argument("--precision", default="bf16", choices=("auto", "f32", "bf16"))
    parser.add_argument("--threads", type=int, default=0, metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="throughput: 3 by default")
    parser.add_argument("--clients", type=int, default=64, metavar="N", help="throughput: 64 by default")
    parser.add_argument("--requests", type=int, default=256, metavar="N", help="throughput: of a pass; 256 by default")
    parser.add_argument("--kept", action="store_true", help="throughput: the server keeps states")
    parser.add_argument("--tokens", type=int, default=16384, metavar="N", help="beside: of the long request")
    parser.add_argument("--shorts", type=int, default=40, metavar="N", help="beside: short requests; 40 by default")
    parser.add_argument("--cold", action="store_true", help="start: drop the files from the page cache first")
    parser.add_argument("--times", type=int, default=3, metavar="N", help="start: 3 by default")
    options = parser.parse_args()
    work, shape = MEASURES[options.measure]
    with find_model(options, shape) as model:
        work(options, model)


if __name__ == "__main__":
    main()
