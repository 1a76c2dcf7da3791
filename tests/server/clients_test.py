#!/usr/bin/env python3
"""Clients that are slow, silent, greedy or gone: they cost themselves, not the others."""

from __future__ import annotations

import concurrent.futures
import json
import socket
import struct
import threading
import time
import unittest

from service import BASE, BODY, LONG, SLOW, SOON, Service, post, read_reply, read_to_end, statuses



def reset(stream: socket.socket) -> None:
    """Closes so that the other side sees a reset at once."""
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    stream.close()


class Slow(unittest.TestCase):
    def test_slow_clients_do_not_hold_up_others(self) -> None:
        """Fault J02: heads and bodies that drip, readers that stop, silent connections."""
        with Service("--header-timeout", "2", "--body-timeout", "2", "--idle-timeout", "2") as service:
            streams = []
            for i in range(200):
                stream = service.connect()
                stream.sendall(b"GET / HTTP/1.1\r\nX-A: " if i % 2 else post(BODY)[:-len(BODY) + 10])
                streams.append(stream)
            silent = [service.connect() for _ in range(20)]
            stopped = threading.Event()

            def drip() -> None:
                while not stopped.wait(0.25):
                    for stream in streams:
                        try:
                            stream.send(b"a")
                        except OSError:
                            pass
            dripper = threading.Thread(target=drip)
            dripper.start()
            began = time.monotonic()
            while time.monotonic() - began < 1.5:
                start = time.monotonic()
                self.assertEqual(service.request("GET", "/health").status, 200)
                self.assertEqual(service.decide(BASE).status, 200)
                self.assertLess(time.monotonic() - start, SOON)
                time.sleep(0.05)
            for stream in streams + silent:
                reply = read_to_end(stream)
                self.assertEqual(statuses(reply), [408], reply)
                self.assertIn(b"retry-after: 1\r\nretry-after-ms: 1000\r\n", reply)
                stream.close()
            stopped.set()
            dripper.join()
            self.assertLess(time.monotonic() - began, 12)

    def test_idle_connections_are_closed(self) -> None:
        with Service("--idle-timeout", "1") as service, service.connect() as stream:
            stream.sendall(post(BODY))
            self.assertEqual(read_reply(stream)[0].status, 200)
            began = time.monotonic()
            self.assertEqual(stream.recv(1), b"")
            self.assertGreater(time.monotonic() - began, 0.5)

    def test_a_reader_that_stops(self) -> None:
        with Service("--body-timeout", "1", "--max-connections", "2000") as service, service.connect() as stream:
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            stream.settimeout(20)
            request = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
            sent = 0
            with self.assertRaises(OSError):
                while sent < 1 << 26:
                    sent += stream.send(request * 200)
            self.assertEqual(service.request("GET", "/health").status, 200)
            self.assertLess(service.resident_bytes(), 400 << 20)

    def test_a_slow_but_honest_upload(self) -> None:
        """Faster than a drip: it may take longer than the time-out as a whole."""
        with Service("--body-timeout", "1") as service, service.connect() as stream:
            body = BODY + b" " * 10000
            data = post(body)
            stream.sendall(data[:200])
            for i in range(200, len(data), 500):
                time.sleep(0.1)
                stream.sendall(data[i:i + 500])
            self.assertEqual(read_reply(stream)[0].status, 200)


class Connections(unittest.TestCase):
    def test_more_than_the_limit_wait(self) -> None:
        with Service("--max-connections", "4") as service:
            held = [service.connect() for _ in range(4)]
            for stream in held:
                stream.sendall(post(BODY))
                self.assertEqual(read_reply(stream)[0].status, 200)
            waiting = service.connect()
            waiting.sendall(post(BODY))
            waiting.settimeout(0.5)
            with self.assertRaises(socket.timeout):
                waiting.recv(1)
            held[0].close()
            waiting.settimeout(20)
            self.assertEqual(read_reply(waiting)[0].status, 200)
            for stream in held + [waiting]:
                stream.close()

    def test_abrupt_ends_leave_nothing(self) -> None:
        with Service() as service:
            self.assertTrue(service.metric_becomes("clef_connections", 1))
            for cut in (0, 1, 30, 60, len(post(BODY)) - 1, len(post(BODY))):
                for end in (reset, socket.socket.close):
                    stream = service.connect()
                    stream.sendall(post(BODY)[:cut])
                    end(stream)
            self.assertTrue(service.metric_becomes("clef_connections", 1))
            self.assertEqual(service.decide(BASE).status, 200)


class Gone(unittest.TestCase):
    """Fault J01, F05: with a real model, whose long request takes a while."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.service = Service(*SLOW, fake=False)
        began = time.monotonic()
        cls.answer = cls.service.decide(LONG).json()
        cls.long_seconds = time.monotonic() - began

    @classmethod
    def tearDownClass(cls) -> None:
        cls.service.__exit__(None)

    def test_work_of_clients_that_left_is_dropped(self) -> None:
        service = self.service
        before = service.metric("clef_cancelled_total")
        for end in (socket.socket.close, reset, socket.socket.close, reset, socket.socket.close):
            stream = service.connect()
            stream.sendall(post(json.dumps({**LONG, "model": str(end)}).encode()))
            time.sleep(0.1)
            end(stream)
        began = time.monotonic()
        self.assertEqual(service.decide(BASE).status, 200)
        self.assertLess(time.monotonic() - began, self.long_seconds + 2)
        self.assertTrue(service.metric_becomes("clef_cancelled_total", before + 5))
        self.assertTrue(service.metric_becomes("clef_in_flight", 0))

    def test_half_a_close_is_none(self) -> None:
        with self.service.connect() as stream:
            stream.sendall(post(json.dumps(LONG).encode()))
            stream.shutdown(socket.SHUT_WR)
            data = read_to_end(stream)
        final = data[data.index(b"HTTP/1.1 200"):]
        self.assertEqual([status for status in statuses(data) if status >= 200], [200])
        self.assertEqual(json.loads(final.split(b"\r\n\r\n", 1)[1])["answers"], self.answer["answers"])

    def test_half_a_close_before_a_quick_answer(self) -> None:
        data = self.service.raw(post(BODY), finish=True)
        self.assertEqual(statuses(data)[-1], 200)

    def test_an_old_client_that_closed_its_side(self) -> None:
        body = json.dumps(LONG).encode()
        data = b"POST /v1/systemone HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        self.assertEqual(statuses(self.service.raw(data, finish=True)), [200])

    def test_only_the_one_that_left_stops(self) -> None:
        """Equal requests are one computation; it goes on for those who stay."""
        streams = [self.service.connect() for _ in range(4)]
        for stream in streams:
            stream.sendall(post(json.dumps({**LONG, "state": LONG["state"] + "!"}).encode()))
        time.sleep(0.1)
        streams[0].close()
        reset(streams[2])
        for stream in (streams[1], streams[3]):
            self.assertEqual(read_reply(stream)[0].status, 200)
            stream.close()

    def test_health_while_the_engine_works(self) -> None:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            work = pool.submit(self.service.decide, LONG)
            while not work.done():
                began = time.monotonic()
                self.assertEqual(self.service.request("GET", "/health").status, 200)
                self.assertLess(time.monotonic() - began, SOON)
                time.sleep(0.02)
            self.assertEqual(work.result().json()["answers"], self.answer["answers"])


if __name__ == "__main__":
    unittest.main(verbosity=1)
