"""tools/install_dependencies.sh in a world of made-up commands: what it looks for, installs and says."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "install_dependencies.sh"
BASICS = ["sh", "env", "mktemp", "tail", "rm", "cat"]
PRESENT = {"gcc": "exit 0", "make": "exit 0", "cmake": "exit 0", "pkg-config": "exit 0", "python3": "exit 0", "c++": "exit 0"}


class InstallDependencies(unittest.TestCase):
    def run_script(self, commands: dict[str, str], *groups: str) -> tuple[int, str, str]:
        """Status, output and what the made-up apt-get was told."""
        with tempfile.TemporaryDirectory() as folder:
            for name in BASICS:
                Path(folder, name).symlink_to(shutil.which(name))
            for name, body in commands.items():
                path = Path(folder, name)
                path.write_text(f"#!/bin/sh\n{body}\n")
                path.chmod(0o755)
            log = Path(folder, "log")
            log.touch()
            done = subprocess.run(["/bin/sh", str(SCRIPT), *groups], env={"PATH": folder, "LOG": str(log)},
                                  capture_output=True, text=True)
            return done.returncode, done.stdout + done.stderr, log.read_text()

    APT = 'echo "$*" >> "$LOG"'
    ROOT = {"id": "echo 0"}

    def test_nothing_is_missing(self) -> None:
        status, output, log = self.run_script({**PRESENT, **self.ROOT, "apt-get": self.APT}, "build", "test")
        self.assertEqual((status, output, log), (0, "Nothing to install.\n", ""))

    def test_what_is_missing_is_installed(self) -> None:
        commands = {**PRESENT, **self.ROOT, "apt-get": self.APT}
        del commands["cmake"], commands["gcc"], commands["c++"]
        status, output, log = self.run_script(commands, "build", "test")
        self.assertEqual(status, 0, output)
        self.assertIn("gcc libc6-dev cmake g++", output)
        self.assertEqual(log.splitlines(), ["-q update", "-q install -y --no-install-recommends gcc libc6-dev cmake g++"])

    def test_not_root(self) -> None:
        commands = {**PRESENT, "id": "echo 1000", "apt-get": self.APT}
        del commands["cmake"]
        status, output, log = self.run_script(commands)
        self.assertEqual((status, log), (1, ""))
        self.assertIn("apt-get install cmake", output)
        status, output, log = self.run_script({**commands, "sudo": 'echo sudo >> "$LOG"; exec "$@"'})
        self.assertEqual(status, 0, output)
        self.assertEqual(log.splitlines(), ["sudo", "-q update", "sudo", "-q install -y --no-install-recommends cmake"])

    def test_no_apt(self) -> None:
        commands = {**PRESENT, **self.ROOT}
        del commands["make"]
        status, output, _ = self.run_script(commands)
        self.assertEqual(status, 1)
        self.assertIn("make", output)

    def test_apt_fails(self) -> None:
        commands = {**PRESENT, **self.ROOT, "apt-get": "echo no network; exit 100"}
        del commands["cmake"]
        status, output, _ = self.run_script(commands)
        self.assertEqual(status, 1)
        self.assertIn("no network", output)

    def test_unknown_group(self) -> None:
        self.assertEqual(self.run_script(PRESENT, "everything")[0], 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
