"""The Faktory protocol of the real program: encryption, new secrets by SIGHUP, tried passwords; and
the program called as `faktory`, with its flags and files."""

import json
import os
import pwd
import signal
import socket
import ssl
import subprocess
import time
import unittest

from clients import Beanstalk, Client, Faktory
from program import PROGRAM, START_SECONDS_MAX, ServerTest, environment, free_port, wait_until
from web import Web


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def make_certificate(certificate, key, name):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        + ["-nodes", "-days", "2", "-subj", f"/CN={name}", "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )


def encrypted(address, newest=None):
    """An encrypted connection, whoever the server says it is."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if newest:
        context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        context.maximum_version = newest
    return context.wrap_socket(socket.create_connection(address, timeout=30))


def read_line(stream):
    line = b""
    while not line.endswith(b"\r\n"):
        byte = stream.recv(1)
        if not byte:
            break
        line += byte
    return line.decode()


def ask(stream, command):
    stream.sendall(command.encode() + b"\r\n")
    return read_line(stream)


class TlsTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.certificate = self.path("cert.pem")
        self.key = self.path("key.pem")
        make_certificate(self.certificate, self.key, "first")
        flags = (f"--tls-cert={self.certificate}", f"--tls-key={self.key}")
        self.running = self.server(*flags).start()

    def faktory(self):
        stream = self.open(encrypted(self.running.faktory_address))
        self.assertEqual(read_line(stream), '+HI {"v":2}\r\n')
        self.assertEqual(ask(stream, 'HELLO {"v":2}'), "+OK\r\n")
        return stream

    def test_both_protocols(self):
        stream = self.faktory()
        push = {"jid": "12345678", "jobtype": "T", "args": ["x" * 1_000_000]}
        self.assertEqual(ask(stream, "PUSH " + json.dumps(push)), "+OK\r\n")
        tube = self.open(encrypted(self.running.beanstalk_address))
        size = int(ask(tube, "reserve-with-timeout 0").split()[2])
        body = b""
        while len(body) < size + 2:
            body += tube.recv(size + 2 - len(body))
        self.assertEqual(json.loads(body)["args"], push["args"])
        self.assertEqual(ask(tube, "delete 1"), "DELETED\r\n")

    def test_versions_before_1_2_are_refused(self):
        with self.assertRaises(OSError):
            encrypted(self.running.faktory_address, ssl.TLSVersion.TLSv1_1)
        encrypted(self.running.faktory_address, ssl.TLSVersion.TLSv1_2).close()

    def test_a_client_without_tls_is_sent_away(self):
        with socket.create_connection(self.running.faktory_address, timeout=10) as plain:
            plain.sendall(b'HELLO {"v":2}\r\n')
            self.assertNotIn(b"+", plain.recv(100))

    def test_a_unix_socket_speaks_no_tls(self):
        """It never leaves the machine, and beanstalk's clients have no TLS."""
        self.running.terminate()
        for protocol in ("beanstalk", "faktory", "web"):
            setattr(self.running, f"{protocol}_address", self.path(f"{protocol}.sock"))
        self.running.start()
        self.assertEqual(self.open(Faktory(self.path("faktory.sock"))).push("unix-0001"), "+OK")
        self.assertEqual(self.open(Beanstalk(self.path("beanstalk.sock"))).reserve()[0], 1)
        web = self.open(Client(self.path("web.sock")))
        web.send(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertEqual(web.line(), "HTTP/1.1 200 OK")

    def test_a_handshake_that_does_not_come(self):
        begin = time.monotonic()
        with socket.create_connection(self.running.faktory_address, timeout=10) as plain:
            self.assertEqual(plain.recv(1), b"")
        took = time.monotonic() - begin
        self.assertGreater(took, 1.5)
        # Not sooner than it should; how much later depends on the machine.
        self.assertLess(took, 10)

    def test_a_new_certificate_by_hup(self):
        before = self.faktory()
        make_certificate(self.certificate, self.key, "second")
        self.running.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "reloaded" in self.running.error_text(), "reloaded")
        after = self.faktory()
        self.assertNotEqual(before.getpeercert(True), after.getpeercert(True))
        self.assertEqual(ask(before, "FLUSH"), "+OK\r\n")

    def test_a_pipe_as_key_by_hup_is_not_waited_for(self):
        os.remove(self.key)
        os.mkfifo(self.key)
        self.running.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "not a regular file" in self.running.error_text(), "an answer")
        self.faktory()
        self.assertEqual(self.running.terminate(), 0)

    def test_a_bad_certificate_by_hup_changes_nothing(self):
        write(self.certificate, "none")
        self.running.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "reload_failed" in self.running.error_text(), "reload_failed")
        self.faktory()

    def test_files_that_cannot_be_used(self):
        self.assert_refused([PROGRAM, "serve", "--tls-cert=/nowhere"], "--tls-key")
        flags = ["--tls-cert=/nowhere", f"--tls-key={self.key}"]
        self.assert_refused([PROGRAM, "serve", *flags], "/nowhere")
        other = self.path("other.pem")
        make_certificate(self.path("unused.pem"), other, "other")
        flags = [f"--tls-cert={self.certificate}", f"--tls-key={other}"]
        self.assert_refused([PROGRAM, "serve", *flags], "other.pem")


