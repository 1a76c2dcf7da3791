"""The installed tree: every file in its place, the program answers from there, and the example builds
against it through pkg-config, with the shared and with the static library, and prints right answers.

CTest gives CLEF_BUILD, CLEF_CMAKE, CLEF_C_COMPILER, CLEF_LIBDIR and CLEF_LINK_FLAGS (of a sanitizer build).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = {"department": "Bugs or outages", "urgency": "Today", "outage": "true"}
PAGES = {  # file of the repository, where it goes; installed when the repository has it
    "share/man/clef.1": "share/man/man1/clef.1",
    "share/completion/clef.bash": "share/bash-completion/completions/clef",
    "share/completion/clef.zsh": "share/zsh/site-functions/_clef",
    "share/completion/clef.fish": "share/fish/vendor_completions.d/clef.fish",
}


def run(command: list[str], **more) -> str:
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.prefix = Path(cls.folder.name, "prefix")
        cls.libraries = cls.prefix / os.environ["CLEF_LIBDIR"]
        cls.environment = {**os.environ, "PKG_CONFIG_PATH": str(cls.libraries / "pkgconfig"),
                           "LD_LIBRARY_PATH": str(cls.libraries)}
        cls.environment.pop("DESTDIR", None)
        run([os.environ["CLEF_CMAKE"], "--install", os.environ["CLEF_BUILD"], "--prefix", str(cls.prefix)],
            env=cls.environment)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()

    def same(self, source: str, installed: Path) -> None:
        self.assertTrue(installed.is_file(), f"{installed.relative_to(self.prefix)} is not installed")
        self.assertEqual(installed.read_bytes(), (ROOT / source).read_bytes(), installed)

    def test_headers_model_and_pages(self) -> None:
        for header in ("clef.h", "status.h"):
            self.same(f"include/clef/{header}", self.prefix / "include/clef" / header)
        model = ROOT / "models/clef-tiny"
        for path in model.iterdir():
            self.same(f"models/clef-tiny/{path.name}", self.prefix / "share/clef/models/clef-tiny" / path.name)
        for source, place in PAGES.items():
            if (ROOT / source).exists():
                self.same(source, self.prefix / place)

    def test_libraries(self) -> None:
        version = run(["pkg-config", "--modversion", "clef"], env=self.environment).strip()
        self.assertTrue((self.libraries / "libclef.a").is_file())
        self.assertTrue((self.libraries / "libclef.so").is_symlink())
        self.assertTrue((self.libraries / f"libclef.so.{version}").is_file())
        macros = re.findall(r"#define CLEF_VERSION_\w+ +(\d+)", (ROOT / "include/clef/clef.h").read_text())
        self.assertEqual(".".join(macros), version)

    def test_program_answers_with_the_installed_model(self) -> None:
        program = str(self.prefix / "bin/clef")
        moved = {**self.environment, "LD_LIBRARY_PATH": ""}
        output = run([program, "ask", "--output", "json", str(ROOT / "examples/demo.json")], env=moved, cwd=self.folder.name)
        self.assertEqual(json.loads(output)["answers"]["department"]["choice"], "technical")

    def build_example(self, *libraries: str) -> None:
        compiler, flags = os.environ["CLEF_C_COMPILER"], os.environ.get("CLEF_LINK_FLAGS", "").split()
        program = str(Path(self.folder.name, "ask"))
        run([compiler, "-std=c17", "-Wall", "-Wextra", "-Werror", str(ROOT / "examples/ask.c"), "-o", program,
             *flags, *libraries], env=self.environment)
        model = run(["pkg-config", "--variable=modeldir", "clef"], env=self.environment).strip()
        output = run([program, f"{model}/clef-tiny"], env=self.environment)
        rows = {row.split(None, 1)[0]: row.split(None, 1)[1].rpartition(" ") for row in output.splitlines()}
        self.assertEqual({name: label.strip() for name, (label, _, _) in rows.items()}, ANSWERS)
        for name, (_, _, probability) in rows.items():
            self.assertGreater(float(probability), 0.9, name)

    def flags(self, *options: str) -> list[str]:
        if shutil.which("pkg-config") is None:
            self.skipTest("no pkg-config on this machine")
        return run(["pkg-config", *options, "--cflags", "--libs", "clef"], env=self.environment).split()

    def test_example_with_the_shared_library(self) -> None:
        self.build_example(*self.flags())

    def test_example_with_the_static_library(self) -> None:
        self.build_example(*[str(self.libraries / "libclef.a") if flag == "-lclef" else flag
                             for flag in self.flags("--static")])

    def test_example_names_a_missing_model(self) -> None:
        program = str(Path(self.folder.name, "ask-missing"))
        run([os.environ["CLEF_C_COMPILER"], str(ROOT / "examples/ask.c"), "-o", program,
             *os.environ.get("CLEF_LINK_FLAGS", "").split(), *self.flags()], env=self.environment)
        done = subprocess.run([program, "no-such-model"], capture_output=True, text=True, env=self.environment)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("no-such-model", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
