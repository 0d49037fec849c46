"""Alerts that are sent: what receivers get, and receivers of all kinds that hold up nothing."""

import hashlib
import hmac
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import threading
import time

from clients import Faktory
from program import PROGRAM, ServerTest, free_port, wait_until
from web import Web

SECRET = "correct horse"
OK = b"HTTP/1.1 204 No Content\r\n\r\n"
BUSY = b"HTTP/1.1 500 Internal Server Error\r\n\r\n"


class Receiver:
    """Takes requests until the test ends."""

    def __init__(self, test, answer=lambda count: OK, context=None):
        self.requests = []
        self.connections = 0
        self.answer = answer
        self.context = context
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.is_over = threading.Event()
        threading.Thread(target=self.serve, daemon=True).start()
        test.addCleanup(self.close)

    def close(self):
        self.is_over.set()
        self.listener.close()

    def url(self, host="127.0.0.1"):
        return f"http{'s' if self.context else ''}://{host}:{self.port}/hook?token=hush"

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.talk_to, args=(connection,), daemon=True).start()

    def talk_to(self, connection):
        try:
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
            with connection:
                self.talk(connection)
        except OSError:
            pass

    def talk(self, connection):
        head, body = b"", b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(65536) or b"\r\n\r\n"
        head, _, body = head.partition(b"\r\n\r\n")
        length = re.search(rb"Content-Length: (\d+)", head)
        while length and len(body) < int(length[1]):
            body += connection.recv(65536)
        if body:
            self.requests.append((head.decode(), body.decode()))
        answer = self.answer(len(self.requests))
        if answer is not None:
            connection.sendall(answer)

    def bodies(self, status=None):
        bodies = [json.loads(body) for _, body in self.requests]
        return [each for each in bodies if status in (None, each.get("status"))]