class PasswordTest(ServerTest):
    def test_a_new_password_by_hup(self):
        path = write(self.path("password"), "old\n")
        server = self.server(f"--password-file={path}").start()
        before = self.open(Faktory(server.faktory_address, password="old"))
        write(path, "new\n")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "reloaded" in server.error_text(), "reloaded")
        wrong = self.open(Faktory(server.faktory_address, password="old"))
        self.assertEqual(wrong.hello_reply, "-ERR Invalid password")
        right = self.open(Faktory(server.faktory_address, password="new"))
        self.assertEqual(right.hello_reply, "+OK")
        self.assertEqual(before.push("12345678"), "+OK")

    def test_who_tries_passwords_is_slowed_down(self):
        server = self.server(env={"FAKTORY_PASSWORD": "secret"}).start()
        begin = time.monotonic()
        for _ in range(7):
            self.open(Faktory(server.faktory_address, password="wrong"))
        self.assertGreater(time.monotonic() - begin, 3 * 0.1)

    def test_the_right_one_gets_in_while_many_wrong_ones_are_tried(self):
        server = self.server(env={"FAKTORY_PASSWORD": "secret"}).start()
        begin = time.monotonic()
        tries = []
        for _ in range(300):
            tries.append(self.open(socket.create_connection(server.faktory_address)))
            # At once: a client that does not say who it is within two seconds is sent away.
            tries[-1].sendall(b'HELLO {"v":2,"pwdhash":"wrong"}\r\n')
        right_begins = time.monotonic()
        right = self.open(Faktory(server.faktory_address, password="secret"))
        self.assertEqual(right.hello_reply, "+OK")
        # One every 100 ms, they would take 30 s.
        self.assertLess(time.monotonic() - right_begins, 15)
        # All of them: which is the last is for the I/O threads to say.
        for each in tries:
            self.assertRegex(read_line(each), r"^\+HI ")
            self.assertEqual(read_line(each), "-ERR Invalid password\r\n")
        self.assertGreater(time.monotonic() - begin, 1)


