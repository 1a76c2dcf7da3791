"""Memory: what `clef info` foretells is what `clef ask` takes, in all sizes and precisions."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from program import PROGRAM, ROOT, TINY, answer, environment

sys.path.insert(0, str(ROOT / "tools"))
import measure_memory

# Shadow memory and quarantines of a sanitizer are not the program's.
IS_WATCHED = b"__asan_init" in Path(PROGRAM).read_bytes()


class Memory(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.model = Path(cls.folder.name) / "model"
        subprocess.run([sys.executable, "-B", ROOT / "tools/make_model.py", "qwen3.5-0.8b", "--layers", "2", "--head",
                        "--vocabulary", "4096", "--no-vision", "-o", cls.model], check=True)

    def compare(self, model: Path, tokens: int, *options: str) -> None:
        with self.subTest(model=model.name, tokens=tokens, options=options):
            taken, foretold = measure_memory.measure(Path(PROGRAM), ["--model", str(model), *options], tokens, 4,
                                                     environment())
            mapped = foretold.pop("mapped_bytes")
            self.assertEqual(mapped, sum(path.stat().st_size for path in model.glob("*.safetensors")))
            self.assertLess(abs(taken.distance(sum(foretold.values()))), measure_memory.TOLERANCE, (taken, foretold))

    def test_the_estimate_is_what_is_taken(self) -> None:
        self.compare(TINY, 4096)
        self.compare(self.model, 448)
        self.compare(self.model, 640)
        self.compare(self.model, 640, "--precision", "bf16")
        self.compare(self.model, 640, "--threads", "4")

    def test_a_made_model_answers(self) -> None:
        for shape, layers, precision in (("qwen3.5-0.8b", 1, "f16"), ("qwen3.5-0.8b", 1, "int8"),
                                         ("qwen3.5-0.8b", 2, "mixed")):
            model = Path(self.folder.name) / f"{shape}-{precision}"
            subprocess.run([sys.executable, "-B", ROOT / "tools/make_model.py", shape, "--layers", str(layers), "--head",
                            "--vocabulary", "4096", "--precision", precision, "-o", model], check=True)
            # Every number must be finite, or there is no answer.
            answer("ask", "--model", model, ROOT / "examples/demo.json")


if __name__ == "__main__":
    if IS_WATCHED:
        print("SKIP: a sanitizer's own memory cannot be told from the program's")
        sys.exit(77)
    unittest.main(verbosity=2)
