#!/usr/bin/env python3
"""HTTP as RFC 9112 has it: what is malformed or ambiguous is 400 and the end of the connection, what is merely unusual
is answered."""

from __future__ import annotations

import json
import socket
import time
import unittest

from service import BODY, SOON, ServiceCase, post, read_reply, read_to_end, statuses

HOST = b"Host: x\r\n"
START = b"POST /v1/systemone HTTP/1.1\r\n" + HOST
GET = b"GET /healthz HTTP/1.1\r\n" + HOST
CHUNKED = START + b"Transfer-Encoding: chunked\r\n\r\n"
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)

MALFORMED = {
    "lines end in LF": b"GET /healthz HTTP/1.1\nHost: x\n\n",
    "LF inside a header": GET + b"A: b\nC: d\r\n\r\n",
    "CR inside a header": GET + b"A: b\rC: d\r\n\r\n",
    "length twice, equal": START + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "length twice, different": START + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "list of lengths": START + b"Content-Length: 2, 2\r\n\r\n{}",
    "signed length": START + b"Content-Length: +2\r\n\r\n{}",
    "negative length": START + b"Content-Length: -1\r\n\r\n{}",
    "hexadecimal length": START + b"Content-Length: 0x2\r\n\r\n{}",
    "empty length": START + b"Content-Length:\r\n\r\n{}",
    "length with a word": START + b"Content-Length: 2 x\r\n\r\n{}",
    "length and chunks": START + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS,
    "chunks and length": START + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n" + CHUNKS,
    "two codings": START + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + CHUNKS,
    "coding twice": START + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" + CHUNKS,
    "chunked twice": START + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS,
    "unknown coding": START + b"Transfer-Encoding: xchunked\r\n\r\n" + CHUNKS,
    "empty coding": START + b"Transfer-Encoding:\r\n\r\n" + CHUNKS,
    "chunks in HTTP/1.0": b"POST /v1/systemone HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS,
    "chunk 0x2": CHUNKED + b"0x2\r\n{}\r\n0\r\n\r\n",
    "chunk +2": CHUNKED + b"+2\r\n{}\r\n0\r\n\r\n",
    "chunk -1": CHUNKED + b"-1\r\n{}\r\n0\r\n\r\n",
    "blank before a chunk size": CHUNKED + b" 2\r\n{}\r\n0\r\n\r\n",
    "blank behind a chunk size": CHUNKED + b"2 \r\n{}\r\n0\r\n\r\n",
    "no chunk size": CHUNKED + b"\r\n{}\r\n0\r\n\r\n",
    "extension without size": CHUNKED + b";a=b\r\n{}\r\n0\r\n\r\n",
    "chunk G": CHUNKED + b"G\r\n{}\r\n0\r\n\r\n",
    "chunk lines end in LF": CHUNKED + b"2\n{}\n0\n\n",
    "chunk data ends in LF": CHUNKED + b"2\r\n{}\n0\r\n\r\n",
    "chunk size ends in CR": CHUNKED + b"2\r{}\r\n0\r\n\r\n",
    "chunk data too long": CHUNKED + b"2\r\n{}}\r\n0\r\n\r\n",
    "chunk size of 17 digits": CHUNKED + b"00000000000000002\r\n{}\r\n0\r\n\r\n",
    "control character in an extension": CHUNKED + b"2;a=\x01\r\n{}\r\n0\r\n\r\n",
    "endless extension": CHUNKED + b"2;" + b"a" * 5000 + b"\r\n{}\r\n0\r\n\r\n",
    "malformed trailer": CHUNKED + b"2\r\n{}\r\n0\r\nno colon\r\n\r\n",
    "folded header": GET + b"A: b\r\n c\r\n\r\n",
    "blank before the first header": b"GET /healthz HTTP/1.1\r\n A: b\r\n" + HOST + b"\r\n",
    "blank before the colon": GET + b"A : b\r\n\r\n",
    "no colon": GET + b"A\r\n\r\n",
    "no name": GET + b": b\r\n\r\n",
    "bracket in a name": GET + b"A[: b\r\n\r\n",
    "NUL in a value": GET + b"A: b\0c\r\n\r\n",
    "NUL in a name": GET + b"A\0B: c\r\n\r\n",
    "NUL in the target": b"GET /a\0b HTTP/1.1\r\n" + HOST + b"\r\n",
    "control character in a value": GET + b"A: b\x01c\r\n\r\n",
    "DEL in a value": GET + b"A: b\x7fc\r\n\r\n",
    "two blanks in the request line": b"GET  /healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    "tab in the request line": b"GET\t/healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    "blank in the target": b"GET /a b HTTP/1.1\r\n" + HOST + b"\r\n",
    "blank behind the version": b"GET /healthz HTTP/1.1 \r\n" + HOST + b"\r\n",
    "blank before the method": b" GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    "raw byte in the target": b"GET /\xff HTTP/1.1\r\n" + HOST + b"\r\n",
    "fragment in the target": b"GET /healthz#a HTTP/1.1\r\n" + HOST + b"\r\n",
    "relative target": b"GET healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    "lower-case version": b"GET /healthz http/1.1\r\n" + HOST + b"\r\n",
    "version of three parts": b"GET /healthz HTTP/1.1.1\r\n" + HOST + b"\r\n",
    "no version": b"GET /healthz\r\n\r\n",
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "two hosts": GET + HOST + b"\r\n",
    "bad method": b"G@T /healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    "a TLS greeting": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\n" * 20,
}


