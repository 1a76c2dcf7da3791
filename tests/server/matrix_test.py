#!/usr/bin/env python3
"""Rows of the acceptance matrix and faults that no suite with one subject has: the order of all checks of a body, limits to the
token, what clients recompute from an answer, models that break while they are served, and the server as the first process."""

from __future__ import annotations

import base64
import copy
import json
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

from service import BASE, FIXTURES, PATIENCE, PROGRAM, SLOWNESS, TINY, Service, ServiceCase, clean_environment

PICTURE = base64.b64encode((FIXTURES / "tiny-random/media/images/jpeg422-101x203.jpg").read_bytes()).decode()


def detail(reply: Any) -> dict[str, Any]:
    assert reply.status == 422, (reply.status, reply.body[:300])
    return reply.detail[0]


class Checks(ServiceCase):
    def test_each_check_answers_before_all_later_ones(self) -> None:
        """Acceptance 7: a body that breaks every check is mended one check at a time; what is said is always the first of what is
        left."""
        late = {"type": "x", "criteria": 5}
        body: dict[str, Any] = {"model": 5, "questions": [], "images": "x", "videos": 7, "media_kwargs": 7}
        many = {f"q{i}": {"type": "noul"} for i in range(64)}

        def ask_for(**question: Any) -> dict[str, Any]:
            return {"q": question, "later": late, **many}
        noul = {"type": "noul"}
        steps: list[tuple[str, Any, str]] = [
            ("model", "m", "model and state are required"), ("state", "word " * 40000, "model and state are required"),
            ("questions", {}, "at least one question is required"), ("questions", ask_for(type="x", criteria=[]), "at least one question"),
            ("questions", ask_for(type="choice", criteria=[]), "q: type must be noul, choice, or score"),
            ("questions", ask_for(type="choice", criteria=["a"]), "q: criteria must not be empty"),
            ("questions", ask_for(type="score", criteria={"a": "b"}), "q: choice criteria must be a mapping"),
            ("questions", ask_for(type="noul", criteria=["a"]), "q: score criteria must be a list"),
            ("questions", {"": noul, "later": late, **many}, "q: noul criteria must be a mapping"),
            ("questions", {"q": noul, "later": late, **many}, ": instructions must not be empty"),
            ("questions", {"q": noul, **many}, "later: type must be"), ("questions", {"q": noul, "c": {"type": "choice", "criteria": {
                str(i): None for i in range(256)}}}, "questions: 65"),
            ("questions", {"q": noul, "c": {"type": "score", "criteria": ["level"] * 256}}, "256"),
            ("questions", {"q": noul}, "256"), ("images", ["%"], "images must be a list"), ("videos", [[PICTURE]], "videos must be a list"),
            ("media_kwargs", {"nonsense": 1}, "media_kwargs must be a mapping"), ("media_kwargs", {}, "media_kwargs: nonsense"),
            ("images", [PICTURE], "images[0]: invalid base64"), ("state", "short", "16,384"),
        ]
        for name, value, said in steps:
            self.assertIn(said, detail(self.service.decide(body))["msg"], (name, str(value)[:80]))
            body[name] = value
        self.assertEqual(self.service.decide(body).status, 200)

    def test_a13_a_decision_sent_to_a_chat_route(self) -> None:
        for path in ("/v1/chat/completions", "/v1/completions"):
            reply = self.service.request("POST", path, BASE)
            self.assertEqual(reply.status, 404)
            self.assertIn("/v1/systemone", reply.json()["error"]["message"])  # as clients of such routes read it
        reply = self.service.request("GET", "/v1/systemone")
        self.assertEqual((reply.status, reply.headers["allow"]), (405, "POST, OPTIONS"))

    def test_what_providers_recompute(self) -> None:
        """Acceptance 3: a client whose base URL ends in /v1 holds an answer against the question; these are its rules."""
        body = copy.deepcopy(BASE)
        body["questions"]["wide"] = {"type": "choice", "criteria": {f"option {i}": None for i in range(40)}}
        body["questions"]["long"] = {"type": "score", "criteria": [f"level {i}" for i in range(10)]}
        for text in ("one", "two", "three", "four"):
            answers = self.service.request("POST", "/v1/systemone", {**body, "state": text}).json()["answers"]
            self.assertEqual(list(answers), list(body["questions"]))
            for name, asked in body["questions"].items():
                answer = answers[name]
                self.assertEqual(answer["type"], asked["type"])
                if asked["type"] == "noul":
                    self.assertTrue(0 <= answer["noul"] <= 1)
                    continue
                shares = answer["probabilities"]
                count = len(asked["criteria"])
                self.assertLessEqual(abs(sum(shares.values()) - 1), 1e-6 + 0.005 * count)
                if asked["type"] == "choice":
                    self.assertEqual(set(shares), set(asked["criteria"]))
                    self.assertGreaterEqual(shares[answer["choice"]], max(shares.values()) - 1e-6)
                else:
                    self.assertEqual(list(shares), [str(level) for level in range(count)])
                    self.assertTrue(0 <= answer["score"] <= count - 1)
                    # The mean of shares that were rounded, each to half of a ten-thousandth.
                    self.assertLessEqual(abs(answer["score"] - sum(int(level) * share for level, share in shares.items())),
                                         0.00005 * (1 + count * (count - 1) / 2))

    def test_j09_bodies_that_are_large_and_valid(self) -> None:
        """A string of 50 MiB, a million questions: refused by their own limit, within bounded memory. Pictures of 20 MiB fit."""
        held = self.service.resident_bytes()
        for body, said in (({**BASE, "state": "word " * (10 << 20)}, "16,384"),
                           ({**BASE, "questions": {f"q{i}": {"type": "noul"} for i in range(1_000_000)}}, "questions: 1000000")):
            refused = detail(self.service.decide(body))
            self.assertEqual(refused["type"], "over_limit")
            self.assertIn(said, refused["msg"])
        # Two JPEGs with 20 MiB behind their end each, which decoders do not read.
        bytes_of = base64.b64decode(PICTURE)
        full = base64.b64encode(bytes_of + bytes((20 << 20) - len(bytes_of))).decode()
        over = base64.b64encode(bytes_of + bytes((20 << 20) - len(bytes_of) + 1)).decode()
        self.assertEqual(self.service.decide({**BASE, "images": [full, full]}).status, 200)
        refused = detail(self.service.decide({**BASE, "images": [full, over]}))
        self.assertEqual(refused["loc"], ["body", "images", "1"])
        self.assertIn("20", refused["msg"])
        if SLOWNESS == 1:  # sanitizers keep freed memory
            self.assertLess(self.service.resident_bytes() - held, 700 << 20)


