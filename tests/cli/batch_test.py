"""JSON lines: one line out for each, in order, equal to single answers; faults in their place."""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path

from program import DEMO, FIXTURES, RANDOM, SIZE_LIMIT, answer, lines, run

GOOD = b'{"model":"m","state":"%d","questions":{"q":{"type":"noul"}}}'


class Batch(unittest.TestCase):
    def test_equal_to_single_answers(self) -> None:
        requests = [case["request"].encode() for case in lines(FIXTURES / "tiny-random/text/requests.jsonl")]
        requests = [request for request in requests if b"\n" not in request and len(request) < 1500]
        self.assertGreater(len(requests), 15)
        stdin = b"\n".join(requests)
        together = answer("ask", "--batch", "--model", RANDOM, "--output", "raw", stdin=stdin).splitlines()
        self.assertEqual(len(together), len(requests))
        for i in range(0, len(requests), 6):
            alone = answer("ask", "--model", RANDOM, "--output", "raw", stdin=requests[i])
            self.assertEqual(together[i] + b"\n", alone)
        encoded = answer("encode", "--batch", "--model", RANDOM, stdin=stdin).splitlines()
        for line, one in zip(encoded, together, strict=True):
            self.assertEqual(json.loads(line)["input_ids"], json.loads(one)["input_ids"])

    def test_kept_states_change_nothing(self) -> None:
        body = '{"model":"m","state":"%s","questions":{"q":{"type":"noul","instructions":"Is it %d?"}}}'
        stdin = "\n".join(body % ("Some text about an order that came late. " * (5 + i % 3), i % 4) for i in range(24)).encode()
        command = ["ask", "--batch", "--model", RANDOM, "--output", "raw"]
        without = answer(*command, "--no-cache", stdin=stdin)
        self.assertEqual(answer(*command, stdin=stdin), without)
        self.assertEqual(answer(*command, "--cache-mib", "1", stdin=stdin), without)

    def test_cache_options_are_for_batches(self) -> None:
        for options in (["--no-cache"], ["--cache-mib=4"]):
            done = run("ask", *options, stdin=GOOD % 1)
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"--batch", done.stderr)
        self.assertEqual(run("ask", "--batch", "--no-cache", "--cache-mib=4", stdin=GOOD % 1).returncode, 2)
        self.assertEqual(run("ask", "--batch", "--cache-mib=0", stdin=GOOD % 1).returncode, 2)

    def test_order_beyond_the_window(self) -> None:
        short = b'{"model":"%d","state":"s","questions":{"q":{"type":"noul"}}}'
        long = short.replace(b'"s"', b'"' + b"word " * 100 + b'"')
        stdin = b"".join((long if i % 50 == 0 else short) % i + b"\n" for i in range(270))
        models = [json.loads(line)["model"]
                  for line in answer("ask", "--batch", "--model", RANDOM, stdin=stdin).splitlines()]
        self.assertEqual(models, [str(i) for i in range(270)])

    def test_faults_stand_in_their_place(self) -> None:
        stdin = b"\n".join([GOOD % 1, b"", b"  \t\r", b"{bad", GOOD % 2, b'{"model":"m"}', b"\xff", b"\xef\xbb\xbf",
                            b"\xef\xbb\xbf" + GOOD % 3 + b"\r", GOOD.replace(b"%d", b"a\0b"), b"[" * 300,
                            GOOD.replace(b'"noul"', b'"choice","criteria":{"a":1,"b":2}'), GOOD % 4])
        for command in ("ask", "encode"):
            done = run(command, "--batch", "--max-options=1", stdin=stdin)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1)
            self.assertTrue(done.stderr.startswith(b"clef: line 4: "), done.stderr)
            self.assertIn(b"6 lines", done.stderr)
            found = [json.loads(line) for line in done.stdout.splitlines()]
            faults = {entry["line"]: entry["error"] for entry in found if "error" in entry}
            self.assertEqual(["error" in entry for entry in found],
                             [False, True, False, True, True, False, True, True, True, False])
            self.assertEqual(sorted(faults), [4, 6, 7, 10, 11, 12])
            for fault in faults.values():
                self.assertEqual(list(fault), ["type", "loc", "msg"])
                self.assertEqual(fault["loc"][0], "body")
            self.assertEqual((faults[4]["type"], faults[4]["loc"]), ("json_invalid", ["body", 1]))
            self.assertEqual(faults[6]["msg"], "model and state are required")
            self.assertEqual(faults[12]["type"], "over_limit")

    def test_status_is_that_of_the_first_fault(self) -> None:
        over = GOOD % 1 + b"\n" + DEMO.read_bytes().replace(b"\n", b"") + b"\n{bad\n"
        done = run("ask", "--batch", "--max-questions=1", "--json", stdin=over)
        self.assertEqual(done.returncode, 4)
        self.assertEqual(json.loads(done.stderr)["type"], "over_limit")
        self.assertIn("line 2: ", json.loads(done.stderr)["msg"])

    def test_nothing_in_nothing_out(self) -> None:
        for stdin in (b"", b"\n\n", b" \r\n\t\n"):
            self.assertEqual(answer("ask", "--batch", stdin=stdin), b"")

    def test_files(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "requests.jsonl")
            path.write_bytes(GOOD % 1 + b"\n" + GOOD % 2)
            self.assertEqual(answer("ask", "--batch", path), answer("ask", "--batch", stdin=path.read_bytes()))
        self.assertEqual(run("ask", "--batch", "no-such-file").returncode, 2)
        self.assertEqual(run("ask", "--batch", FIXTURES).returncode, 2)

    def test_table_is_refused(self) -> None:
        done = run("ask", "--batch", "--output=table", stdin=GOOD % 1)
        self.assertEqual((done.returncode, done.stdout), (2, b""))

    def test_options_reach_every_line(self) -> None:
        stdin = GOOD % 1 + b"\n" + GOOD % 2 + b"\n"
        for line in answer("ask", "--batch", "--timings", "--round=none", stdin=stdin).splitlines():
            self.assertGreater(json.loads(line)["latency_ms"], 0)
            self.assertGreater(len(str(json.loads(line)["answers"]["q"]["noul"])), len("0.1234"))

    def test_line_above_the_limit(self) -> None:
        padded = GOOD % 1 + b" " * (SIZE_LIMIT - len(GOOD % 1))
        done = run("encode", "--batch", stdin=b"\n".join([padded, padded + b" ", GOOD % 2]))
        found = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(done.returncode, 4)
        self.assertIn("input_ids", found[0])
        self.assertEqual((found[1]["line"], found[1]["error"]["type"]), (2, "too_large"))
        self.assertIn("67,108,864", found[1]["error"]["msg"])
        self.assertIn("input_ids", found[2])


if __name__ == "__main__":
    unittest.main(verbosity=2)
