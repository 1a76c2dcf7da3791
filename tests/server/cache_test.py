#!/usr/bin/env python3
"""Kept states over HTTP: equal answers cold and warm, counters, a restart, damage, and switching it off."""

from __future__ import annotations

import json
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

from service import BASE, FIXTURES, PROGRAM, TINY, Service, clean_environment

STATE = "The order was delayed and the customer waits. " * 40
REQUEST: dict[str, Any] = {**BASE, "state": STATE}


def answers_of(reply: Any) -> Any:
    return json.loads(reply.body)["answers"]


def cached(reply: Any) -> int:
    return int(reply.headers["x-clef-cached-tokens"])


def make_wordless_model(folder: Path) -> Path:
    """clef-tiny with a token for each byte of text: its fixed text has more than the 64 tokens of a kept state, while it has
    35 or 36 with the vocabularies of real models."""
    for path in TINY.iterdir():
        (folder / path.name).symlink_to(path)
    tokenizer = json.loads((TINY / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer["model"]["merges"] = []
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    return folder


class Cache(unittest.TestCase):
    def test_the_fixed_text_is_there_from_the_start(self) -> None:
        """Whether the warm-up request fits into the limits, or the fixed text is all that is computed."""
        with tempfile.TemporaryDirectory() as folder:
            model = make_wordless_model(Path(folder))
            with Service("--model", model, fake=False) as service:
                self.assertGreaterEqual(service.metric("clef_prefix_cache_entries"), 1)
                reply = service.decide({"model": "", "state": "x", "questions": {"q": {"type": "noul"}}})
                self.assertEqual(cached(reply), 128)
            with Service("--model", model, "--max-schema-tokens", "300", fake=False) as service:
                self.assertTrue(service.metric_becomes("clef_prefix_cache_entries", 1))
            with Service("--model", model, "--warmup", "off", fake=False) as service:
                self.assertEqual(service.metric("clef_prefix_cache_entries"), 0)

    def test_the_fixed_text_of_a_real_vocabulary_is_too_short_to_keep(self) -> None:
        with Service(fake=False) as service:
            self.assertEqual(cached(service.decide({**BASE, "state": "Unlike what the server asks itself."})), 0)

    def test_the_same_state_again(self) -> None:
        with Service("--round", "none", fake=False) as service:
            cold, warm = service.decide(REQUEST), service.decide(REQUEST)
            grown = service.decide({**REQUEST, "state": STATE + "They ask for their money back."})
            other = service.decide({**REQUEST, "state": "Something else."})
            self.assertEqual(cached(cold), 0)
            self.assertGreaterEqual(cached(warm), 384)
            self.assertEqual(cached(warm) % 64, 0)
            self.assertGreater(cached(grown), 0)
            self.assertEqual(answers_of(cold), answers_of(warm))
            self.assertEqual(service.metric("clef_cached_tokens_total"), sum(map(cached, (warm, grown, other))))
            self.assertGreaterEqual(service.metric("clef_prefix_cache_hits_total"), 2)
            self.assertGreater(service.metric("clef_prefix_cache_bytes"), 0)
        with Service("--round", "none", "--prefix-cache-bytes", "0", fake=False) as service:
            self.assertEqual(answers_of(service.decide({**REQUEST, "state": STATE + "They ask for their money back."})),
                             answers_of(grown))

    def test_switched_off(self) -> None:
        for options, variables in ((("--prefix-cache-entries", "0"), {}), ((), {"CLEF_PREFIX_CACHE": "0"}),
                                   (("--prefix-cache-bytes", "0"), {})):
            with Service(*options, fake=False, **variables) as service:
                self.assertEqual([cached(service.decide(REQUEST)) for _ in range(2)], [0, 0])
                self.assertEqual(service.metric("clef_prefix_cache_entries"), 0)

    def test_keys_keep_apart_what_they_asked(self) -> None:
        """Fault E09: with --cache-per-key alone, also when equal requests are there at the same time, and after a restart."""
        one, two = {"X-API-Key": "one"}, {"Authorization": "bearer two"}
        keys = ("--api-key", "one", "--api-key", "two")
        with Service(*keys, fake=False) as service:
            self.assertEqual([cached(service.decide(REQUEST, key)) > 0 for key in (one, two, one)], [False, True, True])
        with tempfile.TemporaryDirectory() as folder:
            options = (*keys, "--cache-per-key", "--prefix-cache-dir", folder)
            with Service(*options, fake=False) as service:
                replies = [service.decide(REQUEST, key) for key in (one, two, one, two)]
                self.assertEqual([cached(reply) > 0 for reply in replies], [False, False, True, True])
                self.assertEqual({reply.body[:reply.body.index(b'"latency_ms"')] for reply in replies},
                                 {replies[0].body[:replies[0].body.index(b'"latency_ms"')]})
                separate = [service.request("POST", "/v1/systemone/separate", {**REQUEST, "state": STATE + "!"}, key)
                            for key in (one, two)]
                self.assertEqual(cached(separate[0]), cached(separate[1]))
            with Service(*options, "--api-key", "three", fake=False) as service:
                self.assertEqual([cached(service.decide(REQUEST, key)) > 0 for key in (one, {"X-API-Key": "three"}, two)],
                                 [True, False, True])
        done = subprocess.run([PROGRAM, "serve", "--port", "0", "--cache-per-key"], timeout=60, capture_output=True,
                              stdin=subprocess.DEVNULL, env=clean_environment())
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--cache-per-key", done.stderr.decode())

    def test_a_restart_and_damage(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            with Service("--round", "none", "--prefix-cache-dir", folder, fake=False) as service:
                first = service.decide(REQUEST)
            with Service("--round", "none", "--prefix-cache-dir", folder, fake=False) as service:
                again = service.decide(REQUEST)
            self.assertGreaterEqual(cached(again), 384)
            self.assertEqual(answers_of(first), answers_of(again))
            for path in Path(folder).iterdir():
                content = bytearray(path.read_bytes())
                content[len(content) // 2] ^= 1
                path.write_bytes(content)
            with Service("--round", "none", "--prefix-cache-dir", folder, fake=False) as service:
                damaged = service.decide(REQUEST)
            self.assertEqual(cached(damaged), 0)
            self.assertEqual(answers_of(first), answers_of(damaged))

    def test_the_same_picture_under_another_text(self) -> None:
        picture = json.loads((FIXTURES / "clef-tiny/image-01.json").read_text(encoding="utf-8"))
        other = {**picture, "state": "Somebody sent this. " + str(picture["state"]), "questions": BASE["questions"]}
        with Service("--round", "none", "--feature-cache-bytes", "0", fake=False) as service:
            expected = [answers_of(service.decide(body)) for body in (picture, other)]
            self.assertTrue(service.metric_becomes("clef_feature_cache_misses_total", 2))
            self.assertEqual(service.metric("clef_feature_cache_entries"), 0)
        # Without kept states, which would have brought the second request behind its picture.
        with Service("--round", "none", "--prefix-cache-bytes", "0", fake=False) as service:
            self.assertEqual([answers_of(service.decide(body)) for body in (picture, other)], expected)
            self.assertTrue(service.metric_becomes("clef_feature_cache_misses_total", 1))
            self.assertTrue(service.metric_becomes("clef_feature_cache_hits_total", 1))
            self.assertTrue(service.metric_becomes("clef_feature_cache_entries", 1))
            self.assertGreater(service.metric("clef_feature_cache_bytes"), 0)

    def test_what_nobody_can_mean(self) -> None:
        for options, word in ((("--prefix-cache-bytes", "1G"), "--prefix-cache-bytes"),
                              (("--prefix-cache-entries", "-1"), "--prefix-cache-entries"),
                              (("--feature-cache-bytes", "much"), "--feature-cache-bytes"),
                              (("--prefix-cache-dir", "/nowhere/at/all"), "/nowhere/at/all")):
            done = subprocess.run([PROGRAM, "serve", "--port", "0", *options], timeout=60, capture_output=True,
                                  stdin=subprocess.DEVNULL, env=clean_environment())
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(word, done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
