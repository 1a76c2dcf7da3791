"""tools/check_layers.py on small trees: each rule is broken once and must be named with its place."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import check_layers

BUILD = "clef_layer(base)\nclef_layer(tensor base)\nclef_layer(engine tensor base)\n"
GOOD = {
    "CMakeLists.txt": BUILD,
    "include/clef/status.h": "#include <stddef.h>\n",
    "include/clef/clef.h": "#include <clef/status.h>\n",
    "src/base/text.h": "#include <clef/status.h>\n",
    "src/base/memory.c": "#include <stdlib.h>\nvoid *f(void) { return malloc(1); }\n",
    "src/tensor/matrix.h": '#include "base/text.h"\n',
    "src/tensor/kernel_avx2.c": "#include <immintrin.h>\n",
    "src/engine/model.c": '#include <clef/clef.h>\n#include "tensor/matrix.h"\n',
    "src/cli/main.c": '#include <clef/clef.h>\n#include "base/text.h"\nint f(void) { return printf("free(x)"); }\n',
    "src/cli/environment.c": '#include <stdlib.h>\nchar *f(void) { return getenv("A"); }\n',
    "tests/support/support.h": "#include <cmocka.h>\n",
    "tests/unit/base/text_test.c": '#include "support.h"\n#include "base/text.h"\n',
    "examples/ask.c": "#include <clef/clef.h>\n",
}


class CheckLayers(unittest.TestCase):
    def faults(self, **changes: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**GOOD, **changes}.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check_layers.check_tree(Path(folder))

    def refused(self, name: str, text: str, line: int, *words: str) -> None:
        faults = self.faults(**{name: text})
        self.assertEqual(len(faults), 1, faults)
        self.assertTrue(faults[0].startswith(f"{name}:{line}: "), faults[0])
        for word in words:
            self.assertIn(word, faults[0])

    def test_good_tree(self) -> None:
        self.assertEqual(self.faults(), [])

    def test_arrow_upwards(self) -> None:
        self.refused("src/base/text.c", '#include "base/text.h"\n#include "tensor/matrix.h"\n', 2, "base", "tensor")
        self.refused("src/tensor/x.c", '#include <clef/clef.h>\n', 1, "clef.h")

    def test_program_sees_base_only(self) -> None:
        self.refused("src/cli/other.c", '/* a\n b */\n#include "tensor/matrix.h"\n', 3, "cli", "tensor")

    def test_base_is_not_the_public_header(self) -> None:
        self.refused("src/base/text.c", "#include <clef/clef.h>\n", 1, "engine")

    def test_unknown_includes(self) -> None:
        self.refused("src/base/text.c", "#include <expat.h>\n", 1, "unknown")
        self.refused("src/base/text.c", "#include <curl/curl.h>\n", 1, "src/media/fetch_curl.c only")
        self.refused("src/base/text.c", '#include "text.h"\n', 1, "unknown", "src/")
        self.refused("src/base/text.c", "#define X <stdio.h>\n#include X\n", 2, "unknown")

    def test_unknown_folder(self) -> None:
        self.refused("src/strange/x.c", "int x;\n", 1, "strange", "clef_layer")

    def test_vectors_need_a_level(self) -> None:
        self.refused("src/tensor/kernel.c", "#include <immintrin.h>\n", 1, "immintrin.h")
        self.refused("src/tensor/kernel_neon.c", "#include <immintrin.h>\n", 1, "immintrin.h")

    def test_threads_in_few_files(self) -> None:
        self.refused("src/tensor/x.c", "#include <pthread.h>\n", 1, "src/base/thread.h")
        self.refused("src/tensor/x.c", "#include <omp.h>\n", 1, "unknown")

    def test_calls(self) -> None:
        for name in ("malloc", "calloc", "realloc", "free", "printf", "fprintf", "exit", "abort", "assert", "getenv"):
            with self.subTest(name):
                self.refused("src/tensor/x.c", f"void f(void) {{\n    {name}(0);\n}}\n", 2, name)
        self.refused("src/cli/other.c", 'char *f(void) { return getenv("A"); }\n', 1, "environment.c")
        self.refused("src/cli/other.c", "void f(void *p) { free(p); }\n", 1, "memory.c")

    def test_comments_and_texts_are_not_code(self) -> None:
        text = 'const char *a = "malloc(1)"; /* free(x)\n #include <x.h>\n#pragma omp */ // exit(1)\n'
        self.assertEqual(self.faults(**{"src/tensor/x.c": text}), [])

    def test_unit_tests_stay_in_their_layer(self) -> None:
        self.refused("tests/unit/base/x_test.c", '#include "tensor/matrix.h"\n', 1, "base", "tensor")

    def test_clients_use_the_public_header(self) -> None:
        self.refused("examples/ask.c", '#include "base/text.h"\n', 1, "internal")
        self.refused("tests/api/x.c", '#include "base/text.h"\n', 1, "internal")

    def test_layers_are_declared_lowest_first(self) -> None:
        faults = self.faults(**{"CMakeLists.txt": "clef_layer(tensor base)\nclef_layer(base)\nclef_layer(engine tensor base)\n"})
        self.assertEqual(len(faults), 1, faults)
        self.assertIn("tensor uses base", faults[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
