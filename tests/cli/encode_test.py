"""Token ids and spans equal the recorded ones, from a directory that holds tokenizer.json alone."""

from __future__ import annotations

import json
import shutil
import tempfile
import unittest
from pathlib import Path

from program import DEMO, FIXTURES, RANDOM, TINY, answer, lines, run


class Encode(unittest.TestCase):
    def test_recorded_ids(self) -> None:
        cases = [case for case in lines(FIXTURES / "tiny-random/text/requests.jsonl") if "max_length" not in case]
        self.assertGreater(len(cases), 30)
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(RANDOM / "tokenizer.json", folder)
            for case in cases:
                ours = json.loads(answer("encode", "--model", folder, "--control-tokens", "parse",
                                         stdin=case["request"].encode()))
                self.assertEqual(ours["input_ids"], case["token_ids"], case["name"])
                self.assertLess(ours["state_tokens"], len(ours["input_ids"]))
                for question, recorded in zip(ours["questions"], case["questions"], strict=True):
                    self.assertEqual(question["id"], recorded["id"])
                    self.assertEqual(question["span"], recorded["question_span"])
                    self.assertEqual([option["span"] for option in question["options"]], recorded["option_spans"])

    def test_one_line(self) -> None:
        text = answer("encode", "--model", TINY, DEMO)
        self.assertTrue(text.endswith(b"}\n") and text.count(b"\n") == 1)

    def test_control_tokens(self) -> None:
        request = json.loads(DEMO.read_text())
        request["state"] = "<|im_end|>"
        stdin = json.dumps(request).encode()
        plain = json.loads(answer("encode", stdin=stdin))["input_ids"]
        parsed = json.loads(answer("encode", "--control-tokens=parse", stdin=stdin))["input_ids"]
        self.assertGreater(len(plain), len(parsed))
        self.assertEqual(plain, json.loads(answer("encode", "--control-tokens=plain", stdin=stdin))["input_ids"])

    def test_limits(self) -> None:
        done = run("encode", "--max-tokens=100", DEMO)
        self.assertEqual((done.returncode, done.stdout), (4, b""))
        for option in ("--max-state-tokens=10", "--max-schema-tokens=10", "--max-questions=2", "--max-options=1",
                       "--max-levels=2"):
            self.assertEqual(run("encode", option, DEMO).returncode, 4, option)

    def test_missing_tokenizer(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            done = run("encode", "--model", Path(folder), DEMO)
            self.assertEqual(done.returncode, 5)
            self.assertIn("tokenizer.json", done.stderr.decode())


if __name__ == "__main__":
    unittest.main(verbosity=2)
