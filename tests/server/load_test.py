#!/usr/bin/env python3
"""What many clients, careless ones and sudden ends do to the server: to its memory, to other clients, and to what it keeps.

CLEF_LOAD=full takes the numbers that the project promises (minutes); without it the same cases run with smaller ones. What was
measured is printed behind "measured:"."""

from __future__ import annotations

import base64
import concurrent.futures
import json
import os
import random
import re
import resource
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest
import zlib
from pathlib import Path
from typing import Any

from service import (BASE, BODY, LONG, PATIENCE, PROGRAM, SLOW, SLOWNESS, Reply, Service, ask, clean_environment, post, read_reply,
                     read_to_end, statuses)

FAILING_MEMORY = os.environ.get("CLEF_FAILING_MEMORY", "")
FULL = os.environ.get("CLEF_LOAD") == "full"


def pick(full: int, short: int) -> int:
    return full if FULL else max(1, short // SLOWNESS)


def measured(text: str) -> None:
    print(f"measured: {text}", flush=True)


def load(service: Service, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Many short requests by the bench: each pass twice, over kept connections."""
    return subprocess.run([PROGRAM, "bench", "--server", f"http://{service.host}:{service.port}", "--measure", "throughput",
                           "--scenarios", "short-6", "--output", "json", *map(str, arguments)], capture_output=True, text=True,
                          timeout=900, env=clean_environment())


def answers_of(reply: Reply) -> Any:
    return json.loads(reply.body)["answers"]


def picture(number: int) -> str:
    """A small PNG of its own for every number."""
    dice = random.Random(number)
    rows = b"".join(b"\0" + dice.randbytes(3 * 32) for _ in range(32))

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 32, 32, 8, 2, 0, 0, 0)) + \
        chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return base64.b64encode(data).decode()


def reset(stream: socket.socket) -> None:
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    stream.close()


def descriptors(service: Service) -> int:
    """Open files of a server to which nobody speaks."""
    service.metric_becomes("clef_connections", 1)
    least = 1 << 30
    for _ in range(50):  # the connection that asked takes a moment to go
        least = min(least, len(list(Path(f"/proc/{service.process.pid}/fd").iterdir())))
        time.sleep(0.01)
    return least


class Memory(unittest.TestCase):
    @unittest.skipIf(SLOWNESS > 1, "sanitizers keep freed memory")
    def test_idle_connections(self) -> None:
        """2,000 of them, each of which has had its answer, cost at most 40 MB."""
        count = pick(2000, 900)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, count + 100)), hard))
        with Service("--max-connections", count + 100) as service:
            service.decide(BASE)
            before = service.resident_bytes()
            streams = [service.connect() for _ in range(count)]
            for stream in streams:
                stream.sendall(post(BODY))
                self.assertEqual(read_reply(stream)[0].status, 200)
            grown = service.resident_bytes() - before
            for stream in streams:
                stream.close()
        measured(f"{count} idle connections cost {grown / 1e6:.1f} MB")
        self.assertLess(grown, count * 20_000)

    @unittest.skipIf(SLOWNESS > 1, "sanitizers keep freed memory")
    def test_many_requests(self) -> None:
        """200,000 of them let memory grow by at most 2 %, counted from what the first few thousand have left."""
        count = pick(100_000, 5_000)
        with Service() as service:
            load(service, "--clients", 16, "--requests", 5_000)
            before = service.resident_bytes()
            done = load(service, "--clients", 16, "--requests", count)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            after = service.resident_bytes()
        row = json.loads(done.stdout)
        measured(f"{2 * count} requests, {row['requests_per_second']:.0f} a second, median {row['wall_p50_ms']:.1f} ms and "
                 f"p99 {row['wall_p99_ms']:.1f} ms: {before / 1e6:.1f} MB became {after / 1e6:.1f} MB "
                 f"({100 * (after / before - 1):+.2f} %)")
        self.assertLess(after, before * 1.02)

    @unittest.skipIf(SLOWNESS > 1, "sanitizers keep freed memory")
    def test_states_and_pictures(self) -> None:
        """Fault I02: a real engine, distinct states and pictures, one in ten given up: memory reaches a plateau."""
        count = pick(5_000, 100)
        with Service("--prefix-cache-bytes", 20_000_000, fake=False) as service:
            connection = service.client()

            def run(begin: int, end: int) -> int:
                for i in range(begin, end):
                    body = {**BASE, "state": f"Order {i} is late. " * (1 + i % 40)}
                    if i % 4 == 0:
                        body["images"] = [picture(i)]
                    if i % 10 == 0:
                        with service.connect() as stream:
                            stream.sendall(post(json.dumps(body).encode()))
                            reset(stream)
                    else:
                        self.assertEqual(ask(connection, "POST", "/v1/systemone", body).status, 200)
                return service.resident_bytes()
            first = run(0, 2 * count // 5)
            last = run(2 * count // 5, count)
            connection.close()
        measured(f"{count} states, a quarter with a picture: {first / 1e6:.1f} MB after two fifths, {last / 1e6:.1f} MB at the "
                 f"end ({100 * (last / first - 1):+.2f} %)")
        self.assertLess(last, first * (1.02 if FULL else 1.5))

    def test_bodies_on_their_way_have_a_limit(self) -> None:
        """Four bodies of the largest size may be on their way; the fifth is refused while it comes, the others are read."""
        size = 64 << 20
        head = b"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size
        part = b" " * (1 << 20)
        # Their bodies stand still while others are sent, which takes a while where everything is slow.
        with Service("--body-timeout", 900) as service:
            streams = [service.connect() for _ in range(5)]
            seen = []
            for stream in streams:
                stream.sendall(head)
                try:
                    for _ in range(63):
                        stream.sendall(part)
                except OSError:
                    pass
            streams[-1].settimeout(60)
            try:
                seen = statuses(streams[-1].recv(65536))
            except ConnectionResetError:
                seen = [503]
            self.assertEqual(seen, [503])
            self.assertEqual(service.decide(BASE).status, 200)
            reset(streams.pop(0))
            reset(streams.pop(-1))
            for stream in streams:
                stream.sendall(part)
                self.assertEqual(read_reply(stream)[0].status, 422)
                stream.close()
            self.assertEqual(service.decide(BASE).status, 200)

    @unittest.skipIf(SLOWNESS > 1, "sanitizers need address space without end")
    def test_at_the_limit(self) -> None:
        """The system gives no more memory: long states are refused with 503, short ones answered as before."""
        # One arena, as each thread's own would have address space in store.
        with Service("--prefix-cache-bytes", "0", fake=False, MALLOC_ARENA_MAX="1") as service:
            short = answers_of(service.decide(BASE))
            long = {**BASE, "state": "The order was delayed and the customer waits. " * 1000}
            used = int(re.search(r"VmSize:\s+(\d+)", Path(f"/proc/{service.process.pid}/status").read_text()).group(1))
            limit = used * 1024 + (16 << 20)
            resource.prlimit(service.process.pid, resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
            found = []
            for turn in range(pick(30, 3)):
                with concurrent.futures.ThreadPoolExecutor(6) as pool:
                    work = [pool.submit(service.decide, {**long, "state": f"{turn} {i} " + long["state"]}) for i in range(6)]
                    quick = service.decide(BASE)
                    replies = [item.result() for item in work]
                for reply in replies + [quick]:
                    self.assertIn(reply.status, (200, 503))
                    if reply.status == 503:
                        self.assertEqual(reply.headers["retry-after"], "1")
                found += [reply.status for reply in replies]
                again = service.decide(BASE)
                self.assertEqual((again.status, answers_of(again)), (200, short))
            resource.prlimit(service.process.pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            self.assertEqual(service.decide(long).status, 200)
        measured(f"{len(found)} long states with 16 MiB left: {found.count(503)} refused, {found.count(200)} answered")
        self.assertIn(503, found)


class Replies(unittest.TestCase):
    def test_under_load_as_alone(self) -> None:
        """Acceptance 11: 64 clients for a minute; no request is lost, every reply is the one that its request got alone."""
        seconds = pick(60, 3)
        bodies = [{**BASE, "state": f"Order {i} is late. " * (1 + 3 * i), "model": f"m{i}"} for i in range(64)]
        with Service("--round", "none", "--prefix-cache-bytes", "0", fake=False) as service:
            expected = [answers_of(service.decide(body)) for body in bodies]
        with Service("--round", "none", fake=False) as service:
            faults: list[str] = []
            counts = [0] * len(bodies)
            end = time.monotonic() + seconds

            def run(client: int) -> None:
                connection = service.client()
                while time.monotonic() < end or counts[client] == 0:
                    which = (client + counts[client]) % len(bodies)
                    reply = ask(connection, "POST", "/v1/systemone", bodies[which])
                    if reply.status != 200 or answers_of(reply) != expected[which] or reply.json()["model"] != f"m{which}":
                        faults.append(f"{which}: {reply.status} {reply.body!r}")
                    counts[client] += 1
                connection.close()
            threads = [threading.Thread(target=run, args=(client,)) for client in range(len(bodies))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(faults, [])
        measured(f"{sum(counts)} replies to 64 clients in {seconds} s, each as alone")


class Failing(unittest.TestCase):
    def connect(self, service: Service) -> socket.socket:
        """A connection that the server has taken: one that it has no memory for is closed, and nothing else could be done."""
        for _ in range(100):
            stream = service.connect()
            try:
                stream.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                if read_reply(stream)[0].status == 200:
                    return stream
            except (OSError, AssertionError):
                pass
            stream.close()
        raise AssertionError("no connection is taken")

    def turn(self, service: Service) -> None:
        """Begins or ends the failing of allocations; returns when the server has taken the signal."""
        service.process.send_signal(signal.SIGRTMIN)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            text = Path(f"/proc/{service.process.pid}/status").read_text(encoding="ascii")
            if not int(re.search(r"ShdPnd:\s+(\w+)", text).group(1), 16) >> (signal.SIGRTMIN - 1) & 1:
                return
            time.sleep(0.0005)
        raise AssertionError("the signal is not taken")

    @unittest.skipUnless(FAILING_MEMORY, "a sanitizer has an allocator of its own")
    def test_allocations_that_fail(self) -> None:
        """Fault J11: whatever fails, every request gets a whole reply, and what comes later the usual answer."""
        for fake, options in ((True, ()), (False, ("--prefix-cache-bytes", "2000000"))):
            for every in (3, 4, 5, 7, 11, 13, 29, 67, 151):
                variables = {"LD_PRELOAD": FAILING_MEMORY, "CLEF_FAIL_EVERY": str(every)}
                with self.subTest(fake=fake, every=every), Service(*options, fake=fake, **variables) as service:
                    expected = answers_of(service.decide(BASE))
                    found: dict[int, int] = {}
                    streams = [self.connect(service) for _ in range(4)]
                    self.turn(service)
                    for i in range(pick(400, 40)):
                        stream = streams[i % 4]
                        stream.sendall(post(json.dumps({**BASE, "state": f"{i} " * (1 + i % 50)}).encode()))
                        reply, _ = read_reply(stream)
                        found[reply.status] = found.get(reply.status, 0) + 1
                        self.assertIn(reply.status, (200, 503), reply.body)
                        self.assertIn("detail" if reply.status == 503 else "answers", reply.json())
                        if reply.status == 503:
                            self.assertEqual(reply.headers["retry-after"], "1")
                        if reply.headers.get("connection") == "close":
                            stream.close()
                            self.turn(service)
                            streams[i % 4] = self.connect(service)
                            self.turn(service)
                    self.turn(service)
                    self.assertTrue(503 in found or every > 100, found)
                    for stream in streams:
                        stream.close()
                    self.connect(service).close()  # from here on memory is whole again
                    self.assertEqual(answers_of(service.decide(BASE)), expected)
                    self.assertTrue(service.metric_becomes("clef_in_flight", 0))
                measured(f"every {every}th allocation fails, {'made answers' if fake else 'a real engine'}: {found}")


class Careless(unittest.TestCase):
    def abort(self, service: Service, dice: random.Random, body: bytes) -> None:
        """One request that ends somewhere, in one of the ways clients end."""
        data = post(body)
        stream = service.connect()
        try:
            stream.sendall(data[:dice.choice((0, 1, dice.randrange(len(data)), len(data) - 1, len(data), len(data)))])
            way = dice.randrange(4)
            if way == 0:
                time.sleep(dice.random() * 0.003)
            elif way == 1:
                stream.shutdown(socket.SHUT_WR)
            elif way == 2:
                stream.shutdown(socket.SHUT_RD)
            if dice.random() < 0.5:
                reset(stream)
        except OSError:
            pass
        stream.close()

    def test_aborted_requests(self) -> None:
        """10,000 of them, against made answers and against a real engine."""
        for fake, count in ((True, pick(9_000, 400)), (False, pick(1_000, 60))):
            with self.subTest(fake=fake), Service(fake=fake) as service:
                expected = answers_of(service.decide(BASE))
                open_before = descriptors(service)

                def run(seed: int, service: Service = service, count: int = count) -> None:
                    dice = random.Random(seed)
                    for i in range(count // 4):
                        self.abort(service, dice, json.dumps({**BASE, "state": f"{seed} {i}"}).encode())
                with concurrent.futures.ThreadPoolExecutor(4) as pool:
                    for work in [pool.submit(run, seed) for seed in range(4)]:
                        work.result()
                self.assertTrue(service.metric_becomes("clef_in_flight", 0))
                self.assertTrue(service.metric_becomes("clef_connections", 1))
                self.assertLessEqual(descriptors(service), open_before)
                self.assertEqual(answers_of(service.decide(BASE)), expected)
                measured(f"{count} aborted requests, {'made answers' if fake else 'a real engine'}: none left over")

    def test_nobody_else_is_harmed(self) -> None:
        """Slow senders, half-closing, oversized, malformed and aborted ones beside clients that behave: each of these gets every
        answer, and in time."""
        seconds = pick(30, 3)
        with Service("--header-timeout", 3, "--body-timeout", 3) as service:
            ended = threading.Event()
            faults: list[str] = []
            counts = {"slow": 0, "half": 0, "malformed": 0, "oversized": 0, "aborted": 0}

            def slow() -> None:
                while not ended.is_set():
                    streams = [service.connect() for _ in range(50)]
                    for i, stream in enumerate(streams):
                        stream.sendall(b"GET / HTTP/1.1\r\nX-A: " if i % 2 else post(BODY)[:-len(BODY) + 10])
                    begin = time.monotonic()
                    while not ended.wait(0.2) and time.monotonic() - begin < 4:
                        for stream in streams:
                            try:
                                stream.send(b"a")
                            except OSError:
                                pass
                    counts["slow"] += len(streams)
                    for stream in streams:
                        stream.close()

            def odd() -> None:
                dice = random.Random(1)
                too_large = b"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n"
                cases = (("half", post(BODY), 200), ("malformed", b"GET /health HTTP/1.1\nHost: x\r\n\r\n", 400),
                         ("malformed", post(b'{"a":'), 422), ("oversized", too_large, 413),
                         ("oversized", b"GET /" + b"a" * 70000, 431))
                while not ended.is_set():
                    name, data, status = cases[dice.randrange(len(cases))]
                    found = statuses(service.raw(data, finish=True))
                    if found[-1:] != [status]:
                        faults.append(f"{name}: {found}")
                    counts[name] += 1
                    self.abort(service, dice, BODY)
                    counts["aborted"] += 1
            threads = [threading.Thread(target=work) for work in (slow, odd, odd)]
            for thread in threads:
                thread.start()
            begin = time.monotonic()
            rows = []
            while time.monotonic() - begin < seconds:
                done = load(service, "--clients", 8, "--requests", pick(2_000, 200))
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                rows.append(json.loads(done.stdout))
            ended.set()
            for thread in threads:
                thread.join()
            self.assertEqual(faults, [])
            answered = sum(2 * row["requests"] for row in rows)
            worst = max(row["wall_p99_ms"] for row in rows)
            measured(f"{answered} requests of 8 clients, none lost, p99 at most {worst:.0f} ms, beside {counts}")
            self.assertLess(worst, 1000 * SLOWNESS)


class Killed(unittest.TestCase):
    def test_at_any_moment(self) -> None:
        """kill -9 under load, with states on disk: the next start works, answers are the same to the bit, and the directory holds
        whole files and nothing else."""
        dice = random.Random(7)
        states = [f"Case {i}. " + "The order was delayed and the customer waits. " * 40 for i in range(12)]
        options = ("--round", "none", "--prefix-cache-bytes", 30_000_000)
        with Service(*options, fake=False) as service:
            expected = [answers_of(service.decide({**BASE, "state": state})) for state in states]
        turns, kept_files, cached_tokens = pick(50, 4), 0, 0
        with tempfile.TemporaryDirectory() as folder:
            for turn in range(turns):
                service = Service(*options, "--prefix-cache-dir", folder, fake=False)
                names = {path.name for path in Path(folder).iterdir()}
                self.assertEqual([name for name in names if not re.fullmatch(r"[0-9a-f]{48}\.kept|\.lock|lock", name)], [])
                kept_files += len(names)
                which = dice.randrange(len(states))
                reply = service.decide({**BASE, "state": states[which]})
                self.assertEqual(answers_of(reply), expected[which], turn)
                cached_tokens += int(reply.headers["x-clef-cached-tokens"])
                ended = threading.Event()

                def run(seed: int, service: Service = service) -> None:
                    own = random.Random(seed)
                    while not ended.is_set():
                        try:
                            service.decide({**BASE, "state": own.choice(states) + "!" * own.randrange(3)})
                        except (OSError, ValueError):
                            pass
                        except Exception:  # a reply that was cut off
                            pass
                threads = [threading.Thread(target=run, args=(turn * 4 + i,)) for i in range(4)]
                for thread in threads:
                    thread.start()
                time.sleep(dice.random() * SLOWNESS * (0.6 if turn % 2 else 0.1))
                service.process.kill()
                self.assertEqual(service.process.wait(timeout=60), -signal.SIGKILL)
                ended.set()
                for thread in threads:
                    thread.join()
                service.reader.join()
                service.process.stderr.close()
            with Service(*options, "--prefix-cache-dir", folder, fake=False) as service:
                for state, answers in zip(states, expected):
                    self.assertEqual(answers_of(service.decide({**BASE, "state": state})), answers)
        measured(f"{turns} kills: every next start answered as before; {kept_files} kept files and {cached_tokens} tokens of "
                 "them taken up by first requests")
        if SLOWNESS == 1:  # else hardly anything is kept before the end comes
            self.assertGreater(cached_tokens, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
