"""The web port over real sockets: what it answers is what its description says, and who may ask."""

import gzip
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import unittest

from clients import Beanstalk, Faktory
from program import Server, ServerTest, free_port, wait_until
from web import Web, problems

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class WebTest(ServerTest):
    def serve(self, *flags, env=None):
        """A started server and its web port."""
        server = self.server(env=env)
        address = ("127.0.0.1", free_port())
        server.web_address = address
        server.flags += flags
        server.start()
        return server, Web(address)

    def fill(self, server):
        """Jobs in every state, over both protocols; a worker, a connection."""
        worker = self.open(Faktory(server.faktory_address, wid="worker-1"))
        worker.push("ready-001", "mail", custom={"unique_for": 600, "expires_in": 600})
        worker.push("later-001", "mail", at="2099-01-01T00:00:00Z")
        for jid, retry in (("fails-001", 25), ("dies-0001", -1)):
            worker.push(jid, "broken", retry=retry)
            worker.fetch("broken")
            worker.command("FAIL " + json.dumps({"jid": jid, "errtype": "E", "message": "no 7"}))
        worker.push("held-0001", "held", custom={"track": 1})
        worker.fetch("held")
        worker.command("TRACK SET " + json.dumps({"jid": "held-0001", "percent": 7}))
        tube = self.open(Beanstalk(server.beanstalk_address))
        tube.put(b"\xff\x00")
        tube.put(b"text")
        tube.reserve()


CONFIG = """
[throttles]
held = { concurrency = 1, timeout = 60 }

[[alert]]
name = "night"
url = "http://127.0.0.1:1/"
on = ["disk"]

[[cron]]
name = "nightly"
schedule = "30 2 * * *"
timezone = "Europe/Berlin"
[cron.job]
type = "Report"
"""


