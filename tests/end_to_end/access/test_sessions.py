"""Sessions of browsers: the form, the cookie, and what an attacker may try with them."""

import json
import signal
import socket
import ssl
import threading
import time
import urllib.parse

from access.test_users import PASSWORD, WithUsers, basic
from program import free_port, wait_until
from shared.shared_log import make_certificate
from web import Web

PAGE = {"Accept": "text/html"}
FORM = {"Content-Type": "application/x-www-form-urlencoded", **PAGE}
WRONG = b"The user name or the password is wrong."


class SessionsTest(WithUsers):
    def setUp(self):
        super().setUp()
        self.server_ = self.serve(self.mail_users() + self.user("bob", "viewer")).start()
        self.worker(self.server_, "mail-app").push("job-00000", "mail")
        self.web = Web(self.server_.web_address)

    def post_form(self, name, password=PASSWORD, to="/", **headers):
        """(status, headers, body)."""
        fields = urllib.parse.urlencode({"name": name, "password": password})
        target = "/login?" + urllib.parse.urlencode({"to": to})
        return self.web.request("POST", target, fields, {**FORM, **headers})

    def log_in(self, name="ana", **headers):
        """The cookie that a browser sends then."""
        status, answer, _ = self.post_form(name, **headers)
        self.assertEqual(status, 303)
        return answer["Set-Cookie"].split(";")[0]

    def status(self, cookie, web=None, **headers):
        return (web or self.web).get("/api/v1/queues", Cookie=cookie, **headers)[0]

    def log_out(self, cookie, **headers):
        return self.web.request("POST", "/logout", headers={"Cookie": cookie, **headers})

    def changes(self):
        _, _, body = self.web.get("/api/v1/activity", **basic("ana"))
        return json.loads(body)["changes"]

    def test_a_browser_logs_in_and_out(self):
        status, headers, body = self.web.get("/queues/mail?state=dead", **PAGE)
        self.assertEqual((status, headers.get("WWW-Authenticate")), (401, None))
        self.assertIn(b"url=/login?to=%2Fqueues%2Fmail%3Fstate%3Ddead", body)
        status, headers, body = self.web.get("/login?to=%2Fqueues%2Fmail", **PAGE)
        self.assertIn("form-action 'self'", headers["Content-Security-Policy"])
        self.assertIn(b'action="/login?to=%2Fqueues%2Fmail"', body)
        self.assertEqual(status, 200)

        status, headers, _ = self.post_form("ana", to="/queues/mail?state=dead")
        self.assertEqual((status, headers["Location"]), (303, "/queues/mail?state=dead"))
        cookie, *attributes = headers["Set-Cookie"].split("; ")
        self.assertEqual(attributes, ["Path=/", "HttpOnly", "SameSite=Strict"])
        self.assertTrue(cookie.startswith(f"millrace{self.server_.web_address[1]}="))
        self.assertEqual(self.web.get("/queues/mail", Cookie=cookie, **PAGE)[0], 200)
        _, headers, _ = self.web.get("/login?to=%2Fjobs", Cookie=cookie, **PAGE)
        self.assertEqual(headers["Location"], "/jobs")
        status, headers, _ = self.web.get("/api/v1/queues", Cookie=cookie)
        self.assertEqual((status, headers["X-User"], headers["X-Identified-By"]),
                         (200, "ana", "session"))
        self.assertEqual(self.web.post("/api/v1/queues/mail/pause", Cookie=cookie)[0], 200)

        status, headers, _ = self.log_out(cookie)
        self.assertEqual(status, 200)
        self.assertIn("Max-Age=0", headers["Set-Cookie"])
        self.assertEqual(self.status(cookie), 401)
        self.assertEqual(self.log_out(cookie)[0], 401)
        noted = [(each["action"], each["user"], each["how"]) for each in self.changes()]
        self.assertEqual(noted[:3], [("logout", "ana", "session"),
                                     ("queues/pause", "ana", "session"),
                                     ("login", "ana", "password")])
        self.server_.terminate()
        self.assertNotIn(cookie.split("=")[1], self.server_.error_text())

    def test_behind_a_proxy_with_tls_the_cookie_is_for_tls_and_for_the_prefix(self):
        _, headers, _ = self.post_form("ana", to="/jobs", **{"X-Script-Name": "/mill",
                                                             "X-Forwarded-Proto": "https"})
        self.assertEqual(headers["Location"], "/mill/jobs")
        self.assertTrue(headers["Set-Cookie"].endswith(
            "; Path=/mill; HttpOnly; SameSite=Strict; Secure"))
        cookie = self.log_in(**{"X-Forwarded-Proto": "https"})
        self.assertTrue(cookie.startswith("__Host-millrace"))
        self.assertEqual(self.status(cookie, **{"X-Forwarded-Proto": "https"}), 200)
        self.assertEqual(self.status(cookie), 401)

    def test_by_tls_the_cookie_is_for_tls(self):
        certificate, key = make_certificate(self.directory)
        self.server_.terminate()
        self.server_ = self.serve(self.mail_users(), f"--tls-cert={certificate}",
                                  f"--tls-key={key}").start()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.web = Web(self.server_.web_address, context)
        _, headers, _ = self.post_form("ana")
        cookie, *attributes = headers["Set-Cookie"].split("; ")
        self.assertTrue(cookie.startswith("__Host-millrace"))
        self.assertEqual(attributes, ["Path=/", "HttpOnly", "SameSite=Strict", "Secure"])
        self.assertEqual(self.status(cookie), 200)

    def test_a_cookie_is_worth_nothing_for_a_server_on_another_port(self):
        cookie = self.log_in()
        other = self.server(f"--users={self.path('users.toml')}", data=self.path("other"))
        other.web_address = ("127.0.0.1", free_port())
        other.start()
        web = Web(other.web_address)
        self.assertEqual(self.status(cookie, web), 401)
        # Nor under the name that it has there.
        renamed = f"millrace{other.web_address[1]}=" + cookie.split("=")[1]
        self.assertEqual(self.status(renamed, web), 401)
        self.assertEqual(self.status(cookie), 200)

    def test_a_wrong_name_takes_as_long_as_a_wrong_password(self):
        def seconds(name):
            began = time.monotonic()
            self.assertEqual(self.post_form(name, "wrong")[0], 401)
            return time.monotonic() - began

        # After four wrong ones, each waits.
        known = min(seconds("ana") for _ in range(2))
        unknown = min(seconds("nobody") for _ in range(2))
        self.assertGreater(unknown, known / 4)
        self.assertGreater(known, unknown / 4)

    def test_a_login_leads_to_no_other_site(self):
        for to in ("//evil.example", "/\\evil.example", "https://evil.example", "evil",
                   "/a\r\nX: y", "/\\/evil.example", "javascript:alert(1)"):
            status, headers, _ = self.post_form("ana", to=to)
            self.assertEqual((status, headers["Location"]), (303, "/"), to)

    def test_the_password_is_checked(self):
        for name, password in (("ana", "wrong"), ("nobody", PASSWORD), ("", ""), ("ana", ""),
                               ("ana:", PASSWORD), ("ana\0", PASSWORD)):
            status, headers, body = self.post_form(name, password)
            self.assertEqual(status, 401, (name, password))
            self.assertIn(WRONG, body)
            self.assertNotIn("Set-Cookie", headers)
        refused = [each for each in self.changes() if each["is_refused"]]
        self.assertEqual({(each["action"], each["user"]) for each in refused}, {("login", "ana")})
        for body in (b"", b"name=ana", b"name=ana&name=bob&password=x", b"\xff\x00=%zz&&&=",
                     json.dumps({"name": "ana", "password": PASSWORD}).encode()):
            self.assertEqual(self.web.request("POST", "/login", body, FORM)[0], 400, body)
        self.assertEqual(self.web.request("POST", "/login", b"x" * 4097, FORM)[0], 413)
        self.assertEqual(self.web.request("PUT", "/login", b"", FORM)[0], 401)

    def test_the_form_of_another_site_logs_nobody_in_or_out(self):
        cookie = self.log_in()
        for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"},
                        {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
            status, answer, _ = self.post_form("bob", **headers)
            self.assertEqual((status, answer.get("Set-Cookie")), (403, None), headers)
            self.assertEqual(self.log_out(cookie, **headers)[0], 403, headers)
            status, _, _ = self.web.request("POST", "/api/v1/queues/mail/pause",
                                            headers={"Cookie": cookie, **headers})
            self.assertEqual(status, 403, headers)
        self.assertEqual(self.web.request("POST", "/login", b"name=ana&password=x",
                                          {"Content-Type": "text/plain"})[0], 415)
        self.assertEqual(self.status(cookie), 200)

    def test_a_login_makes_a_new_session_and_ends_the_one_before(self):
        """Who has given a browser a cookie has nothing of it."""
        first = self.log_in()
        second = self.log_in("bob", Cookie=first)
        self.assertNotEqual(first, second)
        self.assertEqual((self.status(first), self.status(second)), (401, 200))
        chosen = first.split("=")[0] + "=" + "a" * 43
        self.assertNotEqual(self.log_in(Cookie=chosen), chosen)
        self.assertEqual(self.status(chosen), 401)
        self.assertEqual(self.post_form("ana", "wrong", Cookie=second)[0], 401)
        self.assertEqual(self.status(second), 200)

    def test_a_cookie_of_another_server_or_process_is_worth_nothing(self):
        cookie = self.log_in()
        self.server_.terminate()
        self.server_.start()
        self.assertEqual(self.status(cookie), 401)

    def test_a_request_with_a_password_ignores_the_cookie(self):
        cookie = self.log_in("bob")
        _, headers, _ = self.web.get("/api/v1/queues", Cookie=cookie, **basic("ana"))
        self.assertEqual((headers["X-User"], headers["X-Identified-By"]), ("ana", "password"))
        self.assertEqual(self.status(cookie, **basic("ana", "wrong")), 401)
        self.assertEqual(self.status(cookie, Authorization="Basic"), 401)

    def test_odd_cookies_are_none(self):
        cookie = self.log_in()
        name, value = cookie.split("=")
        for size in range(len(cookie)):
            self.assertEqual(self.status(cookie[:size]), 401)
        for odd in (f"{name}={value}x", f"{name}=\"{value}\"", f"x{cookie}", value, ";" * 8000,
                    cookie.upper(), f"{name} ={value}", f"{name}=\t{value} x"):
            self.assertEqual(self.status(odd), 401, odd)
        self.assertEqual(self.status(f"{name}=" + "a" * 9000), 431)
        self.assertEqual(self.status("; ".join([f"c{i}={value}" for i in range(100)] + [cookie])),
                         200)
        # Of another host name's page, which sets cookies for ours.
        false = f"{name}=" + "a" * 43
        self.assertEqual(self.status("; ".join([false] * 3 + [cookie])), 200)
        self.assertEqual(self.status("; ".join([false] * 100)), 401)

    def test_a_reload_ends_the_sessions_of_users_that_have_changed(self):
        ana, bob = self.log_in("ana"), self.log_in("bob")
        text = self.mail_users().replace('["operator"]', '["viewer"]')
        self.write("users.toml", text + self.user("bob", "viewer"))
        self.server_.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "Z reloaded\n" in self.server_.error_text(), "the reload is done")
        self.assertEqual((self.status(ana), self.status(bob)), (401, 200))

    def test_guesses_by_the_form_hold_nobody_up_and_are_slowed_down(self):
        body = urllib.parse.urlencode({"name": "ana", "password": "wrong"})
        head = [f"{name}: {value}" for name, value in FORM.items()]
        request = "\r\n".join(["POST /login HTTP/1.1", "Host: localhost", *head,
                               f"Content-Length: {len(body)}", "", body]).encode()
        answers = []

        def guess():
            with socket.create_connection(self.server_.web_address, timeout=60) as connection:
                connection.sendall(request)
                answers.append(connection.recv(100)[9:12])

        threads = [threading.Thread(target=guess) for _ in range(40)]
        for each in threads:
            each.start()
        self.assertEqual(self.web.get("/health")[0], 200)
        self.assertEqual(self.worker(self.server_, "mail-app").push("job-00001", "mail"), "+OK")
        for each in threads:
            each.join()
        self.assertEqual(set(answers), {b"401", b"503"})
        self.assertEqual(self.post_form("ana")[0], 303)

    def test_forms_that_do_not_arrive_keep_no_place(self):
        for _ in range(200):
            connection = socket.create_connection(self.server_.web_address, timeout=30)
            self.addCleanup(connection.close)
            connection.sendall(b"POST /login HTTP/1.1\r\nHost: localhost\r\n"
                               b"Content-Type: application/x-www-form-urlencoded\r\n"
                               b"Content-Length: 4000\r\n\r\nname=")
        self.assertEqual(self.web.get("/health")[0], 200)
        self.assertEqual(self.post_form("ana")[0], 303)

    def test_without_users_there_is_no_form(self):
        server = self.server()
        server.web_address = self.server_.web_address
        self.server_.terminate()
        server.start()
        self.assertEqual(self.web.request("POST", "/login", b"name=a&password=b", FORM)[0], 415)
        self.assertEqual(self.web.request("POST", "/logout")[0], 405)


