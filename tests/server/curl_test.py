#!/usr/bin/env python3
"""What people type: the forms of curl that the documentation shows, and what curl does by itself with large bodies."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from service import BASE, BODY, ROOT, ServiceCase


class Curl(ServiceCase):
    fake = False
    arguments = ("--truncate", "--api-key", "right")

    def curl(self, path: str, *arguments: str, body: bytes | None = None) -> tuple[int, bytes, str]:
        """Status, body and what curl said about the exchange."""
        done = subprocess.run(["curl", "-sv", "--max-time", "120", "-w", "\n%{http_code}", "-H", "Authorization: Bearer right",
                               *arguments, f"http://{self.service.host}:{self.service.port}{path}"], input=body,
                              capture_output=True, check=True, timeout=150)
        text, status = done.stdout.rsplit(b"\n", 1)
        return int(status), text, done.stderr.decode(errors="replace")

    def test_a_file_as_a_form(self) -> None:
        """curl says application/x-www-form-urlencoded, and the file ends in a newline."""
        status, text, said = self.curl("/v1/systemone", "-d", f"@{ROOT / 'examples/demo.json'}")
        self.assertEqual(status, 200, text)
        self.assertIn("application/x-www-form-urlencoded", said)
        request = json.loads((ROOT / "examples/demo.json").read_text(encoding="utf-8"))
        self.assertEqual(list(json.loads(text)["answers"]), list(request["questions"]))

    def test_json_from_standard_input(self) -> None:
        expected = self.service.decide(BASE, {"X-API-Key": "right"}).json()["answers"]
        for form in (("-d", "@-"), ("--data-binary", "@-"), ("-H", "Content-Type: application/json", "-d", "@-"),
                     ("-H", "Transfer-Encoding: chunked", "--data-binary", "@-"), ("-X", "POST", "-T", "-"), ("--http1.0", "-d", "@-")):
            status, text, _ = self.curl("/v1/systemone", *form, body=BODY)
            self.assertEqual((status, json.loads(text)["answers"]), (200, expected), form)

    def test_a_large_body_waits_for_100(self) -> None:
        body = json.dumps({**BASE, "state": "word " * 400000}).encode()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "body.json"
            path.write_bytes(body)
            for form in (("-d", f"@{path}"), ("-H", "Transfer-Encoding: chunked", "--data-binary", f"@{path}"),
                         ("-H", "Expect: 100-continue", "--data-binary", f"@{path}")):
                status, text, said = self.curl("/v1/systemone", *form)
                self.assertEqual(status, 200, text[:200])
                self.assertTrue(json.loads(text)["truncated"])
            self.assertIn("< HTTP/1.1 100 Continue", said)

    def test_the_lists(self) -> None:
        for path in ("/v1/models", "/openapi.json", "/health", "/metrics"):
            self.assertEqual(self.curl(path)[0], 200, path)
            self.assertEqual(self.curl(path, "-I")[0], 200, path)


if __name__ == "__main__":
    if shutil.which("curl") is None:
        print("SKIP: there is no curl")
        sys.exit(77)
    unittest.main(verbosity=1)
