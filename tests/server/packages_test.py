#!/usr/bin/env python3
"""Clients that others wrote, from PyPI, against the real server: the hosted service's own library, a conformance suite, and
a generator of requests from /openapi.json. Installs them into the build folder once; skips when PyPI cannot be reached."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
import venv
from pathlib import Path

from service import PATIENCE, ROOT, SLOWNESS, Service, clean_environment

PACKAGES = ROOT / "tests/server/client_packages.txt"
FOLDER = Path(os.environ.get("CLEF_BUILD", tempfile.gettempdir())) / "client-packages"

# What the conformance suite asks for and Clef cannot or does not give.
KNOWN_MUSTS = {
    "score.legend": "a null level is repeated as null",
    "semantics.question-id": "the id is part of what the model reads",
}
KNOWN_SHOULDS = {
    "response.extensions": "latency_ms is what the tools of other servers read",
    "confidence.formula": "--confidence typesafe gives it",
    "auth.missing": "detail is a text, not an object",
    "auth.invalid": "detail is a text, not an object",
    "errors.shape": "detail is a text, not an object",
    "semantics.batching": "all questions are read together",
    "semantics.question-order": "all questions are read together",
}


def make_packages() -> str | None:
    """The interpreter that has them, or None after saying why not."""
    stamp = FOLDER / PACKAGES.name
    python = FOLDER / "bin/python"
    wanted = PACKAGES.read_text(encoding="utf-8")
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return str(python)
    try:
        venv.EnvBuilder(clear=True, with_pip=True).create(FOLDER)
        done = subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1",
                               "--timeout", "20", "-r", str(PACKAGES)], capture_output=True, text=True, timeout=240)
    except (OSError, subprocess.SubprocessError) as fault:
        print(f"SKIP: no virtual environment with {PACKAGES.name}: {fault}")
        return None
    if done.returncode != 0:
        print(f"SKIP: PyPI gave nothing for {PACKAGES.name}: {done.stderr.strip().splitlines()[-1:]}")
        return None
    stamp.write_text(wanted, encoding="utf-8")
    return str(python)


class Packages(unittest.TestCase):
    python = ""

    def run_python(self, *arguments: str, statuses: tuple[int, ...] = (0,)) -> str:
        done = subprocess.run([self.python, "-B", *arguments], capture_output=True, text=True, timeout=300,
                              env=clean_environment(NO_COLOR="1", CLEF_SLOWNESS=str(SLOWNESS)))
        self.assertIn(done.returncode, statuses, done.stdout[-6000:] + done.stderr[-3000:])
        return done.stdout

    def test_the_library_of_the_hosted_service(self) -> None:
        with Service("--api-key", "right", "--strict-model", "--max-queue", "1", fake=False) as service:
            self.run_python(str(ROOT / "tests/server/sdk_client.py"), f"http://{service.host}:{service.port}")

    def test_the_conformance_suite(self) -> None:
        with tempfile.TemporaryDirectory() as folder, Service("--api-key", "right", fake=False) as service:
            report = Path(folder) / "report.json"
            self.run_python("-m", "jevcompat.cli", "test", f"http://{service.host}:{service.port}", "--key", "right",
                            "--timeout", str(PATIENCE), "--json", str(report), statuses=(0, 1))
            results = json.loads(report.read_text(encoding="utf-8"))["results"]
        passed = {result["id"] for result in results if result["status"] == "pass"}
        failed = {level: {result["id"] for result in results if result["status"] == "fail" and result["level"] == level}
                  for level in ("MUST", "SHOULD")}
        self.assertLessEqual(failed["MUST"], set(KNOWN_MUSTS))
        self.assertLessEqual(failed["SHOULD"], set(KNOWN_SHOULDS))
        self.assertGreater(len(passed), 35)
        self.assertIn("dropin.sdk-python", passed)

    def test_requests_made_from_the_description(self) -> None:
        with Service(fake=False) as service:
            address = f"http://{service.host}:{service.port}/openapi.json"
            # That the question of a permutation is one of its request is beyond a schema.
            permute = ("--include-path", "/v1/systemone/permute", "--exclude-checks", "positive_data_acceptance")
            for chosen in (("--exclude-path", "/v1/systemone/permute"), permute):
                with tempfile.TemporaryDirectory() as folder:
                    out = self.run_python("-c", "import os, sys; os.chdir(sys.argv.pop(1)); from schemathesis.cli import schemathesis;"
                                          " schemathesis()", folder, "run", address, "--no-color", "--seed", "1",
                                          "--max-examples", str(max(2, 10 // SLOWNESS)), "--phases", "coverage,fuzzing",
                                          "--generation-database", "none", *chosen)
                    self.assertRegex(out, r"\d+ generated, \d+ passed")
            self.assertEqual(service.decide({"model": "m", "state": 1, "questions": {"q": {"type": "noul"}}}).status, 200)


if __name__ == "__main__":
    found = make_packages()
    if found is None:
        sys.exit(77)
    Packages.python = found
    unittest.main(verbosity=1)
