#!/usr/bin/env python3
"""Pictures of other hosts: refused unless allowed, never from inside the network, within limits of bytes, time and redirects,
and without keeping anybody else waiting. The other host is a server of this test on the loopback address."""

from __future__ import annotations

import base64
import http.server
import json
import shutil
import socket
import socketserver
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from typing import Any

from service import BASE, FIXTURES, PROGRAM, SLOWNESS, Service, clean_environment, post

IMAGES = FIXTURES / "tiny-random/media/images"
PICTURE = (IMAGES / "jpeg422-101x203.jpg").read_bytes()
FAILED = "images[0]: could not fetch the image"


class Host(http.server.BaseHTTPRequestHandler):
    """What the pictures come from; the class counts who asked for what."""
    protocol_version = "HTTP/1.1"
    asked: list[str] = []
    release = threading.Event()

    def log_message(self, *_: Any) -> None:
        pass

    def send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:  # pylint: disable=invalid-name # the base class wants it
        Host.asked.append(self.path)
        name, _, rest = self.path.lstrip("/").partition("/")
        try:
            if name == "redirect":  # redirect/N/TARGET: N more, then to the target
                count, _, target = rest.partition("/")
                self.send(302, b"on", location=f"/redirect/{int(count) - 1}/{target}" if int(count) > 1 else f"/{target}")
            elif name == "to":
                self.send(302, b"on", location=base64.urlsafe_b64decode(rest).decode())
            elif name == "status":
                self.send(int(rest), PICTURE)
            elif name == "html":
                self.send(200, b"<html>secret</html>", content_type="image/png")
            elif name == "gif":
                self.send(200, (IMAGES / "palette-33x47.gif").read_bytes())
            elif name == "gzip":
                self.send(200, b"\x1f\x8b\x08" + PICTURE, content_encoding="gzip")
            elif name == "endless":
                self.send_response(200)
                self.end_headers()
                while True:
                    self.wfile.write(PICTURE + bytes(1 << 16))
            elif name == "slow":
                self.send_response(200)
                self.send_header("content-length", "1000000")
                self.end_headers()
                self.wfile.write(PICTURE[:100])
                self.wfile.flush()
                Host.release.wait(60)
            else:
                self.send(200, PICTURE, content_type="text/plain")
        except OSError:
            self.close_connection = True


class ThreadingServer(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_: Any) -> None:
        """A client that does not trust the host hangs up; that is what is wanted."""


def with_images(*urls: Any, **more: Any) -> dict[str, Any]:
    return {**BASE, "images": list(urls), **more}