class Tokens(unittest.TestCase):
    """Acceptance 8."""

    def fill(self, service: Service, total: int) -> dict[str, Any]:
        """A request of so many tokens: a state of words, and one sign a token behind it."""
        body = {"model": "m", "state": "", "questions": {"q": {"type": "noul", "instructions": "x"}}}

        def count(state: str) -> int:
            return service.decide({**body, "state": state}).json()["usage"]["input_tokens"]
        empty, word = count(""), (count(" the" * 200) - count(" the" * 100)) // 100
        state = " the" * ((total - empty - 10) // word)
        while count(state) < total:
            state += "?!"[len(state) % 2]
        self.assertEqual(count(state), total)
        return {**body, "state": state}

    def test_to_the_token(self) -> None:
        with Service() as service:
            body = self.fill(service, 16384)
            reply = service.decide({**body, "state": body["state"] + " the the"})
            self.assertIn("16,384", detail(reply)["msg"])
            self.assertEqual(detail(reply)["type"], "over_limit")
            wide = {f"q{i}": {"type": "noul", "instructions": "the " * 400} for i in range(64)}
            for state in ("", "x" * 100):
                self.assertEqual(detail(service.decide({**body, "state": state, "questions": wide}))["type"], "over_limit")
        with Service("--truncate") as service:
            fits = service.decide(body).json()
            self.assertEqual((fits["usage"]["input_tokens"], fits["truncated"]), (16384, False))
            cut = service.decide({**body, "state": body["state"] + " the the"}).json()
            self.assertEqual((cut["usage"]["input_tokens"], cut["truncated"]), (16384, True))
            self.assertEqual(detail(service.decide({**body, "questions": wide}))["type"], "over_limit")


class Broken(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.model = Path(self.folder.name) / "model"
        shutil.copytree(TINY, self.model)

    def test_j11_numbers_that_are_none(self) -> None:
        """A reply in JSON with the request's id, every time, and the server goes on."""
        path = self.model / "joint_head.safetensors"
        data = bytearray(path.read_bytes())
        length = struct.unpack("<Q", data[:8])[0]
        begin = json.loads(data[8:8 + length])["memory_projection.weight"]["data_offsets"][0]
        struct.pack_into("<H", data, 8 + length + begin, 0x7FC0)
        path.write_bytes(data)
        with Service("--model", self.model, "--warmup", "off", fake=False) as service:
            for number in range(3):
                reply = service.decide(BASE, {"x-typesafe-request-id": f"mine-{number}"})
                self.assertEqual((reply.status, reply.headers["x-typesafe-request-id"]), (500, f"mine-{number}"))
                self.assertIsInstance(reply.detail, str)
                self.assertNotIn(str(self.model), reply.detail)
            self.assertEqual(service.request("GET", "/health").status, 200)

    def test_i01_a_file_replaced_while_it_is_served(self) -> None:
        with Service("--model", self.model, "--prefix-cache-bytes", "0", fake=False) as service:
            before = service.decide(BASE).json()["answers"]
            other = self.model / "other"
            other.write_bytes(bytes(100))
            os.replace(other, self.model / "model.safetensors")
            self.assertEqual(service.decide(BASE).json()["answers"], before)

    def test_i01_a_file_cut_short_while_it_is_served(self) -> None:
        service = Service("--model", self.model, "--prefix-cache-bytes", "0", fake=False)
        self.assertEqual(service.decide(BASE).status, 200)
        os.truncate(self.model / "model.safetensors", 0)
        with service.connect() as stream:
            body = json.dumps({**BASE, "state": "another"}).encode()
            stream.sendall(b"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            self.assertEqual(service.process.wait(timeout=PATIENCE), 5)
        service.wait_note("cut short")
        service.stop()


class Process(unittest.TestCase):
    def test_j06_as_the_first_process(self) -> None:
        """In a container nobody else reaps or handles signals: what has no handler there is ignored."""
        inside = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]
        if shutil.which("unshare") is None or subprocess.run([*inside, "true"], capture_output=True, check=False).returncode != 0:
            print("SKIP: no namespaces of processes here")
            self.skipTest("no namespaces of processes here")
        for number in (signal.SIGTERM, signal.SIGINT):
            with subprocess.Popen([*inside, PROGRAM, "serve", "--port", "0", "--fake-engine"], stderr=subprocess.PIPE,
                                  env=clean_environment()) as outer:
                while b"ready" not in outer.stderr.readline():
                    self.assertIsNone(outer.poll())
                children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text(encoding="ascii").split()
                os.kill(int(children[0]), number)
                self.assertEqual(outer.wait(timeout=PATIENCE), 0)

    def test_j10_what_it_listens_on_is_said(self) -> None:
        for host, said in (("127.0.0.1", r"http://127\.0\.0\.1:\d+"), ("127.0.0.2", r"http://127\.0\.0\.2:\d+"), ("::1", r"http://\[::1\]:\d+")):
            process = subprocess.Popen([PROGRAM, "serve", "--port", "0", "--fake-engine", "--host", host], stderr=subprocess.PIPE,
                                       env=clean_environment())
            line = process.stderr.readline().decode()
            process.terminate()
            rest = process.communicate(timeout=PATIENCE)[1].decode()
            if "::" in host and "listening" not in line:
                continue  # no IPv6 here
            self.assertRegex(line, f"listening on {said}\n", rest)

    def test_i03_threads_follow_the_cpus_allowed(self) -> None:
        allowed = min(os.sched_getaffinity(0))
        environment = clean_environment()
        del environment["CLEF_THREADS"]
        done = subprocess.run([PROGRAM, "info", "--output", "json"], capture_output=True, env=environment, timeout=60, check=True,
                              preexec_fn=lambda: os.sched_setaffinity(0, {allowed}))
        self.assertEqual(json.loads(done.stdout)["machine"]["thread_count"], 1)


if __name__ == "__main__":
    unittest.main(verbosity=1)
