"""Run by packages_test.py with the interpreter that has typesafe-sdk: sdk_client.py URL. The server has the key "right",
checks names of models and has room for one request. Ends with an assertion that fails, or says nothing."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time

import typesafe_sdk as sdk

URL = sys.argv[1]
SLOWNESS = int(os.environ.get("CLEF_SLOWNESS", "1"))
ONCE = sdk.RetryPolicy(max_retries=0)
LONG = "The order was delayed and the customer waits. " * (300 // SLOWNESS)
QUESTIONS = {
    "outage": sdk.Noul(instructions="Is a service down?"),
    "team": sdk.Choice(instructions="Who takes it?", criteria={"technical": "Faults", "billing": {"about": "Payments"}, "sales": None}),
    "urgency": sdk.Score(criteria=["can wait", "this week", "today"]),
}


def client(key: str = "right", url: str = URL, **more: object) -> sdk.TypeSafeClient:
    return sdk.TypeSafeClient(api_key=key, base_url=url, **{"retry": ONCE, "timeout": 120.0, **more})


def expect(kind: type[Exception], call: object, *texts: str) -> Exception:
    try:
        call()
    except kind as error:
        for text in texts:
            assert text in str(error), (text, str(error))
        return error
    raise AssertionError(f"no {kind.__name__}")


def check_answers() -> None:
    with client() as one:
        answers = one.system_one(state={"text": "Checkout fails.", "count": 3}, questions=QUESTIONS).answers
        assert list(answers) == list(QUESTIONS)
        assert 0.0 <= answers["outage"].noul <= 1.0
        team, urgency = answers["team"], answers["urgency"]
        assert set(team.probabilities) == {"technical", "billing", "sales"}
        assert team.choice == max(team.probabilities, key=team.probabilities.get)
        assert urgency.legend == {0: "can wait", 1: "this week", 2: "today"}
        assert abs(urgency.score - sum(level * p for level, p in urgency.probabilities.items())) < 2e-4
        for probabilities in (team.probabilities, urgency.probabilities):
            assert abs(sum(probabilities.values()) - 1.0) < 1e-3
        response = one.system_one(state="x", questions={"q": sdk.Noul(instructions="Is it?")}, model="clef")
        assert response.model == "clef" and response.usage.input_tokens > 0


def check_models() -> None:
    with client() as one:
        cards = one.models.list().models
    assert [card.name for card in cards] == ["clef", "jev-latest"]
    assert all(card.description and len(card.release_date) == 10 for card in cards)


def check_refusals() -> None:
    noul = {"q": sdk.Noul(instructions="Is it?")}
    with client("wrong") as one:
        error = expect(sdk.TypeSafeAuthenticationError, lambda: one.system_one(state="x", questions=noul), "API key")
        assert error.status == 401 and len(error.request_id) == 32
        expect(sdk.TypeSafeAuthenticationError, lambda: one.models.list())
    with client() as one:
        error = expect(sdk.TypeSafeNotFoundError, lambda: one.system_one(state="x", questions=noul, model="gpt"), "served: clef")
        assert error.status == 404
        many = {str(i): sdk.Noul(instructions="Is it?") for i in range(65)}
        expect(sdk.TypeSafeUnprocessableEntityError, lambda: one.system_one(state="x", questions=many), "questions: 65")
        expect(sdk.TypeSafeUnprocessableEntityError, lambda: one.system_one(state="word " * 40000, questions=noul), "tokens")
        error = expect(sdk.TypeSafeUnprocessableEntityError, lambda: one.system_one(
            state="x", questions=many, extra_headers={"x-typesafe-request-id": "mine"}))
        assert error.request_id == "mine"
        expect(sdk.TypeSafeAPITimeoutError, lambda: one.system_one(state=LONG + "!", questions=noul, timeout=0.02))
    with client(url=URL + "/nowhere") as one:
        expect(sdk.TypeSafeNotFoundError, lambda: one.system_one(state="x", questions=noul), "/v1/systemone")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with client(url=f"http://127.0.0.1:{unused.getsockname()[1]}") as one:
            expect(sdk.TypeSafeAPIConnectionError, lambda: one.system_one(state="x", questions=noul))


def check_busy() -> None:
    """503 names the time to wait, and a client that waits is answered."""
    done = []

    def occupy() -> None:
        with client() as other:
            done.append(other.system_one(state=LONG, questions=QUESTIONS))

    with client() as one:
        deadline = time.monotonic() + 60
        error = None
        while error is None and time.monotonic() < deadline:
            thread = threading.Thread(target=occupy)
            thread.start()
            while error is None and thread.is_alive():
                try:
                    one.system_one(state="x", questions={"q": sdk.Noul(instructions="Is it?")})
                except sdk.TypeSafeInternalServerError as busy:
                    error = busy
            if error is not None:
                patient = sdk.RetryPolicy(max_retries=60, timeout=120.0, backoff_max=1.0)
                assert one.system_one(state="x", questions={"q": sdk.Noul(instructions="Is it?")}, retry=patient).answers["q"].noul >= 0.0
            thread.join()
    assert error is not None and error.status == 503
    assert (error.headers["retry-after"], error.headers["retry-after-ms"]) == ("1", "1000")


check_answers()
check_models()
check_refusals()
check_busy()
