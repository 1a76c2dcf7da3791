#!/usr/bin/env python3
"""What is checked, in which order, and how a refusal looks: each check fails alone and with all later ones broken."""

from __future__ import annotations

import copy
import json
import re
import tempfile
import unittest
from pathlib import Path
from typing import Any

from service import BASE, BODY, PROGRAM, Service, ServiceCase, clean_environment, post, read_reply, statuses
import subprocess

CORS = "x-typesafe-request-id, server-timing, x-clef-model"


def question(**of: Any) -> dict[str, Any]:
    return {**BASE, "questions": {"q": of}}


def first_detail(reply: Any) -> dict[str, Any]:
    details = reply.detail
    assert len(details) == 1, details
    return details[0]


class Order(ServiceCase):
    """One server with a key; requests break everything from one check on."""
    arguments = ("--api-key", "right", "--max-body-bytes", "2000000")

    def send(self, head: str, body: bytes = b"") -> list[int]:
        return statuses(self.service.raw(head.replace("\n", "\r\n").encode() + b"\r\n" + body))

    def test_the_first_failure_answers(self) -> None:
        wrong = "Content-Length: 99999999\nExpect: x\nConnection: close\n"
        cases = (
            ("GET /nowhere HTTP/1.1\nHost: x\nContent-Length: 1, 2\n" + wrong, 400),
            ("OPTIONS /nowhere HTTP/1.1\nHost: x\nConnection: close\n", 204),
            ("PUT /v1/nowhere HTTP/1.1\nHost: x\n" + wrong, 401),
            ("PUT /v1/nowhere HTTP/1.1\nHost: x\nAuthorization: Bearer right\n" + wrong, 404),
            ("PUT /v1/systemone HTTP/1.1\nHost: x\nAuthorization: Bearer right\n" + wrong, 405),
            ("POST /v1/systemone HTTP/1.1\nHost: x\nAuthorization: Bearer right\n" + wrong, 417),
            ("POST /v1/systemone HTTP/1.1\nHost: x\nAuthorization: Bearer right\n" + wrong.replace("x\nC", "100-continue\nC"),
             413),
            ("POST /v1/systemone HTTP/1.1\nHost: x\nAuthorization: Bearer right\nConnection: close\nContent-Length: 2\n",
             422),
        )
        for head, status in cases:
            with self.subTest(status=status):
                self.assertEqual(self.send(head, b"[]"), [status])


