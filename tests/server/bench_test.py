#!/usr/bin/env python3
"""clef bench --server: against our own server every number is there and makes sense; against servers that are absent,
refuse, drop connections or answer nonsense it says so."""

from __future__ import annotations

import csv
import io
import itertools
import json
import socket
import subprocess
import threading
import unittest
from collections.abc import Callable

from service import PROGRAM, Service, clean_environment

FIELDS = ["server", "served", "precision", "level", "date", "measure", "scenario", "questions", "state", "states", "clients",
          "requests", "failed", "input_tokens", "seconds", "requests_per_second", "tokens_per_second", "wall_p50_ms",
          "wall_p95_ms", "wall_p99_ms", "model_p50_ms", "model_p95_ms", "model_p99_ms"]
QUESTIONS = {"triage": 3, "short-2": 2, "short-6": 6, "medium-5": 5, "long-5": 5}


def bench(url: str, *arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, "bench", "--server", url, *map(str, arguments)], capture_output=True, text=True,
                          timeout=300, env=clean_environment(**variables))


def rows(url: str, *arguments: object, **variables: str) -> list[dict]:
    done = bench(url, "--output", "json", *arguments, **variables)
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f"status {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def url_of(service: Service) -> str:
    return f"http://{service.host}:{service.port}"


class OurServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.service = Service()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.service.__exit__(None)

    def test_everything(self) -> None:
        before = self.service.metric("clef_requests_total")
        found = rows(url_of(self.service), "--repeat", 3, "--requests", 70, "--clients", "1,5")
        self.assertEqual([(row["measure"], row["scenario"], row["state"], row["clients"]) for row in found],
                         [("latency", name, state, 1) for name in QUESTIONS for state in ("new", "repeated")]
                         + [("throughput", name, "distinct", clients) for name in ("short-6", "long-5") for clients in (1, 5)])
        for row in found:
            self.assertEqual(list(row), FIELDS)
            self.assertEqual(row["questions"], QUESTIONS[row["scenario"]])
            self.assertEqual(row["failed"], 0)
            self.assertEqual(row["served"], "clef-tiny@made-answers")
            for name in FIELDS[14:20]:
                self.assertGreater(row[name], 0, name)
            for kind in ("wall", "model"):
                self.assertLessEqual(row[f"{kind}_p50_ms"], row[f"{kind}_p95_ms"])
                self.assertLessEqual(row[f"{kind}_p95_ms"], row[f"{kind}_p99_ms"])
            self.assertAlmostEqual(row["requests_per_second"] * row["seconds"] / row["requests"], 1, places=4)
        # Two that warm up, three that count, twice; two passes, two levels, two scenarios; the cards, and the metrics.
        asked = 5 * 2 * (2 + 3) + 2 * 2 * 2 * 70
        self.assertEqual(self.service.metric("clef_requests_total") - before, asked + 1 + 1)

    def test_new_states_are_new_and_repeated_ones_are_not(self) -> None:
        with Service(fake=False) as service:
            before = service.metric("clef_cached_tokens_total")
            fresh = rows(url_of(service), "--scenarios", "long-5", "--measure", "latency", "--repeat", 2)
            self.assertEqual(fresh[0]["states"], 2)
            cached = service.metric("clef_cached_tokens_total") - before
            # Four new ones keep nothing, of four repeated ones three find the state.
            self.assertGreater(cached, 3 * 2048)
            self.assertLess(cached, 4 * fresh[1]["input_tokens"])
            self.assertLess(fresh[1]["model_p50_ms"], fresh[0]["model_p50_ms"])

    def test_csv_and_table_say_the_same(self) -> None:
        arguments = ("--scenarios", "short-6,triage", "--repeat", 1, "--requests", 3, "--clients", 2)
        found = list(csv.DictReader(io.StringIO(bench(url_of(self.service), *arguments, "--output", "csv").stdout)))
        self.assertEqual(list(found[0]), FIELDS)
        self.assertEqual([row["scenario"] for row in found], ["triage"] * 2 + ["short-6"] * 3)
        lines = bench(url_of(self.service), *arguments).stdout.splitlines()
        self.assertIn("clef-tiny@made-answers", lines[0])
        self.assertEqual([line.split()[0] for line in lines if line[:7] in ("triage ", "short-6")],
                         ["triage", "short-6", "short-6"])
        self.assertLessEqual(max(map(len, lines)), 100)

    def test_urls(self) -> None:
        port = self.service.port
        for url in (f"http://127.0.0.1:{port}/", f"HTTP://localhost:{port}/v1", f"http://127.0.0.1:{port}/v1/"):
            found = rows(url, "--scenarios", "short-2", "--measure", "latency", "--repeat", 1)
            self.assertEqual(len(found), 2, url)

    def test_keys_and_names(self) -> None:
        with Service("--api-key", "right", "--strict-model") as service:
            url = url_of(service)
            shorter = ("--scenarios", "short-2", "--measure", "latency", "--repeat", 1)
            for arguments, variables in ((("--api-key", "right"), {}), ((), {"CLEF_API_KEY": "right"})):
                self.assertEqual(len(rows(url, *shorter, *arguments, **variables)), 2)
            done = bench(url, *shorter, "--api-key", "wrong")
            self.assertEqual((done.returncode, done.stdout), (7, ""))
            self.assertIn("answers with status 401: missing or invalid API key", done.stderr)
            done = bench(url, *shorter, "--api-key", "right", "--model", "other")
            self.assertEqual(done.returncode, 7)
            self.assertIn('answers with status 404: unknown model "other"', done.stderr)

    def test_requests_that_fail_are_counted(self) -> None:
        with Service("--max-queue", 1, "--max-body-bytes", 4000) as service:
            done = bench(url_of(service), "--scenarios", "long-5", "--clients", 2, "--requests", 5, "--measure", "throughput",
                         "--output", "json")
            self.assertEqual(done.returncode, 7)
            self.assertIn("5 requests failed, the first because", done.stderr)
            self.assertIn("status 413", done.stderr)
            row = json.loads(done.stdout)
            self.assertEqual((row["failed"], row["requests_per_second"], row["wall_p50_ms"]), (5, 0, None))

    def test_refused(self) -> None:
        url = url_of(self.service)
        for arguments, text in (
                (("https://127.0.0.1:1",), "there is no encryption here"), (("127.0.0.1:1",), "http:// is missing"),
                (("http://",), "the host is missing"), (("http://a:0",), "the port is"), (("http://a:65536",), "the port is"),
                (("http://a:b",), "the port is"), (("http://[::1",), "bracket"), (("http://u:p@a",), "user name"),
                (("http://a/?x",), "no meaning"), (("http://a b",), "no meaning"), (("http://a/" + "b" * 600,), "too long"),
                ((url, "--scenarios", "short6"), "did you mean short-6?"), ((url, "--scenarios", ""), "--scenarios"),
                ((url, "--clients", "0"), "--clients"), ((url, "--clients", "1025"), "1,024"),
                ((url, "--clients", ",".join("1" * 17)), "at most 16"), ((url, "--api-key", "a\nb"), "visible"),
                ((url, "--shape", "clef"), "leave out --shape"), ((url, "--machine"), "leave out --machine"),
                ((url, "--tokens", "5"), "leave out --tokens"), ((url, "--threads", "1"), "leave out --threads")):
            done = bench(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), (arguments, done.stderr))
            self.assertIn(text, done.stderr)
        done = subprocess.run([PROGRAM, "bench", "--shape", "clef", "--clients", "1"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--clients is about a server", done.stderr)


ANSWER = json.dumps({"answers": {str(i): {} for i in range(2)}}).encode()


def reply(body: bytes, fields: bytes = b"", status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 %s\r\ncontent-length: %d\r\n%s\r\n" % (status, len(body), fields) + body


class OtherServer:
    """Answers a GET with "not found", and every other request with what `behave` returns for its number; an answer that ends
    in None closes the connection behind it."""

    def __init__(self, behave: Callable[[int], list[bytes | None]]) -> None:
        self.behave = behave
        self.counter = itertools.count()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.streams: list[socket.socket] = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                stream, _ = self.listener.accept()
            except OSError:
                return
            self.streams.append(stream)
            threading.Thread(target=self.serve, args=(stream,), daemon=True).start()

    def serve(self, stream: socket.socket) -> None:
        pending = b""
        try:
            while True:
                while b"\r\n\r\n" not in pending:
                    part = stream.recv(65536)
                    if not part:
                        return
                    pending += part
                head, pending = pending.split(b"\r\n\r\n", 1)
                is_get = head.startswith(b"GET ")
                length = 0 if is_get else int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                while len(pending) < length:
                    pending += stream.recv(65536)
                pending = pending[length:]
                parts = [reply(b"{}", status=b"404 Not Found")] if is_get else self.behave(next(self.counter))
                for part in parts:
                    if part is None:
                        stream.shutdown(socket.SHUT_RDWR)
                        return
                    stream.sendall(part)
        except OSError:
            pass

    def __enter__(self) -> "OtherServer":
        return self

    def __exit__(self, *rest: object) -> None:
        for stream in (self.listener, *self.streams):
            stream.close()


LATENCY = ("--scenarios", "short-2", "--measure", "latency", "--repeat", 2)


class OtherServers(unittest.TestCase):
    def test_forms_of_replies(self) -> None:
        """A length, chunks, the end of the connection, interim replies, connections closed in between."""
        chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + \
            b"".join(b"%x;x=y\r\n%s\r\n" % (1, ANSWER[i:i + 1]) for i in range(len(ANSWER))) + b"0\r\nA: b\r\n\r\n"
        for behave in (lambda i: [reply(ANSWER)], lambda i: [reply(ANSWER), None], lambda i: [chunked],
                       lambda i: [b"HTTP/1.0 200 OK\r\n\r\n" + ANSWER, None],
                       lambda i: [b"HTTP/1.1 200\nContent-Length: %d\n\n" % len(ANSWER) + ANSWER],
                       lambda i: [b"HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n", reply(ANSWER, b"Connection: close\r\n"), None],
                       lambda i: [bytes([byte]) for byte in reply(ANSWER)]):
            with OtherServer(behave) as server:
                found = rows(server.url, *LATENCY)
                self.assertEqual([row["failed"] for row in found], [0, 0])
                for row in found:
                    self.assertEqual((row["served"], row["precision"], row["input_tokens"], row["model_p50_ms"]),
                                     ("", "", None, None))
                    self.assertGreater(row["wall_p50_ms"], 0)
                self.assertIn("wall time", bench(server.url, *LATENCY).stdout)

    def test_numbers_of_others(self) -> None:
        body = json.dumps({"answers": {"a": 1, "b": 2}, "latency_ms": 12.5, "usage": {"input_tokens": 77}}).encode()
        with OtherServer(lambda i: [reply(body)]) as server:
            for row in rows(server.url, *LATENCY):
                self.assertEqual((row["model_p50_ms"], row["model_p99_ms"], row["input_tokens"]), (12.5, 12.5, 77))

    def test_nobody_there(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        done = bench(f"http://127.0.0.1:{port}")
        self.assertEqual((done.returncode, done.stdout), (7, ""))
        self.assertIn(f"cannot connect to http://127.0.0.1:{port}: Connection refused", done.stderr)
        done = bench("http://no.such.host.invalid")
        self.assertEqual(done.returncode, 7)
        self.assertIn("there is no host no.such.host.invalid", done.stderr)

    def test_nonsense(self) -> None:
        many = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n"
        for parts, text in (
                ([None], "closed the connection without a reply"), ([b"SSH-2.0-x\r\n\r\n"], "does not speak HTTP"),
                ([b"HTTP/1.1 20 OK\r\n\r\n"], "does not speak HTTP"), ([b"HTTP/1.1 2000 OK\r\n\r\n"], "does not speak HTTP"),
                ([b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"], "content-length is no number"),
                ([b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n"], "is not chunked"),
                ([b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n"], "more than 16 MiB"),
                ([many], "more than 16 MiB"), ([many.replace(b"ffff", b"xxxx")], "chunks that are none"),
                ([reply(ANSWER)[:-1], None], "within a reply"), ([b"HTTP/1.1 200 OK\r\nA: b", None], "within a reply"),
                ([b"HTTP/1.1 200 OK\r\nA: " + b"b" * 200000], "head without end"),
                ([reply(b"<html>")], "no decision"), ([reply(b"")], "no decision"), ([reply(b"[1]")], 'no object "answers"'),
                ([reply(b'{"answers":[]}')], 'no object "answers"'), ([reply(b'{"answers":{"a":1}}')], "1 answers to 2 questions"),
                ([reply(b'{"error":{"message":"no \\u001b[31mroom"}}', status=b"503 Busy")], "status 503: no "),
                ([reply(b'{"detail":[{"msg":"too long"}]}', status=b"422 X")], "status 422: too long"),
                ([reply(b"oops", status=b"500 X")], "answers with status 500\n")):
            with OtherServer(lambda i: parts) as server:
                done = bench(server.url, *LATENCY, "--timeout", 20)
                self.assertEqual(done.returncode, 7, (parts, done.stderr))
                self.assertIn(text, done.stderr)
                self.assertNotIn("\x1b", done.stderr)

    def test_silence(self) -> None:
        for parts in ([], [b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"]):
            with OtherServer(lambda i: parts) as server:
                done = bench(server.url, *LATENCY, "--timeout", 1)
                self.assertEqual(done.returncode, 7)
                self.assertIn("has not answered within 1 s", done.stderr)

    def test_a_pass_ends_with_the_server(self) -> None:
        with OtherServer(lambda i: [reply(ANSWER) if i < 30 else None]) as server:
            done = bench(server.url, "--scenarios", "short-2,short-6", "--measure", "throughput", "--clients", 8)
            self.assertEqual((done.returncode, done.stdout.count("short-6")), (7, 0))

    def test_some_refusals_are_not_the_end(self) -> None:
        body = json.dumps({"answers": {str(i): {} for i in range(6)}, "latency_ms": 1}).encode()
        with OtherServer(lambda i: [reply(b'{"detail":"full"}', status=b"503 X") if i % 4 == 3 else reply(body)]) as server:
            done = bench(server.url, "--scenarios", "short-6", "--measure", "throughput", "--clients", 3, "--requests", 40,
                         "--output", "json")
            self.assertEqual(done.returncode, 7)
            self.assertIn("10 requests failed, the first because", done.stderr)
            row = json.loads(done.stdout)
            self.assertEqual((row["failed"], row["requests"], row["model_p50_ms"]), (10, 40, 1))
            self.assertAlmostEqual(row["requests_per_second"] * row["seconds"], 30, places=2)


if __name__ == "__main__":
    unittest.main(verbosity=1)