class ApiTest(WebTest):
    """Every answer of every route against web/openapi.json as it is served."""

    def setUp(self):
        super().setUp()
        with open(self.path("config.toml"), "w", encoding="utf-8") as file:
            file.write(CONFIG)
        self.started, self.web = self.serve("--config=" + self.path("config.toml"))
        self.fill(self.started)
        self.document = self.web.read("/api/v1/openapi.json")
        self.seen = set()

    def check(self, method, path, target=None, body=None):
        target = "/api/v1" + (target or path)
        headers = {"Content-Type": "application/json"} if method == "post" else {}
        text = None if method == "get" else json.dumps(body or {})
        status, _, answer = self.web.request(method.upper(), target, text, headers)
        responses = self.document["paths"][path][method]["responses"]
        self.assertIn(str(status), responses, (target, answer))
        self.seen.add((method, path))
        schema = responses[str(status)]["content"]["application/json"]["schema"]
        found = list(problems(json.loads(answer), schema, self.document))
        self.assertEqual(found, [], target)
        return json.loads(answer)

    def id_in(self, state):
        return self.web.read(f"/api/v1/jobs?state={state}")["jobs"][0]["id"]

    def test_every_answer_is_as_described(self):
        for name in ("overview", "trend", "series", "history", "server", "cluster"):
            self.check("get", "/" + name)
        for which in ("span=1h", "queue=mail", "type=Job"):
            self.check("get", "/series", "/series?" + which)
        self.check("get", "/queues", "/queues?sort=worst&order=desc&recent=1")
        for name in ("queues", "errors", "types", "workers"):
            self.check("get", "/" + name)
        self.check("get", "/errors", "/errors?match=e&queue=*&type=*&limit=1")
        self.check("get", "/connections")
        self.check_batches()
        self.check("get", "/queues/{name}", "/queues/mail")
        for state in ("scheduled", "ready", "reserved", "retrying", "dead"):
            self.check("get", "/jobs", f"/jobs?state={state}")
            self.check("get", "/jobs/count", f"/jobs/count?state={state}&type=Te*")
            self.check("get", "/jobs/count", f"/jobs/count?state={state}&breakdown=1")
            self.check("get", "/jobs/{id}", f"/jobs/{self.id_in(state)}")
        self.check("post", "/jobs", body={"jobtype": "Mail", "args": [1]})
        self.check_cron()
        self.check_throttles()
        self.check_errors()
        self.check_views()
        self.check_alerts()
        self.check_locks()
        self.check_changes()
        self.check_finished()
        changes = self.check("get", "/activity")["changes"]
        self.assertIn("queues/pause", [change["action"] for change in changes])
        self.assertEqual({change["from"] for change in changes}, {"127.0.0.1", ""})
        status, headers, body = self.web.get(f"/api/v1/jobs/{self.id_in('ready')}/body")
        self.assertEqual((status, headers["Content-Type"]), (200, "application/octet-stream"))
        self.assertTrue(body)
        self.seen.add(("get", "/jobs/{id}/body"))
        # Those of users: see access.test_tokens.
        self.seen |= {("get", "/tokens"), ("post", "/tokens"), ("post", "/tokens/{id}/delete")}
        all_routes = {(m, path) for path, each in self.document["paths"].items() for m in each}
        self.assertEqual(all_routes - self.seen, set())

    def check_cron(self):
        path = "/cron/{name}"
        self.check("post", path + "/run", "/cron/nightly/run")
        for action in ("pause", "resume"):
            self.check("post", f"{path}/{action}", f"/cron/nightly/{action}")
        self.check("get", "/cron")
        entry = self.check("get", path, "/cron/nightly")
        self.assertEqual(len(entry["next"]), 5)
        self.assertRegex(entry["next"][0], r"^2\d{3}-\d\d-\d\dT02:30:00\+0[12]:00$")

    def check_errors(self):
        path = "/errors/{group}"
        target = "/errors/" + self.web.read("/api/v1/errors")["groups"][0]["group"]
        self.check("get", path, target)
        self.check("post", path + "/mute", target + "/mute", {"seconds": 60})
        self.check("post", path + "/note", target + "/note", {"text": "known"})
        error = self.check("get", "/errors", "/errors?muted=only")["groups"][0]
        self.assertEqual(error["note"]["text"], "known")
        self.check("post", path + "/unmute", target + "/unmute")

    def check_views(self):
        path = "/views/{name}"
        view = {"query": "state:dead", "was": ""}
        self.check("post", path + "/set", "/views/a%20b/set", view)
        self.assertEqual(self.check("get", path, "/views/a%20b")["name"], "a b")
        self.check("get", "/views")
        self.check("post", path + "/delete", "/views/a%20b/delete")

    def check_alerts(self):
        self.check("get", "/alerts")
        path = "/alerts/{name}"
        self.check("post", path + "/silence", "/alerts/night/silence", {"seconds": 60})
        for action in ("unsilence", "test"):
            self.check("post", f"{path}/{action}", f"/alerts/night/{action}")

    def check_throttles(self):
        path = "/throttles/{name}"
        self.check("get", "/throttles")
        self.check("get", "/throttle-rules")
        self.check("get", "/queues/{name}", "/queues/held")
        self.check("get", path, "/throttles/held")
        self.check("post", path + "/set", "/throttles/held/set", {"rate_count": 2, "rate_s": 60})
        self.check("post", path + "/reset", "/throttles/held/reset")

    def check_locks(self):
        job = {"jobtype": "Sync", "args": [], "custom": {"unique_for": 60}}
        pushed = self.check("post", "/jobs", body=job)
        held = [lock["job"] for lock in self.check("get", "/locks")["locks"]]
        self.assertIn(pushed["id"], held)
        self.check("post", "/locks/{job}/free", f"/locks/{pushed['id']}/free")
        self.assertEqual(self.check("get", "/locks", "/locks?queue=default&type=Sync")["locks"], [])

    def check_batches(self):
        worker = self.open(Faktory(self.started.faktory_address))
        callback = {"jobtype": "Done", "args": [], "queue": "done"}
        text = json.dumps({"complete": callback, "success": callback, "description": "import"})
        bid = worker.command("BATCH NEW " + text)
        child = worker.command("BATCH NEW " + json.dumps({"success": callback, "parent_bid": bid}))
        worker.push("member-1", "members", custom={"bid": bid})
        worker.command(f"BATCH COMMIT {child}")
        for state in ("open", "running", "failed", "succeeded"):
            self.check("get", "/batches", f"/batches?state={state}")
        self.check("get", "/batches", f"/batches?parent={bid}&limit=1")
        for each in (bid, child):
            self.check("get", "/batches/{bid}", f"/batches/{each}")
        member = self.web.read(f"/api/v1/jobs?bid={bid}")["jobs"][0]["id"]
        self.check("get", "/jobs/{id}", f"/jobs/{member}")
        for action in ("retry", "discard", "accept", "delete"):
            path = "/batches/{bid}/" + action
            self.check("post", path, f"/batches/{bid}/{action}")

    def check_finished(self):
        job = self.check("get", "/finished")["jobs"][0]
        self.check("get", "/finished/{id}", f"/finished/{job['id']}")
        named = self.check("get", "/jids/{jid}", f"/jids/{job['jid']}")
        self.assertEqual(named["finished"], [job])
        found = self.check("get", "/jids/{jid}", "/jids/held-0001")
        self.assertEqual(found["jobs"][0]["state"], "reserved")

    def check_changes(self):
        for action, state in (("retry", "retrying"), ("kill", "scheduled"), ("delete", "dead")):
            path = "/jobs/{id}/" + action
            self.check("post", path, f"/jobs/{self.id_in(state)}/{action}")
        path = f"/jobs/{self.id_in('dead')}/move"
        self.check("post", "/jobs/{id}/move", path, {"to": "elsewhere"})
        self.check("get", "/errors")
        self.check("post", "/jobs/check", body={"jobtype": "Mail", "args": []})
        self.check("post", "/jobs/change", body={"action": "kill", "ids": [1, 999]})
        self.check("post", "/queues/{name}/pause", "/queues/mail/pause", {"seconds": 30})
        self.check("get", "/queues")
        self.check("post", "/queues/{name}/resume", "/queues/mail/resume")
        self.check("post", "/queues/{name}/clear", "/queues/mail/clear")
        self.check("post", "/queues/{name}/delete", "/queues/broken/delete")
        begun = self.check(
            "post", "/operations", body={"action": "retry", "states": ["dead"], "older_than_s": 9}
        )
        self.check("get", "/operations")
        path = f"/operations/{begun['id']}"
        self.check("get", "/operations/{id}", path)
        wait_until(lambda: self.web.read("/api/v1" + path)["phase"] == "done", "its end")
        again = self.web.post("/api/v1" + path + "/cancel")
        self.assertEqual(again[0], 409)
        self.seen.add(("post", "/operations/{id}/cancel"))
        self.check("get", "/workers/{wid}", "/workers/worker-1")
        self.check("post", "/workers/quiet", body={"wid": "worker-1"})
        self.check("post", "/workers/stop", body={"all": True})

    def test_parameters_that_are_described_are_known_and_no_others(self):
        for path, each in self.document["paths"].items():
            if "get" not in each or "{" in path:
                continue
            names = [p["name"] for p in each["get"]["parameters"]]
            for name in names:
                answer = self.web.get(f"/api/v1{path}?{name}=1")[2]
                self.assertNotIn(b"no such parameter", answer, (path, name))
            status, _, answer = self.web.get(f"/api/v1{path}?nonsense=1")
            self.assertEqual((status, b"no such parameter" in answer), (400, True), path)

    def test_members_that_are_described_are_known_and_no_others(self):
        for path, each in self.document["paths"].items():
            if "post" not in each or path in ("/jobs", "/jobs/check"):
                continue
            content = each["post"].get("requestBody", {}).get("content", {})
            schema = content.get("application/json", {}).get("schema", {})
            for name in schema.get("properties", {}):
                answer = self.web.post(f"/api/v1{path}", {name: None})[1]
                self.assertNotIn("no such member", answer.get("error", ""), (path, name))
            status, answer = self.web.post(f"/api/v1{path}", {"nonsense": 1})
            self.assertEqual((status, answer["error"]), (400, "no such member: nonsense"), path)

    def test_the_manual_names_every_route(self):
        with open(os.path.join(ROOT, "docs", "api.md"), encoding="utf-8") as file:
            manual = file.read()
        for path, each in self.document["paths"].items():
            for method in each:
                self.assertIn(f"`{method.upper()} {path}`", manual)


