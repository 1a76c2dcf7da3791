"""clef quantize: what it writes, what it refuses, and that nothing half-written is ever left."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import struct
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from program import DEMO, FIXTURES, PROGRAM, RANDOM, TINY, answer, environment, run, run_on_terminal

RECIPE = {"group": 64, "rules": [{"layers": "0-1", "tensors": "mlp.*", "type": "int4", "group": 32},
                                 {"tensors": "lm_head", "type": "keep"}], "default": "int8"}


LAYERS = "model.language_model.layers."


def request(number: int, **more: object) -> str:
    """One recorded request as a line, with fields beside it as evaluation files have them."""
    body = json.loads((FIXTURES / f"clef-tiny/record-{number:02d}.json").read_bytes())
    return json.dumps({**body, **more}) + "\n"


def header(path: Path) -> dict:
    with path.open("rb") as file:
        length, = struct.unpack("<Q", file.read(8))
        return json.loads(file.read(length))


class Quantize(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.output = self.folder / "out"

    def refused(self, *arguments: object, says: str, status: int = 2) -> None:
        before = sorted(path.name for path in self.folder.rglob("*"))
        done = run("quantize", *arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, b"")
        self.assertIn(says, done.stderr.decode())
        self.assertEqual(sorted(path.name for path in self.folder.rglob("*")), before)

    def test_types(self) -> None:
        for recipe, precision, first, last in (("int8", "int8", "I8", "I8"), ("int4", "int4", "U8", "U8"),
                                               ("mixed", "mixed", "I8", "U8")):
            output = self.folder / recipe
            said = answer("quantize", TINY, "-o", output, "--recipe", recipe).decode()
            self.assertRegex(said, rf"^{output}: \d+\.\d MB of weights, made from \d+\.\d MB\n$")
            tensors = header(output / "model.safetensors")
            prefix = "model.language_model.layers."
            self.assertEqual(tensors[prefix + "0.mlp.up_proj.weight"]["dtype"], first)
            self.assertEqual(tensors[prefix + "3.mlp.up_proj.weight"]["dtype"], last)
            self.assertEqual(tensors["lm_head.weight"]["dtype"], "I8")
            self.assertEqual(tensors["lm_head.weight.scale"]["shape"], [4096, 1])
            self.assertEqual(json.loads(answer("info", "--model", output, "--output=json"))["precision"], precision)
            whole, small = (json.loads(answer("ask", DEMO, "--model", model)) for model in (TINY, output))
            self.assertEqual(whole["answers"]["department"]["choice"], small["answers"]["department"]["choice"])

    def test_other_files_are_equal(self) -> None:
        answer("quantize", TINY, "--output", self.output)
        for path in TINY.iterdir():
            if path.name != "model.safetensors":
                self.assertEqual(path.read_bytes(), (self.output / path.name).read_bytes(), path.name)
        self.assertEqual({path.name for path in TINY.iterdir()}, {path.name for path in self.output.iterdir()})

    def test_recipe_file(self) -> None:
        recipe = self.folder / "recipe.json"
        recipe.write_text(json.dumps(RECIPE))
        answer("quantize", TINY, "-o", self.output, "--recipe", recipe)
        tensors = header(self.output / "model.safetensors")
        self.assertEqual(json.loads(tensors["__metadata__"]["clef_recipe"])["rules"][0]["tensors"], "mlp.*")
        self.assertEqual(tensors["lm_head.weight"]["dtype"], "BF16")
        self.assertEqual(tensors["model.language_model.layers.1.mlp.up_proj.weight"]["dtype"], "U8")
        self.assertEqual(tensors["model.language_model.layers.1.mlp.up_proj.weight.scale"]["shape"], [512, 6])
        self.assertEqual(tensors["model.language_model.layers.2.mlp.up_proj.weight"]["dtype"], "I8")
        self.assertEqual(tensors["model.language_model.layers.2.mlp.up_proj.weight.scale"]["shape"], [512, 3])

    def calibration_of(self, model: Path) -> dict:
        return json.loads(header(model / "model.safetensors")["__metadata__"]["clef_calibration"])

    def test_calibrate(self) -> None:
        requests = self.folder / "requests.jsonl"
        requests.write_text(request(1) + "\n \t\n" + request(2, _label={"a": True}, id="x") + request(3).rstrip("\n"))
        answer("quantize", TINY, "-o", self.output, "--recipe=int4", "--calibrate", requests)
        noted = self.calibration_of(self.output)
        digest = hashlib.sha256(requests.read_bytes()).hexdigest()
        self.assertEqual(noted["source"], f"requests.jsonl sha256:{digest}")
        self.assertEqual(noted["requests"], 3)
        tokens = [json.loads(line) for line in (FIXTURES / "clef-tiny/expected.jsonl").read_text().splitlines()]
        self.assertEqual(noted["tokens"], sum(len(line["token_ids"]) for line in tokens
                                              if line["name"] in ("record-01", "record-02", "record-03")))
        small = json.loads(answer("ask", DEMO, "--model", self.output))
        self.assertEqual(small["answers"]["department"]["choice"], "technical")

    def test_calibrate_changes_layers_alone(self) -> None:
        outputs = [self.folder / name for name in ("plain", "once", "again")]
        text = "".join(map(request, range(4, 8))).encode()
        answer("quantize", TINY, "-o", outputs[0])
        answer("quantize", TINY, "-o", outputs[1], "--calibrate", "-", stdin=text)
        answer("quantize", TINY, "-o", outputs[2], "--calibrate", "-", stdin=text)
        self.assertEqual(self.calibration_of(outputs[1])["source"],
                         f"standard input sha256:{hashlib.sha256(text).hexdigest()}")
        plain, once, again = ((output / "model.safetensors").read_bytes() for output in outputs)
        self.assertEqual(once, again)
        self.assertNotIn("clef_calibration", header(outputs[0] / "model.safetensors")["__metadata__"])
        starts = [8 + struct.unpack("<Q", data[:8])[0] for data in (plain, once)]
        for name, tensor in header(outputs[0] / "model.safetensors").items():
            if name != "__metadata__":
                begin, end = tensor["data_offsets"]
                parts = [data[start + begin:start + end] for data, start in zip((plain, once), starts)]
                changed = tensor["dtype"] == "I8" and name.startswith(LAYERS)
                self.assertEqual(parts[0] != parts[1], changed, name)

    def test_calibrate_refused(self) -> None:
        requests = self.folder / "requests.jsonl"
        for text, says, status in (("", "holds no request to calibrate with", 2),
                                   ("\n  \n", "holds no request to calibrate with", 2),
                                   (request(1) + "{\n", f"{requests}, line 2: ", 3),
                                   ("\n" + request(1) + "\n" + '{"state": 1}\n' + "{\n", f"{requests}, line 4: ", 3)):
            requests.write_text(text)
            self.refused(TINY, "-o", self.output, "--calibrate", requests, says=says, status=status)
        requests.unlink()
        self.refused(TINY, "-o", self.output, "--calibrate", requests, says=f'"{requests}": No such file')
        self.refused(TINY, "-o", self.output, "--calibrate", self.folder, says=f"cannot read {self.folder}")
        self.refused(TINY, "-o", self.output, "--calibrate=", says="--calibrate")

    def test_interrupt_while_calibrating(self) -> None:
        requests = self.folder / "requests.jsonl"
        requests.write_text("".join(request(number) for number in range(1, 25)) * 8)
        child = subprocess.Popen([PROGRAM, "quantize", TINY, "-o", self.output, "--calibrate", requests],
                                 env=environment(), stderr=subprocess.PIPE)
        while child.poll() is None and not (self.output / ".clef-partial/model.safetensors").exists():
            time.sleep(0.001)
        child.send_signal(signal.SIGINT)
        errors = child.communicate(timeout=120)[1]
        self.assertEqual((child.returncode, errors), (9, f"clef: stopped; nothing was written to {self.output}\n".encode()))
        self.assertEqual(list(self.folder.iterdir()), [requests])

    def test_group(self) -> None:
        answer("quantize", RANDOM, "-o", self.output, "--group=32")
        tensors = header(self.output / "model.safetensors")
        self.assertEqual(tensors["model.language_model.layers.0.mlp.down_proj.weight.scale"]["shape"], [96, 7])

    def test_refused(self) -> None:
        self.refused(says="which model?")
        self.refused(TINY, says="where to?")
        self.refused(TINY, "-o", says="--output needs a value")
        self.refused(TINY, "-o", TINY, "--force", says="the directory of the model itself")
        self.refused(TINY, "-o", self.folder / "none/out", says="directory above it does not exist")
        self.refused(TINY, "-o", self.output, "--recipe=int2", says='"int2" is neither int8, int4 or mixed nor a file')
        self.refused(TINY, "-o", self.output, "--group=16", says="--group takes one of 32|64")
        self.refused(TINY, TINY, "-o", self.output, says="unexpected argument")
        self.refused(TINY, "-x", says="unknown option -x")
        self.refused(self.folder / "none", "-o", self.output, says=f"model {self.folder}/none: ", status=5)
        recipe = self.folder / "recipe.json"
        for text, says in (("{", "not valid JSON"), ('{"rules":[{"tensors":"mpl.*","type":"int8"}]}', '"mpl.*"'),
                           ('{"defualt":"int8"}', 'unknown field "defualt"'), ("", f'the recipe "{recipe}" is empty')):
            recipe.write_text(text)
            self.refused(TINY, "-o", self.output, "--recipe", recipe, says=says)
        answer("quantize", TINY, "-o", self.output)
        self.refused(TINY, "-o", self.output, says="is not empty")
        self.refused(self.output, "-o", self.folder / "again", says="quantised already", status=5)

    def test_force(self) -> None:
        answer("quantize", TINY, "-o", self.output)
        (self.output / "notes").write_text("mine")
        answer("quantize", RANDOM, "-o", self.output, "--force", "--recipe=int4")
        self.assertEqual((self.output / "config.json").read_bytes(), (RANDOM / "config.json").read_bytes())
        self.assertEqual((self.output / "notes").read_text(), "mine")
        answer("info", "--model", self.output)

    def test_full_disk(self) -> None:
        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        done = subprocess.run([PROGRAM, "quantize", TINY, "-o", self.output], env=environment(), capture_output=True,
                              preexec_fn=limit, restore_signals=False, timeout=120)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr.decode(), rf"cannot write {self.output}/\w+\.safetensors: the file would be larger")
        self.assertFalse(self.output.exists())

    def test_interrupt(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            child = subprocess.Popen([PROGRAM, "quantize", TINY, "-o", self.output, "--recipe=int4"],
                                     env=environment(), stderr=subprocess.PIPE)
            while child.poll() is None and not (self.output / ".clef-partial/model.safetensors").exists():
                time.sleep(0.001)
            child.send_signal(number)
            errors = child.communicate(timeout=60)[1]
            self.assertEqual((child.returncode, errors), (9, f"clef: stopped; nothing was written to {self.output}\n".encode()))
            self.assertEqual(list(self.folder.iterdir()), [])

    def test_progress_on_a_terminal(self) -> None:
        status, shown = run_on_terminal("quantize", TINY, "-o", self.output, "--recipe=int4", streams=("stderr",))
        self.assertEqual(status, 0)
        self.assertIn(b" MB done", shown)
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown[-80:])

    def test_left_over_of_a_killed_run(self) -> None:
        (self.output / ".clef-partial").mkdir(parents=True)
        (self.output / ".clef-partial/model.safetensors").write_bytes(b"half")
        self.refused(TINY, "-o", self.output, says="it holds .clef-partial")
        answer("quantize", TINY, "-o", self.output, "--force")
        self.assertNotIn(".clef-partial", os.listdir(self.output))


if __name__ == "__main__":
    unittest.main(verbosity=2)
