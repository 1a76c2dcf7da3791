#!/usr/bin/env python3
"""What the server says about itself: the list of models, and the description of its routes."""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any, Iterator

from service import BASE, PROGRAM, ROOT, TINY, Service, ServiceCase, clean_environment


def described_routes() -> dict[str, set[str]]:
    """Path and methods of every row of the table."""
    source = (ROOT / "src/server/routes.c").read_text(encoding="utf-8")
    table = source[source.index("ROUTES[] = {"):source.index("};", source.index("ROUTES[] = {"))]
    rows = re.findall(r"(GET|DECISION)_ROUTE\(\"([^\"]+)\"", table)
    assert len(rows) == table.count("_ROUTE("), table
    return {path: {"get" if kind == "GET" else "post"} for kind, path in rows}


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, member in value.items():
            if name == "$ref":
                yield member
            yield from references(member)
    elif isinstance(value, list):
        for member in value:
            yield from references(member)


class Models(ServiceCase):
    fake = False
    arguments = ("--model-names", "clef,Cloudflare/clef", "--max-questions", "3", "--max-tokens", "12000", "--truncate")

    def test_cards(self) -> None:
        reply = self.service.request("GET", "/v1/models")
        self.assertEqual(reply.status, 200)
        cards = reply.json()["models"]
        self.assertEqual([card["name"] for card in cards], ["clef", "Cloudflare/clef", "jev-latest"])
        changed = datetime.datetime.fromtimestamp(int((TINY / "config.json").stat().st_mtime), datetime.timezone.utc)
        for card in cards:
            self.assertEqual([type(card[name]) for name in ("name", "description", "release_date")], [str] * 3)
            self.assertEqual(card["release_date"], changed.date().isoformat())
            self.assertEqual((card["max_questions"], card["max_tokens"], card["max_state_tokens"]), (3, 12000, 12000))
            self.assertIs(card["truncate_states"], True)
            self.assertEqual(reply.headers["x-clef-model"], "{name}@{digest}".format(**card["weights"]))
            self.assertEqual(list(card["weights"]), ["name", "repo", "revision", "digest"])
            self.assertRegex(card["cpu_level"], "^[a-z0-9]+$")
        entries = reply.json()["data"]
        self.assertEqual([entry["id"] for entry in entries], [card["name"] for card in cards])
        self.assertEqual({entry["created"] for entry in entries}, {int(changed.timestamp())})
        self.assertEqual(self.service.request("GET", "/models").json()["data"], entries)

    def test_kept_states_are_counted(self) -> None:
        with Service("--prefix-cache-bytes", "50000000", fake=False) as service:
            def numbers() -> dict[str, int]:
                return service.request("GET", "/models").json()["models"][0]["prefix_cache"]
            before = numbers()
            self.assertEqual(list(before), ["entries", "bytes", "capacity_bytes", "hits", "misses"])
            self.assertEqual(before["capacity_bytes"], 50000000)
            for _ in range(2):
                service.decide({**BASE, "state": "The order was delayed and the customer waits. " * 40})
            self.assertTrue(service.metric_becomes("clef_prefix_cache_hits_total", before["hits"] + 1))
            after = numbers()
            self.assertEqual(after["misses"], before["misses"] + 1)
            self.assertGreater(after["entries"], before["entries"])
            self.assertGreater(after["bytes"], before["bytes"])
            self.assertLessEqual(after["bytes"], after["capacity_bytes"])
            for name, value in after.items():
                if name != "capacity_bytes":
                    self.assertEqual(service.metric(f"clef_prefix_cache_{name}" + "_total" * (name in ("hits", "misses"))), value)
        with Service("--prefix-cache-bytes", "0", fake=False) as service:
            card = service.request("GET", "/models").json()["models"][0]
            self.assertEqual(set(card["prefix_cache"].values()), {0})

    def test_a_manifest_says_whence_and_when(self) -> None:
        """Its names are those of a download; other JSON files beside it are none."""
        commit = "171287b2571042abec9e7b99752aee58216b0ed0"
        manifest = {"generator": "x", "created": "2026-11-15T02:31:07Z", "repo": "Cloudflare/clef", "revision": commit,
                    "files": []}
        other = {"created_at": "2026-11-15 02:31 UTC", "name": "Cloudflare/clef", "upstream": {"commit": commit}, "files": []}
        for name, text, is_one in (("manifest.json", json.dumps(manifest), True), ("clef.json", json.dumps(other), True),
                                   ("mine.json", json.dumps(manifest), True), ("other.json", json.dumps(manifest), False),
                                   ("manifest.json", "{", False), ("manifest.json", '{"created":"2026-11-15"}', False),
                                   ("manifest.json", '{"created":"15.11.2026","files":[]}', False)):
            with tempfile.TemporaryDirectory() as folder:
                model = Path(folder) / "mine"
                model.mkdir()
                for path in TINY.iterdir():
                    (model / path.name).symlink_to(path)
                (model / name).write_text(text, encoding="utf-8")
                with Service("--model", model) as service:
                    reply = service.request("GET", "/models").json()
                weights = reply["models"][0]["weights"]
                found = (reply["models"][0]["release_date"], weights["repo"], weights["revision"])
                self.assertEqual(found == ("2026-11-15", "Cloudflare/clef", commit), is_one, (name, found))
                if not is_one:
                    self.assertEqual(found[1:], (None, None))
                if name == "mine.json":
                    self.assertEqual(reply["data"][0]["created"], 1794709867)
                    with Service("--model", model, "--revision", commit):
                        pass
                    done = subprocess.run([PROGRAM, "serve", "--port", "0", "--model", model], stdin=subprocess.DEVNULL,
                                          capture_output=True, text=True, env=clean_environment(CLEF_REVISION="main"))
                    self.assertEqual(done.returncode, 5, done.stderr)
                    self.assertIn(f"holds revision {commit}, not main", done.stderr)
        with Service("--revision", commit) as service:
            service.wait_note("has no manifest")

    def test_pictures_are_turned_or_not(self) -> None:
        cards = self.service.request("GET", "/models").json()["models"]
        self.assertEqual({card["exif"] for card in cards}, {"apply"})
        with Service("--exif", "ignore") as service:
            self.assertEqual(service.request("GET", "/models").json()["models"][0]["exif"], "ignore")

    def test_the_limits_are_those_that_hold(self) -> None:
        card = self.service.request("GET", "/models").json()["models"][0]
        for more, status in ((0, 200), (1, 422)):
            questions = {f"q{i}": {"type": "noul"} for i in range(card["max_questions"] + more)}
            self.assertEqual(self.service.decide({**BASE, "questions": questions}).status, status)
            for kind, limit, criteria in (("choice", "max_options", lambda n: {str(i): None for i in range(n)}),
                                          ("score", "max_levels", lambda n: ["x"] * n)):
                body = {**BASE, "questions": {"q": {"type": kind, "criteria": criteria(card[limit] + more)}}}
                self.assertEqual(self.service.decide(body).status, status, limit)

    def test_requests_are_counted(self) -> None:
        def count() -> int:
            return self.service.request("GET", "/models").json()["models"][0]["requests"]
        before = count()
        self.service.decide(BASE)
        self.assertEqual(count(), before + 2)

    def test_a_name_is_listed_once(self) -> None:
        with Service("--model-names", "jev-latest") as service:
            reply = service.request("GET", "/v1/models").json()
            self.assertEqual([card["name"] for card in reply["models"]], ["jev-latest"])
            self.assertEqual([card["id"] for card in reply["data"]], ["jev-latest"])

    def test_behind_the_key(self) -> None:
        with Service("--api-key", "k") as service:
            for path in ("/models", "/v1/models"):
                self.assertEqual(service.request("GET", path).status, 401)
                self.assertEqual(service.request("GET", path, headers={"X-API-Key": "k"}).status, 200)
            self.assertEqual(service.request("GET", "/openapi.json").status, 200)


