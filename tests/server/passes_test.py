#!/usr/bin/env python3
"""Routes that take several passes: options in several orders, and questions asked one by one."""

from __future__ import annotations

import concurrent.futures
import json
import random
import time
import unittest
from typing import Any

from service import BASE, LONG, SLOW, Service, ServiceCase, post, read_reply

TEAM = {"z": "Everything else", "technical": "Faults", "Billing": {"about": "Payments"}, "é": None, "10": "ten", "2": "two"}
CHOICE = {**BASE, "questions": {**BASE["questions"], "team": {"type": "choice", "criteria": TEAM}}}


def alone(body: dict[str, Any], question: str) -> dict[str, Any]:
    return {**body, "questions": {question: body["questions"][question]}}


class Permute(ServiceCase):
    fake = False

    def permute(self, request: Any = None, question: Any = "team", **more: Any) -> Any:
        body = {"request": CHOICE if request is None else request, "question": question, **more}
        return self.service.request("POST", "/v1/systemone/permute", body)

    def runs(self, **more: Any) -> list[dict[str, Any]]:
        reply = self.permute(**more)
        self.assertEqual(reply.status, 200, reply.body)
        return reply.json()["runs"]

    def test_the_first_run_is_the_usual_answer(self) -> None:
        for joint, request in ((False, alone(CHOICE, "team")), (True, CHOICE)):
            run = self.runs(n_perm=1, joint=joint)[0]
            answer = self.service.decide(request).json()["answers"]["team"]
            self.assertEqual(run["order"], sorted(TEAM, key=str.encode))
            self.assertEqual(json.dumps(run["probabilities"]), json.dumps(answer["probabilities"]))
            self.assertEqual(run["choice"], answer["choice"])
            self.assertEqual(list(run), ["order", "probabilities", "choice", "latency_ms"])

    def test_orders_are_those_of_python(self) -> None:
        for seed in (0, 1, -1, 42, 12345678901, 10 ** 300):
            generator = random.Random(seed)
            expected = [sorted(TEAM, key=str.encode)]
            for _ in range(5):
                order = list(expected[0])
                generator.shuffle(order)
                expected.append(order)
            found = self.runs(**({"seed": seed} if seed else {}))
            self.assertEqual([run["order"] for run in found], expected)

    def test_equal_orders_have_equal_numbers_and_others_others(self) -> None:
        request = {**BASE, "questions": {"q": {"type": "choice", "criteria": {"b": "Faults", "a": "Payments"}}}}
        reply = self.permute(request, "q", n_perm=12).json()
        found: dict[str, set[str]] = {}
        for run in reply["runs"]:
            self.assertEqual(list(run["probabilities"]), ["b", "a"])
            found.setdefault(",".join(run["order"]), set()).add(json.dumps(run["probabilities"]))
        self.assertEqual({order: len(numbers) for order, numbers in found.items()}, {"a,b": 1, "b,a": 1})
        self.assertNotEqual(found["a,b"], found["b,a"])
        for option, spread in reply["spread"].items():
            values = [run["probabilities"][option] for run in reply["runs"]]
            self.assertAlmostEqual(spread, max(values) - min(values), places=9)
        self.assertEqual(list(reply["spread"]), ["b", "a"])
        self.assertIs(reply["argmax_stable"], len({run["choice"] for run in reply["runs"]}) == 1)

    def test_what_is_refused(self) -> None:
        missing = "question must be an existing choice question"
        cases: tuple[tuple[dict[str, Any], str, list[Any]], ...] = (
            ({"question": "nowhere"}, missing, ["question"]), ({"question": "outage"}, missing, ["question"]),
            ({"question": 5}, missing, ["question"]), ({"request": []}, "request must be a decision request", ["request"]),
            ({"request": {}}, "model and state are required", ["request", "model"]),
            ({"request": {**BASE, "questions": {}}}, "at least one question is required", ["request", "questions"]),
            ({"n_perm": 0}, "n_perm must be an integer from 1 to 64", ["n_perm"]),
            ({"n_perm": 65}, "n_perm must be an integer from 1 to 64", ["n_perm"]),
            ({"n_perm": "6"}, "n_perm must be an integer from 1 to 64", ["n_perm"]),
            ({"seed": 1.5}, "seed must be an integer", ["seed"]), ({"seed": "1"}, "seed must be an integer", ["seed"]),
            ({"joint": 1}, "joint must be true or false", ["joint"]),
        )
        for change, message, place in cases:
            reply = self.service.request("POST", "/v1/systemone/permute", {"request": CHOICE, "question": "team", **change})
            self.assertEqual(reply.status, 422, (change, reply.body))
            self.assertEqual(reply.detail[0]["msg"], message)
            self.assertEqual(reply.detail[0]["loc"], ["body", *place])
        for body in (b"[]", b"5", b"", b"{", b"\xff"):
            self.assertIn(self.service.request("POST", "/v1/systemone/permute", body).status, (400, 422))

    def test_numbers_keep_their_spelling(self) -> None:
        body = b'{"model":"m","state":[1e999,-0,1.50,12345678901234567890],"questions":{"q":{"type":"choice","criteria":{"a":1e5,"b":-0.0}}}}'
        reply = self.service.request("POST", "/v1/systemone/permute", b'{"question":"q","n_perm":1,"request":' + body + b"}")
        answer = self.service.decide(body).json()["answers"]["q"]
        self.assertEqual(reply.json()["runs"][0]["probabilities"], answer["probabilities"])


