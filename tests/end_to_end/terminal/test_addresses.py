"""Where the verbs find their server, and with which password."""

import os
import socket
import subprocess
import threading
import unittest

from program import free_port
from terminal.test_cli import REFUSED, UNREACHABLE, USAGE, SECONDS_MAX, CliTest


class AddressTest(CliTest):
    def test_password_comes_from_url_file_or_environment_and_is_never_shown(self):
        self.serve(env={"FAKTORY_PASSWORD": "s3cret word"})
        path = self.path("password")
        with open(path, "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o600)) as file:
            file.write("s3cret word\n")
        host = self.url.removeprefix("http://")
        self.assertIn("password", self.refusal("stats"))
        self.cli("stats", f"--password-file={path}")
        self.cli("stats", env={"MILLRACE_PASSWORD": "s3cret word"})
        self.cli("stats", f"--url=http://me:s3cret%20word@{host}")
        self.cli("stats", env={"MILLRACE_URL": f"http://:s3cret%20word@{host}/"})
        shown = self.cli("stats", f"--url=http://me:s3cret%20word@{host}")
        shown += self.refusal("stats", f"--url=http://me:s3cret-not@{host}")
        shown += self.refusal("delete", "1", "2", env={"MILLRACE_PASSWORD": "s3cret-not"})
        url = "--url=http://me:s3cret@nowhere.invalid"
        shown += self.refusal("stats", url, status=UNREACHABLE)
        shown += self.refusal("stats", "--url=http://me:s3cret@:x", status=USAGE)
        self.assertNotIn("s3cret", shown)

    def test_faktory_url_names_host_and_password(self):
        # It has port 7420, which another server may use: no answer is needed to see where it goes.
        self.url = ""
        env = {"FAKTORY_URL": "tcp://:s3cret@nowhere.invalid:7419"}
        refusal = self.refusal("stats", status=UNREACHABLE, env=env)
        self.assertIn("http://nowhere.invalid:7420", refusal)
        env["FAKTORY_URL"] = "tcp+tls://:s3cret@nowhere.invalid"
        refusal += self.refusal("stats", status=UNREACHABLE, env=env)
        self.assertIn("https://nowhere.invalid:7420", refusal)
        refusal += self.refusal("put", "x", status=UNREACHABLE, env=env)
        self.assertIn("nowhere.invalid:11300", refusal)
        env["MILLRACE_URL"] = "http://elsewhere.invalid"
        refusal += self.refusal("stats", status=UNREACHABLE, env=env)
        self.assertIn("http://elsewhere.invalid", refusal)
        env = {"FAKTORY_URL": "redis://:s3cret@x"}
        refusal += self.refusal("stats", status=USAGE, env=env)
        self.assertIn("FAKTORY_URL is not tcp://", refusal)
        self.assertNotIn("s3cret", refusal)

    def test_one_port_of_its_own_does_not_tell_another(self):
        # The usual ports of that machine may be those of another server.
        self.url = ""
        faktory = {"FAKTORY_URL": "tcp://:s3cret@127.0.0.1:17419"}
        web = {"MILLRACE_URL": "http://:s3cret@127.0.0.1:17420"}
        for env, verb, wanted, flag in (
            (faktory, ["stats"], "web", "--url or MILLRACE_URL"),
            (faktory, ["fetch"], "beanstalk", "--address or BEANSTALKD_URL"),
            (web, ["put", "x"], "beanstalk", "--address or BEANSTALKD_URL"),
        ):
            refusal = self.refusal(*verb, status=USAGE, env=env)
            self.assertIn(f"which does not tell where the {wanted} port is", refusal)
            self.assertIn(f"name it with {flag}\n", refusal)
            self.assertNotIn("s3cret", refusal)

    def test_a_server_that_is_away_has_a_status_of_its_own(self):
        self.url = f"http://127.0.0.1:{free_port()}"
        self.assertIn(self.url, self.refusal("stats", status=UNREACHABLE))
        for verb in ("queues", "ls dead", "peek 1", "delete 1 2", "pause a b", "push A", "errors"):
            self.refusal(*verb.split(), status=UNREACHABLE)
        self.refusal("kill", "--state=dead", "--yes", status=UNREACHABLE)

    def test_what_is_not_millrace_is_not_believed(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"

        def answer(reply):
            peer, _ = listener.accept()
            with peer:
                peer.recv(65536)
                peer.sendall(reply)

        for reply, status in (
            (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", REFUSED),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", REFUSED),
            (b"HTTP/1.1 404 Not\r\nContent-Length: 4\r\n\r\n\x1b[2J", REFUSED),
            (b"nothing\r\n\r\n", UNREACHABLE),
            (b"", UNREACHABLE),
        ):
            with self.subTest(reply):
                thread = threading.Thread(target=answer, args=(reply,), daemon=True)
                thread.start()
                self.assertNotIn("\x1b", self.refusal("stats", status=status))
                thread.join(SECONDS_MAX)

    def test_a_read_only_server_refuses_changes(self):
        self.serve("--web-read-only")
        self.assertIn("read-only", self.cli("stats"))
        for verb in ("push A", "pause a", "resume a"):
            self.assertIn("read-only", self.refusal(*verb.split()))

    def test_tls(self):
        certificate, key = self.path("cert.pem"), self.path("key.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
            + ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
            + ["-keyout", key, "-out", certificate],
            check=True,
            capture_output=True,
        )
        server = self.serve(f"--tls-cert={certificate}", f"--tls-key={key}")
        self.url = f"https://localhost:{server.web_address[1]}"
        self.assertIn("not trusted", self.refusal("stats", status=UNREACHABLE))
        self.assertIn("0 ready", self.cli("stats", f"--ca={certificate}"))
        self.refusal("stats", "--ca=/nowhere", status=USAGE)

    def test_an_ipv6_address(self):
        server = self.server()
        server.web_address = ("[::1]", free_port())
        server.start()
        self.url = f"http://[::1]:{server.web_address[1]}"
        self.assertIn(self.url, self.cli("stats"))

    def test_a_host_that_is_unknown_is_named(self):
        self.url = "http://nosuch.invalid"
        refusal = self.refusal("stats", status=UNREACHABLE)
        self.assertIn("the host nosuch.invalid is not known", refusal)
        self.assertIn("Millrace's is 7420", refusal)

    def test_a_password_for_all_is_one_line(self):
        self.serve()
        path = self.path("open")
        with open(path, "w", encoding="ascii") as file:
            file.write("word")
        os.chmod(path, 0o644)
        done = self.run_cli("stats", f"--password-file={path}")
        self.assertEqual(done.stderr, f"millrace: every user of this machine can read {path}\n")

    def test_tls_on_one_side_only_is_named(self):
        server = self.serve()
        self.url = self.url.replace("http:", "https:")
        self.assertIn("begins with http://", self.refusal("stats", status=UNREACHABLE))
        put = ("put", "x", f"--address=tls://127.0.0.1:{server.beanstalk_address[1]}")
        self.assertIn("no TLS: ", self.refusal(*put, status=UNREACHABLE))

    def test_help_and_version_are_what_they_say(self):
        self.url = ""
        shown = self.cli("--help")
        self.assertEqual([self.cli(word) for word in ("help", "-h")], [shown, shown])
        self.assertEqual(self.cli("help", "kill"), self.cli("kill", "--help"))
        version = self.cli("--version")
        self.assertEqual([self.cli(word) for word in ("version", "-V")], [version, version])

    def test_wrong_usage(self):
        self.url = "http://127.0.0.1:1"
        for arguments in (
            ("ls",),
            ("ls", "deadly"),
            ("peek",),
            ("stats", "more"),
            ("stats", "--what"),
            ("stats", "--url=ftp://x"),
            ("stats", "--password-file=/nowhere"),
            ("stats", "--ca=/nowhere"),
            ("put", "x", "--ca=/nowhere"),
            ("doctor", self.url, "--ca=/nowhere"),
            ("import", "--into=/nowhere", "--from=http://x"),
            ("import", "--into=/nowhere", "--faktory=redis://"),
            ("ls", "dead", "--type=a", "--type=b"),
        ):
            with self.subTest(arguments):
                self.refusal(*arguments, status=USAGE)

    def test_a_server_names_the_password_of_verbs_if_it_has_none_itself(self):
        variables = {"MILLRACE_URL": "http://x", "MILLRACE_PASSWORD": "x"}
        server = self.serve(env=variables)
        self.assertIn("config_ignored key=MILLRACE_PASSWORD", server.error_text())
        self.assertNotIn("MILLRACE_URL", server.error_text())
        server.kill()
        server = self.serve(env=variables | {"FAKTORY_PASSWORD": "secret"})
        self.assertNotIn("MILLRACE_", server.error_text())


if __name__ == "__main__":
    unittest.main()
