#!/usr/bin/env python3
"""Pictures over HTTP: the answers of the program, alone and among others, one question at a time, and what is refused."""

from __future__ import annotations

import base64
import json
import struct
import subprocess
import threading
import unittest
import zlib
from typing import Any

from service import BASE, FIXTURES, PROGRAM, SLOWNESS, Service, clean_environment, post

NAMES = ("image-01", "image-02", "image-03")


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png(width: int, height: int, grey: int = 128) -> str:
    """A flat grey picture as base64."""
    row = b"\0" + bytes([grey]) * width
    data = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(row * height))
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + data + chunk(b"IEND", b"")).decode()


def request_of(name: str) -> Any:
    return json.loads((FIXTURES / f"clef-tiny/{name}.json").read_text(encoding="utf-8"))


def answers_of(reply: Any) -> Any:
    return json.loads(reply.body)["answers"]


def ask(body: Any) -> Any:
    done = subprocess.run([PROGRAM, "ask", "--output", "json", "--round", "none"], input=json.dumps(body).encode(),
                          capture_output=True, timeout=120, env=clean_environment(), check=True)
    return json.loads(done.stdout)["answers"]


class Media(unittest.TestCase):
    def test_one_text_and_three_pictures_at_once(self) -> None:
        bodies = [BASE, *map(request_of, NAMES)]
        expected = [ask(body) for body in bodies]
        # Nothing kept: every answer is computed, and the four share steps.
        with Service("--round", "none", "--prefix-cache-bytes", "0", "--feature-cache-bytes", "0", fake=False) as service:
            self.assertEqual([answers_of(service.decide(body)) for body in bodies], expected)
            found: dict[int, Any] = {}

            def decide(index: int) -> None:
                found[index] = answers_of(service.decide(bodies[index % 4]))
            threads = [threading.Thread(target=decide, args=(index,)) for index in range(12)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual([found[index] for index in range(12)], expected * 3)
            self.assertTrue(service.metric_becomes('clef_memory_bytes{kind="pictures"}', 0))

    def test_one_question_at_a_time(self) -> None:
        body = request_of(NAMES[0])
        several = {**body, "questions": {**body["questions"], **BASE["questions"]}}
        with Service("--round", "none", fake=False) as service:
            reply = service.request("POST", "/v1/systemone/separate", several)
            self.assertEqual(reply.status, 200, reply.body)
            for name, question in several["questions"].items():
                alone = answers_of(service.decide({**body, "questions": {name: question}}))
                self.assertEqual(answers_of(reply)[name], alone[name])
            choice = {"request": several, "question": "team", "n_perm": 3, "seed": 1}
            reply = service.request("POST", "/v1/systemone/permute", choice)
            self.assertEqual((reply.status, len(reply.json()["runs"])), (200, 3), reply.body)
            # One picture, seen once, whatever was asked about it.
            self.assertTrue(service.metric_becomes("clef_feature_cache_misses_total", 1))

    def test_d06_pictures_are_never_cut(self) -> None:
        long_state = "The order was delayed and the customer waits. " * 1210
        picture = png(1280, 720)
        with Service() as service:
            reply = service.decide({**BASE, "images": [png(4096, 4096)]})
            self.assertEqual((reply.status, reply.detail[0]["type"]), (422, "over_limit"))
            self.assertRegex(reply.detail[0]["msg"], "^prompt and media are 16,4[0-9][0-9] tokens, over the 16,384-token limit: send fewer or smaller pictures$")
            text = service.decide({**BASE, "state": long_state})
            self.assertEqual(text.status, 200, text.body)
            reply = service.decide({**BASE, "state": long_state, "images": [picture]})
            self.assertEqual((reply.status, reply.detail[0]["type"]), (422, "over_limit"))
        with Service("--truncate") as service:
            reply = service.decide({**BASE, "state": long_state, "images": [picture]})
            self.assertEqual(reply.status, 200, reply.body)
            body = reply.json()
            self.assertTrue(body["truncated"])
            self.assertEqual(body["usage"]["input_tokens"], 16384)
            self.assertLess(body["usage"]["state_tokens_used"], body["usage"]["state_tokens"])
            self.assertEqual(service.decide({**BASE, "images": [png(4096, 4096)]}).status, 422)

    def test_e06_a_state_goes_on_behind_a_picture(self) -> None:
        body = request_of(NAMES[0])
        first = "The parcel came back to the shop. " * 12
        states = (first, first + "They ask for their money. ", first + "Nobody knows where it was. ")
        with Service("--round", "none", "--prefix-cache-bytes", "0", fake=False) as service:
            expected = [answers_of(service.decide({**body, "state": state})) for state in states]
        with Service("--round", "none", fake=False) as service:
            replies = [service.decide({**body, "state": state}) for state in states]
            self.assertEqual([answers_of(reply) for reply in replies], expected)
            for reply in replies[1:]:
                self.assertGreater(int(reply.headers["x-clef-cached-tokens"]), 100)

    def test_i02_memory_stays_with_ever_new_pictures(self) -> None:
        count = max(60, 240 // SLOWNESS)
        sizes = []
        with Service("--prefix-cache-bytes", "8000000", "--feature-cache-bytes", "2000000", fake=False) as service:
            for number in range(count):
                body = {**BASE, "state": f"Number {number}.", "images": [png(96, 64 + number % 30, number % 251)]}
                if number % 10 == 9:
                    with service.connect() as stream:
                        stream.sendall(post(json.dumps(body).encode()))
                else:
                    self.assertEqual(service.decide(body).status, 200)
                if number % (count // 3) == count // 3 - 1:
                    sizes.append(service.resident_bytes())
            self.assertLessEqual(service.metric("clef_feature_cache_bytes"), 2000000)
            self.assertGreater(service.metric("clef_feature_cache_evictions_total"), 0)
            self.assertTrue(service.metric_becomes('clef_memory_bytes{kind="pictures"}', 0))
        if SLOWNESS == 1:  # sanitizers keep freed memory
            self.assertLess(sizes[2] - sizes[1], 12 << 20, sizes)

    def test_refusals(self) -> None:
        huge = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)) + chunk(b"IDAT", b"")
        with Service() as service:
            for images, status, message in (
                    (["x" * 30000], 422, "images[0]: not a decodable image"),
                    (["!"], 422, "images[0]: invalid base64 image data"),
                    (["http://127.0.0.1/a.png"], 422, "images[0]: remote image URLs are disabled on this server"),
                    ([base64.b64encode(huge).decode()], 422, "images[0]: image is 60000x60000, over the 64-megapixel limit"),
                    ([base64.b64encode(bytes((20 << 20) + 1)).decode()], 422, "images[0]: image over the 20 MiB limit"),
                    ([5], 422, "images[0]: expected a base64 string"), ("x", 422, "images must be a list")):
                reply = service.decide({**BASE, "images": images})
                self.assertEqual(reply.status, status)
                self.assertIn(message, reply.detail[0]["msg"])


if __name__ == "__main__":
    unittest.main()
