"""Requests from options: each equals the JSON request that it stands for, token for token and byte for byte."""

from __future__ import annotations

import base64
import json
import os
import shlex
import tempfile
import unittest
from pathlib import Path
from typing import Any

from program import FIXTURES, ROOT, TINY, answer, run

NOUL = {"type": "noul"}


def noul(text: str) -> dict[str, Any]:
    return {"type": "noul", "instructions": text}


def choice(criteria: dict[str, Any], text: str | None = None) -> dict[str, Any]:
    return {"type": "choice", **({"instructions": text} if text else {}), "criteria": criteria}


def score(criteria: list[str], text: str | None = None) -> dict[str, Any]:
    return {"type": "score", **({"instructions": text} if text else {}), "criteria": criteria}


QUESTIONS = [  # options, then the questions they stand for
    (["--noul", "Is it down?"], {"q1": noul("Is it down?")}),
    (["--noul", "outage=Is it down?"], {"outage": noul("Is it down?")}),
    (["--noul=outage=Is it down?"], {"outage": noul("Is it down?")}),
    (["--noul", "Is x = 3?"], {"q1": noul("Is x = 3?")}),
    (["--noul", "Is x=3?"], {"q1": noul("Is x=3?")}),
    (["--noul", "x=3?"], {"x": noul("3?")}),
    (["--noul", r"x\=3?"], {"q1": noul("x=3?")}),
    (["--noul", "a:b=c"], {"q1": noul("a:b=c")}),
    (["--noul", "id=  a; b, c: d=e  "], {"id": noul("a; b, c: d=e")}),
    (["--noul", r"id=C:\temp \\ \, \n"], {"id": noul(r"C:\temp \ , \n")}),
    (["--choice", "team=billing:Payments or invoices,technical:Bugs"],
     {"team": choice({"billing": "Payments or invoices", "technical": "Bugs"})}),
    (["--choice", "team=Which team?;billing:Payments, technical : Bugs "],
     {"team": choice({"billing": "Payments", "technical": "Bugs"}, "Which team?")}),
    (["--choice", "Which team? a=b;x,y:"], {"q1": choice({"x": None, "y": ""}, "Which team? a=b")}),
    (["--choice", "b,a"], {"q1": choice({"b": None, "a": None})}),
    (["--choice", r"t\:1\==x\,y:a\:b:c\;d\\"], {"t:1=": choice({"x,y": "a:b:c;d\\"})}),
    (["--choice", r"What\; now?;x;z,y"], {"q1": choice({"x;z": None, "y": None}, "What; now?")}),
    (["--score", "urgency=Can wait,This week,Today"], {"urgency": score(["Can wait", "This week", "Today"])}),
    (["--score", "How bad?;a:b,c"], {"q1": score(["a:b", "c"], "How bad?")}),
    (["--score", "one"], {"q1": score(["one"])}),
    (["--score", "a,a"], {"q1": score(["a", "a"])}),
    (["--score", "s=x", "--noul", "why?", "--choice", "c=1,2", "--noul", "n=4?"],
     {"s": score(["x"]), "q2": noul("why?"), "c": choice({"1": None, "2": None}), "n": noul("4?")}),
    (["--noul", "é=日本語?"], {"é": noul("日本語?")}),
]