class ProxyTest(WithUsers):
    HEADER = {"X-Forwarded-User": "ana"}

    def serve_behind(self, *addresses):
        text = f'[proxy]\nuser-header = "X-Forwarded-User"\nfrom = {json.dumps(addresses)}\n'
        server = self.serve(self.mail_users() + text).start()
        return Web(server.web_address)

    def test_the_header_of_the_proxy_names_the_user(self):
        web = self.serve_behind("127.0.0.1")
        status, headers, _ = web.get("/api/v1/queues", **self.HEADER)
        self.assertEqual((status, headers["X-User"], headers["X-Identified-By"]),
                         (200, "ana", "proxy"))
        self.assertEqual(web.get("/queues/mail", **PAGE, **self.HEADER)[0], 200)
        status, _, body = web.get("/api/v1/queues", **{"X-Forwarded-User": "nobody"})
        self.assertEqual((status, json.loads(body)["code"]), (403, "no_user"))
        self.assertEqual(web.get("/api/v1/queues", **{"X-Forwarded-User": ""})[0], 403)
        self.assertEqual(web.get("/api/v1/queues", **basic("ana"))[0], 200)
        self.assertEqual(web.get("/api/v1/queues")[0], 401)
        status, _, _ = web.request("POST", "/api/v1/queues/mail/pause", headers={
            **self.HEADER, "Sec-Fetch-Site": "cross-site"})
        self.assertEqual(status, 403)

    def test_the_header_of_a_client_before_the_proxy_is_refused(self):
        web = self.serve_behind("127.0.0.1")
        with socket.create_connection(web.address, timeout=30) as connection:
            connection.sendall(b"GET /api/v1/queues HTTP/1.1\r\nHost: localhost\r\n"
                               b"X-Forwarded-User: ana\r\nx-forwarded-user: mail-app\r\n\r\n")
            self.assertEqual(connection.recv(100)[9:12], b"401")

    def test_the_header_from_elsewhere_is_a_wrong_login(self):
        web = self.serve_behind("10.0.0.5")
        more = {"X-Forwarded-For": "10.0.0.5", "Forwarded": "for=10.0.0.5"}
        self.assertEqual(web.get("/api/v1/queues", **self.HEADER, **more)[0], 401)
        self.assertEqual(web.get("/api/v1/queues", **self.HEADER, **basic("ana"))[0], 401)
        self.assertEqual(web.get("/health", **self.HEADER)[0], 200)
        _, _, body = web.get("/api/v1/activity?refused=1", **basic("ana"))
        change = json.loads(body)["changes"][0]
        self.assertEqual((change["action"], change["how"]), ("login", "proxy"))