class ServingTest(WebTest):
    def test_options_are_shown_as_they_are_after_a_reload(self):
        config = self.path("config.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write('sync = "always"\nmax-job-size = 10\n')
        server, web = self.serve(f"--config={config}")
        with open(config, "w", encoding="utf-8") as file:
            file.write('sync = "off"\nmax-job-size = 20\nmax-connections = 3\n')
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "restart_needed" in server.error_text(), "restart_needed")
        shown = {each["name"]: each["value"] for each in web.read("/api/v1/server")["options"]}
        self.assertEqual(shown["max-job-size"], "20")
        self.assertEqual(shown["max-connections"], "3")
        self.assertEqual(shown["sync"], "always")

    def test_changes_survive_kill(self):
        server, web = self.serve()
        status, pushed = web.post("/api/v1/jobs", {"jobtype": "Mail", "args": [], "queue": "mail"})
        self.assertEqual(status, 201)
        self.assertEqual(web.post(f"/api/v1/jobs/{pushed['id']}/kill")[0], 200)
        server.restart()
        self.assertEqual(web.read(f"/api/v1/jobs/{pushed['id']}")["state"], "dead")

    def test_password(self):
        _, web = self.serve(env={"FAKTORY_PASSWORD": "secret"})
        status, headers, _ = web.get("/api/v1/overview")
        self.assertEqual(status, 401)
        self.assertIn("Basic", headers["WWW-Authenticate"])
        known = {"Authorization": "Basic OnNlY3JldA=="}
        self.assertEqual(web.get("/api/v1/overview", **known)[0], 200)
        self.assertEqual(web.get("/health")[0], 200)
        self.assertEqual(web.get("/metrics")[0], 401)

    def test_unchanged_answers_are_not_sent_again(self):
        _, web = self.serve()
        _, headers, _ = web.get("/api/v1/queues")
        status, _, body = web.get("/api/v1/queues", **{"If-None-Match": headers["ETag"]})
        self.assertEqual((status, body), (304, b""))
        for known in ("W/" + headers["ETag"], '"other", ' + headers["ETag"], "*"):
            status = web.get("/api/v1/queues", **{"If-None-Match": known})[0]
            self.assertEqual(status, 304, known)
        status = web.get("/api/v1/queues", **{"If-None-Match": '"other", W/"more"'})[0]
        self.assertEqual(status, 200)

    def test_a_client_that_takes_gzip_gets_long_answers_in_it(self):
        _, web = self.serve()
        plain = web.get("/assets/app.js")[2]
        _, headers, packed = web.get("/assets/app.js", **{"Accept-Encoding": "br, gzip"})
        self.assertEqual(headers["Content-Encoding"], "gzip")
        self.assertEqual(gzip.decompress(packed), plain)
        self.assertLess(len(packed), len(plain))
        _, headers, _ = web.get("/health", **{"Accept-Encoding": "gzip"})
        self.assertNotIn("Content-Encoding", headers)

    def test_limits_of_a_request(self):
        _, web = self.serve("--segment-bytes=1048576", "--max-job-size=1000")
        big = json.dumps({"jobtype": "Mail", "args": ["x" * 1_100_000]})
        json_type = {"Content-Type": "application/json"}
        status, _, _ = web.request("POST", "/api/v1/jobs", big, json_type)
        self.assertEqual(status, 413)
        with socket.create_connection(web.address, timeout=10) as raw:
            raw.sendall(b"GET / HTTP/1.1\r\n" + b"X-Filler: y\r\n" * 6000)
            try:
                raw.sendall(b"\r\n")
                answer = raw.recv(4096)
            except ConnectionError:
                answer = b""
            self.assertNotIn(b"200 OK", answer)
        self.assertEqual(web.get("/health")[0], 200)

    def test_a_request_that_does_not_arrive_in_time_is_told_so(self):
        _, web = self.serve()
        with socket.create_connection(web.address, timeout=20) as late:
            late.sendall(b"GET /health HTTP/1.1\r\nHost: ")
            answer = late.recv(4096)
            self.assertIn(b"HTTP/1.1 408 ", answer)
            self.assertTrue(answer.endswith(b'{"error":"the request took too long to arrive"}'))
            self.assertEqual(late.recv(1), b"")

    def test_idle_browsers_cost_nobody_their_answer(self):
        _, web = self.serve()
        for _ in range(20):
            idle = socket.create_connection(web.address, timeout=10)
            self.addCleanup(idle.close)
            idle.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
            self.assertIn(b"200 OK", idle.recv(4096))
        self.assertEqual(web.get("/health")[0], 200)

    def test_stop_with_browsers_connected(self):
        server, web = self.serve()
        idle = socket.create_connection(web.address, timeout=10)
        self.addCleanup(idle.close)
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.process.wait(10), 0)

    def test_tls(self):
        certificate, key = self.path("cert.pem"), self.path("key.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj"]
            + ["/CN=localhost", "-keyout", key, "-out", certificate],
            check=True,
            capture_output=True,
        )
        server, web = self.serve(f"--tls-cert={certificate}", f"--tls-key={key}")
        context = ssl.create_default_context(cafile=certificate)
        context.check_hostname = False
        secure = Web(web.address, context)
        self.assertEqual(secure.read("/health")["status"], "serving")
        self.assertEqual(secure.post("/api/v1/jobs", {"jobtype": "A", "args": []})[0], 201)
        self.assertTrue(secure.get("/assets/app.js")[2])
        self.assertIsNone(server.process.poll())

    def test_off(self):
        server = self.server()
        server.web_address = None
        server.start()
        self.assertEqual([line.split(":")[0] for line in server.ports], ["beanstalk", "faktory"])

    def test_others_need_a_password(self):
        self.assert_refused(
            [
                each.replace("--web=off", f"--web=0.0.0.0:{free_port()}")
                for each in Server(self.path("data")).arguments()
            ],
            "refusing to open the web port",
        )

    def test_metrics_and_stats(self):
        server, web = self.serve()
        self.fill(server)
        text = web.get("/metrics")[2].decode()
        for line in text.splitlines():
            self.assertRegex(line, r"^(# (HELP|TYPE) \w+ .+|\w+(\{.*\})? [-+.e\w]+)$")
        self.assertIn('millrace_jobs{queue="mail",state="ready"} 1\n', text)
        self.assertIn("millrace_journal_segments 1\n", text)
        stats = web.read("/stats")
        info = self.open(Faktory(server.faktory_address)).info()
        self.assertEqual(list(stats), list(info))
        self.assertEqual(list(stats["faktory"]), list(info["faktory"]))
        self.assertEqual(stats["faktory"]["sets"], info["faktory"]["sets"])

    def test_many_queues_are_looked_at_in_turns(self):
        server, web = self.serve()
        tubes = self.open(Beanstalk(server.beanstalk_address))
        tubes.send(b"".join(b"use q%d\r\nput 0 0 60 1\r\nx\r\n" % n for n in range(6000)))
        wait_until(lambda: web.read("/api/v1/overview")["jobs"]["ready"] == 6000, "jobs in all")
        status, headers, body = web.get("/metrics")
        self.assertEqual(status, 200)
        self.assertIn(b"\nmillrace_queues 6001\n", body)
        self.assertIn(b"\nmillrace_queues_without_label 5001\n", body)
        times = re.fullmatch(r"broker;dur=([\d.]+), turn;dur=([\d.]+)", headers["Server-Timing"])
        self.assertLess(float(times[2]), float(times[1]))

    def test_pages_name_only_what_is_there(self):
        _, web = self.serve()
        page = web.get("/jobs?state=dead")[2].decode()
        for name in re.findall(r'(?:src|href)="(assets/[^"]+)"', page):
            self.assertEqual(web.get("/" + name)[0], 200, name)
        self.assertNotRegex(page, r"https?://")


if __name__ == "__main__":
    unittest.main()