class Malformed(ServiceCase):
    def test_is_400_in_json_and_ends_the_connection(self) -> None:
        for name, data in MALFORMED.items():
            with self.subTest(name):
                # A second request shows whether anything of the first was taken for another one.
                reply = self.service.raw(data + GET + b"\r\n")
                self.assertEqual(statuses(reply), [400], reply)
                head, _, body = reply.partition(b"\r\n\r\n")
                self.assertIn(b"connection: close", head)
                self.assertIn(b"x-typesafe-request-id: ", head)
                self.assertIn(b"access-control-allow-origin: *", head)
                self.assertIsInstance(json.loads(body)["detail"], str)

    def test_byte_by_byte_is_the_same(self) -> None:
        for name in ("LF inside a header", "length and chunks", "chunk lines end in LF", "folded header"):
            with self.subTest(name), self.service.connect() as stream:
                for byte in MALFORMED[name]:
                    try:
                        stream.sendall(bytes([byte]))
                    except OSError:
                        break
                self.assertEqual(statuses(read_to_end(stream)), [400])

    def test_other_versions(self) -> None:
        for version in (b"HTTP/2.0", b"HTTP/0.9", b"HTTP/3.1"):
            self.assertEqual(statuses(self.service.raw(b"GET /healthz " + version + b"\r\n" + HOST + b"\r\n")), [505])
        self.assertEqual(statuses(self.service.raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")), [505])

    def test_a_head_that_is_too_large(self) -> None:
        self.assertEqual(statuses(self.service.raw(GET + b"A: " + b"b" * 70000 + b"\r\n\r\n")), [431])
        self.assertEqual(statuses(self.service.raw(b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\n")), [431])
        fields = b"".join(b"A%d: b\r\n" % i for i in range(99))
        self.assertEqual(statuses(self.service.raw(GET + fields + b"Connection: close\r\n\r\n")), [431])
        self.assertEqual(statuses(self.service.raw(GET + fields[:-8] + b"Connection: close\r\n\r\n")), [200])

    def test_lengths_of_any_size(self) -> None:
        for length in (b"67108865", b"9" * 19, b"9" * 30, b"18446744073709551617"):
            reply = self.service.raw(START + b"Content-Length: " + length + b"\r\n\r\n")
            self.assertEqual(statuses(reply), [413], reply)
            self.assertIn(b"67108864", reply)
        for size in (b"4000001", b"FFFFFFFFFFFFFFFF", b"8000000000000000"):
            self.assertEqual(statuses(self.service.raw(CHUNKED + size + b"\r\n")), [413])


class Accepted(ServiceCase):
    def one(self, data: bytes) -> int:
        with self.service.connect() as stream:
            stream.sendall(data)
            reply, rest = read_reply(stream)
            self.assertEqual(rest, b"")
            return reply.status

    def test_unusual_but_right(self) -> None:
        for data in (b"\r\n" + GET + b"\r\n", b"GET http://x/healthz HTTP/1.1\r\n" + HOST + b"\r\n",
                     b"GET /healthz?a=b HTTP/1.1\r\n" + HOST + b"\r\n", b"GET /healthz HTTP/1.0\r\n\r\n",
                     b"GET /healthz HTTP/1.9\r\nhOsT:x\r\nX-Y:\t a \t\r\nX-Z:\r\nX-U: \xc3\xa9\r\n\r\n",
                     b"GET /healthz HTTP/1.1\r\nHost:\r\n\r\n", GET + b"Content-Length: 0\r\n\r\n",
                     GET + b"Content-Length: 2\r\n\r\n{}"):
            self.assertEqual(self.one(data), 200, data)

    def test_chunks(self) -> None:
        pieces = b"".join(b"%X;name=\"value\"\r\n%s\r\n" % (1, BODY[i:i + 1]) for i in range(len(BODY)))
        for body in (CHUNKS, b"000%x ; a\r\n%s\r\n00\r\n\r\n" % (len(BODY), BODY), pieces + b"0\r\n\r\n",
                     CHUNKS[:-2] + b"Trailer: x\r\nOther: \r\n\r\n"):
            self.assertEqual(self.one(CHUNKED + body), 200)

    def test_chunks_byte_by_byte(self) -> None:
        with self.service.connect() as stream:
            for byte in CHUNKED + CHUNKS:
                stream.sendall(bytes([byte]))
            self.assertEqual(read_reply(stream)[0].status, 200)

    def test_requests_in_a_row_are_answered_in_order(self) -> None:
        paths = ["/v1/systemone", "/systemone", "/healthz", "/nowhere", "/v1/systemone"] * 8
        data = b"".join(post(BODY, path) if "systemone" in path else b"GET %s HTTP/1.1\r\n%s\r\n" % (path.encode(), HOST)
                        for path in paths)
        with self.service.connect() as stream:
            stream.sendall(data)
            rest = b""
            for path in paths:
                reply, rest = read_reply(stream, rest)
                self.assertEqual(reply.status, 404 if path == "/nowhere" else 200)
                self.assertEqual(b"answers" in reply.body, "systemone" in path)

    def test_keep_alive(self) -> None:
        with self.service.connect() as stream:
            for _ in range(3):
                stream.sendall(GET + b"\r\n")
                self.assertNotIn("connection", read_reply(stream)[0].headers)
            stream.sendall(GET + b"Connection: x, CLOSE\r\n\r\n")
            self.assertEqual(read_reply(stream)[0].headers["connection"], "close")
            self.assertEqual(stream.recv(1), b"")
        self.assertEqual(statuses(self.service.raw(b"GET /healthz HTTP/1.0\r\n\r\n")), [200])
        with self.service.connect() as stream:
            for _ in range(2):
                stream.sendall(b"GET /healthz HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
                self.assertEqual(read_reply(stream)[0].headers["connection"], "keep-alive")

    def test_head_is_get_without_a_body(self) -> None:
        for path in ("/healthz", "/health", "/metrics"):
            with self.service.connect() as stream:
                stream.sendall(f"HEAD {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode() + GET + b"\r\n")
                head = b""
                while b"\r\n\r\n" not in head:
                    head += stream.recv(1)
                self.assertGreater(int(head.split(b"content-length: ")[1].split(b"\r\n")[0]), 0)
                self.assertEqual(read_reply(stream)[0].body, b'{"status":"ok"}')


class Expectations(ServiceCase):
    def test_continue_comes_at_once(self) -> None:
        """Fault J07."""
        with self.service.connect() as stream:
            began = time.monotonic()
            stream.sendall(post(BODY, extra="Expect: 100-Continue\r\n")[:-len(BODY)])
            reply, rest = read_reply(stream)
            self.assertEqual((reply.status, rest), (100, b""))
            self.assertLess(time.monotonic() - began, SOON)
            stream.sendall(BODY)
            self.assertEqual(read_reply(stream)[0].status, 200)
            stream.sendall(GET + b"\r\n")
            self.assertEqual(read_reply(stream)[0].status, 200)

    def test_a_refusal_comes_instead(self) -> None:
        for data, status in ((START + b"Content-Length: 99999999\r\nExpect: 100-continue\r\n\r\n", 413),
                             (START + b"Content-Length: 2\r\nExpect: a-miracle\r\n\r\n", 417),
                             (b"POST /nowhere HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n" + HOST + b"\r\n",
                              404)):
            self.assertEqual(statuses(self.service.raw(data)), [status])

    def test_http_1_0_knows_no_expectation(self) -> None:
        data = b"POST /v1/systemone HTTP/1.0\r\nExpect: a-miracle\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
        self.assertEqual(statuses(self.service.raw(data)), [200])


class Drains(ServiceCase):
    def test_the_body_of_a_refused_request_is_read_away(self) -> None:
        body = b"x" * 500_000
        for data in (post(body, "/nowhere"),
                     b"POST /nowhere HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + HOST +
                     b"\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)):
            with self.service.connect() as stream:
                stream.sendall(data + GET + b"\r\n")
                reply, rest = read_reply(stream)
                self.assertEqual(reply.status, 404)
                self.assertEqual(read_reply(stream, rest)[0].status, 200)

    def test_a_long_one_ends_the_connection(self) -> None:
        with self.service.connect() as stream:
            stream.sendall(b"POST /nowhere HTTP/1.1\r\nContent-Length: 30000000\r\n" + HOST + b"\r\n")
            reply, _ = read_reply(stream)
            self.assertEqual((reply.status, reply.headers["connection"]), (404, "close"))
            with self.assertRaises(OSError):
                stream.settimeout(10)
                for _ in range(1000):
                    stream.sendall(b"x" * 30000)
                    time.sleep(0.001)
                self.fail("the body was read on and on")

    def test_one_reply_for_one_request(self) -> None:
        """The body looks like a request."""
        inner = GET + b"\r\n"
        with self.service.connect() as stream:
            stream.sendall(post(inner, "/nowhere") + b"GET /health HTTP/1.1\r\nConnection: close\r\n" + HOST + b"\r\n")
            stream.shutdown(socket.SHUT_WR)
            self.assertEqual(statuses(read_to_end(stream)), [404, 200])


if __name__ == "__main__":
    unittest.main(verbosity=1)