class Bodies(ServiceCase):
    def refused(self, body: Any, status: int = 422) -> Any:
        reply = self.service.decide(body)
        self.assertEqual(reply.status, status, reply.body)
        self.assertEqual(reply.headers["content-type"], "application/json")
        return reply

    def test_not_utf8(self) -> None:
        """Fault B07."""
        for data in (b"\xc0\x80", b"\xf5\x80\x80\x80", b"\xed\xa0\x80", b"\xe2\x82", b"\xff{"):
            body = b'{"model":"m","state":"' + data + b'","questions":5}'
            self.assertEqual(self.refused(body, 400).json(), {"detail": "There was an error parsing the body"})

    def test_not_json(self) -> None:
        for data in (b"", b" ", b"{", b"nul", b'{"a":NaN}', b'{"a":Infinity}', b'{"a":"\\ud83d"}', b'{"a":"\\udc00\\ud83d"}',
                     b"[" * 300, b"[" * 10 ** 6, b'{"x":' + b"[" * 10 ** 4, b'{"a":' + b"1" * 4301 + b"}", b"{} {}",
                     b"'a'", b'{"a":1,}'):
            detail = first_detail(self.refused(data))
            self.assertEqual((detail["type"], detail["loc"][0]), ("json_invalid", "body"), data[:40])
            self.assertIsInstance(detail["loc"][1], int)
        self.assertEqual(self.service.decide(BASE).status, 200)

    def test_deep_nesting_anywhere(self) -> None:
        """Fault A11."""
        for depth in (300, 10 ** 4, 10 ** 5):
            for field in ("x", "state"):
                body = json.dumps(BASE)[:-1].encode() + b',"%s":%s%s}' % (field.encode(), b"[" * depth, b"]" * depth)
                self.assertIn("256", first_detail(self.refused(body))["msg"])
        self.assertEqual(self.service.decide(BASE).status, 200)

    def test_a_mark_of_the_byte_order_and_any_content_type(self) -> None:
        for kind in ("application/json", "application/x-www-form-urlencoded", "text/plain", ""):
            self.assertEqual(self.service.decide(b"\xef\xbb\xbf" + BODY, {"content-type": kind}).status, 200)

    def test_texts_of_the_checks_in_order(self) -> None:
        bad = {"type": "x", "criteria": 5, "instructions": ""}
        late: dict[str, Any] = {"": bad}
        steps: list[tuple[Any, str, list[Any]]] = [
            ([], "", ["body"]),
            ({"questions": late}, "model and state are required", ["body"]),
            ({"model": 5, "state": "s", "questions": late}, "model and state are required", ["body"]),
            ({"model": "m", "questions": late}, "model and state are required", ["body"]),
            ({"model": "m", "state": None, "questions": []}, "at least one question is required", ["body", "questions"]),
            ({"model": "m", "state": None, "questions": {}}, "at least one question is required", ["body", "questions"]),
            (question(type="x", criteria=5), "q: type must be noul, choice, or score", ["body", "questions", "q", "type"]),
            ({**BASE, "questions": {"q": 5}}, "q: type must be noul, choice, or score", ["body", "questions", "q"]),
            *[(question(type=kind, criteria=empty), "q: criteria must not be empty", ["body", "questions", "q", "criteria"])
              for kind in ("choice", "score") for empty in (None, False, 0, "", [], {})],
            (question(type="score"), "q: criteria must not be empty", ["body", "questions", "q", "criteria"]),
            (question(type="choice", criteria=["a"]), "q: choice criteria must be a mapping of option id to description",
             ["body", "questions", "q", "criteria"]),
            (question(type="score", criteria={"a": "b"}), "q: score criteria must be a list of ordered option descriptions",
             ["body", "questions", "q", "criteria"]),
            (question(type="noul", criteria=["a"]),
             "q: noul criteria must be a mapping with optional true and false descriptions",
             ["body", "questions", "q", "criteria"]),
            ({**BASE, "questions": {"": {"type": "noul", "instructions": ""}}},
             ": instructions must not be empty when the question id is empty", ["body", "questions", ""]),
        ]
        for body, text, place in steps:
            with self.subTest(text, body=body):
                detail = first_detail(self.refused(body))
                self.assertEqual(detail["type"], "value_error")
                if text:
                    self.assertIn(text, detail["msg"])
                self.assertEqual(detail["loc"][:len(place)], place)

    def test_the_first_bad_question_answers(self) -> None:
        body = copy.deepcopy(BASE)
        body["questions"] = {"good": BASE["questions"]["outage"], "second": {"type": "choice", "criteria": {}},
                             "third": {"type": "nonsense"}}
        self.assertIn("second: criteria", first_detail(self.refused(body))["msg"])

    def test_counts_come_before_tokens(self) -> None:
        """Fault A09; the state is far too long in all of them."""
        long = "word " * 40000
        for kind, limit, criteria in (("choice", 255, lambda n: {f"o{i}": None for i in range(n)}),
                                      ("score", 255, lambda n: ["level"] * n)):
            for count, fits in ((1, True), (2, True), (limit, True), (limit + 1, False)):
                body = question(type=kind, criteria=criteria(count))
                if fits:
                    self.assertEqual(self.service.decide(body).status, 200, (kind, count))
                else:
                    detail = first_detail(self.refused({**body, "state": long}))
                    self.assertEqual(detail["type"], "over_limit")
                    self.assertIn(str(limit), detail["msg"])
                    self.assertIn(str(count), detail["msg"])
        for count, status in ((64, 200), (65, 422)):
            body = {**BASE, "questions": {f"q{i}": {"type": "noul"} for i in range(count)}}
            self.assertEqual(self.service.decide(body).status, status)
        only = self.service.decide(question(type="choice", criteria={"only": None})).json()
        self.assertEqual(only["answers"]["q"]["probabilities"], {"only": 1.0})

    def test_token_limit(self) -> None:
        """Fault D02."""
        detail = first_detail(self.refused({**BASE, "state": "word " * 20000}))
        self.assertEqual(detail["type"], "over_limit")
        self.assertIn("16,384", detail["msg"])

    def test_odd_questions_are_fine(self) -> None:
        """Faults A05, A06, A07."""
        name = "a b\n" * 250
        for body in (question(type="noul", criteria={"true": None, "other": "x"}), question(type="noul", instructions=0),
                     question(type="noul", instructions={"lang": "de"}), question(type="noul", instructions=[]),
                     {**BASE, "questions": {"": {"type": "noul", "instructions": "x"}}},
                     {**BASE, "questions": {name: {"type": "noul"}}}, {**BASE, "unknown": {"a": [1]}},
                     {**BASE, "model": ""}):
            self.assertEqual(self.service.decide(body).status, 200, body)
        twice = (b'{"model":"m","state":"s","questions":{"q":{"type":"noul"},"r":{"type":"noul"},'
                 b'"q":{"type":"choice","criteria":{"b":1,"a":2,"b":3}}}}')
        answers = self.service.decide(twice).json()["answers"]
        self.assertEqual(list(answers), ["q", "r"])
        self.assertEqual(list(answers["q"]["probabilities"]), ["b", "a"])

    def test_a_chat_body_is_shown_the_way(self) -> None:
        """Fault A13."""
        body = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
        self.assertIn("/v1/chat/completions", first_detail(self.refused(body))["msg"])

    def test_texts_hold_no_path(self) -> None:
        for body in (b"[", {"model": "m"}, {**BASE, "state": "word " * 20000}):
            self.assertNotIn(b"/", self.service.decide(body).body.replace(b"/v1/", b""))


