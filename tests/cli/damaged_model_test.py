"""Models that look whole and are not: every answer they could give would be wrong, so none is given."""

from __future__ import annotations

import json
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from program import DEMO, FIXTURES, PROGRAM, RANDOM, TINY, environment, run


class DamagedModel(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.model = Path(self.folder.name) / "model"
        shutil.copytree(TINY, self.model)
        self.addCleanup(self.folder.cleanup)

    def refused(self, status: int, *parts: str) -> str:
        done = run("ask", "--model", self.model, DEMO)
        message = done.stderr.decode()
        self.assertEqual((done.returncode, done.stdout), (status, b""), message)
        for part in parts:
            self.assertIn(part, message)
        return message

    def write_bf16(self, file: str, tensor: str, bits: int) -> None:
        path = self.model / file
        data = bytearray(path.read_bytes())
        length = struct.unpack("<Q", data[:8])[0]
        entry = json.loads(data[8:8 + length])[tensor]
        self.assertEqual(entry["dtype"], "BF16")
        struct.pack_into("<H", data, 8 + length + entry["data_offsets"][0], bits)
        path.write_bytes(data)

    def test_a_weight_that_is_no_number(self) -> None:
        for file, tensor in (("joint_head.safetensors", "prior_logit_scale"),
                             ("joint_head.safetensors", "joint_logit_scale"),
                             ("joint_head.safetensors", "residual_gate"),
                             ("joint_head.safetensors", "memory_projection.weight"),
                             ("model.safetensors", "model.language_model.norm.weight"),
                             ("model.safetensors", "model.language_model.layers.0.linear_attn.A_log")):
            with self.subTest(tensor):
                shutil.copy(TINY / file, self.model / file)
                self.write_bf16(file, tensor, 0x7FC0)
                self.refused(1, "finite")
        shutil.copy(TINY / "joint_head.safetensors", self.model)

    def test_the_tokenizer_of_another_model(self) -> None:
        shutil.copy(RANDOM / "tokenizer.json", self.model)
        self.refused(5, "tokenizer.json", "image_token_id")

    def test_a_tokenizer_without_control_tokens(self) -> None:
        path = self.model / "tokenizer.json"
        tokenizer = json.loads(path.read_text())
        for missing in ("<|im_start|>", "<|im_end|>", "<think>", "</think>"):
            kept = [token for token in tokenizer["added_tokens"] if token["content"] != missing]
            path.write_text(json.dumps({**tokenizer, "added_tokens": kept}))
            self.refused(5, "tokenizer.json", missing)
        path.write_text(json.dumps({**tokenizer, "added_tokens": []}))
        self.refused(5, "tokenizer.json", "<|im_start|>")

    def test_a_cut_tokenizer_is_named(self) -> None:
        path = self.model / "tokenizer.json"
        path.write_bytes(path.read_bytes()[:100])
        self.refused(5, "tokenizer.json")

    def test_missing_tensors_stand_on_lines(self) -> None:
        (self.model / "joint_head.safetensors").unlink()
        message = self.refused(5, "missing file: joint_head.safetensors")
        self.assertGreater(message.count("\n"), 20)
        self.assertNotIn("\\n", message)

    def test_a_configuration_without_weights(self) -> None:
        shutil.rmtree(self.model)
        shutil.copytree(FIXTURES / "configs/clef", self.model)
        done = run("info", "--model", self.model)
        message = done.stderr.decode()
        self.assertEqual(done.returncode, 5)
        for part in ("missing: 1306", "embed_tokens.weight  [248320, 5120]", "mlp.up_proj.weight  [17408, 5120]",
                     "evidence_layers", "(48 tensors)"):
            self.assertIn(part, message)
        self.assertGreater(message.count("\n"), 30)

    def test_a_file_cut_short_while_it_is_mapped(self) -> None:
        request = json.dumps(json.loads(DEMO.read_text())).encode() + b"\n"
        program = subprocess.Popen([PROGRAM, "ask", "--batch", "--model", str(self.model)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        assert program.stdin and program.stdout
        program.stdin.write(request)
        program.stdin.flush()
        program.stdout.readline()
        os.truncate(self.model / "model.safetensors", 0)
        time.sleep(0.1)
        _, said = program.communicate(request * 4, timeout=60)
        self.assertNotEqual(program.returncode, -signal.SIGBUS)
        self.assertEqual(program.returncode, 5)
        self.assertIn(b"cut short", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
