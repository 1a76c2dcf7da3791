#!/usr/bin/env python3
"""Answers over HTTP: the same as `clef ask` gives, alone and under load; equal requests computed once; made answers."""

from __future__ import annotations

import concurrent.futures
import json
import random
import re
import subprocess
import threading
import time
import unittest
from typing import Any

from service import BASE, LONG, FIXTURES, PROGRAM, SLOW, SLOWNESS, SOON, Service, ServiceCase, ask, clean_environment



def fixture_requests(count: int) -> list[dict[str, Any]]:
    """Requests that the small model knows, and variants of them."""
    known = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((FIXTURES / "clef-tiny").glob("record-*.json"))]
    found = []
    for i in range(count):
        request = dict(known[i % len(known)])
        if i >= len(known):
            request["state"] = {"attempt": i, "about": request["state"]}
        found.append(request)
    random.Random(1).shuffle(found)
    return found


def asked(requests: list[dict[str, Any]], *options: str) -> list[dict[str, Any]]:
    """What `clef ask` says to them."""
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run([PROGRAM, "ask", "--batch", *options], input=lines.encode(), capture_output=True, timeout=300,
                          env=clean_environment(), check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def without_latency(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "latency_ms"}


class Answers(ServiceCase):
    fake = False

    def test_under_load_as_alone(self) -> None:
        """Acceptance 11, faults F01, F02: every reply is its own, whatever shares a step."""
        requests = fixture_requests(60 // SLOWNESS + 4)
        expected = asked(requests)
        with concurrent.futures.ThreadPoolExecutor(24) as pool:
            replies = list(pool.map(self.service.decide, requests + requests[::-1]))
        for reply, body in zip(replies, expected + expected[::-1]):
            self.assertEqual(reply.status, 200)
            self.assertEqual(without_latency(reply.json()), body)
            self.assertGreater(reply.json()["latency_ms"], 0)

    def test_the_body_is_the_one_of_ask(self) -> None:
        request = fixture_requests(1)
        done = subprocess.run([PROGRAM, "ask", "--output", "json"], input=json.dumps(request[0]).encode(), check=True,
                              capture_output=True, timeout=60, env=clean_environment())
        body = self.service.decide(request[0]).body
        self.assertEqual(re.sub(rb',"latency_ms":\d+\.\d', b"", body), done.stdout.rstrip(b"\n"))

    def test_the_weights_are_named(self) -> None:
        self.assertRegex(self.service.decide(BASE).headers["x-clef-model"], r"^clef-tiny@[0-9a-f]{12}$")

    def test_keys_come_back_in_order(self) -> None:
        """Acceptance 5."""
        ids = ["10", "2", "B", "a", "é", "😀", "Aa", "1"]
        body = {**BASE, "questions": {name: {"type": "choice", "criteria": {key: None for key in ids[::-1]}} for name in ids}}
        answers = self.service.decide(body).json()["answers"]
        self.assertEqual(list(answers), ids)
        for name in ids:
            self.assertEqual(list(answers[name]["probabilities"]), ids[::-1])

    def test_probabilities_add_up(self) -> None:
        """Fault A01, acceptance 4."""
        options = {f"intent {i}": f"about {i}" for i in range(77)}
        body = {**BASE, "questions": {"intent": {"type": "choice", "criteria": options},
                                      "level": {"type": "score", "criteria": [f"level {i}" for i in range(10)]}}}
        answers = self.service.decide(body).json()["answers"]
        for name, count in (("intent", 77), ("level", 10)):
            values = answers[name]["probabilities"].values()
            self.assertEqual(len(values), count)
            self.assertLessEqual(abs(sum(values) - 1), count * 0.00005)
        self.assertEqual(set(answers["intent"]["probabilities"]), set(options))
        self.assertTrue(0 <= answers["level"]["score"] <= 9)

    def test_a_large_body_beside_small_ones(self) -> None:
        """Large bodies are encoded beside the sockets' thread; their refusal is the same."""
        large = {**BASE, "state": "x" * (3_000_000 // SLOWNESS)}
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            refused = [pool.submit(self.service.decide, large) for _ in range(3)]
            began = time.monotonic()
            self.assertEqual(self.service.request("GET", "/healthz").status, 200)
            self.assertLess(time.monotonic() - began, SOON)
            for reply in refused:
                self.assertEqual(reply.result().status, 422)
        self.assertEqual(self.service.decide({**BASE, "state": "word " * (5000 // SLOWNESS)}).status, 200)

    def test_equal_requests_are_computed_once(self) -> None:
        """Each gets the answer in the words of its own request."""
        first = self.service.decide({**LONG, "state": LONG["state"] + "?"})
        before = self.tokens_computed()
        bodies = []
        for i in range(6):
            questions = dict(BASE["questions"])
            criteria = dict(sorted(questions["team"]["criteria"].items(), reverse=i % 2 == 0))
            questions["team"] = {"type": "choice", "criteria": criteria}
            bodies.append({**LONG, "model": f"m{i}", "state": LONG["state"] + "?!", "questions": questions})
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            replies = [reply.json() for reply in pool.map(self.service.decide, bodies)]
        for body, reply in zip(bodies, replies):
            self.assertEqual(reply["model"], body["model"])
            probabilities = reply["answers"]["team"]["probabilities"]
            self.assertEqual(list(probabilities), list(body["questions"]["team"]["criteria"]))
            self.assertEqual(dict(sorted(probabilities.items())),
                             dict(sorted(replies[0]["answers"]["team"]["probabilities"].items())))
        tokens = replies[0]["usage"]["input_tokens"]
        self.assertLess(self.tokens_computed() - before, 3 * tokens)
        self.assertEqual(first.status, 200)

    def tokens_computed(self) -> float:
        return self.service.metric("clef_computed_tokens_total")

    def test_switches_of_the_answer(self) -> None:
        with Service("--round", "none", "--confidence", "typesafe", fake=False) as service:
            reply = service.decide(BASE)
            expected = asked([BASE], "--round", "none", "--confidence", "typesafe")[0]
            self.assertEqual(without_latency(reply.json()), expected)


class Queue(unittest.TestCase):
    def test_a_full_queue(self) -> None:
        with Service("--max-queue", "3", *SLOW, fake=False) as service:
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                work = [pool.submit(service.decide, {**LONG, "state": LONG["state"] + str(i)}) for i in range(3)]
                self.assertTrue(service.metric_becomes("clef_in_flight", 3))
                reply = service.decide(BASE)
                self.assertEqual(reply.status, 503)
                self.assertEqual((reply.headers["retry-after"], reply.headers["retry-after-ms"]), ("1", "1000"))
                self.assertIn("3 requests", reply.detail)
                self.assertRegex(reply.headers["x-typesafe-request-id"], "^[0-9a-f]{32}$")
                self.assertEqual([item.result().status for item in work], [200] * 3)
            self.assertEqual(service.decide(BASE).status, 200)

    def test_waiting_too_long(self) -> None:
        """Only so many records share steps; the others wait, and may wait too long."""
        with Service("--queue-timeout", "1", *SLOW, fake=False) as service:
            bodies = [{**BASE, "state": f"{i} the order was delayed " * (100 // SLOWNESS)} for i in range(80)]
            with concurrent.futures.ThreadPoolExecutor(80) as pool:
                statuses = sorted(reply.status for reply in pool.map(service.decide, bodies))
            self.assertEqual(set(statuses), {200, 503})


class MadeAnswers(ServiceCase):
    def test_equal_requests_get_equal_answers(self) -> None:
        first, second = (without_latency(self.service.decide(BASE).json()) for _ in range(2))
        self.assertEqual(first, second)
        other = self.service.decide({**BASE, "state": "Something else."}).json()
        self.assertNotEqual(first["answers"], other["answers"])

    def test_many_clients(self) -> None:
        """Nothing is lost and nothing is mixed up."""
        count, rounds = 32, 60 // SLOWNESS + 1
        expected = [without_latency(self.service.decide({**BASE, "state": f"state {i}"}).json()) for i in range(count)]
        faults: list[str] = []

        def run(i: int) -> None:
            connection = self.service.client()
            for _ in range(rounds):
                reply = ask(connection, "POST", "/v1/systemone", {**BASE, "state": f"state {i}"})
                if reply.status != 200 or without_latency(reply.json()) != expected[i]:
                    faults.append(f"{i}: {reply.status} {reply.body!r}")
            connection.close()
        threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(faults, [])

    @unittest.skipIf(SLOWNESS > 1, "sanitizers keep freed memory")
    def test_memory_reaches_a_plateau(self) -> None:
        """Fault I02: distinct states, one in ten given up."""
        connection = self.service.client()

        def run(begin: int, count: int) -> int:
            for i in range(begin, begin + count):
                if i % 10 == 0:
                    with self.service.connect() as stream:
                        stream.sendall(b"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{")
                    continue
                body = {**BASE, "state": f"{i} " * (1 + i % 200)}
                self.assertEqual(ask(connection, "POST", "/v1/systemone", body).status, 200)
            return self.service.resident_bytes()
        run(0, 1000)
        first = run(1000, 1000)
        last = run(2000, 3000)
        connection.close()
        self.assertLess(last - first, 3 << 20)


if __name__ == "__main__":
    unittest.main(verbosity=1)
