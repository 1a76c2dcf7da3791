#!/usr/bin/env python3
"""The life of the server: start, readiness, signals, the log, the variables of the environment."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

from service import BASE, BODY, LONG, PROGRAM, SLOW, Service, clean_environment, post, read_reply, read_to_end, statuses

LONG_BODY = json.dumps(LONG).encode()


def failed_start(*arguments: object, **variables: str) -> tuple[int, str]:
    done = subprocess.run([PROGRAM, "serve", "--port", "0", *map(str, arguments)], timeout=60, capture_output=True,
                          stdin=subprocess.DEVNULL, env=clean_environment(**variables))
    return done.returncode, done.stderr.decode(errors="replace")


class Start(unittest.TestCase):
    def test_a_busy_port(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            status, text = failed_start("--port", taken.getsockname()[1])
            self.assertEqual(status, 8)
            self.assertIn(f"port {taken.getsockname()[1]}: the port is in use", text)

    def test_a_broken_model(self) -> None:
        """Fault G01: before a port opens, the file is named."""
        with tempfile.TemporaryDirectory() as folder:
            status, text = failed_start("--model", folder)
            self.assertEqual(status, 5)
            self.assertNotIn("listening", text)
            self.assertIn(folder, text)
        self.assertEqual(failed_start("--model", "/nowhere")[0], 5)

    def test_bad_options(self) -> None:
        for arguments, text in ((("--port", "65536"), "--port"), (("--port", "x"), "--port"), (("--host", "[]"), "--host"),
                                (("--host", "no.such.host.invalid"), "no.such.host.invalid"),
                                (("--max-tokens", "0"), "--max-tokens"), (("--log", "/nowhere/log"), "/nowhere/log"),
                                (("--model-names", ","), "--model-names"), (("--max-queue", "0"), "--max-queue"),
                                (("extra",), "extra"), (("--warmup", "off", "--max-tokens", "999999"), "999999")):
            status, message = failed_start(*arguments)
            self.assertEqual(status, 2, message)
            self.assertIn(text, message)

    def test_addresses(self) -> None:
        """Fault J10."""
        for host, reached in (("127.0.0.1", "127.0.0.1"), ("localhost", "localhost"), ("0.0.0.0", "127.0.0.1"),
                              ("::1", "::1"), ("[::1]", "::1"), ("::", "::1")):
            if ":" in host:
                try:
                    with socket.socket(socket.AF_INET6) as probe:
                        probe.bind(("::1", 0))
                except OSError:
                    continue
            with self.subTest(host), Service("--host", host) as service:
                service.host = reached
                self.assertEqual(service.request("GET", "/health").status, 200)

    def test_alive_before_ready(self) -> None:
        """The engine's first step on a large budget of rows takes a while; meanwhile the server says so."""
        service = Service(fake=False, wait=False)
        seen = set()
        while "ok" not in seen:
            self.assertEqual(service.request("GET", "/healthz").status, 200)
            reply = service.request("GET", "/health")
            seen.add(reply.json()["status"])
            if reply.status == 503:
                self.assertEqual(reply.headers["retry-after"], "1")
                self.assertEqual(reply.headers["retry-after-ms"], "1000")
                self.assertEqual(reply.json()["status"], "loading")
                self.assertTrue(0 <= reply.json()["progress"] <= 1)
                early = service.decide(BASE)
                self.assertIn(early.status, (200, 503))
        service.wait_note("ready: ")
        self.assertEqual(service.decide(BASE).status, 200)
        self.assertEqual(service.stop(), 0)


