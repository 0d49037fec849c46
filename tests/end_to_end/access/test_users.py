"""Users: who may do what on each port, from the file to the refusal, and what a reload changes."""

import base64
import json
import os
import signal
import socket
import subprocess

from clients import Beanstalk, Faktory, Gone
from program import PROGRAM, ServerTest, free_port, wait_until
from test_manual import ROOT
from web import Web

RIGHTS = ["push", "work", "view", "operate", "admin"]
PASSWORD = "open sesame, please"
# The hash takes a tenth of a second, and all users of these tests have one password.
HASH = subprocess.run([PROGRAM, "users", "hash"], input=PASSWORD + "\n", text=True,
                      stdout=subprocess.PIPE, check=True).stdout.strip()


def right_for(method, path):
    """What a route of the API needs."""
    if method == "get":
        return "view"
    if path in ("/jobs", "/jobs/check") or path.endswith("/run"):
        return "push"
    return "admin" if path.startswith("/alerts") else "operate"


def routes():
    with open(os.path.join(ROOT, "web/openapi.json"), encoding="utf-8") as file:
        paths = json.load(file)["paths"]
    for path, methods in paths.items():
        for method in methods:
            if method in ("get", "post"):
                yield method, path


def basic(user, password=PASSWORD):
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


class WithUsers(ServerTest):
    def write(self, name, text, mode=0o600):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def user(self, name, *roles):
        """One who can log in everywhere."""
        secret = self.write(f"secret-of-{name}", f"the long secret of {name}\n")
        quoted = ", ".join(f'"{role}"' for role in roles)
        return (f'[[user]]\nname = "{name}"\nroles = [{quoted}]\nsecret-file = "{secret}"\n'
                f'web-password = "{HASH}"\n')

    def role(self, name, queues, *may):
        lists = f"queues = {json.dumps(queues)}\nmay = {json.dumps(may)}\n"
        return f'[[role]]\nname = "{name}"\n{lists}'

    def serve(self, text, *flags):
        server = self.server(f"--users={self.write('users.toml', text)}", *flags)
        server.web_address = ("127.0.0.1", free_port())
        return server

    def worker(self, server, name, **more):
        client = Faktory(server.faktory_address, password=f"the long secret of {name}", **more)
        return self.open(client)

    BEANSTALK = '[[listener]]\nprotocol = "beanstalk"\nuser = "mail-app"\n'
    MAIL = ("mail*", "push", "work")

    def mail_users(self):
        return (self.role("mailer", ["mail*"], "push", "work") + self.user("mail-app", "mailer") +
                self.user("ana", "operator") + self.BEANSTALK)


