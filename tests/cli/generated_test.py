"""The manual page and the completions in share/ are what the option tables say today, and shells take them."""

from __future__ import annotations

import re
import shutil
import subprocess
import unittest

from program import ROOT, answer

SHELLS = {"bash": "clef.bash", "zsh": "clef.zsh", "fish": "clef.fish"}


def complete_in_bash(*words: str) -> list[str]:
    script = f'source {ROOT}/share/completion/clef.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _clef; ' \
             'printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True, check=True)
    return done.stdout.split()


class Generated(unittest.TestCase):
    def test_files_are_up_to_date(self) -> None:
        made = {f"share/completion/{name}": ["--completion", shell] for shell, name in SHELLS.items()}
        made["share/man/clef.1"] = ["--man"]
        for path, arguments in made.items():
            self.assertEqual((ROOT / path).read_bytes(), answer("help", *arguments),
                             f"{path} is out of date: clef help {' '.join(arguments)} > {path}")

    def test_every_option_of_help_is_everywhere(self) -> None:
        for command in ("ask", "encode", "info", "quantize", "bench", "help", "serve"):
            names = re.findall(r"(?m)^  --([a-z-]+)", answer(command, "--help").decode())
            self.assertGreater(len(names), 2)
            manual = answer("help", "--man").decode()
            section = manual[manual.index(f".SS clef {command}\n"):].split("\n.SS ")[0]
            for name in names:
                self.assertIn("\\fB\\-\\-" + name.replace("-", "\\-") + "\\fR", section)
                self.assertIn(f"subcommand_from {command}' -l {name} ",
                              answer("help", "--completion", "fish").decode())

    def test_bash_completes(self) -> None:
        self.assertEqual(complete_in_bash("clef", "enc"), ["encode"])
        self.assertEqual(complete_in_bash("clef", "ask", "--out"), ["--output"])
        self.assertEqual(complete_in_bash("clef", "ask", "--output", ""), ["auto", "table", "json", "raw"])
        self.assertEqual(complete_in_bash("clef", "info", "--output", ""), ["text", "json"])
        self.assertIn("--max-tokens", complete_in_bash("clef", "info", "--"))
        self.assertNotIn("--batch", complete_in_bash("clef", "info", "--"))

    def test_other_shells_parse_theirs(self) -> None:
        for shell in ("zsh", "fish"):
            if shutil.which(shell):
                subprocess.run([shell, "-n", ROOT / "share/completion" / SHELLS[shell]], check=True)

    def test_manual_is_clean_roff(self) -> None:
        for line in (ROOT / "share/man/clef.1").read_text().splitlines():
            self.assertTrue(line.isascii(), line)
            if line.startswith("."):
                self.assertRegex(line, r"^\.(TH|SH|SS|TP|PP|br|nf|fi|nh|hy|ad)\b", line)


if __name__ == "__main__":
    unittest.main(verbosity=2)
