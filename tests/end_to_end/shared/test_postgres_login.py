"""Somebody between the server and PostgreSQL, who wants its password."""

import contextlib
import socket
import ssl
import struct
import threading
import unittest

from program import ServerTest, wait_until
from test_faktory import make_certificate

SECRET = b"s3cret-of-the-log"
CLEAR = b"R" + struct.pack(">II", 8, 3)
SCRAM = b"R" + struct.pack(">II", 23, 10) + b"SCRAM-SHA-256\0\0"
TLS_REQUEST = struct.pack(">II", 8, 80877103)


class Impostor:
    """Answers the first messages of each connection with `answers`, and keeps all that it hears."""

    def __init__(self, answers, tls=None):
        self.answers = answers
        self.tls = tls
        self.heard = b""
        self.first = None
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                client = self.listener.accept()[0]
                with client, contextlib.suppress(OSError):
                    client.settimeout(2)
                    self.talk(client)
                self.done.set()

    def talk(self, client):
        for answer in self.answers:
            self.hear(client)
            client.sendall(answer)
            if answer == b"S":
                client = self.tls.wrap_socket(client, server_side=True)
        while self.hear(client):
            pass

    def hear(self, client):
        said = client.recv(65536)
        self.first = self.first or said
        self.heard += said
        return said

    def end(self):
        self.listener.close()


class PostgresLoginTest(ServerTest):
    def begin(self, answers, mode, tls=None):
        """Where the address is given, the name is not looked up. It is the name of no server on
        this machine."""
        impostor = Impostor(answers, tls)
        self.addCleanup(impostor.end)
        url = f"postgresql://jobs:{SECRET.decode()}@log.example/jobs"
        url += f"?hostaddr=127.0.0.1&port={impostor.port}{mode}"
        server = self.server(f"--log={url}", "--node=a", "--no-relay")
        server.begin()
        self.addCleanup(server.kill)
        return impostor, server

    def meet(self, answers, mode, tls=None):
        impostor, server = self.begin(answers, mode, tls)
        self.assertTrue(impostor.done.wait(20))
        server.kill()
        self.assertNotIn(SECRET, impostor.heard)
        text = server.error_text()
        self.assertNotIn(SECRET.decode(), text)
        return impostor, text

    def test_without_tls_the_server_is_told_nothing(self):
        impostor, _ = self.meet([b"N"], "")
        self.assertEqual(impostor.heard[:8], TLS_REQUEST)
        self.assertNotIn(b"jobs", impostor.heard)

    def test_without_tls_it_is_said_what_to_do(self):
        for mode in ("", "&sslmode=require"):
            _, server = self.begin([b"N"], mode)
            wait_until(lambda server=server: "SSL" in server.error_text(), "the refusal")
            for remedy in ("ssl = on", "--log-ca", "sslmode"):
                self.assertIn(remedy, server.error_text())

    def test_a_request_for_the_password_is_refused_where_the_url_gives_up_tls(self):
        _, text = self.meet([CLEAR], "&sslmode=disable")
        self.assertIn("log_exposed problem=\"sslmode=disable: jobs can be read", text)

    def test_it_is_refused_behind_another_request(self):
        for answers in ([SCRAM + CLEAR], [SCRAM, CLEAR]):
            self.meet(answers, "&sslmode=disable")

    def test_it_is_refused_behind_a_refusal_of_tls(self):
        for answers in ([b"N" + CLEAR], [b"N", CLEAR], [b"N" + SCRAM + CLEAR]):
            self.meet(answers, "&sslmode=prefer")
        self.meet([CLEAR, CLEAR], "&sslmode=allow")

    def test_the_login_goes_on_without_tls_where_the_url_allows_that(self):
        impostor, _ = self.meet([b"N", SCRAM], "&sslmode=prefer")
        self.assertIn(b"user\0jobs\0database\0jobs\0", impostor.heard)
        self.assertIn(b"SCRAM-SHA-256", impostor.heard)

    def test_tls_goes_on_where_the_server_has_it(self):
        names = (self.path("certificate"), self.path("key"))
        make_certificate(*names, "log.example")
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*names)
        impostor, _ = self.meet([b"S"], "&sslmode=prefer", tls)
        self.assertIn(b"user\0jobs\0database\0jobs\0", impostor.heard)
        impostor, _ = self.meet([b"S"], "", tls)  # nobody has issued that certificate
        self.assertNotIn(b"jobs", impostor.heard)

    def test_an_endless_or_empty_message_ends_the_login(self):
        for answer in (b"R" + struct.pack(">I", 0x7FFFFFFF), b"R" + struct.pack(">I", 0), b"R",
                       b"E" + b"x" * 70000, b"\0" * 9):
            self.meet([answer], "&sslmode=disable")


if __name__ == "__main__":
    unittest.main()