class Limits(ServiceCase):
    arguments = ("--max-body-bytes", "5000")

    def test_body_bytes(self) -> None:
        """Fault J09."""
        padding = 5000 - len(BODY)
        self.assertEqual(self.service.decide(BODY + b" " * padding).status, 200)
        reply = self.service.decide(BODY + b" " * (padding + 1))
        self.assertEqual(reply.status, 413)
        self.assertIn("5000", reply.detail)
        chunked = b"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        for size, status in ((padding, 200), (padding + 1, 413)):
            body = BODY + b" " * size
            data = chunked + b"".join(b"%x\r\n%s\r\n" % (len(part), part)
                                      for part in (body[i:i + 700] for i in range(0, len(body), 700))) + b"0\r\n\r\n"
            with self.service.connect() as stream:
                stream.sendall(data)
                self.assertEqual(read_reply(stream)[0].status, status)


class Routes(ServiceCase):
    def test_aliases(self) -> None:
        replies = [self.service.request("POST", path, BASE) for path in ("/v1/systemone", "/systemone", "/v1/v1/systemone")]
        self.assertEqual([reply.status for reply in replies], [200] * 3)
        self.assertEqual(len({json.dumps(reply.json()["answers"]) for reply in replies}), 1)
        for path in ("/health", "/v1/health", "/healthz/ready", "/ready"):
            reply = self.service.request("GET", path).json()
            self.assertEqual((reply["status"], type(reply["workers"]), type(reply["queued"])), ("ok", int, int))
        self.assertEqual(self.service.request("GET", "/healthz").json(), {"status": "ok"})

    def test_methods_and_paths(self) -> None:
        for method, path, allowed in (("GET", "/v1/systemone", "POST, OPTIONS"), ("HEAD", "/systemone", "POST, OPTIONS"),
                                      ("POST", "/healthz", "GET, HEAD, OPTIONS"), ("DELETE", "/metrics", "GET, HEAD, OPTIONS")):
            reply = self.service.request(method, path)
            self.assertEqual((reply.status, reply.headers["allow"]), (405, allowed))
        for path in ("/nowhere", "/v1", "/v1/systemone/", "/V1/systemone", "//v1/systemone", "/v1/systemone%20"):
            reply = self.service.request("POST", path, BASE)
            self.assertEqual(reply.status, 404)
            self.assertIn("/v1/systemone", reply.detail)

    def test_headers_of_every_reply(self) -> None:
        for method, path, body in (("POST", "/v1/systemone", BASE), ("POST", "/v1/systemone", []), ("GET", "/nowhere", None),
                                   ("GET", "/health", None), ("PUT", "/health", None)):
            reply = self.service.request(method, path, body)
            self.assertRegex(reply.headers["x-typesafe-request-id"], r"^[0-9a-f]{32}$")
            self.assertRegex(reply.headers["server-timing"], r"^app;dur=\d+\.\d$")
            self.assertRegex(reply.headers["x-clef-model"], r"^clef-tiny@made-answers$")
            self.assertEqual(reply.headers["access-control-allow-origin"], "*")
            self.assertEqual(reply.headers["access-control-expose-headers"], CORS)
            self.assertEqual(reply.headers["content-type"], "application/json")
        self.assertEqual(self.service.decide(BASE).headers["x-clef-cached-tokens"], "0")

    def test_request_ids(self) -> None:
        for sent, comes_back in (("abc-123", True), ("x" * 128, True), ("x" * 129, False), ("a b", False), ("é", False),
                                 ("", False)):
            reply = self.service.request("GET", "/health", headers={"X-TypeSafe-Request-Id": sent.encode()})
            self.assertEqual(reply.headers["x-typesafe-request-id"] == sent, comes_back, sent)
            if not comes_back:
                self.assertRegex(reply.headers["x-typesafe-request-id"], r"^[0-9a-f]{32}$")

    def test_preflight(self) -> None:
        headers = {"Origin": "https://x", "Access-Control-Request-Method": "POST",
                   "Access-Control-Request-Headers": "authorization, x-y"}
        for path in ("/v1/systemone", "/nowhere"):
            reply = self.service.request("OPTIONS", path, headers=headers)
            self.assertEqual((reply.status, reply.body), (204, b""))
            self.assertNotIn("content-length", reply.headers)
            self.assertEqual(reply.headers["access-control-allow-origin"], "*")
            self.assertEqual(reply.headers["access-control-allow-methods"], "POST")
            self.assertEqual(reply.headers["access-control-allow-headers"], "authorization, x-y")

    def test_metrics_are_prometheus_text(self) -> None:
        self.service.decide(BASE)
        self.service.decide([])
        reply = self.service.request("GET", "/metrics")
        self.assertTrue(reply.headers["content-type"].startswith("text/plain; version=0.0.4"))
        text = reply.body.decode()
        typed = set(re.findall(r"^# TYPE (\w+) (?:counter|gauge|histogram)$", text, re.MULTILINE))
        for line in text.splitlines():
            if not line.startswith("#"):
                name = re.fullmatch(r'(\w+)(?:\{(?:\w+="[^"\\]*",?)*\})? [0-9.e+-]+', line).group(1)
                self.assertIn(re.sub(r"_(bucket|sum|count)$", "", name) if name not in typed else name, typed)
        for name in ("clef_requests_total", "clef_request_seconds", "clef_model_seconds", "clef_queue_depth", "clef_in_flight",
                     "clef_queue_wait_seconds", "clef_input_tokens_total", "clef_cached_tokens_total", "clef_refused_total",
                     "clef_generated_tokens_total", "clef_prefix_cache_entries", "clef_memory_bytes", "clef_cancelled_total",
                     "clef_build_info", "clef_feature_cache_hits_total"):
            self.assertIn(name, typed)
        self.assertIn('clef_requests_total{route="systemone",status="422"} ', text)
        buckets = [int(value) for value in re.findall(r'clef_request_seconds_bucket\{route="systemone",[^}]*\} (\d+)', text)]
        self.assertEqual(buckets, sorted(buckets))
        self.assertEqual(buckets[-1], int(re.search(r'clef_request_seconds_count\{route="systemone"\} (\d+)', text).group(1)))