class Separate(ServiceCase):
    fake = False

    def test_answers_are_those_of_single_questions(self) -> None:
        body = {**CHOICE, "questions": {**CHOICE["questions"], "": {"type": "noul", "instructions": "Is it?"}}}
        reply = self.service.request("POST", "/v1/systemone/separate", body)
        self.assertEqual(reply.status, 200, reply.body)
        singles = {name: self.service.decide(alone(body, name)).json() for name in body["questions"]}
        expected = {name: single["answers"][name] for name, single in singles.items()}
        self.assertEqual(json.dumps(reply.json()["answers"]), json.dumps(expected))
        self.assertEqual(reply.json()["model"], body["model"])
        self.assertEqual(reply.json()["usage"]["input_tokens"],
                         sum(single["usage"]["input_tokens"] for single in singles.values()))
        self.assertEqual(list(reply.json()), list(singles["team"]))
        self.assertNotEqual(reply.json()["answers"], self.service.decide(body).json()["answers"])

    def test_refusals_are_those_of_systemone(self) -> None:
        for body in ({}, [], {**BASE, "questions": []}, {**BASE, "questions": {"a": {"type": "noul"}, "b": {"type": "x"}}},
                     {**BASE, "questions": {str(i): {"type": "noul"} for i in range(65)}}, {"messages": []}):
            reply = self.service.request("POST", "/v1/systemone/separate", body)
            self.assertEqual((reply.status, reply.json()), (422, self.service.decide(body).json()))
        long = self.service.request("POST", "/v1/systemone/separate", {**BASE, "state": "word " * 40000})
        self.assertEqual((long.status, long.detail[0]["type"]), (422, "over_limit"))

    def test_limits_are_checked_before_any_work(self) -> None:
        """The last question alone is too long."""
        questions = {"short": {"type": "noul"}, "long": {"type": "noul", "instructions": "word " * 40000}}
        with Service("--warmup", "off", fake=False) as service:
            reply = service.request("POST", "/v1/systemone/separate", {**BASE, "questions": questions})
            self.assertEqual((reply.status, reply.detail[0]["type"]), (422, "over_limit"))
            self.assertEqual(service.metric("clef_computed_tokens_total"), 0)

    def test_many_at_once(self) -> None:
        bodies = [{**CHOICE, "state": f"state {i}"} for i in range(12)]
        expected = [self.service.request("POST", "/v1/systemone/separate", body).json()["answers"] for body in bodies]
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            found = list(pool.map(lambda body: self.service.request("POST", "/v1/systemone/separate", body).json()["answers"],
                                  bodies))
        self.assertEqual(found, expected)

    def test_a_client_that_leaves(self) -> None:
        body = {"request": {**LONG, "model": "gone"}, "question": "team", "n_perm": 64}
        with Service(*SLOW, fake=False) as service:
            with service.connect() as stream:
                stream.sendall(post(json.dumps(body).encode(), "/v1/systemone/permute"))
                self.assertTrue(service.metric_becomes("clef_in_flight", 1))
            self.assertTrue(service.metric_becomes("clef_cancelled_total", 1))
            self.assertTrue(service.metric_becomes("clef_in_flight", 0))

    def test_stopping_between_passes(self) -> None:
        with Service("--drain-timeout", "1", *SLOW, fake=False) as service:
            body = {"request": LONG, "question": "team", "n_perm": 64}
            with service.connect() as stream:
                stream.sendall(post(json.dumps(body).encode(), "/v1/systemone/permute"))
                self.assertTrue(service.metric_becomes("clef_in_flight", 1))
                self.assertEqual(service.stop(), 0)
                self.assertEqual(read_reply(stream)[0].status, 503)

    def test_truncation_is_told(self) -> None:
        with Service("--truncate", "--max-tokens", "600") as service:
            for state, is_cut in (("short", False), ("word " * 2000, True)):
                reply = service.request("POST", "/v1/systemone/separate", {**CHOICE, "state": state}).json()
                permuted = service.request("POST", "/v1/systemone/permute",
                                           {"request": {**CHOICE, "state": state}, "question": "team"}).json()
                self.assertIs(reply["truncated"], is_cut)
                self.assertIs(permuted["truncated"], is_cut)
                self.assertEqual(reply["usage"]["state_tokens_used"] < reply["usage"]["state_tokens"], is_cut)


if __name__ == "__main__":
    unittest.main(verbosity=1)