class Remote(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.host = ThreadingServer(("127.0.0.1", 0), Host)
        threading.Thread(target=cls.host.serve_forever, daemon=True).start()
        cls.port = cls.host.server_address[1]
        cls.url = f"http://127.0.0.1:{cls.port}"
        cls.allowed = ("--remote-images", "--remote-allow", "127.0.0.1", "--remote-ports", f"80,443,{cls.port}")

    @classmethod
    def tearDownClass(cls) -> None:
        Host.release.set()
        cls.host.shutdown()
        cls.host.server_close()

    def setUp(self) -> None:
        Host.asked.clear()
        Host.release.clear()

    def failed(self, service: Service, url: Any, message: str = FAILED) -> None:
        reply = service.decide(with_images(url))
        self.assertEqual(reply.status, 422, url)
        self.assertEqual((reply.detail[0]["type"], reply.detail[0]["loc"]), ("media_error", ["body", "images", "0"]), url)
        self.assertEqual(reply.detail[0]["msg"], message, url)

    def test_off_by_default(self) -> None:
        with Service() as service:
            self.failed(service, f"{self.url}/a.jpg", "images[0]: remote image URLs are disabled on this server")
            self.assertIs(service.request("GET", "/v1/models").json()["models"][0]["remote_images"], False)
        self.assertEqual(Host.asked, [])

    def test_j03_nothing_inside_the_network(self) -> None:
        port = self.port
        with Service("--remote-ports", f"{port},80", CLEF_ALLOW_REMOTE_IMAGES="1") as service:
            self.assertIs(service.request("GET", "/v1/models").json()["models"][0]["remote_images"], True)
            for host in ("127.0.0.1", "localhost", "LOCALHOST.", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f000001", "0177.0.0.1",
                         "127.1", "0.0.0.0", "0", "[::]", "user@127.0.0.1", "8.8.8.8@127.0.0.1", "127.0.0.1%2f@8.8.8.8"):
                self.failed(service, f"http://{host}:{port}/a.jpg")
            for url in ("http://169.254.169.254/latest/meta-data/", f"http://127.0.0.1:{port + 1}/", "http://", "https://[", "http://a b/",
                        f"http://127.0.0.1:{port}/" + "x" * 9000):
                self.failed(service, url)
            for url in ("file:///etc/passwd", "ftp://127.0.0.1/a.jpg", "gopher://127.0.0.1/", "//127.0.0.1/a.jpg"):
                reply = service.decide(with_images(url))
                self.assertEqual(reply.status, 422)
                self.assertNotIn("fetch", reply.detail[0]["msg"])
        self.assertEqual(Host.asked, [])

    def test_answers_are_those_of_the_picture(self) -> None:
        text = base64.b64encode(PICTURE).decode()
        with Service("--round", "none", *self.allowed, fake=False) as service:
            expected = service.decide(with_images(text)).json()["answers"]
            for item in (f"{self.url}/a.jpg", f" {self.url}/a.jpg\n", {"url": f"{self.url}/a"},
                         {"type": "image_url", "image_url": {"url": f"{self.url}/a"}}, f"{self.url}/redirect/3/a.jpg"):
                reply = service.decide(with_images(item))
                self.assertEqual(reply.status, 200, (item, reply.body))
                self.assertEqual(reply.json()["answers"], expected)
            video = {**BASE, "videos": [[f"{self.url}/1", text]]}
            self.assertEqual(service.decide(video).json()["answers"],
                             service.decide({**BASE, "videos": [[text, text]]}).json()["answers"])
            Host.asked.clear()
            reply = service.request("POST", "/v1/systemone/separate", with_images(f"{self.url}/once"))
            self.assertEqual((reply.status, Host.asked), (200, ["/once"]), reply.body)

    def test_j03_what_does_not_work_out_says_nothing(self) -> None:
        away = base64.urlsafe_b64encode(f"http://localhost:{self.port}/a.jpg".encode()).decode()
        inside = base64.urlsafe_b64encode(b"http://169.254.169.254/").decode()
        file = base64.urlsafe_b64encode(b"file:///etc/passwd").decode()
        user = base64.urlsafe_b64encode(f"http://a:b@127.0.0.1:{self.port}/a.jpg".encode()).decode()
        with Service(*self.allowed) as service:
            for path in ("redirect/4/a.jpg", "redirect/100/a.jpg", f"to/{away}", f"to/{inside}", f"to/{file}", f"to/{user}", "status/404",
                         "status/500", "status/204", "html", "gif", "gzip", "endless"):
                self.failed(service, f"{self.url}/{path}")
            self.assertNotIn("/a.jpg", Host.asked)
            self.failed(service, f"https://127.0.0.1:{self.port}/")
            many = service.decide({**BASE, "videos": [[f"{self.url}/{i}" for i in range(33)]]})
            self.assertEqual((many.status, many.detail[0]["msg"]), (422, "videos[0][32]: more than 32 remote images in a request"))

    def test_slow_hosts_keep_nobody_waiting(self) -> None:
        with Service(*self.allowed) as service:
            replies: list[Any] = []
            started = time.monotonic()
            threads = [threading.Thread(target=lambda: replies.append(service.decide(with_images(f"{self.url}/slow")))) for _ in range(12)]
            for thread in threads:
                thread.start()
            while len(Host.asked) < 8:
                self.assertLess(time.monotonic() - started, 30)
                time.sleep(0.02)
            text = base64.b64encode(PICTURE).decode()
            for body in (BASE, with_images(text), with_images("x" * 30000)):
                began = time.monotonic()
                self.assertIn(service.decide(body).status, (200, 422))
                self.assertLess(time.monotonic() - began, 3 * SLOWNESS)
            # Who leaves is not waited for: the place of a fetch is free long before its time is over.
            with service.connect() as stream:
                stream.sendall(post(json.dumps(with_images(f"{self.url}/slow")).encode()))
                time.sleep(0.2)
            Host.release.set()
            for thread in threads:
                thread.join()
            self.assertEqual({reply.status for reply in replies}, {422})
            self.assertTrue(service.metric_becomes("clef_cancelled_total", 1))

    def test_the_client_leaving_ends_a_fetch(self) -> None:
        with Service(*self.allowed) as service:
            began = time.monotonic()
            with service.connect() as stream:
                stream.sendall(post(json.dumps(with_images(f"{self.url}/slow")).encode()))
                while not Host.asked:
                    time.sleep(0.02)
            self.assertTrue(service.metric_becomes("clef_cancelled_total", 1))
            self.assertLess(time.monotonic() - began, 6 * SLOWNESS)

    def test_time_is_limited(self) -> None:
        with Service(*self.allowed) as service:
            began = time.monotonic()
            self.failed(service, f"{self.url}/slow")
            self.assertTrue(8 < time.monotonic() - began < 12 + 3 * SLOWNESS)

    def test_a_host_that_never_accepts(self) -> None:
        with socket.socket() as silent, Service("--remote-images", "--remote-allow", "127.0.0.1", "--remote-ports",
                                                str(self.port)) as service:
            silent.bind(("127.0.0.1", 0))  # bound and not listening
            self.failed(service, f"http://127.0.0.1:{silent.getsockname()[1]}/")

    def test_the_program(self) -> None:
        def ask(*options: str, images: str) -> subprocess.CompletedProcess[bytes]:
            return subprocess.run([PROGRAM, "ask", *options], input=json.dumps(with_images(images)).encode(), capture_output=True,
                                  timeout=120, env=clean_environment(), check=False)
        text = base64.b64encode(PICTURE).decode()
        done = ask(*self.allowed, images=f"{self.url}/a.jpg")
        self.assertEqual((done.returncode, done.stdout), (0, ask(images=text).stdout), done.stderr)
        done = ask(*self.allowed, images=f"{self.url}/status/404")
        self.assertEqual((done.returncode, done.stdout), (7, b""))
        self.assertIn(FAILED, done.stderr.decode())
        self.assertEqual(ask(images=f"{self.url}/a.jpg").returncode, 3)
        for options, says in ((("--remote-allow", "x"), "need --remote-images"), (("--remote-images", "--remote-ports", "80,x"), "--remote-ports"),
                              (("--remote-images", "--remote-ports", "0"), "--remote-ports")):
            done = ask(*options, images=text)
            self.assertEqual(done.returncode, 2)
            self.assertIn(says, done.stderr.decode())


def make_certificate(folder: str) -> tuple[str, str]:
    """Key and certificate of 127.0.0.1, which is its own authority."""
    key, certificate = f"{folder}/key.pem", f"{folder}/certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=clef test", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return key, certificate


@unittest.skipUnless(shutil.which("openssl"), "there is no openssl to make a certificate")
class Secure(unittest.TestCase):
    """The same host twice: by https, with a certificate that nobody knows, and by http."""
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        key, cls.certificate = make_certificate(cls.folder.name)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cls.certificate, key)
        cls.hosts = [ThreadingServer(("127.0.0.1", 0), Host) for _ in range(2)]
        # The handshake is left to the thread that reads: one client that hangs up in it must not end the host.
        cls.hosts[0].socket = context.wrap_socket(cls.hosts[0].socket, server_side=True, do_handshake_on_connect=False)
        for host in cls.hosts:
            threading.Thread(target=host.serve_forever, daemon=True).start()
        ports = [host.server_address[1] for host in cls.hosts]
        cls.secure, cls.plain = f"https://127.0.0.1:{ports[0]}", f"http://127.0.0.1:{ports[1]}"
        cls.allowed = ("--remote-images", "--remote-allow", "127.0.0.1", "--remote-ports", f"{ports[0]},{ports[1]}")

    @classmethod
    def tearDownClass(cls) -> None:
        for host in cls.hosts:
            host.shutdown()
            host.server_close()
        cls.folder.cleanup()

    def setUp(self) -> None:
        Host.asked.clear()

    @staticmethod
    def to(url: str) -> str:
        return "/to/" + base64.urlsafe_b64encode(url.encode()).decode()

    def status(self, service: Service, url: str) -> int:
        reply = service.decide(with_images(url))
        if reply.status != 200:
            self.assertEqual(reply.detail[0]["msg"], FAILED, url)
        return reply.status

    def test_j03_secure_never_leads_to_plain(self) -> None:
        with Service(*self.allowed, "--remote-ca", self.certificate) as service:
            for url, status in ((f"{self.secure}/a.jpg", 200), (f"{self.plain}/a.jpg", 200), (self.secure + self.to(f"{self.secure}/b.jpg"), 200),
                                (self.plain + self.to(f"{self.secure}/c.jpg"), 200), (self.secure + self.to(f"{self.plain}/no.jpg"), 422),
                                (self.plain + self.to(self.secure + self.to(f"{self.plain}/no.jpg")), 422)):
                self.assertEqual(self.status(service, url), status, url)
        self.assertEqual([path for path in Host.asked if path.endswith(".jpg")], ["/a.jpg", "/a.jpg", "/b.jpg", "/c.jpg"])

    def test_who_is_not_known_is_not_asked(self) -> None:
        with Service(*self.allowed) as service:
            self.assertEqual(self.status(service, f"{self.secure}/a.jpg"), 422)
            self.assertEqual(self.status(service, f"{self.plain}/a.jpg"), 200)
        with Service(*self.allowed, "--remote-allow", "localhost", "--remote-ca", self.certificate) as service:
            self.assertEqual(self.status(service, f"{self.secure.replace('127.0.0.1', 'localhost')}/a.jpg"), 422)  # another name
        self.assertEqual(Host.asked, ["/a.jpg"])

    def test_a_file_that_holds_none(self) -> None:
        with tempfile.NamedTemporaryFile() as other:
            other.write(b"no certificate")
            other.flush()
            for options, says in ((("--remote-ca", self.certificate), "need --remote-images"),
                                  (("--remote-images", "--remote-ca", "/no/such.pem"), "--remote-ca /no/such.pem: such.pem is missing"),
                                  (("--remote-images", "--remote-ca", other.name), f"--remote-ca {other.name}: it holds no certificate"),
                                  (("--remote-images", "--remote-ca", "/tmp"), "--remote-ca /tmp: tmp is a directory"),
                                  (("--remote-images", "--remote-ca", ""), "--remote-ca takes FILE")):
                done = subprocess.run([PROGRAM, "serve", "--port", "0", *options], capture_output=True, timeout=120, env=clean_environment(),
                                      check=False)
                self.assertEqual(done.returncode, 2, options)
                self.assertIn(says, done.stderr.decode())


def is_built() -> bool:
    """Whether this build fetches anything, and says which option is missing when it does not."""
    with Service("--remote-images") as service:
        message = service.decide(with_images("http://127.0.0.1/")).detail[0]["msg"]
    return "CLEF_REMOTE=OFF" not in message


if __name__ == "__main__":
    if not is_built():
        print("SKIP: this build fetches no images (CLEF_REMOTE=OFF)")
        sys.exit(77)
    unittest.main()
