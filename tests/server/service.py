"""Starts the server under test on a free port, speaks to it over plain sockets, and stops it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ["CLEF_PROGRAM"]
TINY = ROOT / "models/clef-tiny"
FIXTURES = ROOT / "tests/fixtures"
# Sanitizers make everything slower; waiting for what must come costs nothing when it comes.
PATIENCE = 120.0
SLOWNESS = int(os.environ.get("CLEF_SLOWNESS", "1"))
SOON = 2.0 * SLOWNESS  # seconds within which what is said to come at once does, on a busy machine too

BASE: dict[str, Any] = {
    "model": "clef-flash", "state": "Checkout has returned errors for an hour.",
    "questions": {"outage": {"type": "noul", "instructions": "Is a service down?"},
                  "team": {"type": "choice", "criteria": {"technical": "Faults", "billing": "Payments", "sales": None}},
                  "urgency": {"type": "score", "criteria": ["can wait", "this week", "today"]}}}


# The plainest kernels, and every token computed: what is to take a while does so on any machine.
SLOW = ("--cpu-level", "reference", "--prefix-cache-bytes", "0")
# So many tokens that the answer takes the small model a second or so, whatever it was built with.
LONG: dict[str, Any] = {**BASE, "state": "The order was delayed and the customer waits. " * (300 // SLOWNESS)}


def clean_environment(**more: str) -> dict[str, str]:
    kept = ("PATH", "HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS")
    return {**{name: os.environ[name] for name in kept if name in os.environ}, "CLEF_MODEL": str(TINY),
            "CLEF_THREADS": "1", **more}


class Service:
    """A running server; a context manager that stops it and checks that it ended well."""

    def __init__(self, *arguments: object, fake: bool = True, wait: bool = True, **variables: str) -> None:
        options = ["--port", "0", *(["--fake-engine"] if fake else []), *map(str, arguments)]
        self.process = subprocess.Popen([PROGRAM, "serve", *options], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                        env=clean_environment(**variables))
        self.notes: list[str] = []
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self.read_notes, daemon=True)
        self.reader.start()
        line = self.wait_note("listening on ")
        self.host, port = re.search(r"http://(\[[^]]+\]|[^:\s]+):(\d+)", line).groups()
        self.host, self.port = self.host.strip("[]"), int(port)
        if wait:
            self.wait_note("ready: ")

    def read_notes(self) -> None:
        for line in self.process.stderr:
            with self.changed:
                self.notes.append(line.decode(errors="replace").rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.notes.append("<end>")
            self.changed.notify_all()

    def wait_note(self, text: str) -> str:
        deadline = time.monotonic() + PATIENCE
        with self.changed:
            while True:
                for line in self.notes:
                    if text in line:
                        return line
                    if line == "<end>":
                        raise AssertionError(f"the server ended: {self.notes}")
                if not self.changed.wait(deadline - time.monotonic()):
                    raise AssertionError(f"no line with {text!r} in {self.notes}")

    def connect(self) -> socket.socket:
        stream = socket.create_connection((self.host, self.port), timeout=PATIENCE)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return stream

    def client(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)

    def request(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> "Reply":
        connection = self.client()
        try:
            return ask(connection, method, path, body, headers)
        finally:
            connection.close()

    def decide(self, body: Any, headers: dict[str, str] | None = None) -> "Reply":
        return self.request("POST", "/v1/systemone", body, headers)

    def raw(self, data: bytes, finish: bool = False) -> bytes:
        """Sends bytes and reads to the end of the connection, or of the last reply that is asked for."""
        with self.connect() as stream:
            stream.sendall(data)
            if finish:
                stream.shutdown(socket.SHUT_WR)
            return read_to_end(stream)

    def metric(self, name: str) -> float:
        text = self.request("GET", "/metrics").body.decode()
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                   if line.startswith((name + " ", name + "{")))

    def metric_becomes(self, name: str, value: float) -> bool:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if self.metric(name) == value:
                return True
            time.sleep(0.02)
        return False

    def resident_bytes(self) -> int:
        text = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) * 1024

    def stop(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        status = self.process.wait(timeout=PATIENCE)
        self.reader.join(timeout=PATIENCE)
        self.process.stderr.close()
        return status

    def __enter__(self) -> "Service":
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        if kind is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
            self.process.stderr.close()
            return
        status = self.stop()
        if status != 0:
            raise AssertionError(f"the server ended with status {status}: {self.notes}")


class Reply:
    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def detail(self) -> Any:
        return self.json()["detail"]


def ask(connection: http.client.HTTPConnection, method: str, path: str, body: Any = None,
        headers: dict[str, str] | None = None) -> Reply:
    data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
    connection.request(method, path, data, headers or {})
    response = connection.getresponse()
    return Reply(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())


def read_to_end(stream: socket.socket) -> bytes:
    parts = []
    while True:
        try:
            part = stream.recv(65536)
        except ConnectionResetError:
            return b"".join(parts) + b"<reset>"
        except socket.timeout:
            return b"".join(parts) + b"<time-out>"
        if not part:
            return b"".join(parts)
        parts.append(part)


def read_reply(stream: socket.socket, pending: bytes = b"") -> tuple[Reply, bytes]:
    """One reply with a content-length, and what came behind it."""
    while b"\r\n\r\n" not in pending:
        part = stream.recv(65536)
        if not part:
            raise AssertionError(f"the connection ended within a head: {pending!r}")
        pending += part
    head, pending = pending.split(b"\r\n\r\n", 1)
    lines = head.decode("latin-1").split("\r\n")
    status = int(lines[0].split(" ")[1])
    headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines[1:])}
    length = int(headers.get("content-length", "0")) if status >= 200 else 0
    while len(pending) < length:
        part = stream.recv(65536)
        if not part:
            raise AssertionError("the connection ended within a body")
        pending += part
    return Reply(status, headers, pending[:length]), pending[length:]


def statuses(data: bytes) -> list[int]:
    """Status of every reply in what a connection sent."""
    return [int(found) for found in re.findall(rb"HTTP/1\.1 (\d{3}) [^\r]*\r\n", data)]


def post(body: bytes, path: str = "/v1/systemone", extra: str = "") -> bytes:
    return f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n{extra}\r\n".encode() + body


BODY = json.dumps(BASE).encode()


class ServiceCase(unittest.TestCase):
    """Cases that share one server with made answers."""
    service: Service
    arguments: tuple[object, ...] = ()
    fake = True
    variables: dict[str, str] = {}

    @classmethod
    def setUpClass(cls) -> None:
        cls.service = Service(*cls.arguments, fake=cls.fake, **cls.variables)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.service.__exit__(None)
