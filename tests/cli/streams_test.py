"""Slow, vanishing and full streams; interrupts; progress."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import time
import unittest

from program import DEMO, PROGRAM, environment, open_terminal, run, run_on_terminal

LINE = b'{"model":"m","state":"s","questions":{"q":{"type":"noul"}}}\n'


def start(*arguments: str) -> subprocess.Popen[bytes]:
    # A test run in the background may have been told to ignore SIGINT, which children inherit.
    return subprocess.Popen([PROGRAM, *arguments], env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


class Streams(unittest.TestCase):
    def finish(self, child: subprocess.Popen[bytes]) -> tuple[int, bytes, bytes]:
        output, errors = child.communicate(timeout=120)
        return child.returncode, output, errors

    def test_answers_do_not_wait_for_more_input(self) -> None:
        for command in ("ask", "encode"):
            child = start(command, "--batch")
            for _ in range(3):
                child.stdin.write(LINE)
                child.stdin.flush()
                self.assertTrue(select.select([child.stdout], [], [], 60)[0], "no answer while the input is open")
                self.assertTrue(child.stdout.readline().startswith(b'{"model":"m"'))
            child.stdin.write(LINE[:20])
            child.stdin.flush()
            time.sleep(0.2)
            child.stdin.write(LINE[20:])
            self.assertTrue(self.finish(child)[1].startswith(b'{"model":"m"'))

    def test_interrupt(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            child = start("ask", "--batch")
            child.stdin.write(LINE)
            child.stdin.flush()
            child.stdout.readline()
            child.send_signal(number)
            status = child.wait(timeout=60)
            errors = child.stderr.read()
            for stream in (child.stdin, child.stdout, child.stderr):
                stream.close()
            self.assertEqual(status, 9)
            self.assertEqual(errors, b"clef: interrupted; 1 lines were answered\n")

    def test_ignored_interrupt_stays_ignored(self) -> None:
        child = subprocess.Popen(["sh", "-c", 'trap "" INT; exec "$0" ask --batch', PROGRAM], env=environment(),
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        child.stdin.write(LINE)
        child.stdin.flush()
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        child.stdin.write(LINE)
        status, output, errors = self.finish(child)
        self.assertEqual((status, output.count(b"\n"), errors), (0, 1, b""))

    def test_reader_that_goes_away(self) -> None:
        for arguments, stdin in ((("ask", str(DEMO)), b""), (("ask", "--help"), b""), (("ask", "--batch"), LINE * 500),
                                 (("encode", "--batch"), LINE * 500), (("info",), b""), (("help", "--man"), b"")):
            ours, theirs = os.pipe()
            os.close(ours)
            done = subprocess.run([PROGRAM, *arguments], input=stdin, stdout=theirs, stderr=subprocess.PIPE,
                                  env=environment(), timeout=120)
            os.close(theirs)
            self.assertEqual((done.returncode, done.stderr), (9, b""), arguments)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_full_disk(self) -> None:
        for arguments, stdin in ((("ask", str(DEMO)), b""), (("ask", "--batch"), LINE), (("--help",), b"")):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([PROGRAM, *arguments], input=stdin, stdout=full, stderr=subprocess.PIPE,
                                      env=environment(), timeout=120)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertIn(b"clef: cannot write to standard output: No space left", done.stderr)

    def test_closed_streams(self) -> None:
        done = subprocess.run(["sh", "-c", 'exec "$0" ask "$1" >&-', PROGRAM, str(DEMO)], capture_output=True,
                              env=environment(), timeout=120)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"standard output", done.stderr)
        done = subprocess.run(["sh", "-c", 'exec "$0" ask <&-', PROGRAM], capture_output=True, env=environment(),
                              timeout=120)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b"standard input", done.stderr)
        done = subprocess.run(["sh", "-c", 'exec "$0" ask "$1" 2>&-', PROGRAM, str(DEMO)], capture_output=True,
                              env=environment(), timeout=120)
        self.assertEqual(done.returncode, 0)

    def test_back_pressure(self) -> None:
        """Nobody reads the answers: the program stops reading requests after a bounded amount."""
        child = start("encode", "--batch")
        os.set_blocking(child.stdin.fileno(), False)
        written = 0
        block = LINE * 1000
        idle_since = time.monotonic()
        while written < 64 << 20 and time.monotonic() - idle_since < 2:
            try:
                written += os.write(child.stdin.fileno(), block)
                idle_since = time.monotonic()
            except BlockingIOError:
                time.sleep(0.01)
        child.kill()
        child.communicate()
        self.assertLess(written, 8 << 20)
        self.assertGreater(written, 0)

    def test_progress(self) -> None:
        status, shown = run_on_terminal("ask", "--batch", streams=("stderr",), stdin=LINE * 20)
        self.assertEqual(status, 0)
        self.assertRegex(shown, rb"\d+ done, [\d.]+/s")
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown)
        status, shown = run_on_terminal("ask", "--batch", streams=("stderr",), stdin=LINE * 20, TERM="dumb")
        self.assertEqual((status, shown), (0, b""))
        self.assertEqual(run("ask", "--batch", stdin=LINE * 20).stderr, b"")

    def test_progress_knows_the_size_of_a_file(self) -> None:
        with tempfile.NamedTemporaryFile() as file:
            file.write(LINE * 3000)
            file.flush()
            status, shown = run_on_terminal("encode", "--batch", file.name, streams=("stderr",), columns=200)
        self.assertEqual(status, 0)
        self.assertRegex(shown, rb"\d+ %, \d+ s left")

    def test_hint_when_reading_from_a_terminal(self) -> None:
        ours, theirs = open_terminal(80)
        child = subprocess.Popen([PROGRAM, "ask"], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env=environment())
        os.close(theirs)
        self.assertTrue(select.select([child.stderr], [], [], 60)[0])
        os.write(ours, b"\x04")
        errors = child.communicate(timeout=60)[1]
        os.close(ours)
        self.assertIn(b"clef: reading the request from the terminal", errors)
        self.assertEqual(child.returncode, 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