class UsersTest(WithUsers):
    def test_each_port_knows_its_users(self):
        server = self.serve(self.mail_users()).start()
        app = self.worker(server, "mail-app", wid="worker-1")
        self.assertEqual(app.hello_reply, "+OK")
        self.assertEqual(app.push("job-00001", "mail"), "+OK")
        self.assertEqual(app.push("job-00002", "billing"),
                         "-ERR NOPERM mail-app may not push to billing")
        self.assertEqual(app.fetch("billing", "mail")["jid"], "job-00001")
        self.assertEqual(app.ack("job-00001"), "+OK")
        self.assertTrue(app.command("FLUSH").startswith("-ERR NOPERM mail-app needs the right"))
        wrong = self.open(Faktory(server.faktory_address, password="the long secret of nobody"))
        self.assertEqual(wrong.hello_reply, "-ERR Invalid password")

        beanstalk = self.open(Beanstalk(server.beanstalk_address))
        self.assertEqual(beanstalk.put(b"x"), "UNKNOWN_COMMAND")
        self.assertEqual(beanstalk.command("use mail"), "USING mail")
        self.assertIsInstance(beanstalk.put(b"x"), int)
        self.assertEqual(beanstalk.command("pause-tube mail 1"), "UNKNOWN_COMMAND")

        web = Web(server.web_address)
        self.assertEqual(web.get("/api/v1/queues")[0], 401)
        self.assertEqual(web.get("/api/v1/queues", **basic("ana", "wrong"))[0], 401)
        self.assertEqual(web.get("/api/v1/queues", **basic("nobody"))[0], 401)
        self.assertEqual(web.get("/health")[0], 200)
        status, headers, _ = web.get("/api/v1/queues", **basic("ana"))
        self.assertEqual((status, headers.get("X-Read-Only")), (200, None))
        for path in ("/stats", "/metrics"):
            self.assertEqual(web.get(path, **basic("mail-app"))[0], 403, path)
        self.assertEqual(web.post("/api/v1/queues/mail/pause", **basic("ana"))[0], 200)
        _, _, body = web.get("/api/v1/activity", **basic("ana"))
        self.assertEqual(json.loads(body)["changes"][0]["user"], "ana")
        status, _, body = web.get("/api/v1/queues", **basic("mail-app"))
        self.assertEqual((status, json.loads(body)["error"]),
                         (403, "mail-app needs the right view for any queue"))
        server.terminate()
        self.assertNotIn("secret of", server.error_text())
        self.assertNotIn(PASSWORD, server.error_text())

    def test_every_route_needs_its_right(self):
        """Each user has one right, for all queues: so each route lets one of them in."""
        text = "".join(self.role(f"only-{right}", ["*"], right) + self.user(right, f"only-{right}")
                       for right in RIGHTS)
        server = self.serve(text + self.BEANSTALK.replace("mail-app", "push")).start()
        web = Web(server.web_address)
        for method, path in routes():
            if path.startswith(("/health", "/tokens")):
                continue
            target = path if path in ("/metrics", "/stats") else "/api/v1" + path
            target = target.replace("{", "").replace("}", "")
            for user in RIGHTS:
                headers = {**basic(user), "Content-Type": "application/json"}
                sent = "{}" if method == "post" else None
                status, _, body = web.request(method.upper(), target, sent, headers)
                is_allowed = user == right_for(method, path)
                with self.subTest(route=f"{method} {path}", user=user):
                    self.assertEqual(status != 403, is_allowed, body)
        self.assertEqual(web.get("/", **basic("view"))[0], 200)
        _, headers, _ = web.get("/api/v1/queues", **basic("view"))
        self.assertEqual(headers["X-Read-Only"], "1")

    def test_a_web_user_of_some_queues_sees_and_changes_these_alone(self):
        text = (self.role("postman", ["mail*"], "view", "operate", "push") +
                self.user("bob", "postman") + self.user("ana", "admin") + self.BEANSTALK)
        server = self.serve(text.replace("mail-app", "bob")).start()
        web = Web(server.web_address)

        def ask(user, method, path, members=None):
            headers = {**basic(user), "Content-Type": "application/json"}
            sent = None if members is None else json.dumps(members)
            status, sent_headers, body = web.request(method, "/api/v1" + path, sent, headers)
            return status, json.loads(body), sent_headers

        def push(user, queue, jid):
            return ask(user, "POST", "/jobs",
                       {"jid": jid, "jobtype": "Send", "args": [], "queue": queue})

        status, mail, _ = push("bob", "mail", "mail-job-1")
        self.assertEqual(status, 201)
        status, shop, _ = push("ana", "shop", "shop-job-1")
        self.assertEqual(status, 201)
        status, said, _ = push("bob", "shop", "shop-job-2")
        self.assertEqual((status, said["code"]), (403, "not_allowed"))
        self.assertIn("bob may not push to shop", said["error"])
        # A long job is read on another thread.
        long_job = {"jid": "shop-job-3", "jobtype": "Send", "args": ["x" * 100_000]}
        self.assertEqual(ask("bob", "POST", "/jobs", {**long_job, "queue": "shop"})[0], 403)
        self.assertEqual(ask("bob", "POST", "/jobs", {**long_job, "queue": "mail"})[0], 201)

        _, seen, headers = ask("bob", "GET", "/queues")
        self.assertEqual([each["name"] for each in seen["queues"]], ["mail"])
        self.assertEqual(seen["totals"]["ready"], 2)
        self.assertEqual((headers.get("X-Operates"), headers.get("X-Read-Only")), ("mail%2A", None))
        _, _, headers = ask("ana", "GET", "/queues")
        self.assertIsNone(headers.get("X-Operates"))
        _, seen, _ = ask("bob", "GET", "/jobs?state=ready")
        self.assertEqual({each["queue"] for each in seen["jobs"]}, {"mail"})
        _, seen, _ = ask("bob", "GET", "/overview")
        self.assertEqual((seen["jobs"]["ready"], seen["queues"]), (2, 1))
        self.assertEqual(ask("bob", "GET", f"/jobs/{shop['id']}")[:2],
                         ask("bob", "GET", "/jobs/999999")[:2])
        self.assertEqual(ask("bob", "POST", f"/jobs/{mail['id']}/kill", {})[0], 200)
        self.assertEqual(ask("bob", "POST", f"/jobs/{shop['id']}/kill", {})[0], 404)
        status, said, _ = ask("bob", "POST", "/queues/shop/pause", {})
        self.assertEqual((status, said["error"]), (403, "bob needs the right operate for shop"))
        self.assertEqual(ask("bob", "GET", "/server")[0], 403)
        _, log, _ = ask("ana", "GET", "/activity?refused=1")
        refused = [(each["user"], each["action"], each["target"]) for each in log["changes"]]
        self.assertIn(("bob", "queues/pause", "shop"), refused)

    def test_a_reload_brings_users_and_ends_the_connections_of_those_who_have_changed(self):
        server = self.serve(self.mail_users()).start()
        app = self.worker(server, "mail-app")
        beanstalk = self.open(Beanstalk(server.beanstalk_address))
        beanstalk.command("use mail")
        web = Web(server.web_address)
        self.assertEqual(web.get("/api/v1/queues", **basic("ana"))[0], 200)

        self.write("users.toml", "[[user]]\nname = \"ana\"\nroles = [\"boss\"]\n")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "reload_failed" in server.error_text(), "the reload is refused")
        self.assertIn("users.toml:3: there is no role 'boss'", server.error_text())
        self.assertEqual(app.push("job-00001", "mail"), "+OK")

        self.write("users.toml", self.mail_users().replace(self.BEANSTALK, ""))
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "does not name a user for the beanstalk port" in server.error_text(),
                   "the reload without a listener is refused")
        self.assertEqual(beanstalk.command("use mail"), "USING mail")

        self.write("users.toml", self.role("mailer", ["mail*"], "work") +
                   self.user("mail-app", "mailer") + self.user("bob", "viewer") + self.BEANSTALK)
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "Z reloaded\n" in server.error_text(), "the reload is done")
        self.assertTrue(app.is_closed_by_server())
        self.assertTrue(beanstalk.is_closed_by_server())
        self.assertEqual(web.get("/api/v1/queues", **basic("ana"))[0], 401)
        self.assertEqual(web.get("/api/v1/queues", **basic("bob"))[0], 200)
        _, _, body = web.get("/api/v1/activity?action=users", **basic("bob"))
        self.assertEqual(json.loads(body)["changes"][0]["details"],
                         "added bob; changed mail-app; removed ana")
        again = self.worker(server, "mail-app")
        self.assertTrue(again.push("job-00002", "mail").startswith("-ERR NOPERM"))

    def test_a_unix_socket_knows_the_user_of_the_process(self):
        path = self.path("mail.sock")
        listener = ('[[listener]]\nprotocol = "beanstalk"\naddress = "unix:%s"\n'
                    'uid = { %d = "mail-app" }\n')
        server = self.serve(self.mail_users() + listener % (path, os.getuid())).start()
        beanstalk = self.open(Beanstalk(path))
        beanstalk.command("use mail")
        self.assertIsInstance(beanstalk.put(b"x"), int)
        server.terminate()
        self.assertFalse(os.path.exists(path))

        self.write("users.toml", self.mail_users() + listener % (path, os.getuid() + 1))
        server.start()
        self.assertTrue(self.open(Beanstalk(path)).is_closed_by_server())
        wait_until(lambda: "client_without_user" in server.error_text(), "the stranger is told of")
        self.assertIn(f"uid={os.getuid()}", server.error_text())

    def test_what_makes_no_sense_is_refused_at_the_start(self):
        users = self.write("users.toml", self.user("ana", "admin"))
        arguments = [PROGRAM, "serve", f"--data={self.path('data')}", "--faktory=off", "--web=off",
                     f"--beanstalk=127.0.0.1:{free_port()}"]
        self.assert_refused([*arguments, f"--users={users}"],
                            "does not name a user for the beanstalk port", status=2)
        listener = self.BEANSTALK.replace("mail-app", "ana")
        self.write("users.toml", self.user("ana", "admin") + listener, 0o644)
        self.assert_refused([*arguments, f"--users={users}"], "chmod 640", status=2)
        os.chmod(users, 0o600)
        self.assert_refused([*arguments, f"--users={users}", f"--password-file={users}"],
                            "--users and a password contradict each other", status=2)
        self.write("users.toml", self.user("ana", "admin") +
                   '[[listener]]\nprotocol = "beanstalk"\nuid = { 5 = "ana" }\n')
        self.assert_refused([*arguments, f"--users={users}"], "is for unix sockets", status=2)
        self.write("users.toml", self.user("ana", "admin") + listener +
                   listener.replace("user", f'address = "{arguments[-1][12:]}"\nuser'))
        self.assert_refused([*arguments, f"--users={users}"], "two ports have the address",
                            status=2)

    def test_guesses_on_the_web_port_hold_nobody_up(self):
        server = self.serve(self.mail_users()).start()
        sockets = []
        for _ in range(30):
            connection = socket.create_connection(server.web_address, timeout=30)
            self.addCleanup(connection.close)
            guess = basic("ana", "wrong")["Authorization"]
            lines = ["GET /api/v1/queues HTTP/1.1", "Host: localhost", f"Authorization: {guess}"]
            connection.sendall("\r\n".join([*lines, "", ""]).encode())
            sockets.append(connection)
        status, _, _ = Web(server.web_address).get("/health")
        self.assertEqual(status, 200)
        self.assertEqual(self.worker(server, "mail-app").push("job-00001", "mail"), "+OK")

    def run_users(self, *words, status=0, text=None):
        run = subprocess.run([PROGRAM, "users", *words], input=text, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(run.returncode, status, run.stderr)
        return run.stdout if status == 0 else run.stderr

    def test_the_command_lists_checks_explains_and_hashes(self):
        path = self.write("users.toml", self.mail_users())
        self.assertEqual(self.run_users("check", path), "the users file is valid\n")
        self.assertEqual(
            self.run_users("list", path),
            "mail-app (faktory, web)\n  push, work: mail*\n"
            "ana (faktory, web)\n  push, view, operate: *\nbeanstalk at --beanstalk: mail-app\n")
        self.assertEqual(
            self.run_users("explain", path, "mail-app", "push", "billing"),
            "may mail-app push billing? no: none of its roles grants push on billing\n")
        self.assertEqual(
            self.run_users("explain", path, "ana", "view", "*"),
            "may ana view everywhere? yes: one of its roles grants push, view, operate on *\n")
        self.assertIn("there is no user 'eve'",
                      self.run_users("explain", path, "eve", "view", "*", status=2))
        self.assertIn("at least 8 bytes", self.run_users("hash", text="short\n", status=2))
        self.assertTrue(self.run_users("hash", text=PASSWORD).startswith("$argon2id$"))
        self.write("users.toml", "[[user]]\n")
        self.assertIn("users.toml:1: the name of a user",
                      self.run_users("check", path, status=2))

    def test_a_client_of_another_port_learns_nothing(self):
        """Without a login there is no word about users."""
        server = self.serve(self.mail_users()).start()
        with self.assertRaises(Gone):
            client = self.open(Faktory(server.faktory_address))
            self.assertEqual(client.hello_reply, "-ERR Invalid password")
            client.command("INFO")