class Signals(unittest.TestCase):
    """Fault J06."""

    def test_idle(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            service = Service()
            with service.connect() as stream:
                stream.sendall(post(BODY))
                read_reply(stream)
                began = time.monotonic()
                self.assertEqual(service.stop(number), 0)
                self.assertEqual(stream.recv(1), b"")
                self.assertLess(time.monotonic() - began, 5)

    def test_during_the_start(self) -> None:
        for delay in (0, 0.005, 0.02, 0.05):
            process = subprocess.Popen([PROGRAM, "serve", "--port", "0"], stderr=subprocess.PIPE, env=clean_environment())
            line = process.stderr.readline()
            self.assertIn(b"listening", line)
            time.sleep(delay)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(timeout=60), 0, process.stderr.read())
            process.stderr.close()

    def test_running_requests_are_answered_first(self) -> None:
        service = Service("--drain-timeout", "600", *SLOW, fake=False)
        with service.connect() as running, service.connect() as uploading, service.connect() as idle:
            running.sendall(post(LONG_BODY))
            uploading.sendall(post(BODY)[:-10])
            idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            read_reply(idle)
            time.sleep(0.2)
            service.process.send_signal(signal.SIGTERM)
            self.assertEqual(idle.recv(1), b"")
            with self.assertRaises(OSError):
                for _ in range(100):
                    service.connect().close()
                    time.sleep(0.05)
            uploading.sendall(BODY[-10:])
            reply, _ = read_reply(uploading)
            self.assertEqual((reply.status, reply.headers["retry-after"]), (503, "1"))
            reply, _ = read_reply(running)
            self.assertEqual((reply.status, reply.headers["connection"]), (200, "close"))
            self.assertEqual(service.process.wait(timeout=60), 0)
            service.stop()

    def test_what_takes_too_long_is_cut(self) -> None:
        service = Service("--drain-timeout", "1", *SLOW, fake=False)
        with service.connect() as stream:
            stream.sendall(post(json.dumps({**LONG, "state": LONG["state"] * 3}).encode()))
            time.sleep(0.5)
            began = time.monotonic()
            service.process.send_signal(signal.SIGTERM)
            self.assertEqual(statuses(read_to_end(stream)), [503])
            self.assertEqual(service.process.wait(timeout=60), 0)
            service.stop()
            self.assertLess(time.monotonic() - began, 30)

    def test_a_second_signal_ends_at_once(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            service = Service(*SLOW, fake=False)
            with service.connect() as stream:
                stream.sendall(post(LONG_BODY))
                time.sleep(0.2)
                service.process.send_signal(number)
                service.wait_note("stopping")
                time.sleep(0.1)
                service.process.send_signal(number)
                self.assertEqual(service.process.wait(timeout=60), 128 + number)
                service.stop()

    def test_connections_that_come_while_it_stops(self) -> None:
        for _ in range(20):
            service = Service()
            ended = threading.Event()

            def connect(service: Service = service, ended: threading.Event = ended) -> None:
                while not ended.is_set():
                    try:
                        service.connect().close()
                    except OSError:
                        pass
            threads = [threading.Thread(target=connect) for _ in range(3)]
            for thread in threads:
                thread.start()
            time.sleep(0.02)
            status = service.stop()
            ended.set()
            for thread in threads:
                thread.join()
            self.assertEqual(status, 0, service.notes)

    def test_pipe_and_hangup_do_not_end_it(self) -> None:
        with Service() as service:
            for number in (signal.SIGPIPE, signal.SIGHUP, signal.SIGHUP):
                service.process.send_signal(number)
                self.assertEqual(service.decide(BASE).status, 200)

    def test_an_ignored_interrupt_stays_ignored(self) -> None:
        """A shell starts background jobs so."""
        service = subprocess.Popen([PROGRAM, "serve", "--port", "0", "--fake-engine"], stderr=subprocess.PIPE,
                                   env=clean_environment(), preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        service.stderr.readline()
        service.send_signal(signal.SIGINT)
        time.sleep(0.2)
        self.assertIsNone(service.poll())
        service.send_signal(signal.SIGTERM)
        self.assertEqual(service.wait(timeout=60), 0)
        service.stderr.close()


class Log(unittest.TestCase):
    def lines(self, path: Path) -> list[dict]:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []

    def wait_lines(self, path: Path, count: int) -> list[dict]:
        deadline = time.monotonic() + 30
        while len(self.lines(path)) < count and time.monotonic() < deadline:
            time.sleep(0.02)
        return self.lines(path)

    def test_lines_and_reopening(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path, moved = Path(folder) / "log", Path(folder) / "log.1"
            with Service("--log", path) as service:
                service.decide(BASE, {"x-typesafe-request-id": "first"})
                service.decide(b"\xff", {"x-typesafe-request-id": "second"})
                service.raw(b"BAD\0\r\n\r\n")
                good, bad, worse = self.wait_lines(path, 3)
                self.assertEqual((good["id"], good["method"], good["path"], good["status"]),
                                 ("first", "POST", "/v1/systemone", 200))
                self.assertGreater(good["input_tokens"], 20)
                self.assertGreaterEqual(good["ms"], good["queue_ms"])
                self.assertRegex(good["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
                self.assertEqual((bad["id"], bad["status"]), ("second", 400))
                self.assertEqual(worse["status"], 400)
                self.assertNotIn("body", good)
                self.assertNotIn("Checkout", path.read_text(encoding="utf-8"))
                path.rename(moved)
                service.process.send_signal(signal.SIGHUP)
                time.sleep(0.2)
                service.decide(BASE, {"x-typesafe-request-id": "third"})
                self.assertEqual([line["id"] for line in self.wait_lines(path, 1)], ["third"])
                self.assertEqual(len(self.lines(moved)), 3)

    def test_bodies_only_when_asked_for(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log"
            with Service("--log-requests", CLEF_LOG=str(path)) as service:
                service.decide(BASE)
                self.assertEqual(json.loads(self.wait_lines(path, 1)[0]["body"]), BASE)

    def test_standard_error(self) -> None:
        with Service("--log", "-") as service:
            service.decide(BASE)
            self.assertEqual(json.loads(service.wait_note('"path":"/v1/systemone"'))["status"], 200)


class Environment(unittest.TestCase):
    def test_variables_of_other_servers(self) -> None:
        with Service(fake=False, CLEF_FAKE_ENGINE="1", CLEF_MODEL_NAMES="a,b", CLEF_WARMUP="0", CLEF_TRUNCATE_STATES="1",
                     CLEF_MAX_STATE="100", CLEF_MAX_TAIL="400", CLEF_API_KEY="k", CLEF_MESH_SHAPE="1,1",
                     CLEF_PRECISION="x") as service:
            self.assertTrue(any("is ignored" in note for note in service.notes))
            key = {"authorization": "Bearer k"}
            self.assertEqual(service.decide(BASE).status, 401)
            reply = service.decide({**BASE, "state": "word " * 500}, key).json()
            self.assertTrue(reply["truncated"])
            self.assertEqual(reply["usage"]["state_tokens_used"], 100)
            questions = {f"q{i}": {"type": "noul"} for i in range(30)}
            refused = service.decide({**BASE, "questions": questions}, key)
            self.assertEqual(refused.status, 422)

    def test_the_command_line_beats_them(self) -> None:
        with Service("--max-state-tokens", "5000", "--host", "127.0.0.1", "--port", "0", "--truncate",
                     CLEF_MAX_STATE="100", CLEF_HOST="192.0.2.1", CLEF_PORT="1") as service:
            reply = service.decide({**BASE, "state": "word " * 500}).json()
            self.assertFalse(reply["truncated"])

    def test_both_limits_add_up(self) -> None:
        with Service(CLEF_MAX_STATE="16384", CLEF_MAX_TAIL="4096") as service:
            body = {**BASE, "state": "a " * 16000, "questions": {f"q{i}": {"type": "noul", "instructions": "a " * 40}
                                                                 for i in range(30)}}
            tokens = service.decide(body).json()
            self.assertGreater(tokens.get("usage", {}).get("input_tokens", 0), 16384, str(tokens)[:300])

    def test_what_is_not_understood(self) -> None:
        for name, value in (("CLEF_WARMUP", "maybe"), ("CLEF_MAX_STATE", "-1"), ("CLEF_PORT", "x")):
            done = subprocess.run([PROGRAM, "serve", "--fake-engine"], timeout=60, capture_output=True,
                                  env=clean_environment(**{name: value}))
            self.assertEqual(done.returncode, 2)
            self.assertIn(name if name != "CLEF_PORT" else "port", done.stderr.decode())

    def test_they_are_listed(self) -> None:
        text = subprocess.run([PROGRAM, "--help-environment"], capture_output=True, timeout=60,
                              env=clean_environment()).stdout.decode()
        for name in ("CLEF_MODEL", "HF_MODEL", "CLEF_MAX_STATE", "CLEF_API_KEY", "CLEF_FAKE_ENGINE", "MESH_DEVICE"):
            self.assertIn(name, text)


if __name__ == "__main__":
    unittest.main(verbosity=1)
