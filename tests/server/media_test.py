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

from service import BASE, FIXTURES, PROGRAM, Service, clean_environment

NAMES = ("image-01", "image-02", "image-03")


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
            self.assertEqual(service.metric('clef_memory_bytes{kind="pictures"}'), 0)

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
            self.assertEqual(service.metric("clef_feature_cache_misses_total"), 1)

    def test_refusals(self) -> None:
        def chunk(name: bytes, content: bytes) -> bytes:
            return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
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
