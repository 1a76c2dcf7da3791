"""Tables: as wide as the terminal and no wider, colour only where it is wanted, and nothing that a request holds can
drive the terminal."""

from __future__ import annotations

import json
import re
import unicodedata
import unittest

from program import DEMO, answer, run_on_terminal

COLOUR = re.compile(r"\x1b\[\d+m")
HOSTILE = "a\x1b[2J\x07\x00\x9b31m\u202e\u2028\r\n\tz"
REQUEST = {
    "model": "m", "state": "s",
    "questions": {
        HOSTILE: {"type": "choice", "instructions": "x",
                  "criteria": {HOSTILE: HOSTILE, "日本語の選択肢" * 6: "説明" * 40, "e\u0301" * 30: None, "": "empty id"}},
        "": {"type": "noul", "instructions": "empty id"},
        "long" * 60: {"type": "score", "criteria": ["😀" * 50, "two\nlines", {"a": "\x1b"}]},
    },
}


def cells(text: str) -> int:
    count = 0
    for character in text:
        if unicodedata.category(character) not in ("Mn", "Me"):
            count += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return count


class Table(unittest.TestCase):
    def check_lines(self, shown: str, columns: int) -> list[str]:
        found = COLOUR.sub("", shown).split("\n")
        for line in found:
            self.assertLessEqual(cells(line), columns, line)
            self.assertEqual(line, line.rstrip(" "))
            for character in line:
                self.assertNotIn(unicodedata.category(character), ("Cc", "Cf", "Zl", "Zp"), repr(line))
        return found

    def test_demo_at_every_width(self) -> None:
        for columns in (20, 21, 30, 49, 50, 51, 60, 79, 80, 100, 120, 200, 1000):
            status, shown = run_on_terminal("ask", DEMO, columns=columns)
            self.assertEqual(status, 0)
            found = self.check_lines(shown.decode(), columns)
            text = "\n".join(found)
            for word in ("department", "choice", "technical", "urgency", "score", "Today", "outage", "noul", "true"):
                self.assertIn(word, text, f"{columns} columns")
            self.assertEqual(sum(line.startswith("  > ") for line in found), 3)

    def test_columns_line_up(self) -> None:
        text = answer("ask", "--output", "table", DEMO, COLUMNS="80", LANG="C.UTF-8").decode()
        places = {match.start() for line in text.splitlines() if line.startswith("  ")
                  for match in [re.search(r"\d\.\d{4}", line)]}
        self.assertEqual(len(places), 1)

    def test_numbers_are_those_of_the_reply(self) -> None:
        body = json.loads(answer("ask", DEMO))["answers"]
        text = answer("ask", "--output", "table", DEMO).decode()
        for name, value in body["department"]["probabilities"].items():
            self.assertRegex(text, rf"{name} +{value:.4f}")
        self.assertRegex(text, rf"department +choice +technical +{body['department']['confidence']:.4f}")
        self.assertRegex(text, rf"true +{body['outage']['noul']:.4f}")
        typesafe = json.loads(answer("ask", "--confidence=typesafe", DEMO))["answers"]["urgency"]["confidence"]
        text = answer("ask", "--output=table", "--confidence=typesafe", DEMO).decode()
        self.assertRegex(text, rf"urgency +score +[\d.]+ \(Today\) +{typesafe:.4f}")

    def test_hostile_texts(self) -> None:
        stdin = json.dumps(REQUEST).encode()
        for columns in (20, 34, 50, 80, 200):
            for locale in ("C.UTF-8", "C", ""):
                status, shown = run_on_terminal("ask", stdin=stdin, columns=columns, LANG=locale)
                self.assertEqual(status, 0)
                text = shown.decode()
                self.check_lines(text, columns)
                if locale != "C.UTF-8":
                    self.assertTrue(text.isascii())
        piped = answer("ask", "--output", "table", stdin=stdin, LANG="C.UTF-8").decode()
        self.assertNotIn("\x1b", piped)

    def test_escapes_are_visible(self) -> None:
        request = {"model": "m", "state": "s", "questions": {"a\x1b\n\t\x7f\u202e": {"type": "noul"}}}
        text = answer("ask", "--output=table", stdin=json.dumps(request).encode(), LANG="C.UTF-8", COLUMNS="120")
        self.assertTrue(text.decode().startswith("a\\u{1b}\\n\\t\\u{7f}\\u{202e}  noul"), text)

    def test_colour(self) -> None:
        self.assertIn(b"\x1b[", run_on_terminal("ask", DEMO)[1])
        for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}):
            self.assertNotIn(b"\x1b", run_on_terminal("ask", DEMO, **variables)[1])
        self.assertIn(b"\x1b[", run_on_terminal("ask", DEMO, NO_COLOR="")[1])
        self.assertNotIn(b"\x1b", answer("ask", "--output=table", DEMO, TERM="xterm"))

    def test_auto_is_json_in_a_pipe_and_a_table_on_a_terminal(self) -> None:
        self.assertEqual(answer("ask", DEMO), answer("ask", "--output", "json", DEMO))
        self.assertEqual(run_on_terminal("ask", "--output=json", DEMO)[1], answer("ask", DEMO))
        shown = run_on_terminal("ask", DEMO, NO_COLOR="1")[1]
        self.assertEqual(shown, answer("ask", "--output=table", DEMO, LANG="C.UTF-8"))

    def test_bars_are_as_long_as_their_probability(self) -> None:
        text = answer("ask", "--output=table", DEMO, COLUMNS="70").decode()
        body = json.loads(answer("ask", DEMO))["answers"]
        full = max(line.count("#") for line in text.splitlines())
        for line in text.splitlines():
            match = re.match(r"  [> ] (true|false) +(\d\.\d{4})", line)
            if match:
                share = body["outage"]["noul"] if match[1] == "true" else 1 - body["outage"]["noul"]
                self.assertAlmostEqual(line.count("#"), share * full, delta=1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
