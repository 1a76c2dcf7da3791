"""tools/make_manifest.py on a small tree: a changed, a new and a lost fixture are named."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "make_manifest.py"


class MakeManifest(unittest.TestCase):
    def run_tool(self, root: str, *arguments: str) -> tuple[int, str]:
        done = subprocess.run([sys.executable, str(TOOL), "--root", root, *arguments], capture_output=True, text=True)
        return done.returncode, done.stdout

    def test_every_difference_is_named(self) -> None:
        with tempfile.TemporaryDirectory() as root:
            Path(root, "layers").mkdir()
            for name in ("layers/a.json", "layers/b.json", "c.json"):
                Path(root, name).write_text(name)
            self.assertEqual(self.run_tool(root, "--check")[0], 1)
            self.assertEqual(self.run_tool(root), (0, "MANIFEST: 3 files\n"))
            self.assertEqual(self.run_tool(root, "--check")[0], 0)
            self.assertIn("make_layers.py", Path(root, "MANIFEST").read_text())

            Path(root, "layers/a.json").write_text("layers/A.json")
            Path(root, "layers/b.json").unlink()
            Path(root, "d.json").write_text("")
            status, output = self.run_tool(root, "--check")
            self.assertEqual(status, 1)
            self.assertEqual([line.split(":")[0] for line in output.splitlines()],
                             ["tests/fixtures/d.json", "tests/fixtures/layers/a.json", "tests/fixtures/layers/b.json"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