class Description(ServiceCase):
    def setUp(self) -> None:
        self.document = self.service.request("GET", "/openapi.json").json()

    def test_it_is_the_file(self) -> None:
        self.assertEqual(self.service.request("GET", "/openapi.json").body, (ROOT / "src/server/openapi.json").read_bytes())
        self.assertRegex(self.document["openapi"], r"^3\.1\.")
        version = re.search(r"project\(clef VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)
        self.assertEqual(self.document["info"]["version"], version)

    def test_it_has_the_routes_and_no_others(self) -> None:
        self.assertEqual({path: set(methods) for path, methods in self.document["paths"].items()}, described_routes())

    def test_every_path_is_answered(self) -> None:
        for path, methods in self.document["paths"].items():
            for method in methods:
                reply = self.service.request(method.upper(), path, {} if method == "post" else None)
                self.assertIn(reply.status, (200, 422), path)

    def test_references_lead_somewhere(self) -> None:
        found = set(references(self.document))
        self.assertGreater(len(found), 5)
        for reference in found:
            value = self.document
            for name in reference.removeprefix("#/").split("/"):
                value = value[name]

    def test_keys_guard_what_it_says(self) -> None:
        with Service("--api-key", "k") as service:
            for path, methods in self.document["paths"].items():
                for method, operation in methods.items():
                    is_open = operation.get("security") == [{}]
                    status = service.request(method.upper(), path, {} if method == "post" else None).status
                    self.assertEqual(status == 401, not is_open, path)


if __name__ == "__main__":
    unittest.main(verbosity=1)
