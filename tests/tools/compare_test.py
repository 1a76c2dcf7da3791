"""The comparison with other engines, without them: turns, medians, verdicts, and the program that times text to ids."""

from __future__ import annotations

import array
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent.parent
FIXTURES = ROOT / "tests" / "fixtures" / "tokenizer" / "small"
sys.path.insert(0, str(ROOT / "bench" / "compare"))
import compare
import engines
import english
import machine
import summary
from engines import Case, Engine
from parts import Part
from table import Table

CASE = Case("prefill", 1, 512, 1, "tokens/s", 512)


@dataclass
class Fake(Engine):
    """Takes the given seconds, one a turn, and writes its name into a diary."""

    seconds: list[float]
    diary: list[str]
    extra: dict = field(default_factory=dict)
    is_closed: bool = False

    def sample(self, cases):
        self.diary.append(self.name)
        turn = self.diary.count(self.name) - 1
        return [{"seconds": self.seconds[turn], **self.extra} for _ in cases]

    def close(self):
        self.is_closed = True


def quietly(function, *arguments):
    """Result of the function and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), \
            mock.patch.object(machine, "busy_share", lambda: 0.25):
        return function(*arguments), out.getvalue()


class Rounds(unittest.TestCase):
    def test_turns_move_on(self) -> None:
        diary: list[str] = []
        part = Part([Fake(name, "f32", [1.0, 2.0], diary) for name in "abc"], [CASE], 2)
        (samples, busy), _ = quietly(compare.measure, "text", part)
        self.assertEqual("".join(diary), "abcbca")
        self.assertEqual(busy, [0.25, 0.25])
        self.assertEqual([facts["seconds"] for facts in samples[0, CASE]], [1.0, 2.0])
        self.assertTrue(all(engine.is_closed for engine in part.engines))

    def test_long_work_takes_part_less_often(self) -> None:
        long = Case("prefill", 1, 1024, 1, "tokens/s", 1024, every=2)
        part = Part([Fake("a", "", [1.0] * 5, []), Fake("b", "", [1.0] * 5, [])], [CASE, long], 5,
                    lambda engine, case: engine.name == "b" and case == CASE)
        (samples, _), _ = quietly(compare.measure, "text", part)
        counts = {(index, case.tokens): len(found) for (index, case), found in samples.items()}
        self.assertEqual(counts, {(0, 512): 5, (0, 1024): 3, (1, 1024): 3})

    def test_engines_end_when_one_fails(self) -> None:
        part = Part([Fake("a", "", [1.0], []), Fake("b", "", [], [])], [CASE], 1)
        with self.assertRaises(IndexError):
            quietly(compare.measure, "text", part)
        self.assertTrue(all(engine.is_closed for engine in part.engines))

    def test_medians(self) -> None:
        part = Part([Fake("a", "f32", [2.0, 1.0, 4.0], [], {"share_of_peak": 0.5})], [CASE], 3)
        (samples, _), _ = quietly(compare.measure, "text", part)
        row, = compare.rows(part, samples)
        self.assertEqual((row["median"], row["least"], row["most"]), ("256", "128", "512"))
        self.assertEqual((row["rounds"], row["share_of_peak"]), (3, "0.5"))

    def test_share_of_memory_is_of_the_readings_of_the_run(self) -> None:
        case = Case("generate", 1, 1, 8, "tokens/s", 1)
        part = Part([Fake("clef", "f32", [1.0], [], {"bytes_per_second": 8e9, "read_bytes_per_second": 10e9,
                                                     "share_of_memory": 0.7}),
                     Fake("b", "f32", [1.0], [], {"bytes_per_second": 5e9})], [case], 1)
        (samples, _), _ = quietly(compare.measure, "text", part)
        self.assertEqual([row["share_of_memory"] for row in compare.rows(part, samples)], ["0.7", "0.5"])

    def test_different_ids_are_refused(self) -> None:
        part = Part([Fake("a", "", [1.0], [], {"ids": "1"}), Fake("b", "", [1.0], [], {"ids": "2"})], [CASE], 1)
        (samples, _), _ = quietly(compare.measure, "encode", part)
        with self.assertRaisesRegex(SystemExit, "different ids"):
            compare.check_ids(part, samples)

    def test_unequal_pictures_are_refused(self) -> None:
        for work, is_refused in (("image", True), ("vision", False)):
            part = Part([Fake("a", "", [1], [], {"patches": 4}), Fake("b", "", [1], [], {"patches": 8})],
                        [Case(work, 1, 0, 1, "pictures/s", 1)], 1)
            (samples, _), _ = quietly(compare.measure, work, part)
            if is_refused:
                with self.assertRaisesRegex(SystemExit, "different patches"):
                    compare.check_ids(part, samples)
            else:
                compare.check_ids(part, samples)

    def test_worker(self) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
            script.write(f"import sys\nsys.path.insert(0, {str(engines.HERE)!r})\nimport worker\n"
                         "def measure(request):\n"
                         "    print('noise of a library')\n"
                         "    return {'seconds': request['tokens']} if request['tokens'] else {}[0]\n"
                         "worker.serve({'version': '7', 'weight_bytes': 1024}, measure)\n")
            script.flush()
            engine = engines.Worker("peer", "f32", script.name, [])
            states = 2 * 4 * 18 * (16 * 128 * 128 + 3 * 6144)  # of one sequence, read and written as fp32
            answers = engine.sample([CASE, Case("generate", 1, 2, 1, "tokens/s", 1)])
            self.assertEqual(answers, [{"seconds": 512}, {"seconds": 2, "bytes_per_second": (1024 + states) / 2}])
            self.assertEqual(engine.version, "7")
            with self.assertRaisesRegex(SystemExit, "KeyError"):
                engine.sample([Case("prefill", 1, 0, 1, "tokens/s", 1)])
            engine.close()


def row(work: str, tokens: int, engine: str, numbers: str, median: float, run: str = "2026-11-30") -> dict[str, str]:
    made = dict.fromkeys(compare.COLUMNS, "")
    made.update({"run": run, "busy": "0.01", "work": work, "sequences": "1", "tokens": str(tokens), "engine": engine,
                 "numbers": numbers, "unit": "MB/s" if work == "encode" else "tokens/s", "median": str(median),
                 "least": "1", "most": "9"})
    return made


class Verdicts(unittest.TestCase):
    PREFILL = [row("prefill", 512, "PyTorch", "bf16", 100), row("prefill", 512, "llama.cpp", "bf16", 200),
               row("prefill", 512, "clef", "bf16", 270)]

    def judge(self, rows: list[dict[str, str]], goal: int) -> tuple[bool, str]:
        return quietly(summary.judge, Table(rows), summary.GOALS[goal])

    def test_the_fastest_peer_counts(self) -> None:
        is_met, text = self.judge(self.PREFILL, 0)
        self.assertTrue(is_met)
        self.assertIn("clef bf16 is 1.35 x llama.cpp bf16", text)
        is_met, text = self.judge([*self.PREFILL[:2], row("prefill", 512, "clef", "bf16", 269)], 0)
        self.assertFalse(is_met)
        self.assertIn("MISSED", text)

    def test_every_case_counts(self) -> None:
        slow = [row("prefill", 300, "PyTorch", "bf16", 100), row("prefill", 300, "llama.cpp", "bf16", 10),
                row("prefill", 300, "clef", "bf16", 120)]
        self.assertFalse(self.judge([*self.PREFILL, *slow], 0)[0])

    def test_not_measured_is_not_met(self) -> None:
        is_met, text = self.judge(self.PREFILL, -1)
        self.assertFalse(is_met)
        self.assertIn("not measured", text)
        self.assertFalse(self.judge(self.PREFILL[1:], 0)[0])

    def test_the_newest_run_of_each_work_counts(self) -> None:
        newer = row("prefill", 512, "clef", "bf16", 5, "2026-12-01")
        table = Table([newer, *self.PREFILL, row("encode", 0, "clef", "", 40)])
        self.assertEqual(table.speed(("prefill", 1, 512), "clef", "bf16"), 5)
        self.assertIsNone(table.speed(("prefill", 1, 512), "PyTorch", "bf16"))
        self.assertEqual(table.speed(("encode", 1, 0), "clef"), 40)

    def test_speeds_as_markdown(self) -> None:
        _, text = quietly(summary.print_speeds, Table([*self.PREFILL, row("encode", 0, "clef", "", 40)]))
        self.assertIn("| tokens/s | prefill 512 |", text)
        self.assertIn("| clef bf16 | 270 (1 to 9) |", text)
        self.assertIn("| clef | 40 (1 to 9) |", text)


class Place(unittest.TestCase):
    def test_names(self) -> None:
        for model, expected in (("Intel(R) Xeon(R) Processor @ 2.30GHz", "intel-xeon-6-207-2-cores"),
                                ("AMD EPYC 9B14 96-Core Processor", "amd-epyc-9b14-6-207-2-cores")):
            found = {"model name": model, "cpu family": "6", "model": "207"}
            with mock.patch.object(machine, "processor", lambda found=found: found), \
                    mock.patch.object(machine, "cores", lambda: 2):
                self.assertEqual(machine.slug(), expected)

    def test_english(self) -> None:
        texts = english.texts()
        self.assertGreater(sum(map(len, texts)), 50_000)
        self.assertLess(sorted(map(len, texts))[len(texts) // 2], english.LONGEST)
        self.assertNotIn("\0", "".join(texts))


class Pictures(unittest.TestCase):
    def test_patches_are_those_of_the_reference(self) -> None:
        media = ROOT / "tests/fixtures/tiny-random/media"
        expected = {row["file"]: row["pixel_values_shape"][0]
                    for row in map(json.loads, (media / "images.jsonl").read_text(encoding="utf-8").splitlines()) if "grid_thw" in row}
        for name in ("jpeg420-333x500.jpg", "rgb-16x16.png"):
            engine = engines.ClefImage("clef", "uint8", Path(os.environ["CLEF_IMAGE_TIMING"]), Path(os.environ["CLEF_PROGRAM"]),
                                       media / "images" / name)
            facts, = engine.sample([Case("image", 1, 0, 3, "pictures/s", 1)])
            self.assertEqual(facts["patches"], expected[name])
            self.assertGreater(facts["seconds"], 0)
            self.assertRegex(engine.version, r"^clef \d")
        engine.picture = Path("no-such-picture")
        with self.assertRaisesRegex(SystemExit, "no-such-picture"):
            engine.sample([Case("image", 1, 0, 3, "pictures/s", 1)])

    def test_the_tower_alone(self) -> None:
        engine = engines.ClefBench("clef", "bf16", Path(os.environ["CLEF_PROGRAM"]), "clef-flash", 1)
        with mock.patch.object(engines.subprocess, "run") as run:
            run.return_value = mock.Mock(returncode=0, stdout='{"seconds":1}\n{"seconds":2}\n')
            answers = engine.run([Case("vision", 1, patches, 1, "patches/s", patches) for patches in (64, 256)])
        self.assertEqual(answers, [{"seconds": 1}, {"seconds": 2}])
        command = run.call_args[0][0]
        self.assertEqual(command[command.index("--patches") + 1], "64,256")
        self.assertFalse({"--tokens", "--sequences"} & set(command))


class EncodeTiming(unittest.TestCase):
    def setUp(self) -> None:
        self.program = os.environ["CLEF_ENCODE_TIMING"]

    def test_ids_are_those_of_the_reference(self) -> None:
        cases = [json.loads(line) for line in (FIXTURES / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
        cases = [case for case in cases if "\0" not in case["text"]]
        expected = [id_ for case in cases for id_ in case.get("ids_plain", case["ids"])]
        with tempfile.TemporaryDirectory() as folder:
            text, ids = Path(folder, "text"), Path(folder, "ids")
            text.write_bytes("\0".join(case["text"] for case in cases).encode())
            done = subprocess.run([self.program, FIXTURES / "tokenizer.json", text, "3", ids], capture_output=True,
                                  text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(list(array.array("I", ids.read_bytes())), expected)
        seconds = [float(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(seconds), 3)
        self.assertGreater(min(seconds), 0)

    def test_a_missing_file_is_named(self) -> None:
        done = subprocess.run([self.program, "no/such.json", __file__, "1", os.devnull], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no/such.json", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
