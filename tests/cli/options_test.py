"""Command lines: help, suggestions, values, ranges, the environment, and the form of errors."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from program import DEMO, FIXTURES, PROGRAM, ROOT, TINY, answer, environment, run

COMMANDS = ("ask", "encode", "info", "quantize", "bench", "serve", "help", "version")


class Options(unittest.TestCase):
    def refused(self, *arguments: object, says: str, status: int = 2, **variables: str) -> None:
        done = run(*arguments, **variables)
        text = done.stderr.decode()
        self.assertEqual(done.returncode, status, text)
        self.assertEqual(done.stdout, b"")
        self.assertTrue(text.startswith("clef: "), text)
        self.assertIn(says, text)
        if status == 2 and arguments and arguments[0] in COMMANDS:
            self.assertIn(f'clef {arguments[0]} --help"', text)

    def test_version(self) -> None:
        text = (ROOT / "include/clef/clef.h").read_text()
        version = ".".join(re.findall(r"#define CLEF_VERSION_\w+ +(\d+)", text))
        for arguments in (["--version"], ["version"]):
            self.assertEqual(answer(*arguments).decode(), f"clef {version}\n")

    def test_help_fits_any_width(self) -> None:
        for command in COMMANDS:
            for columns in (40, 60, 80, 100, 300):
                text = answer(command, "--help", COLUMNS=str(columns)).decode()
                self.assertEqual(text, answer("help", command, COLUMNS=str(columns)).decode())
                for line in text.splitlines():
                    kept = line.startswith("  ") and not line.startswith("    ")  # synopsis, examples, terms
                    if not kept and not line.startswith("      --"):
                        self.assertLessEqual(len(line), min(columns, 100), f"{command} at {columns}: {line}")
                    self.assertEqual(line, line.rstrip())

    def test_overview_names_every_command(self) -> None:
        text = answer("--help").decode()
        self.assertEqual(text, answer("help").decode())
        self.assertEqual(text, answer("-h").decode())
        for command in COMMANDS:
            self.assertRegex(text, rf"(?m)^  {command} ")

    def test_every_common_option_is_explained(self) -> None:
        text = answer("ask", "--help").decode()
        for name in ("model", "precision", "threads", "cpu-level", "truncate", "control-tokens", "max-tokens",
                     "max-state-tokens", "max-schema-tokens", "max-questions", "max-options", "max-levels", "round",
                     "confidence", "json", "help", "output", "timings", "batch", "state", "noul", "choice", "score"):
            self.assertRegex(text, rf"(?m)^  --{name}\b", name)

    def test_unknown_words_get_the_nearest(self) -> None:
        self.refused("aks", says='did you mean "ask"')
        self.refused("qqqqqq", says='unknown command "qqqqqq"\n')
        self.refused("ask", "--modle", "x", says="did you mean --model?")
        self.refused("ask", "--max-token=3", says="did you mean --max-tokens?")
        self.refused("ask", "--qqqqqqqq", says="unknown option --qqqqqqqq\n")
        self.refused("ask", "--output", "tabel", says="did you mean table?")
        self.refused("ask", "-x", says="unknown option -x")
        self.refused("--model", "x", "ask", says="the command comes first")
        self.refused(says="there is no command")
        self.refused("help", "akk", says='did you mean "ask"')

    def test_values(self) -> None:
        self.refused("ask", "--model", says="--model needs a value: --model DIR")
        self.refused("ask", "--state", "--noul", "x", says="--state needs a value")
        self.refused("ask", "--batch=1", says="--batch takes no value")
        self.refused("ask", "--model=", says="not an empty text")
        self.refused("ask", "a", "b", says='unexpected argument "b"')
        self.refused("info", "a", says='unexpected argument "a"')
        self.refused("ask", "--output", "", says="one of auto|table|json|raw")
        self.refused("ask", "--", "--batch", says='cannot open the request "--batch"')
        same = [answer("ask", *form, DEMO) for form in (["--round", "none"], ["--round=none"])]
        self.assertEqual(same[0], same[1])
        self.assertNotEqual(same[0], answer("ask", DEMO))

    def test_what_contradicts_itself(self) -> None:
        self.refused("ask", "--state", "x", "--state", "y", "--noul", "z", says="--state is given more than once")
        self.refused("help", "--man", "ask", says="exclude each other")
        self.refused("help", "--man", "--completion", "bash", says="exclude each other")
        self.refused("help", "ask", "--completion", "bash", says="exclude each other")

    def test_empty_texts(self) -> None:
        self.refused("ask", "--remote-images", "--remote-allow", "", DEMO, says="--remote-allow takes HOST, not an empty text")
        for name in ("prefix-cache-bytes", "prefix-cache-entries", "prefix-cache-dir", "feature-cache-bytes"):
            self.refused("serve", f"--{name}=", says=f"--{name} takes ")

    def test_bytes_have_a_limit_that_is_named(self) -> None:
        for name in ("prefix-cache-bytes", "feature-cache-bytes"):
            for value in ("-1", "1G", "1125899906842625", "9" * 40):
                self.refused("serve", "--port", "0", f"--{name}={value}",
                             says=f'--{name} takes a whole number of bytes from 0 to 1,125,899,906,842,624 (1 PiB), not "{value}"')

    def test_files_of_keys_are_named_in_full(self) -> None:
        self.refused("serve", "--port", "0", "--api-key-file", "/no/such/keys", says="--api-key-file /no/such/keys: keys is missing")
        self.refused("serve", "--port", "0", "--api-key-file", "/dev/null", says="--api-key-file /dev/null: null is not a regular file")

    def test_more_tokens_than_positions(self) -> None:
        self.refused("info", "--max-tokens", "16385", says="--max-tokens: a limit of 16385 tokens is over the model's context of 16384")
        answer("info", "--max-tokens", "16384")

    def test_numbers(self) -> None:
        for value in ("0", "1025", "-1", "+1", "1.0", "x", "", "99999999999999999999", " 1"):
            self.refused("ask", f"--threads={value}", DEMO, says="--threads takes a whole number from 1 to 1,024")
        for name in ("max-tokens", "max-state-tokens", "max-schema-tokens", "max-questions", "max-options",
                     "max-levels"):
            self.refused("ask", f"--{name}=0", DEMO, says=f"--{name} takes a whole number from 1 to 4,294,967,295")
            self.refused("ask", f"--{name}=4294967296", DEMO, says=f"--{name} takes a whole number")

    def test_environment(self) -> None:
        text = answer("--help-environment").decode()
        source = (ROOT / "src/cli/environment.c").read_text()
        for name in re.findall(r'read_variable\("(\w+)"\)', source):
            self.assertIn(name, text)
        for path in (ROOT / "src").rglob("*.c"):
            if path.name != "environment.c":
                self.assertNotIn("getenv", path.read_text(), f"{path} reads the environment")
        self.refused("ask", DEMO, says="no-such-model", status=5, CLEF_MODEL="no-such-model")
        self.refused("ask", "--model", "no-such-one", DEMO, says="no-such-one", status=5)
        self.refused("ask", "--model", FIXTURES, DEMO, says=str(FIXTURES), status=5)
        self.refused("ask", DEMO, says="CLEF_THREADS takes a whole number", CLEF_THREADS="many")
        self.refused("ask", DEMO, says="no-such-level", CLEF_CPU_LEVEL="no-such-level")
        self.refused("ask", "--cpu-level=no-such-level", DEMO, says="no-such-level")
        self.assertEqual(answer("ask", "--threads=2", DEMO, CLEF_THREADS="many"), answer("ask", DEMO))

    def test_default_model_is_found_beside_the_program(self) -> None:
        for program, model in (("bin/clef", "share/clef/models/clef-tiny"), ("build/clef", "models/clef-tiny")):
            with tempfile.TemporaryDirectory() as folder:
                for place in (program, model):
                    Path(folder, place).parent.mkdir(parents=True)
                shutil.copy(PROGRAM, Path(folder, program))
                Path(folder, model).symlink_to(TINY)
                done = subprocess.run([Path(folder, program), "ask", DEMO], capture_output=True,
                                      env=environment(CLEF_MODEL=""), timeout=300)
                self.assertEqual(done.stdout, answer("ask", DEMO), done.stderr)

    def test_json_errors(self) -> None:
        for arguments, kind in ((["ask", "--json", "--nope"], "usage"), (["nope", "--json"], "usage"),
                                (["ask", "--json", "--model", "nope", DEMO], "bad_file"),
                                (["ask", "--json", "nope.json"], "usage")):
            done = run(*arguments)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
            entry = json.loads(done.stderr)
            self.assertEqual(list(entry), ["type", "loc", "msg"])
            self.assertEqual(entry["type"], kind)
            self.assertIn("nope", entry["msg"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
