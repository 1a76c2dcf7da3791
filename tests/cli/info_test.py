"""Facts agree with the files of the model and with the options."""

from __future__ import annotations

import json
import os
import unittest

from program import TINY, answer, run


class Info(unittest.TestCase):
    def test_model(self) -> None:
        facts = json.loads(answer("info", "--output", "json"))
        config = json.loads((TINY / "config.json").read_text())
        text = config.get("text_config", config)
        model = facts["model"]
        self.assertEqual(model["name"], TINY.name)
        self.assertEqual(model["hidden_size"], text["hidden_size"])
        self.assertEqual(model["layer_count"], text["num_hidden_layers"])
        self.assertEqual(model["vocabulary_size"], text["vocab_size"])
        self.assertEqual(model["intermediate_size"], text["intermediate_size"])
        self.assertTrue(model["has_head"])
        files = sum(path.stat().st_size for path in TINY.glob("*.safetensors"))
        self.assertEqual(facts["memory"]["mapped_bytes"], files)
        self.assertGreater(2 * (model["backbone_parameter_count"] + model["head_parameter_count"]), 0.9 * files)

    def test_machine(self) -> None:
        machine = json.loads(answer("info", "--output=json", "--threads=3"))["machine"]
        self.assertEqual(machine["thread_count"], 3)
        self.assertEqual(machine["cpu_count"], os.cpu_count())
        self.assertIn(machine["cpu_level"], machine["cpu_levels"])
        for level in machine["cpu_levels"]:
            masked = json.loads(answer("info", "--output=json", "--cpu-level", level))["machine"]
            self.assertEqual(masked["cpu_level"], level)

    def test_memory_grows_with_tokens(self) -> None:
        few, many = (json.loads(answer("info", "--output=json", f"--max-tokens={count}"))["memory"]
                     for count in (64, 4096))
        self.assertEqual((few["tokens"], many["tokens"]), (64, 4096))
        self.assertLess(few["sequence_bytes"], many["sequence_bytes"])

    def test_text(self) -> None:
        text = answer("info").decode()
        for word in ("clef-tiny", "f32", "threads", "memory", "context"):
            self.assertIn(word, text)
        self.assertEqual(text, answer("info", "--output=text").decode())

    def test_refused(self) -> None:
        self.assertEqual(run("info", "--model", "no-such-model").returncode, 5)
        self.assertEqual(run("info", "--output=table").returncode, 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