class ShortForm(unittest.TestCase):
    def equal(self, options: list[str], state: str, questions: dict[str, Any], stdin: bytes = b"") -> None:
        request = {"model": TINY.name, "state": state, "questions": questions}
        written = json.dumps(request, ensure_ascii=False).encode()
        self.assertEqual(answer("encode", *options, stdin=stdin), answer("encode", stdin=written), options)

    def test_grammar(self) -> None:
        for options, questions in QUESTIONS:
            self.equal(["--state", "the state", *options], "the state", questions)

    def test_position_of_the_state_does_not_matter(self) -> None:
        self.equal(["--noul", "a", "--state", "s", "--noul", "b"], "s", {"q1": noul("a"), "q2": noul("b")})

    def test_states(self) -> None:
        question = ["--noul", "x"]
        asked = {"q1": noul("x")}
        self.equal(["--state=", *question], "", asked)
        self.equal(["--state=--dashes", *question], "--dashes", asked)
        self.equal(["--state", "@@handle", *question], "@handle", asked)
        self.equal(["--state", "@@", *question], "@", asked)
        text = "line\r\n\0quote\" \\ \u2028 é 😀\n\n"
        self.equal(["--state", "-", *question], text, asked, text.encode())
        self.equal(["--state", "-", *question], "", asked, b"")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "state=1, x.txt")
            path.write_bytes(text.encode())
            self.equal(["--state", f"@{path}", *question], text, asked)

    def test_pictures_and_videos(self) -> None:
        images = FIXTURES / "tiny-random/media/images"
        names = ["rgb-16x16.png", "jpeg422-101x203.jpg"]
        frames = sorted((images / "frames").glob("*.png"))[:5]

        def text(path: Path) -> str:
            return base64.b64encode(path.read_bytes()).decode()

        with tempfile.TemporaryDirectory() as folder:
            for number, frame in enumerate(reversed(frames)):
                (Path(folder) / f"{len(frames) - number}.png").write_bytes(frame.read_bytes())
            (Path(folder) / ".hidden").write_bytes(b"no frame")
            options = [part for name in names for part in ("--image", str(images / name))]
            request = {"model": TINY.name, "state": "s", "images": [text(images / name) for name in names],
                       "videos": [[text(frame) for frame in frames]], "questions": {"q1": noul("x")}}
            written = json.dumps(request).encode()
            for command in ("encode", "ask"):
                self.assertEqual(answer(command, "--state", "s", *options, "--video", folder, "--noul", "x"),
                                 answer(command, stdin=written))
            (Path(folder) / "9.png").write_bytes(b"no picture")
            done = run("ask", "--state", "s", "--video", folder, "--noul", "x")
            self.assertEqual(done.returncode, 3)
            self.assertIn("videos[0][5]: not a decodable image", done.stderr.decode())

    def test_pictures_without_a_state(self) -> None:
        picture = FIXTURES / "tiny-random/media/images/rgb-16x16.png"
        text = base64.b64encode(picture.read_bytes()).decode()
        request = {"model": TINY.name, "state": "", "images": [text], "questions": {"q1": noul("Is the receipt total legible?")}}
        self.assertEqual(answer("ask", "--image", str(picture), "--noul", "Is the receipt total legible?"),
                         answer("ask", stdin=json.dumps(request).encode()))
        # The line of the README as it is typed.
        here = os.getcwd()
        try:
            os.chdir(ROOT)
            readme = next(line for line in Path("README.md").read_text(encoding="utf-8").splitlines() if "receipt.jpg" in line)
            body = json.loads(answer(*shlex.split(readme)[1:]))
            self.assertEqual(list(body["answers"]), ["q1"])
            os.chdir("examples")
            self.assertEqual(json.loads(answer("ask", "--image", "receipt.jpg", "--noul", "Is the receipt total legible?")), body)
        finally:
            os.chdir(here)

    def test_files_named_in_a_request(self) -> None:
        images = FIXTURES / "tiny-random/media/images"
        one, two = images / "rgb-16x16.png", images / "jpeg422-101x203.jpg"

        def text(path: Path) -> str:
            return base64.b64encode(path.read_bytes()).decode()

        def body(first: str, second: str, frame: str) -> bytes:
            return (f'{{"videos": [["{frame}", "{frame}"]], "state": {{"n": 1.50e1, "of": "@nobody"}}, "model": "m", "images": '
                    f'["{first}",\t"{second}"], "questions": {{"@q": {{"type": "noul", "instructions": "@x"}}}}}}').encode()
        named, whole = body(f"@{one}", f"@{two}", f"@{two}"), body(text(one), text(two), text(two))
        for options in (["ask"], ["ask", "--batch"], ["encode"]):
            self.assertEqual(answer(*options, stdin=named), answer(*options, stdin=whole))
        for name, says in (("no-such-file", 'the picture "no-such-file"'), (r"a\/b", "without escapes"), ("", "the picture")):
            done = run("ask", stdin=body(f"@{name}", text(two), text(two)))
            self.assertEqual((done.returncode, done.stdout), (2, b""), name)
            self.assertIn(says, done.stderr.decode())
        done = run("ask", "--batch", stdin=body("@no-such-file", text(two), text(two)) + b"\n" + whole)
        lines = done.stdout.splitlines()
        self.assertEqual((done.returncode, len(lines)), (2, 2))
        self.assertIn("no-such-file", json.loads(lines[0])["error"]["msg"])
        self.assertIn("answers", json.loads(lines[1]))

    def test_video_files(self) -> None:
        file = FIXTURES / "media/counted.mp4"
        text = base64.b64encode(file.read_bytes()).decode()
        done = run("ask", "--output", "raw", "--state", "s", "--video", str(file), "--noul", "x")
        if b"CLEF_VIDEO=OFF" in done.stderr:
            self.assertEqual((done.returncode, done.stdout), (3, b""))
            self.assertIn("videos[0]: this build reads no video files", done.stderr.decode())
            self.skipTest("this build reads no video files")
        self.assertEqual(done.returncode, 0, done.stderr)
        for item in (text, f"data:video/mp4;base64,{text}", {"base64": text}, {"url": f"data:;base64,{text}"}):
            request = {"model": TINY.name, "state": "s", "videos": [item], "questions": {"q1": noul("x")}}
            self.assertEqual(answer("ask", "--output", "raw", stdin=json.dumps(request).encode()), done.stdout)
        picture = FIXTURES / "tiny-random/media/images/rgb-16x16.png"
        done = run("ask", "--state", "s", "--video", str(picture), "--noul", "x")
        self.assertEqual(done.returncode, 3)
        self.assertIn("videos[0]: not a readable video", done.stderr.decode())

    def test_orientation(self) -> None:
        picture = FIXTURES / "tiny-random/media/images/exif-rotated-60x120.jpg"
        question = ("ask", "--output", "raw", "--state", "s", "--noul", "x", "--image", str(picture))
        upright = answer(*question)
        self.assertEqual(answer(*question, "--exif", "apply"), upright)
        stored = answer(*question, "--exif", "ignore")
        self.assertNotEqual(json.loads(stored)["questions"], json.loads(upright)["questions"])
        self.assertEqual(json.loads(stored)["input_ids"], json.loads(upright)["input_ids"])

    def test_answer(self) -> None:
        request = {"model": TINY.name, "state": "Orders are blocked.", "questions": {"outage": noul("Is it down?")}}
        self.assertEqual(answer("ask", "--state", "Orders are blocked.", "--noul", "outage=Is it down?"),
                         answer("ask", stdin=json.dumps(request).encode()))

    def test_model_name_is_the_directory(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            link = Path(folder, "my-model")
            link.symlink_to(TINY)
            for name in (f"{link}", f"{link}//"):
                body = json.loads(answer("ask", "--model", name, "--state", "s", "--noul", "x"))
                self.assertEqual(body["model"], "my-model")
            here = os.getcwd()
            try:
                os.chdir(TINY)
                self.assertEqual(json.loads(answer("ask", "--model=.", "--state=s", "--noul=x"))["model"], TINY.name)
            finally:
                os.chdir(here)

    def test_refused(self) -> None:
        for options, says in ((["--noul", "=x"], "id before = is empty"), (["--noul", "a="], "there is no question"),
                              (["--noul", ""], "there is no question"), (["--choice", "a,,b"], "option 2 is empty"),
                              (["--choice", "a,b,"], "option 3 is empty"), (["--choice", ":x"], "option 1 is empty"),
                              (["--choice", "a,b,a:x"], '"a" is there twice'), (["--score", ""], "level 1 is empty"),
                              (["--noul", "a=1", "--score", "a=2"], 'two questions have the id "a"'),
                              (["--noul", "q2=1", "--noul", "x"], 'two questions have the id "q2"'),
                              ([], "--state needs a question"), (["--noul", "x", "file"], "use one of them"),
                              (["--noul", "x", "--batch"], "--batch reads JSON requests")):
            done = run("ask", "--state", "s", *options)
            self.assertEqual((done.returncode, done.stdout), (2, b""), options)
            self.assertIn(says, done.stderr.decode())
        self.assertIn("need --state", run("ask", "--noul", "x").stderr.decode())
        self.assertIn("a picture needs a question", run("ask", "--image", "x").stderr.decode())
        for options, says in ((["--image", "no-such-file"], 'the picture "no-such-file"'),
                              (["--video", "no-such-folder"], 'the video "no-such-folder"'),
                              (["--image", "x", "--batch"], "--batch reads JSON requests")):
            done = run("ask", "--state", "s", "--noul", "x", *options)
            self.assertEqual((done.returncode, done.stdout), (2, b""), options)
            self.assertIn(says, done.stderr.decode())
        with tempfile.TemporaryDirectory() as folder:
            empty = Path(folder, "empty")
            empty.touch()
            for options, says in ((["--image", empty], f'the picture "{empty}" is empty'), (["--video", empty], f'the video "{empty}" is empty'),
                                  (["--video", folder], f'the frame "{empty}" is empty')):
                done = run("ask", "--state", "s", "--noul", "x", *options)
                self.assertEqual((done.returncode, done.stdout), (3, b""), options)
                self.assertIn(says, done.stderr.decode())
        done = run("ask", "--state", "@no-such-file", "--noul", "x")
        self.assertEqual(done.returncode, 2)
        self.assertIn('the state "no-such-file"', done.stderr.decode())
        self.assertEqual(run("ask", "--state", "@", "--noul", "x").returncode, 2)
        self.assertEqual(run("ask", "--state", "-", "--noul", "x", stdin=b"\xff").returncode, 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
