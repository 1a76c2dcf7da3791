#!/usr/bin/env python3
"""What the server says about itself: the list of models, and the description of its routes."""

from __future__ import annotations

import datetime
import re
import unittest
from typing import Any, Iterator

from service import BASE, ROOT, TINY, Service, ServiceCase


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
            self.assertRegex(card["cpu_level"], "^[a-z0-9]+$")
        entries = reply.json()["data"]
        self.assertEqual([entry["id"] for entry in entries], [card["name"] for card in cards])
        self.assertEqual({entry["created"] for entry in entries}, {int(changed.timestamp())})
        self.assertEqual(self.service.request("GET", "/models").json()["data"], entries)

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