class Keys(unittest.TestCase):
    def test_without_a_key_any_header_is_ignored(self) -> None:
        with Service() as service:
            self.assertEqual(service.decide(BASE, {"authorization": "Bearer anything"}).status, 200)

    def test_with_keys(self) -> None:
        """Faults A10, J05."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "keys"
            path.write_text("from-file\r\nsecond\n\n", encoding="ascii")
            log = Path(folder) / "log"
            with Service("--api-key", "alpha", "--api-key", "beta", "--api-key-file", path, "--log", log, "--log-requests",
                         CLEF_API_KEY="gamma") as service:
                self.check_keys(service)
            self.assertNotRegex(log.read_text(encoding="utf-8"), "alpha|beta|gamma|from-file|second")

    def check_keys(self, service: Service) -> None:
        for key in ("alpha", "beta", "from-file", "second", "gamma"):
            for headers in ({"Authorization": f"Bearer {key}"}, {"authorization": f"bearer   {key}  "},
                            {"AUTHORIZATION": f"BEARER\t{key}"}, {"X-API-Key": key}):
                self.assertEqual(service.decide(BASE, headers).status, 200, headers)
        bodies = set()
        for headers in ({}, {"Authorization": "Bearer"}, {"Authorization": "Bearer "}, {"Authorization": "Bearer wrong"},
                        {"Authorization": "Bearer alphA"}, {"Authorization": "Bearer xlpha"},
                        {"Authorization": "Bearer alph"}, {"Authorization": "Bearer alphaa"},
                        {"Authorization": "Basic alpha"}, {"Authorization": "Beareralpha"}, {"Authorization": "alpha"},
                        {"X-API-Key": ""}, {"X-API-Key": "alpha beta"}):
            for path in ("/v1/systemone", "/systemone", "/v1/nowhere", "/v1/models", "/metrics"):
                reply = service.request("POST", path, BASE, headers)
                self.assertEqual((reply.status, reply.headers["www-authenticate"]), (401, "Bearer"), (path, headers))
                bodies.add(reply.body)
        self.assertEqual(bodies, {b'{"detail":"missing or invalid API key; send Authorization: Bearer <CLEF_API_KEY>"}'})
        for path in ("/health", "/v1/health", "/healthz", "/ready", "/healthz/ready"):
            self.assertEqual(service.request("GET", path).status, 200)
        preflight = {"Access-Control-Request-Method": "POST"}
        self.assertEqual(service.request("OPTIONS", "/v1/systemone", headers=preflight).status, 204)
        self.assertEqual(service.request("GET", "/nowhere").status, 404)

    def test_open_metrics(self) -> None:
        with Service("--api-key", "k", "--open-metrics") as service:
            self.assertEqual(service.request("GET", "/metrics").status, 200)
            self.assertEqual(service.decide(BASE).status, 401)

    def refused_start(self, *arguments: object, **variables: str) -> str:
        done = subprocess.run([PROGRAM, "serve", "--port", "0", "--fake-engine", *map(str, arguments)], timeout=60,
                              capture_output=True, env=clean_environment(**variables))
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr.decode()

    def test_keys_that_cannot_be(self) -> None:
        with tempfile.NamedTemporaryFile() as empty:
            self.assertIn("empty", self.refused_start("--api-key", ""))
            self.assertIn("empty", self.refused_start(CLEF_API_KEY=""))
            self.assertIn("visible ASCII", self.refused_start("--api-key", "a b"))
            empty.write(b"\n\n")
            empty.flush()
            self.assertIn("no key", self.refused_start("--api-key-file", empty.name))


class Models(unittest.TestCase):
    def test_names(self) -> None:
        with Service() as service:
            for name in ("clef", "clef-flash", "Cloudflare/clef", "@cf/cloudflare/clef", "jev-latest", "kev-latest", "", "é\n"):
                self.assertEqual(service.decide({**BASE, "model": name}).json()["model"], name)

    def test_strict_names(self) -> None:
        with Service("--strict-model", "--model-names", "one,two") as service:
            for name, status in (("one", 200), ("two", 200), ("clef-tiny", 200), ("jev-latest", 200), ("clef", 404), ("", 404)):
                reply = service.decide({**BASE, "model": name})
                self.assertEqual(reply.status, status, name)
                if status == 404:
                    self.assertEqual(reply.detail, f'unknown model "{name}"; served: one, two')


if __name__ == "__main__":
    unittest.main(verbosity=1)