class SentAlertsTest(ServerTest):
    def setUp(self):
        super().setUp()
        with open(self.path("secret"), "w", encoding="utf-8") as file:
            file.write(SECRET + "\n")
        os.chmod(self.path("secret"), 0o600)

    def write(self, *alerts):
        """Each is a dict of members; `on` is TOML."""
        with open(self.path("config.toml"), "w", encoding="utf-8") as file:
            for alert in alerts:
                members = {"name": "night", "on": '["paused"]', "for": "0s", **alert}
                file.write("[[alert]]\n")
                for key, value in members.items():
                    file.write(f"{key} = {value if key == 'on' else json.dumps(value)}\n")

    def start(self, *alerts, env=None):
        self.write(*alerts)
        server = self.server(f"--config={self.path('config.toml')}", env=env)
        self.address = server.web_address = ("127.0.0.1", free_port())
        server.start()
        return server

    def post(self, path):
        status, answer = Web(self.address).post("/api/v1/" + path)
        self.assertEqual(status, 200, answer)
        return answer

    def alerts(self):
        return {each["name"]: each for each in Web(self.address).read("/api/v1/alerts")["alerts"]}

    def actions(self):
        changes = Web(self.address).read("/api/v1/activity")["changes"]
        actions = [each["action"] for each in reversed(changes)]
        return [each for each in actions if not each.startswith("server/")]

    def pause(self, server, queue="mail"):
        """A queue with a job and no taker."""
        client = self.open(Faktory(server.faktory_address, wid=None))
        client.push("job-" + queue, queue)
        self.post(f"queues/{queue}/pause")

    def wait_for(self, receiver, status, count=1):
        wait_until(lambda: len(receiver.bodies(status)) >= count, f"{count} {status}", 60)
        return receiver.bodies(status)[-1]

    def test_it_fires_once_and_is_resolved_once(self):
        receiver = Receiver(self)
        secret = self.path("secret")
        server = self.start({"url": receiver.url(), "secret-file": secret})
        self.pause(server)
        fired = self.wait_for(receiver, "firing")
        self.assertEqual(fired["text"], "mail is paused with 1 waiting job")
        self.assertEqual(fired["alert"], "night")
        self.assertEqual(fired["condition"], "paused")
        self.assertEqual(fired["level"], "notice")
        [item] = fired["items"]
        self.assertEqual(item["queue"], "mail")
        self.assert_signed(*receiver.requests[-1])
        wait_until(lambda: "alerts/fired" in self.actions(), "Activity knows", 60)
        self.post("queues/mail/resume")
        resolved = self.wait_for(receiver, "resolved")
        self.assertEqual(resolved["text"], fired["text"])
        self.assertNotEqual(resolved["id"], fired["id"])
        wait_until(lambda: self.actions()[-1] == "alerts/resolved", "Activity knows", 60)
        self.assertEqual(
            self.actions(), ["queues/pause", "alerts/fired", "queues/resume", "alerts/resolved"]
        )
        self.assertEqual(len(receiver.requests), 2)
        _, _, metrics = Web(self.address).get("/metrics")
        self.assertIn(b"\nmillrace_alerts_sent_total 2\n", metrics)

    def assert_signed(self, head, body):
        """As docs/operations/alerts.md has it."""
        header = re.search(r"Millrace-Signature: t=(\d+),v1=(\w+)", head)
        at, signature = header.groups()
        self.assertLess(abs(time.time() - int(at)), 300)
        expected = hmac.new(SECRET.encode(), f"{at}.{body}".encode(), hashlib.sha256).hexdigest()
        self.assertTrue(hmac.compare_digest(expected, signature))

    def test_what_is_refused_for_now_is_sent_again(self):
        receiver = Receiver(self, lambda count: BUSY if count < 3 else OK)
        self.pause(self.start({"url": receiver.url()}))
        wait_until(lambda: self.alerts()["night"]["last"] is not None, "it was delivered", 60)
        self.assertIsNone(self.alerts()["night"]["last"]["problem"])
        bodies = receiver.bodies("firing")
        self.assertEqual(len(bodies), 3)
        self.assertEqual({each["id"] for each in bodies}, {bodies[0]["id"]})

    def test_what_is_refused_for_good_is_told(self):
        moved = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n"
        receiver = Receiver(self, lambda count: moved)
        server = self.start({"url": receiver.url()})
        self.pause(server)
        wait_until(lambda: "alerts/failed" in self.actions(), "Activity knows", 60)
        self.assertEqual(len(receiver.requests), 1)
        last = self.alerts()["night"]["last"]
        self.assertEqual(last["problem"], "it answered with status 302")
        text = server.error_text()
        self.assertIn(f"alert_not_sent alert=night receiver=http://127.0.0.1:{receiver.port}", text)
        seen = text + json.dumps(Web(self.address).read("/api/v1/alerts"))
        seen += json.dumps(Web(self.address).read("/api/v1/activity"))
        seen += json.dumps(Web(self.address).read("/api/v1/server"))
        self.assertNotIn("hush", seen)
        self.assertNotIn("hook", seen)

    def test_bad_receivers_hold_up_nothing(self):
        endless = b"HTTP/1.1 200 OK\r\n" + b"X-More: " + b"x" * 10_000_000

        def answer_never(_):
            receivers["never"].is_over.wait()

        receivers = {
            "good": Receiver(self),
            "endless": Receiver(self, lambda count: endless),
            "never": Receiver(self, answer_never),
            "closes": Receiver(self, lambda count: None),
            "nonsense": Receiver(self, lambda count: b"220 mail.example.com ESMTP\r\n"),
        }
        silent = socket.create_server(("127.0.0.1", 0), backlog=1)
        self.addCleanup(silent.close)
        alerts = [{"name": name, "url": each.url()} for name, each in receivers.items()]
        alerts.append({"name": "silent", "url": f"http://127.0.0.1:{silent.getsockname()[1]}/"})
        alerts.append({"name": "nobody", "url": f"http://127.0.0.1:{free_port()}/"})
        alerts.append({"name": "unknown", "url": "http://nowhere.invalid/"})
        server = self.start(*alerts)
        self.pause(server)
        self.wait_for(receivers["good"], "firing")
        # Its status is all that is read of an answer.
        self.wait_for(receivers["endless"], "firing")
        wait_until(lambda: self.alerts()["endless"]["last"] is not None, "it has answered", 60)
        self.assertIsNone(self.alerts()["endless"]["last"]["problem"])
        for name in ("closes", "never"):
            wait_until(lambda name=name: receivers[name].connections > 1, f"{name} again", 60)
        client = self.open(Faktory(server.faktory_address, wid="w1"))
        began = time.monotonic()
        for i in range(100):
            client.push(f"job-{i:05}", "other")
            client.fetch("other")
            client.ack(f"job-{i:05}")
        self.assertLess(time.monotonic() - began, 10)
        client.close()
        began = time.monotonic()
        self.assertEqual(server.terminate(), 0)
        self.assertLess(time.monotonic() - began, 5)

    def test_a_certificate_that_is_not_trusted_gets_nothing(self):
        for name in ("good", "wrong"):
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt"]
                + ["ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=x"]
                + ["-addext", f"subjectAltName=DNS:{'localhost' if name == 'good' else 'other'}"]
                + ["-keyout", self.path(name + ".key"), "-out", self.path(name + ".pem")],
                check=True,
                capture_output=True,
            )
        receivers = {}
        for name in ("good", "wrong"):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.path(name + ".pem"), self.path(name + ".key"))
            receivers[name] = Receiver(self, context=context)
        with open(self.path("ca.pem"), "w", encoding="utf-8") as trusted:
            for name in ("good", "wrong"):
                with open(self.path(name + ".pem"), encoding="utf-8") as file:
                    trusted.write(file.read())
        alerts = [
            {"name": name, "url": each.url("localhost")} for name, each in receivers.items()
        ]
        server = self.start(*alerts, env={"SSL_CERT_FILE": self.path("ca.pem")})
        self.pause(server)
        self.wait_for(receivers["good"], "firing")
        wait_until(lambda: receivers["wrong"].connections > 1, "it is tried again", 60)
        self.assertEqual(receivers["wrong"].requests, [])

    def test_a_restart_repeats_nothing_and_forgets_no_silence(self):
        loud, quiet = Receiver(self), Receiver(self)
        server = self.start(
            {"name": "loud", "url": loud.url()}, {"name": "quiet", "url": quiet.url()}
        )
        status, _ = Web(self.address).post("/api/v1/alerts/quiet/silence", {"seconds": 600})
        self.assertEqual(status, 200)
        self.pause(server)
        self.wait_for(loud, "firing")
        wait_until(lambda: "alerts/fired" in self.actions(), "it was delivered", 60)
        self.assertEqual(server.terminate(), 0)
        server.start()
        self.assertIsNotNone(self.alerts()["quiet"]["silenced_until"])
        self.assertEqual(self.alerts()["loud"]["conditions"][0]["state"], "firing")
        self.post("queues/mail/resume")
        self.wait_for(loud, "resolved")
        self.assertEqual(len(loud.requests), 2)
        self.assertEqual(quiet.requests, [])
        self.pause(server, "more")
        self.wait_for(loud, "firing", 2)
        self.post("alerts/quiet/unsilence")
        self.wait_for(quiet, "firing")

    def test_a_reload_takes_other_alerts(self):
        first, second = Receiver(self), Receiver(self)
        server = self.start({"url": first.url()})
        self.pause(server)
        self.wait_for(first, "firing")
        wait_until(lambda: "alerts/fired" in self.actions(), "it was delivered", 60)
        self.write({"url": second.url()}, {"name": "other", "url": second.url()})
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(self.alerts()) == 2, "it was read", 60)
        # `night` has fired already. It ends where it is sent to now.
        self.assertEqual(self.wait_for(second, "firing")["alert"], "other")
        self.post("queues/mail/resume")
        self.wait_for(second, "resolved", 2)
        self.assertEqual(len(first.requests), 1)
        self.write({"url": "ftp://x/hush"})
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "reload_failed" in server.error_text(), "it was refused", 60)
        self.assertNotIn("hush", server.error_text())
        self.assertEqual(len(self.alerts()), 2)

    def test_it_can_be_tested(self):
        receiver = Receiver(self)
        for name in ("url", "key"):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(receiver.url() if name == "url" else "routing")
            os.chmod(self.path(name), 0o600)
        self.start(
            {"name": "team", "form": "slack", "url-file": self.path("url")},
            {
                "name": "pager",
                "form": "pagerduty",
                "url": receiver.url(),
                "routing-key-file": self.path("key"),
            },
        )
        self.post("alerts/team/test")
        wait_until(lambda: len(receiver.requests) == 2, "it came, and is over", 60)
        on = f"team on {socket.gethostname()}"
        self.assertEqual(
            receiver.bodies(),
            [{"text": f"*{word}* {on}: This is a test"} for word in ("Firing", "Resolved")],
        )
        self.post("alerts/pager/test")
        wait_until(lambda: len(receiver.requests) == 4, "it came, and is over", 60)
        trigger, resolve = receiver.bodies()[2:]
        self.assertEqual(trigger["routing_key"], "routing")
        self.assertEqual(trigger["event_action"], "trigger")
        self.assertEqual(trigger["payload"]["summary"], "This is a test")
        self.assertEqual(trigger["payload"]["severity"], "warning")
        self.assertEqual(resolve["event_action"], "resolve")
        self.assertEqual(resolve["dedup_key"], trigger["dedup_key"])
        self.assertNotIn("payload", resolve)
        wait_until(lambda: self.actions()[-1] == "alerts/resolved", "Activity knows", 60)
        self.assertEqual(self.actions()[0], "alerts/test")

    def test_bad_input_is_refused(self):
        cases = (
            ('url = "http://x/"\non = ["moon"]', "toml:4: alert: unknown condition 'moon'"),
            ('on = ["disk"]', "toml:1: alert: url is missing"),
            ('url = "http://x/"\nsecret-file = "/none"\non = ["disk"]', "secret file /none"),
        )
        for members, problem in cases:
            with self.subTest(members):
                with open(self.path("config.toml"), "w", encoding="utf-8") as file:
                    file.write(f'[[alert]]\nname = "a"\n{members}\n')
                config = f"--config={self.path('config.toml')}"
                self.assert_refused(
                    [PROGRAM, "serve", f"--data={self.path('data')}", config], problem
                )

    def test_a_secret_that_all_can_read_is_told(self):
        os.chmod(self.path("secret"), 0o644)
        server = self.start({"url": "http://127.0.0.1:9/", "secret-file": self.path("secret")})
        self.assertIn("password_file_readable_by_all", server.error_text())
