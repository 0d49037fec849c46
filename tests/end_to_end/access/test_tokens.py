"""Tokens: how they are made, what they may do, and what an attacker may try with them."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time

from access.test_users import PASSWORD, WithUsers, basic
from program import PROGRAM, environment, free_port, wait_until
from web import Web, problems

WRONG = "the token is unknown, has expired or was revoked"


def bearer(text):
    return {"Authorization": f"Bearer {text}"}


class TokensTest(WithUsers):
    def setUp(self):
        super().setUp()
        self.server_ = self.serve(self.users()).start()
        self.web = Web(self.server_.web_address)

    def users(self, *ana_may, bob=True):
        rights = ana_may or ("view", "operate", "push")
        text = (self.role("mailer", ["mail*"], *rights) + self.user("ana", "mailer") +
                self.user("root", "admin") + self.user("mail-app", "mailer") + self.BEANSTALK)
        return text + (self.user("bob", "viewer") if bob else "")

    def ask(self, method, path, members=None, **headers):
        """(status, what JSON it answers, headers)."""
        headers = {"Content-Type": "application/json", **headers}
        sent = None if members is None else json.dumps(members)
        status, answered, body = self.web.request(method, "/api/v1" + path, sent, headers)
        return status, json.loads(body), answered

    def make(self, user="ana", name="ci", **more):
        members = {"name": name, "may": ["view"], "queues": ["mail*"], "expires_s": 3600, **more}
        status, made, _ = self.ask("POST", "/tokens", members, **basic(user))
        self.assertEqual(status, 201, made)
        return made

    def status(self, text, path="/api/v1/queues"):
        return self.web.get(path, **bearer(text))[0]

    def reload(self, text):
        self.write("users.toml", text)
        before = self.server_.error_text().count("Z reloaded\n")
        self.server_.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.server_.error_text().count("Z reloaded\n") > before, "the reload")

    def changes(self, query=""):
        return self.ask("GET", "/activity" + query, **basic("root"))[1]["changes"]

    def test_a_token_is_made_used_and_revoked(self):
        document = self.document()
        made = self.make(may=["view", "operate"])
        self.assertRegex(made["token"], r"^mrt_[A-Za-z0-9_-]{43}$")
        schema = {"$ref": "#/components/schemas/NewToken"}
        self.assertEqual(list(problems(made, schema, document)), [])

        status, _, headers = self.ask("POST", "/queues/mail/pause", {}, **bearer(made["token"]))
        self.assertEqual(status, 404)
        job = {"jobtype": "Send", "args": [], "queue": "mail"}
        self.assertEqual(self.ask("POST", "/jobs", job, **bearer(made["token"]))[0], 403)
        self.assertEqual(self.ask("POST", "/jobs", job, **basic("ana"))[0], 201)
        status, _, headers = self.ask("POST", "/queues/mail/pause", {}, **bearer(made["token"]))
        self.assertEqual((status, headers["X-User"], headers["X-Identified-By"]),
                         (200, "ana", "token"))
        self.assertEqual((self.changes()[0]["user"], self.changes()[0]["how"]), ("ana", "token"))
        self.assertEqual(self.ask("POST", "/queues/shop/pause", {}, **bearer(made["token"]))[0],
                         403)

        _, listed, _ = self.ask("GET", "/tokens", **basic("ana"))
        schema = {"$ref": "#/components/schemas/Tokens"}
        self.assertEqual(list(problems(listed, schema, document)), [])
        self.assertIsNotNone(listed["tokens"][0]["last_used_at"])
        self.assertNotIn(made["token"], json.dumps(listed))
        path = f"/tokens/{made['id']}/delete"
        self.assertEqual(self.ask("POST", path, {}, **basic("bob"))[0], 404)
        self.assertEqual(self.ask("POST", path, {}, **basic("ana"))[0], 200)
        status, said, headers = self.ask("GET", "/queues", **bearer(made["token"]))
        self.assertEqual((status, said["error"]), (401, WRONG))
        self.assertIn("Bearer", headers["WWW-Authenticate"])
        noted = [(each["action"], each["target"], each["user"]) for each in self.changes()]
        self.assertIn(("tokens/create", made["id"], "ana"), noted)
        self.assertIn(("tokens/delete", made["id"], "ana"), noted)

    def document(self):
        _, _, body = self.web.get("/api/v1/openapi.json", **basic("root"))
        return json.loads(body)

    def test_a_token_makes_no_tokens(self):
        made = self.make("root", may=["view", "admin"], queues=["*"])
        members = {"name": "more", "may": ["view"], "expires_s": 3600}
        for method, path, sent in (("GET", "/tokens", None), ("POST", "/tokens", members),
                                   ("POST", f"/tokens/{made['id']}/delete", {})):
            status, said, _ = self.ask(method, path, sent, **bearer(made["token"]))
            self.assertEqual((status, said["code"]), (403, "not_allowed"))
            self.assertIn("a token cannot", said["error"])

    def test_a_token_does_what_its_user_may_still_do(self):
        made = self.make(may=["view", "operate"])
        self.assertEqual(self.status(made["token"]), 200)
        self.reload(self.users("view"))
        self.assertEqual(self.status(made["token"]), 200)
        self.assertEqual(self.ask("POST", "/queues/mail/pause", {}, **bearer(made["token"]))[0],
                         403)
        # More than when it was made: the token has its own limits.
        self.reload(self.users("view", "operate", "push"))
        job = {"jobtype": "Send", "args": [], "queue": "mail"}
        self.assertEqual(self.ask("POST", "/jobs", job, **bearer(made["token"]))[0], 403)

    def test_the_token_of_a_removed_user_is_worth_nothing(self):
        made = self.make("bob", queues=["*"])
        self.assertEqual(self.status(made["token"]), 200)
        self.reload(self.users(bob=False))
        self.assertEqual(self.status(made["token"]), 401)
        self.reload(self.users())
        self.assertEqual(self.status(made["token"]), 200)

    def test_a_token_counts_in_its_header_alone(self):
        text = self.make()["token"]
        self.assertEqual(self.web.get(f"/api/v1/queues?access_token={text}")[0], 401)
        self.assertEqual(self.web.get(f"/api/v1/queues?token={text}")[0], 401)
        for cookie in (f"token={text}", f"millrace{self.server_.web_address[1]}={text}",
                       f"millrace{self.server_.web_address[1]}={text[4:]}"):
            self.assertEqual(self.web.get("/api/v1/queues", Cookie=cookie)[0], 401)
        self.assertEqual(self.web.get("/api/v1/queues", **basic("ana", text))[0], 401)
        self.assertEqual(self.web.get("/api/v1/queues", **{"X-Token": text})[0], 401)
        self.assertEqual(self.web.get("/api/v1/queues", Authorization=text)[0], 401)
        self.assertEqual(self.web.get("/api/v1/queues", Authorization=f"bEARER {text}")[0], 200)

    def test_parts_of_a_token_are_none(self):
        text = self.make()["token"]
        guesses = [text[:end] for end in range(0, len(text), 6)]
        guesses += [text + "A", text.upper(), "x" + text, text[:-1] + "\t", text[4:],
                    "mrt_" + "A" * 43, "A" * 7000]
        for number, guess in enumerate(guesses):
            # From an address of its own: wrong ones slow theirs down.
            self.assertEqual(self.status_from(f"127.0.1.{number + 1}", guess), 401, guess)
        self.assertEqual(self.status(text), 200)
        self.assertEqual(self.status_from("127.0.2.1", "A" * 9000), 431)
        details = {each["details"] for each in self.changes("?action=login&refused=1")}
        self.assertEqual(details, {"wrong token"})
        self.assertNotIn("mrt_", json.dumps(self.changes()))
        self.assertNotIn(text[4:], self.server_.error_text())

    def status_from(self, source, text):
        host, port = self.server_.web_address
        connection = http.client.HTTPConnection(host, port, timeout=30,
                                                source_address=(source, 0))
        connection.request("GET", "/api/v1/queues", headers=bearer(text))
        status = connection.getresponse().status
        connection.close()
        return status

    def test_wrong_tokens_slow_their_address_down(self):
        began = time.monotonic()
        for _ in range(10):
            self.assertEqual(self.status_from("127.0.3.1", "mrt_" + "B" * 43), 401)
        self.assertGreater(time.monotonic() - began, 0.5)

    def test_two_headers_are_refused(self):
        text = self.make()["token"]
        host, port = self.server_.web_address
        with socket.create_connection((host, port), timeout=30) as client:
            line = f"Authorization: Bearer {text}\r\n"
            client.sendall(f"GET /api/v1/queues HTTP/1.1\r\nHost: a\r\n{line}{line}\r\n".encode())
            self.assertTrue(client.recv(100).startswith(b"HTTP/1.1 400"))

    def test_a_name_is_used_once_by_each_user(self):
        self.make()
        self.make("bob")
        members = {"name": "ci", "may": ["view"], "queues": ["mail*"], "expires_s": 3600}
        status, said, _ = self.ask("POST", "/tokens", members, **basic("ana"))
        self.assertEqual((status, said["error"]),
                         (409, "ana has a token of that name: choose another name"))
        seen = {user: len(self.ask("GET", "/tokens", **basic(user))[1]["tokens"])
                for user in ("ana", "bob", "root")}
        self.assertEqual(seen, {"ana": 1, "bob": 1, "root": 2})

    def test_a_token_outlives_a_crash_and_no_file_has_its_text(self):
        text = self.make()["token"]
        revoked = self.make(name="old")
        self.ask("POST", f"/tokens/{revoked['id']}/delete", {}, **basic("ana"))
        self.server_.kill()
        for folder, _, names in os.walk(self.path("data")):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    self.assertIsNone(re.search(b"mrt_|" + text[4:].encode(), file.read()), name)
        self.server_.start()
        self.assertEqual(self.status(text), 200)
        self.assertEqual(self.status(revoked["token"]), 401)

    def test_a_token_expires(self):
        status, said, _ = self.ask("POST", "/tokens", {"name": "a", "may": ["view"],
                                                       "queues": ["mail*"], "expires_s": 59},
                                   **basic("ana"))
        self.assertEqual(status, 400)
        self.assertIn("from 60 to 31622400", said["error"])


    def cli(self, *words, user=None, token="", status=0):
        host, port = self.server_.web_address
        login = f"{user}@" if user else ""
        env = environment() | {"MILLRACE_URL": f"http://{login}{host}:{port}"}
        env |= {"MILLRACE_TOKEN": token} if token else {}
        env |= {"MILLRACE_PASSWORD": PASSWORD} if user else {}
        run = subprocess.run([PROGRAM, *words], env=env, stdin=subprocess.DEVNULL, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        return run.stdout if status == 0 else run.stderr

    def test_the_command_makes_uses_lists_and_revokes_tokens(self):
        self.ask("POST", "/jobs", {"jobtype": "Send", "args": [], "queue": "mail"}, **basic("ana"))
        told = self.cli("tokens", "new", "ci", "--may", "view,operate", "--queues", "mail*",
                        "--expires", "30d", user="ana")
        token, name = re.search(r"token +(\S+)\nid +(\S+)\nnote +.*not shown again", told).groups()
        self.assertIn("paused", self.cli("pause", "mail", token=token))
        self.assertIn("ana lacks the right view for all queues",
                      self.cli("tokens", "new", "b", "--may=view", "--expires=1d", user="ana",
                               status=1))
        self.assertRegex(self.cli("tokens", user="ana"),
                         rf"{name} +ci +ana +view operate +mail\* +29d +0s ago")
        # Of the two it takes the password.
        self.assertIn(name, self.cli("tokens", user="ana", token=token))
        self.assertIn("wants a password", self.cli("tokens", token=token, status=1))
        self.assertIn("new needs --may and --expires",
                      self.cli("tokens", "new", "c", user="ana", status=2))
        self.assertIn("`millrace tokens` lists them",
                      self.cli("tokens", "revoke", user="ana", status=2))
        self.assertIn("did you mean revoke?",
                      self.cli("tokens", "revok", "x", user="ana", status=2))
        self.assertIn("there is no such token",
                      self.cli("tokens", "revoke", "0", user="ana", status=1))
        made = json.loads(self.cli("tokens", "new", "d", "--may=view", "--queues=mail*,mail",
                                   "--expires=1d", "--json", user="ana"))
        self.assertEqual(made["queues"], ["mail*", "mail"])
        self.assertEqual(self.cli("tokens", "revoke", name, user="ana"), "revoked     ci\n")
        said = self.cli("queues", token=token, status=1)
        self.assertIn(WRONG + "; see MILLRACE_TOKEN", said)
        self.assertNotIn(token, said)
        self.assertIn("is not a token", self.cli("queues", token="secret", status=2))


class NoUsersTest(WithUsers):
    def test_without_users_there_are_no_tokens(self):
        server = self.server()
        server.web_address = ("127.0.0.1", free_port())
        server.start()
        web = Web(server.web_address)
        members = {"name": "ci", "may": ["view"], "expires_s": 3600}
        status, said = web.post("/api/v1/tokens", members)
        self.assertEqual(status, 409)
        self.assertIn("--users", said["error"])
        self.assertEqual(web.get("/api/v1/queues", **bearer("mrt_" + "A" * 43))[0], 200)
