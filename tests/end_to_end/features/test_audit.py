"""What people changed, in the real program: after crashes, refused, and in a file."""

import base64
import http.server
import json
import os
import signal
import stat
import subprocess
import threading
import unittest

from clients import Faktory
from program import PROGRAM, ServerTest, free_port, wait_until
from web import Web


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


class Proxy(http.server.BaseHTTPRequestHandler):
    """Passes requests on as nginx does with `$proxy_add_x_forwarded_for`. Each of its clients comes
    from another address, which a test can't have."""

    upstream = None
    client = ""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        before = self.headers.get("X-Forwarded-For")
        del self.headers["X-Forwarded-For"]
        self.headers["X-Forwarded-For"] = f"{before}, {self.client}" if before else self.client
        status, headers, answer = Web(self.upstream).request(
            "POST", self.path, body, self.headers.items()
        )
        self.send_response(status)
        self.send_header("Content-Type", headers["Content-Type"])
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


class AuditTest(ServerTest):
    def start(self, *flags, env=None):
        server = self.server(*flags, env=env)
        self.address = server.web_address = ("127.0.0.1", free_port())
        server.start()
        return server

    def changes(self, query="", **headers):
        status, _, body = Web(self.address).get(f"/api/v1/activity?limit=200{query}", **headers)
        self.assertEqual(status, 200, body)
        return json.loads(body)["changes"]

    def push(self, server, count):
        client = self.open(Faktory(server.faktory_address))
        for number in range(count):
            client.push(f"job-{number:06}", args=[])
        return client

    def pause(self):
        headers = {"Authorization": basic("ana", "any")}
        status, answer = Web(self.address).post("/api/v1/queues/default/pause", **headers)
        self.assertEqual(status, 200, answer)

    def proxy(self, client):
        """The address of one whose client has that address."""
        handler = type("Handler", (Proxy,), {"upstream": self.address, "client": client})
        proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.addCleanup(proxy.server_close)
        thread = threading.Thread(target=proxy.serve_forever, args=(0.05,))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(proxy.shutdown)
        return proxy.server_address

    def test_a_proxy_names_its_client_and_a_direct_one_its_own_address(self):
        self.start()
        for address, headers in (
            (self.address, {}),
            (self.proxy("192.0.2.7"), {}),
            (self.proxy("2001:db8::1"), {"X-Forwarded-For": "10.1.1.1"}),
        ):
            status, answer = Web(address).post("/api/v1/queues/default/pause", **headers)
            self.assertEqual(status, 200, answer)
        *changes, _ = self.changes()
        self.assertEqual(
            [each["from"] for each in reversed(changes)],
            ["127.0.0.1", "192.0.2.7 by 127.0.0.1", "10.1.1.1, 2001:db8::1 by 127.0.0.1"],
        )
        from_proxies = self.changes("&from=192.0.2.7")
        self.assertEqual([each["from"] for each in from_proxies], ["192.0.2.7 by 127.0.0.1"])

    def test_a_change_that_was_answered_survives_kill_9(self):
        server = self.start()
        client = self.push(server, 3)
        self.pause()
        server.kill()
        server.start()
        started, paused, first = self.changes()
        self.assertEqual([started["action"], first["action"]], ["server/start"] * 2)
        self.assertEqual((paused["action"], paused["target"]), ("queues/pause", "default"))
        self.assertEqual((paused["user"], paused["how"]), ("ana", "none"))
        self.assertEqual([each["number"] for each in (started, paused, first)], [3, 2, 1])
        client = self.open(Faktory(server.faktory_address))
        client.send(b"FLUSH\r\n")
        self.assertEqual(client.line(), "+OK")
        server.kill()
        server.start()
        _, flushed, *_ = self.changes()
        self.assertEqual((flushed["action"], flushed["how"]), ("flush", "none"))

    def test_the_count_of_an_operation_survives_a_restart(self):
        server = self.start()
        self.push(server, 50)
        web = Web(self.address)
        status, _ = web.post("/api/v1/operations", {"action": "delete", "states": ["ready"]})
        self.assertEqual(status, 202)
        wait_until(lambda: self.changes()[0]["changed"] == 50, "all are deleted", 20)
        self.assertEqual(server.terminate(), 0)
        server.start()
        self.assertEqual(self.changes()[1]["changed"], 50)

    def test_guesses_are_one_entry_on_each_port(self):
        server = self.start(env={"FAKTORY_PASSWORD": "right"})
        right = {"Authorization": basic("ana", "right")}
        for _ in range(3):
            status, _, _ = Web(self.address).get("/queues", Authorization=basic("eve", "wrong"))
            self.assertEqual(status, 401)
        self.assertEqual(Web(self.address).get("/api/v1/queues")[0], 401)
        wrong = self.open(Faktory(server.faktory_address, password="wrong"))
        self.assertIn("Invalid password", wrong.hello_reply)
        wait_until(lambda: len(self.changes("&refused=1", **right)) == 2, "both are there", 20)
        tried = {each["protocol"]: each for each in self.changes("&refused=1", **right)}
        self.assertEqual(tried["http"]["user"], "eve")
        self.assertEqual({each["action"] for each in tried.values()}, {"login"})
        self.assertEqual({each["from"] for each in tried.values()}, {"127.0.0.1"})
        status, _ = Web(self.address).post("/api/v1/workers/quiet", {"all": True}, **right)
        self.assertEqual(status, 200)
        self.assertEqual(self.changes(**right)[0]["how"], "password")

    def test_a_read_only_port_notes_what_it_refuses(self):
        self.start("--web-read-only")
        self.assertEqual(Web(self.address).post("/api/v1/queues/mail/pause")[0], 403)
        wait_until(lambda: self.changes("&refused=1"), "it is there", 20)
        [tried] = self.changes("&refused=1")
        self.assertEqual((tried["action"], tried["target"]), ("queues/pause", "mail"))

    def test_each_change_is_a_line_of_the_file(self):
        path = self.path("audit.ndjson")
        server = self.start(f"--audit-log={path}")
        self.push(server, 1)
        self.pause()

        def actions(of=path):
            if not os.path.exists(of):
                return []
            with open(of, encoding="utf-8") as file:
                return [json.loads(line)["action"] for line in file]

        wait_until(lambda: actions() == ["server/start", "queues/pause"], "both lines", 20)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        os.rename(path, path + ".1")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: os.path.exists(path), "it is made anew", 20)
        self.pause()
        wait_until(lambda: actions() == ["queues/pause"], "the new file has it", 20)
        self.assertEqual(actions(path + ".1"), ["server/start", "queues/pause"])

    def test_a_full_file_stops_nothing(self):
        server = self.start("--audit-log=/dev/full")
        self.push(server, 1)
        self.pause()

        def lost():
            _, _, page = Web(self.address).get("/metrics")
            return b"millrace_audit_lines_lost_total 2\n" in page

        wait_until(lost, "both lines are counted", 20)
        self.assertEqual(server.terminate(), 0)
        self.assertEqual(server.error_text().count("audit_log_failed"), 1)

    def test_the_file_must_be_one_that_can_be_opened(self):
        arguments = [PROGRAM, "serve", f"--data={self.path('d')}", "--audit-log=/none/audit"]
        arguments += [f"--{port}=127.0.0.1:0" for port in ("beanstalk", "faktory", "web")]
        self.assert_refused(arguments, "--audit-log: /none/audit: No such file or directory")

    def test_the_verb_lists_filters_and_exports(self):
        server = self.start()
        self.push(server, 1)
        self.pause()
        url = f"--url=http://127.0.0.1:{self.address[1]}"

        def audit(*flags):
            return subprocess.run(
                [PROGRAM, "audit", url, *flags], capture_output=True, text=True, check=True
            ).stdout

        self.assertRegex(audit("--who=ANA"), r"(?m)Z  queues/pause +default ")
        self.assertEqual(len(audit("--who=ana").splitlines()), 2)
        lines = [json.loads(line) for line in audit("--ndjson").splitlines()]
        self.assertEqual([each["action"] for each in lines], ["queues/pause", "server/start"])
        shown = json.loads(audit("--since=1h", "--action=queues", "-o", "json"))
        self.assertEqual([each["number"] for each in shown["changes"]], [2])
        self.assertEqual(audit("--refused"), "")


if __name__ == "__main__":
    unittest.main()