class ReloadTest(ServerTest):
    """SIGHUP, where options come from a file."""

    def start(self, text):
        self.config = write(self.path("config.toml"), text)
        return self.server(f"--config={self.config}").start()

    def reload(self, server, text, event):
        """Returns the log's lines on it."""
        write(self.config, text)
        before = len(server.error_text())
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: event in server.error_text()[before:], event)
        return server.error_text()[before:]

    def secret(self, name, text):
        path = write(self.path(name), text)
        os.chmod(path, 0o600)
        return path

    def test_limits_and_password_change_and_nobody_is_disconnected(self):
        old, new = self.secret("old", "old"), self.secret("new", "new")
        server = self.start(f'password-file = "{old}"\nmax-job-size = 10\n')
        worker = self.open(Faktory(server.faktory_address, password="old"))
        tube = self.open(Beanstalk(server.beanstalk_address))
        self.assertEqual(tube.put(b"x" * 11), "JOB_TOO_BIG")
        text = f'password-file = "{new}"\nmax-job-size = 11\nmax-connections = 1\n'
        log = self.reload(server, text, "reloaded")
        self.assertNotIn("restart_needed", log)
        self.assertEqual(tube.put(b"x" * 11), 1)
        self.assertEqual(tube.stats()["max-job-size"], "11")
        self.assertEqual(worker.push("job-00001"), "+OK")
        wrong = self.open(Faktory(server.faktory_address, password="old"))
        self.assertEqual(wrong.hello_reply, "-ERR Invalid password")
        second = self.open(Faktory(server.faktory_address, password="new"))
        self.assertEqual(second.hello_reply, "+OK")
        self.assertEqual(second.line(), "-ERR too many connections: 2")
        self.assertEqual(worker.push("job-00002"), "+OK")

    def test_what_needs_a_restart_is_named_and_left(self):
        server = self.start('sync = "always"\n')
        text = f'sync = "off"\ndata = "{self.path("elsewhere")}"\nmax-job-size = 1\n'
        log = self.reload(server, text, "restart_needed")
        # --data is a flag, and overrides the file.
        self.assertRegex(log, r"restart_needed options=sync\n")
        self.assertEqual(self.open(Beanstalk(server.beanstalk_address)).put(b"xx"), "JOB_TOO_BIG")

    def test_a_password_is_not_taken_away(self):
        server = self.start(f'password-file = "{self.secret("old", "old")}"\n')
        log = self.reload(server, "", "restart_needed")
        self.assertIn("options=password-file", log)
        without = self.open(Faktory(server.faktory_address))
        self.assertEqual(without.hello_reply, "-ERR Invalid password")

    def assert_refused_at_once(self, server, name):
        """A reload, because of the file `name`."""
        before = len(server.error_text())
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "reload" in server.error_text()[before:], "an answer", seconds=20)
        self.assertRegex(server.error_text()[before:], rf"reload_failed .*{name}: not a regular")

    def test_a_pipe_is_a_config_file_for_the_start_only(self):
        self.config = self.path("config.toml")
        os.mkfifo(self.config)
        server = self.server(f"--config={self.config}")
        server.begin()
        write(self.config, "max-job-size = 10\n")
        server.wait_until_ready()
        self.assert_refused_at_once(server, "config.toml")
        stats = self.open(Beanstalk(server.beanstalk_address)).stats()
        self.assertEqual(stats["max-job-size"], "10")
        self.assertEqual(server.terminate(), 0)

    def test_a_pipe_among_the_files_is_not_waited_for(self):
        server = self.start("")
        os.mkdir(self.path("conf.d"))
        os.mkfifo(self.path("conf.d/pipe.toml"))
        self.assert_refused_at_once(server, "pipe.toml")
        self.assert_refused(self.server(f"--config={self.config}").arguments(), "pipe.toml: not a")
        os.remove(self.path("conf.d/pipe.toml"))
        os.symlink("/dev/null", self.path("conf.d/masked.toml"))
        self.assertNotIn("reload_failed", self.reload(server, "", "reload"))
        self.assertEqual(server.terminate(), 0)

    def test_a_file_that_is_wrong_changes_nothing(self):
        server = self.start("max-job-size = 10\n")
        log = self.reload(server, "max-job-size = 20\ncolour = 'red'\n", "reload_failed")
        self.assertIn("unknown key", log)
        log = self.reload(server, "max-job-size = \n", "reload_failed")
        self.assertIn("config.toml:1: ", log)
        stats = self.open(Beanstalk(server.beanstalk_address)).stats()
        self.assertEqual(stats["max-job-size"], "10")


