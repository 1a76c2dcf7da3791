"""The bench: every number is there and makes sense, in every form; what nobody can honour is refused."""

from __future__ import annotations

import csv
import io
import json
import unittest

from program import TINY, answer, run

FIELDS = ["shape", "layers", "precision", "level", "threads", "sequences", "tokens", "repeat", "steps", "seconds",
          "tokens_per_second", "gflops", "peak_gflops", "share_of_peak", "weight_bytes", "state_bytes",
          "bytes_per_second", "read_bytes_per_second",
          "share_of_memory", "parts", "matrix_operations", "delta_operations", "attention_operations",
          "peak_memory_bytes"]
PARTS = ["matrix_products", "delta_rule", "attention", "head", "rest"]


def bench(*arguments: object) -> list[dict]:
    text = answer("bench", "--shape", TINY, "--repeat", 1, "--output", "json", *arguments)
    return [json.loads(line) for line in text.splitlines()]


class Bench(unittest.TestCase):
    def check_case(self, case: dict) -> None:
        self.assertEqual(list(case), FIELDS)
        self.assertEqual(list(case["parts"]), PARTS)
        for name, value in case.items():
            if isinstance(value, (int, float)):
                self.assertGreater(value, 0, name)
        for name, seconds in case["parts"].items():
            self.assertGreater(seconds, 0, name)
        self.assertAlmostEqual(sum(case["parts"].values()) / case["seconds"], 1, places=4)
        tokens = case["tokens"] * case["sequences"]
        self.assertAlmostEqual(case["tokens_per_second"] * case["seconds"] / tokens, 1, places=4)
        operations = case["matrix_operations"] + case["delta_operations"] + case["attention_operations"]
        self.assertAlmostEqual(case["gflops"] * 1e9 * case["seconds"] / operations, 1, places=4)
        self.assertAlmostEqual(case["share_of_peak"] * case["peak_gflops"] / case["gflops"], 1, places=4)
        self.assertAlmostEqual(case["share_of_memory"] * case["read_bytes_per_second"] / case["bytes_per_second"], 1,
                               places=4)

    def test_json(self) -> None:
        case, = bench("--tokens", 64, "--threads", 1)
        self.check_case(case)
        config = json.loads((TINY / "config.json").read_text())
        text = config.get("text_config", config)
        self.assertEqual(case["shape"], TINY.name)
        self.assertEqual(case["layers"], text["num_hidden_layers"])
        self.assertEqual((case["tokens"], case["sequences"], case["threads"], case["steps"]), (64, 1, 1, 1))
        self.assertEqual(case["repeat"], 1)

    def test_one_case_a_number_of_tokens(self) -> None:
        cases = bench("--tokens", "65,1,130", "--sequences", 2, "--rows", 64)
        self.assertEqual([case["tokens"] for case in cases], [65, 1, 130])
        self.assertEqual([case["sequences"] for case in cases], [2, 2, 2])
        self.assertGreater(cases[2]["steps"], cases[0]["steps"])
        for case in cases:
            self.assertGreater(case["seconds"], 0)
            self.assertAlmostEqual(sum(case["parts"].values()) / case["seconds"], 1, places=4)

    def test_work_grows_with_layers(self) -> None:
        whole, = bench("--tokens", 64)
        half, = bench("--tokens", 64, "--layers", 2)
        self.assertEqual(half["layers"], 2)
        self.assertLess(half["matrix_operations"], whole["matrix_operations"])
        self.assertEqual(half["parts"]["attention"], 0)  # the first three layers have none

    def test_precisions(self) -> None:
        for precision in ("f32", "bf16"):
            case, = bench("--tokens", 64, "--precision", precision)
            self.assertEqual(case["precision"], precision)

    def test_levels(self) -> None:
        levels = json.loads(answer("info", "--output", "json"))["machine"]["cpu_levels"]
        for level in levels:
            case, = bench("--tokens", 64, "--cpu-level", level)
            self.assertEqual(case["level"], level)

    def test_csv_says_the_same(self) -> None:
        text = answer("bench", "--shape", TINY, "--repeat", 1, "--output", "csv", "--tokens", "64,3").decode()
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual([row["tokens"] for row in rows], ["64", "3"])
        expected = [name for name in FIELDS if name != "parts"]
        where = FIELDS.index("parts")
        expected[where:where] = [f"{part}_seconds" for part in PARTS]
        self.assertEqual(list(rows[0]), expected)
        for row in rows:
            parts = sum(float(row[f"{part}_seconds"]) for part in PARTS)
            self.assertAlmostEqual(parts / float(row["seconds"]), 1, places=4)

    def test_table(self) -> None:
        lines = answer("bench", "--shape", TINY, "--repeat", 1, "--tokens", "64,3").decode().splitlines()
        self.assertEqual(len(lines), 5)
        self.assertIn(TINY.name, lines[0])
        self.assertEqual([line.split()[0] for line in lines[3:]], ["64", "3"])
        self.assertLessEqual(max(map(len, lines)), 100)

    def test_shape_by_formula(self) -> None:
        text = answer("bench", "--shape", "qwen3.5-0.8b", "--layers", 1, "--tokens", 2, "--repeat", 1,
                      "--precision", "int4", "--output", "json")
        case = json.loads(text)
        self.assertEqual((case["shape"], case["layers"], case["precision"]), ("qwen3.5-0.8b", 1, "int4"))
        # One delta layer: qkv, z, b, a, out, gate, up, down; two operations a weight, two tokens.
        weights = 1024 * (6144 + 2048 + 2 * 16 + 2048 + 3 * 3584)
        self.assertEqual(case["matrix_operations"], 4 * weights)
        self.assertEqual(case["parts"]["head"], 0)

    def test_patches(self) -> None:
        cases = bench("--patches", "256,96", "--threads", 1)
        config = json.loads((TINY / "config.json").read_text())["vision_config"]
        width, merged = config["hidden_size"], 4 * config["hidden_size"]
        matrices = 1536 * width + config["depth"] * (4 * width * width + 2 * width * config["intermediate_size"])
        merger = merged * (merged + config["out_hidden_size"])
        for case, patches in zip(cases, (256, 96), strict=True):
            self.assertEqual([name for name in case if name != "patches"], FIELDS)
            self.assertEqual((case["patches"], case["tokens"], case["steps"]), (patches, patches // 4, 1))
            self.assertEqual(case["layers"], config["depth"])
            self.assertEqual(case["matrix_operations"], 2 * (patches * matrices + patches // 4 * merger))
            self.assertEqual(case["attention_operations"], 4 * width * config["depth"] * patches ** 2)
            self.assertAlmostEqual(sum(case["parts"].values()) / case["seconds"], 1, places=4)
            for part in ("matrix_products", "attention", "rest"):
                self.assertGreater(case["parts"][part], 0, part)
            self.assertEqual((case["parts"]["delta_rule"], case["parts"]["head"]), (0, 0))

    def test_patches_of_a_shape(self) -> None:
        text = answer("bench", "--shape", "qwen3.5-0.8b", "--layers", 1, "--patches", 1024, "--repeat", 1)
        lines = text.decode().splitlines()
        self.assertIn("1 blocks", lines[0])
        self.assertEqual(lines[2].split()[0], "patches")
        self.assertEqual(lines[3].split()[0], "1024")

    def test_machine(self) -> None:
        machine = json.loads(answer("bench", "--machine", "--output", "json"))
        self.assertEqual(list(machine), ["level", "threads", "f32_gflops", "bf16_gflops", "int8_gflops",
                                         "peak_bytes_per_second"])
        self.assertEqual(machine["threads"], 1)
        for name in list(machine)[2:]:
            self.assertGreater(machine[name], 0, name)
        self.assertGreaterEqual(machine["int8_gflops"], machine["f32_gflops"])
        text = answer("bench", "--machine").decode()
        for word in (machine["level"], "f32", "bf16", "int8", "reading memory"):
            self.assertIn(word, text)

    def refused(self, *arguments: object, says: str, status: int = 2) -> None:
        done = run("bench", *arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, b"")
        self.assertIn(says, done.stderr.decode())

    def test_refused(self) -> None:
        self.refused(says="nothing to measure")
        self.refused("--shape", "clef-flush", says="did you mean clef-flash?")
        self.refused("--shape", "no-such-shape-or-directory", says="qwen3.5-0.8b clef-flash clef")
        self.refused("--shape", TINY.parent, says=str(TINY.parent), status=5)
        self.refused("--shape", "clef-flash", "--machine", says="leave out --shape")
        self.refused("--shape", "clef-flash", "--layers", 33, says="it has 32")
        self.refused("--shape", TINY, "--layers", 99, says="99 layers")
        self.refused("--shape", TINY, "--precision", "int9", says="did you mean int8?")
        self.refused("--shape", TINY, "--precision", "int8", says="--precision int8")
        for tokens in ("", "0", "1,", ",1", "1,,2", "x", "1-8", "64 ", "99999999999999999999", "-1"):
            self.refused("--shape", TINY, f"--tokens={tokens}", says="--tokens")
        self.refused("--shape", TINY, "--tokens", ",".join(["1"] * 65), says="at most 64 numbers")
        self.refused("--shape", TINY, "--tokens", 1 << 24, says="context")
        self.refused("--shape", TINY, "--patches", 1023, says="1023 patches; a picture has a multiple of 4")
        self.refused("--shape", TINY, "--patches", 65540, says="at most 65536")
        self.refused("--shape", TINY, "--patches", "4,", says="--patches")
        self.refused("--shape", TINY, "--patches", 4, "--tokens", 4, says="one by one")
        self.refused("--shape", TINY, "--patches", 4, "--sequences", 2, says="leave out --sequences")
        self.refused("--shape", TINY, "--patches", 4, "--layers", 99, says="99 blocks")
        self.refused("--shape", TINY, "--output", "text", says="table|csv|json")
        self.refused("--shape", TINY, "--sequences", 0, says="--sequences")
        self.refused("--shape", TINY, "--rows", 65537, says="--rows")
        self.refused("--shape", TINY, "--repeat", 0, says="--repeat")

    def test_more_than_memory(self) -> None:
        done = run("bench", "--shape", TINY, "--sequences", 65536, "--tokens", 16384)
        self.assertEqual(done.returncode, 8, done.stderr)
        self.assertRegex(done.stderr.decode(), r"take \d+ bytes of memory; \d+ bytes are available")


if __name__ == "__main__":
    unittest.main(verbosity=2)