class DropinTest(ServerTest):
    """Called as `faktory`: a link, a home directory and an address of its own."""

    def setUp(self):
        super().setUp()
        self.link = self.path("faktory")
        os.symlink(os.path.abspath(PROGRAM), self.link)
        self.files = self.path("files")
        os.makedirs(os.path.join(self.files, "conf.d"))
        self.storage = self.path("storage/db")

    def arguments(self, *flags):
        web = [] if any(flag.startswith("-w") for flag in flags) else ["-w=:0"]
        return [self.link, "-c", self.files, "-d", self.storage, *web, *flags]

    def write_toml(self, name, text):
        write(os.path.join(self.files, f"conf.d/{name}.toml"), text)

    def run_briefly(self, *flags, env=None):
        return subprocess.run(
            self.arguments(*flags),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment({"HOME": self.directory, **(env or {})}),
            text=True,
            timeout=START_SECONDS_MAX,
        )

    def start(self, *flags, env=None):
        server = self.server(env={"HOME": self.directory, **(env or {})})
        server.arguments = lambda: self.arguments(*flags)
        return server.start()

    def test_version_and_help(self):
        done = self.run_briefly("-v")
        self.assertEqual((done.returncode, done.stdout), (0, "Faktory 1.10.0\n"))
        done = self.run_briefly("-h")
        self.assertEqual(done.returncode, 0)
        for flag in "bwedclvh":
            self.assertRegex(done.stdout, rf"(?m)^ -{flag} ")

    def test_web(self):
        port, other = free_port(), free_port()
        server = self.start(f"-b=:{free_port()}", f"-w=:{port}")
        self.assertIn(f"web: [::]:{port}", server.ports)
        self.assertEqual(Web(("127.0.0.1", port)).get("/stats")[0], 200)
        server.terminate()
        self.write_toml("web", f'[web]\nbinding = "127.0.0.1:{other}"\npassword = "secret"\n')
        server = self.start(f"-b=:{free_port()}", "-w=localhost:7420")
        self.assertIn(f"web: 127.0.0.1:{other}", server.ports)
        web = Web(("127.0.0.1", other))
        self.assertEqual(web.get("/stats")[0], 401)
        known = {"Authorization": "Basic OnNlY3JldA=="}
        self.assertEqual(web.get("/stats", **known)[0], 200)

    def test_what_makes_no_sense(self):
        for flags in (["-x"], ["--binding", "a"], ["b"], ["-b"]):
            self.assertEqual(self.run_briefly(*flags).returncode, 2, flags)
        self.assertEqual(self.run_briefly("-e", "testing").returncode, 1)

    def test_serves(self):
        port = free_port()
        server = self.start("-b", f":{port}", "-w=:0", "-e", "development", "-l", "debug")
        self.assertEqual(server.ports, [f"faktory: [::]:{port}"])
        client = self.open(Faktory(("127.0.0.1", port)))
        self.assertEqual(client.push("12345678"), "+OK")
        self.assertEqual(server.terminate(), 0)
        self.assertTrue(os.listdir(self.storage))

    def test_production_wants_a_password(self):
        done = self.run_briefly("-e", "production", env={"FAKTORY_PASSWORD": ""})
        self.assertEqual(done.returncode, 1)
        self.assertIn("requires a password", done.stderr)
        port = free_port()
        env = {"FAKTORY_ENV": "staging", "FAKTORY_PASSWORD": "s"}
        self.start("-b", f"localhost:{port}", env=env)
        self.assertEqual(self.open(Faktory(("127.0.0.1", port), password="s")).hello_reply, "+OK")

    def test_files(self):
        port = free_port()
        secret = write(self.path("secret"), " file-secret \n")
        keys = f'binding = "localhost:{port}"\npassword = "{secret}"\n'
        self.write_toml("a", "[faktory]\n" + keys)
        self.write_toml("b", '[web]\nbinding = ":1"\n')
        self.start()
        client = self.open(Faktory(("127.0.0.1", port), password="file-secret"))
        self.assertEqual(client.hello_reply, "+OK")

    def test_a_new_password_in_a_file_by_hup(self):
        port = free_port()
        self.write_toml("a", f'[faktory]\nbinding = "localhost:{port}"\npassword = "old"\n')
        server = self.start()
        self.write_toml("a", f'[faktory]\nbinding = "localhost:1"\npassword = "new"\n')
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "restart_needed options=faktory\n" in server.error_text(), "reloaded")
        client = self.open(Faktory(("127.0.0.1", port), password="new"))
        self.assertEqual(client.hello_reply, "+OK")

    def test_certificate_and_key(self):
        make_certificate(
            os.path.join(self.files, "public.cert.pem"),
            os.path.join(self.files, "private.key.pem"),
            "dropin",
        )
        port = free_port()
        self.start("-b", f"localhost:{port}")
        self.assertEqual(read_line(self.open(encrypted(("127.0.0.1", port)))), '+HI {"v":2}\r\n')

    def test_start_failures_are_failures(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            done = self.run_briefly("-b", f"127.0.0.1:{taken.getsockname()[1]}")
            self.assertEqual(done.returncode, 1)
        self.write_toml("a", '[faktory]\nbinding = "nowhere"\n')
        self.assertEqual(self.run_briefly().returncode, 1)

    def test_failures_begin_with_the_name_and_tell_the_place(self):
        self.write_toml("a", "[faktory]\npassword = unquoted\n")
        done = self.run_briefly()
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^faktory: .*/conf\.d/a\.toml:2: .+\n$")
        self.write_toml("a", '[faktory]\npassword = "/nowhere"\n')
        done = self.run_briefly()
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^faktory: .*/nowhere.*\n$")

    def test_a_password_behind_a_comment_counts(self):
        port = free_port()
        keys = f'binding = "localhost:{port}"\npassword = "a#b"\n'
        self.write_toml("a", "[faktory] # main\n" + keys)
        self.start()
        client = self.open(Faktory(("127.0.0.1", port), password="a#b"))
        self.assertEqual(client.hello_reply, "+OK")
        wrong = self.open(Faktory(("127.0.0.1", port), password="a"))
        self.assertEqual(wrong.hello_reply, "-ERR Invalid password")

    def test_tables_that_mean_nothing_are_named_in_the_log(self):
        self.write_toml("a", '[license]\nname = "x"\n[webui]\ntitle = "x"\n')
        server = self.start("-b", "localhost:0")
        self.assertRegex(server.error_text(), r" config_ignored key=license place=.*/a\.toml:1\n")
        self.assertRegex(server.error_text(), r" config_ignored key=webui place=.*/a\.toml:3\n")

    def test_a_redis_of_its_own_is_told_to_be_unused(self):
        env = {"REDIS_URL": "redis://:secret@elsewhere", "FAKTORY_URL": "tcp://:secret@a"}
        self.write_toml("a", '[redis]\nurl = "redis://:secret@elsewhere"\n')
        server = self.start("-b", "localhost:0", env=env)
        text = server.error_text()
        kept = f'instead="jobs are kept in {self.storage}"'
        self.assertIn(f" config_ignored key=REDIS_URL place=environment {kept}\n", text)
        self.assertRegex(text, r" config_ignored key=redis place=\S*/a\.toml:1 " + kept)
        self.assertRegex(text, r" key=FAKTORY_URL place=environment instead=.*localhost:")
        self.assertNotIn("secret", text)

    def run_at_home(self, user):
        """Without HOME, and without directories."""
        env = environment()
        del env["HOME"]
        return subprocess.run(
            [self.link, "-w=:0"],
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=env,
            user=user,
            group=user,
            extra_groups=[],
            text=True,
            timeout=START_SECONDS_MAX,
        )

    @unittest.skipIf(os.getuid() != 0, "needs root")
    def test_without_a_home_it_uses_that_of_the_user(self):
        os.chmod(self.directory, 0o777)
        done = self.run_at_home(pwd.getpwnam("nobody").pw_uid)
        self.assertIn(pwd.getpwnam("nobody").pw_dir + "/.faktory/db", done.stderr)
        self.assertEqual(done.returncode, 1)
        nameless = 54321
        done = self.run_at_home(nameless)
        self.assertEqual(done.returncode, 1)
        self.assertIn("set HOME, or give -d and -c", done.stderr)
        self.assertNotIn(".faktory", os.listdir(self.directory))

    def test_what_another_faktory_has_stored_is_not_left_behind(self):
        os.makedirs(self.storage)
        write(os.path.join(self.storage, "faktory.rdb"), "x")
        done = self.run_briefly()
        self.assertEqual(done.returncode, 1)
        self.assertIn("faktory.rdb", done.stderr)


class RestartTest(ServerTest):
    def test_pauses_totals_and_what_is_held(self):
        server = self.server().start()
        client = self.open(Faktory(server.faktory_address))
        for jid in ("job-00001", "job-00002", "job-00003"):
            client.push(jid, queue="slow")
        client.fetch("slow")
        client.ack("job-00001")
        client.fetch("slow")
        client.command("QUEUE PAUSE slow")
        server.restart()
        client = self.open(Faktory(server.faktory_address))
        self.assertIsNone(client.fetch("slow"))
        client.ack("job-00002")
        info = client.info()["faktory"]
        self.assertEqual(info["total_processed"], 2)
        self.assertEqual(info["queues"], {"slow": 1})
        client.command("QUEUE RESUME slow")
        self.assertEqual(client.fetch("slow")["jid"], "job-00003")


class AtTheSameTimeTest(ServerTest):
    def test_info_and_new_queues(self):
        server = self.server("--sync=off").start()
        reader = self.open(Faktory(server.faktory_address))
        writer = self.open(Faktory(server.faktory_address))
        for number in range(300):
            reader.send(b"INFO\r\n")
            writer.push(f"job-{number:05}", queue=f"queue-{number}")
            reader.body(int(reader.line()[1:]))
        self.assertEqual(reader.info()["faktory"]["total_queues"], 300)


class DeadTest(ServerTest):
    def test_beyond_its_size_the_oldest_goes(self):
        server = self.server("--dead-max-jobs=2").start()
        client = self.open(Faktory(server.faktory_address))
        for number in range(3):
            client.push(f"job-{number:05}", retry=-1)
            client.fetch()
            client.command("FAIL " + json.dumps({"jid": f"job-{number:05}"}))
        self.assertEqual(client.info()["faktory"]["sets"]["dead"], 2)
        self.assertEqual(client.info()["faktory"]["tasks"]["Dead"]["enqueued"], 1)


class PushOnceTest(ServerTest):
    """A client that saw no answer pushes the same job again."""

    def count(self, server):
        client = self.open(Faktory(server.faktory_address))
        client.push("job-00001", args=[1])
        client.push("job-00002", args=[1])
        return client.info()["faktory"]["queues"]["default"]

    def test_a_kill_in_between_changes_nothing(self):
        server = self.server().start()
        self.assertEqual(self.count(server), 2)
        server.kill()
        server.start()
        self.assertEqual(self.count(server), 2)

    def test_switched_off(self):
        server = self.server("--push-once=off").start()
        self.assertEqual(self.count(server), 2)
        self.assertEqual(self.count(server), 4)


class PushOnceAfterEndTest(ServerTest):
    """With `--push-once SECONDS`, the job may have ended before the client pushes it again."""

    def run_job(self, server):
        client = self.open(Faktory(server.faktory_address, wid="worker"))
        client.push("job-00001", args=[1])
        self.assertEqual(client.fetch()["jid"], "job-00001")
        client.ack("job-00001")
        return client

    def waiting(self, client):
        return client.info()["faktory"]["queues"]["default"]

    def test_it_survives_a_kill_and_is_forgotten_in_time(self):
        server = self.server("--push-once=3").start()
        client = self.run_job(server)
        began = time.monotonic()
        server.kill()
        server.start()
        client = self.open(Faktory(server.faktory_address))

        def is_added():
            client.push("job-00001", args=[1])
            return self.waiting(client) == 1

        self.assertFalse(is_added())
        wait_until(is_added, "the push is forgotten")
        self.assertGreater(time.monotonic() - began, 2.5)

    def test_a_flush_and_a_start_without_it_forget(self):
        server = self.server("--push-once=3600")
        server.web_address = ("127.0.0.1", free_port())
        server.start()
        client = self.run_job(server)
        client.push("job-00001", args=[1])
        self.assertEqual(self.waiting(client), 0)
        again = {"jid": "job-00001", "jobtype": "Test", "args": [1]}
        status, pushed = Web(server.web_address).post("/api/v1/jobs", again)
        self.assertEqual((status, pushed["jid"], pushed["state"]), (201, "job-00001", None))
        metrics = Web(server.web_address).get("/metrics")[2].decode()
        self.assertIn("millrace_pushes_remembered 1\n", metrics)
        client.command("FLUSH")
        client.push("job-00001", args=[1])
        self.assertEqual(self.waiting(client), 1)
        client.fetch()
        client.ack("job-00001")
        server.flags.remove("--push-once=3600")
        server.restart()
        client = self.open(Faktory(server.faktory_address))
        client.push("job-00001", args=[1])
        self.assertEqual(self.waiting(client), 1)


class LostWorkerTest(ServerTest):
    """A worker that was killed: its connections are closed, and nobody said END."""

    TIMEOUT_S = 5

    def start(self, *flags):
        server = self.server("--sync=off", f"--worker-timeout={self.TIMEOUT_S}", *flags).start()
        self.pusher = self.open(Faktory(server.faktory_address))
        self.pusher.push("job-00001", reserve_for=1800)
        return server

    def worker(self, server, wid):
        return self.open(Faktory(server.faktory_address, wid=wid))

    def beat(self, worker, wid):
        self.assertEqual(worker.command('BEAT {"wid":"%s"}' % wid), "+OK")

    def die(self, server, wid):
        worker = self.worker(server, wid)
        self.beat(worker, wid)
        self.assertEqual(worker.fetch()["jid"], "job-00001")
        worker.close()

    def ask(self, server, wid, line):
        """As a library does that opens a connection for each command, and never sends BEAT."""
        worker = Faktory(server.faktory_address, wid=wid)
        reply = worker.command(line)
        worker.close()
        return reply

    def wait_for_job(self):
        def is_ready():
            return self.pusher.info()["faktory"]["queues"].get("default") == 1

        wait_until(is_ready, "the job is back")

    def test_its_job_comes_back_within_the_timeout(self):
        server = self.start()
        self.die(server, "worker-1")
        began = time.monotonic()
        self.wait_for_job()
        self.assertGreater(time.monotonic() - began, self.TIMEOUT_S - 1)
        self.assertLess(time.monotonic() - began, self.TIMEOUT_S + 10)
        wait_until(lambda: "job_taken_back" in server.error_text(), "a line of the log")
        line = next(each for each in server.error_text().split("\n") if "job_taken_back" in each)
        for part in ("jid=job-00001", "queue=default", "worker=worker-1", "state=ready"):
            self.assertIn(part, line)

    def test_a_client_with_a_connection_for_each_command_keeps_its_job(self):
        server = self.start()
        self.assertIn("job-00001", str(self.ask(server, "php", "FETCH default")))
        end = time.monotonic() + 2 * self.TIMEOUT_S
        while time.monotonic() < end:
            self.assertIsNone(self.worker(server, "other").fetch())
        self.assertEqual(self.ask(server, "php", 'ACK {"jid":"job-00001"}'), "+OK")
        info = self.pusher.info()["faktory"]
        self.assertEqual((info["total_processed"], info["total_failures"]), (1, 0))
        self.assertEqual(info["tasks"]["Busy"]["size"], 0)

    def test_a_late_ack_ends_the_job_that_waits_to_run_again(self):
        server = self.start()
        self.die(server, "worker-1")
        self.wait_for_job()
        self.assertEqual(self.worker(server, "worker-1").ack("job-00001"), "+OK")
        info = self.pusher.info()["faktory"]
        self.assertEqual(info["queues"].get("default", 0), 0)
        self.assertEqual(info["total_processed"], 1)

    def test_a_job_of_a_client_that_never_beats_stays_after_a_crash_of_the_server(self):
        server = self.start()
        self.assertIn("job-00001", str(self.ask(server, "php", "FETCH default")))
        # FETCH does not wait until the reservation is stored. PUSH does, and comes after it.
        self.assertEqual(self.pusher.push("job-00002", "after"), "+OK")
        server.kill()
        server.start()
        time.sleep(self.TIMEOUT_S + 3)
        self.assertIsNone(self.worker(server, "other").fetch())
        self.assertEqual(self.ask(server, "php", 'ACK {"jid":"job-00001"}'), "+OK")

    def test_its_job_comes_back_after_a_crash_of_the_server(self):
        server = self.start()
        self.die(server, "worker-1")
        server.kill()
        server.start()
        self.pusher = self.open(Faktory(server.faktory_address))
        self.wait_for_job()  # after ten timeouts

    def test_a_job_that_ends_its_worker_is_dead(self):
        server = self.start("--poison-after=1")
        self.die(server, "worker-1")

        def is_dead():
            return self.pusher.info()["faktory"]["sets"]["dead"] == 1

        wait_until(is_dead, "the job is dead")


if __name__ == "__main__":
    unittest.main()
