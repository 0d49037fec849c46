"""What a node says to a wrong log, a wrong directory or wrong options: one line, and it changes
nothing."""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "end_to_end"))

from engines import PASSWORD, POSTGRES, Nats, Postgres, nats_program  # noqa: E402
from network import Loopback, start_kept  # noqa: E402
from nodes import environment  # noqa: E402
from ports import free_port  # noqa: E402
from program import START_SECONDS_MAX, Server, ServerTest, wait_until  # noqa: E402

ENGINES = {}


def setUpModule():
    folder = tempfile.TemporaryDirectory(prefix="millrace-bad-input-")
    unittest.addModuleCleanup(folder.cleanup)
    network = Loopback()
    for kind in (Nats, Postgres):
        place = os.path.join(folder.name, kind.name)
        os.chmod(folder.name, 0o755)
        os.mkdir(place)
        more = {"size": 1} if kind is Nats else {}
        engine = kind(network, place, **more)
        unittest.addModuleCleanup(engine.end)
        if kind is Nats:
            engine.start()
        else:
            engine.primary.create(network.addresses)
            engine.primary.start()
        ENGINES[kind.name] = engine


def ask_nats(subject, request):
    """The answer to one request."""
    host = ENGINES["nats"].members[0].host
    with socket.create_connection((host.address, host.port(4222)), timeout=10) as plain:
        lines = plain.makefile("rb")
        lines.readline()
        body = json.dumps(request).encode() if request is not None else b""
        plain.sendall(
            b'CONNECT {"verbose":false}\r\nSUB answer 1\r\n'
            + f"PUB {subject} answer {len(body)}\r\n".encode()
            + body
            + b"\r\n"
        )
        while not (line := lines.readline()).startswith(b"MSG"):
            if not line:
                raise RuntimeError("NATS has closed the connection")
            if line == b"PING\r\n":
                plain.sendall(b"PONG\r\n")
        answer = json.loads(lines.readline())
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer


class BadInputTest(ServerTest):
    def url(self, stream="jobs"):
        """Of NATS. Each test has a stream of its own."""
        return ENGINES["nats"].url(f"{self._testMethodName[:50]}-{stream}")

    def postgres_url(self, table="jobs", user="tester"):
        host = ENGINES["postgres"].primary.host
        at = f"{user}@{host.address}:{host.port(5432)}/postgres"
        return f"postgresql://{at}?millrace_log={table}&sslmode=disable"

    def flags(self, url, node="a"):
        engine = ENGINES[url.split(":")[0].replace("postgresql", "postgres")]
        return [f"--log={url}", f"--node={node}", *engine.flags]

    def node(self, url, name="a", more=()):
        return self.server(*self.flags(url, name), *more, data="data-" + name)

    def lead(self, node):
        node.start()
        wait_until(lambda: " leading " in node.error_text(), "it leads")
        return node

    def refused(self, text, flags, data="data", status=1):
        """It ends with one line, and the directory has what it had."""
        path = self.path(data)
        before = files(path)
        server = Server(path, flags)
        self.assert_refused(server.arguments(), text, status=status)
        self.assertEqual(files(path), before)

    # ---- options

    def test_a_node_without_a_name(self):
        self.refused("--log needs --node", [f"--log={self.url()}"], status=2)

    def test_options_that_a_log_elsewhere_leaves_no_room_for(self):
        for flag in ("--volatile", "--sync=off"):
            with self.subTest(flag):
                self.refused(flag.split("=")[0], [*self.flags(self.url()), flag], status=2)

    def test_a_url_of_no_engine(self):
        flags = ["--log=ftp://there/jobs", "--node=a"]
        self.refused("begins with nats://, tls:// or postgresql://", flags, status=2)

    # ---- engines

    def test_an_engine_that_is_not_there(self):
        for begin in ("nats", "postgresql"):
            url = f"{begin}://127.0.0.1:{free_port()}/jobs"
            with self.subTest(url):
                # It may come: so the node waits, and changes nothing meanwhile.
                node = self.server(*self.flags(url), data="data-" + begin)
                node.begin()
                text = "log_unreachable log=.* problem=.*(no NATS server can be|Connection refused)"
                wait_until(lambda at=node, text=text: re.search(text, at.error_text()), "it waits")
                time.sleep(1.5)
                self.assertEqual(len(node.error_text().splitlines()), 1)
                self.assertEqual(files(node.data), set())
                self.assertEqual(node.terminate(), 0)

    def test_a_wrong_password(self):
        secret = self.path("secret")
        with open(secret, "w", encoding="ascii") as file:
            file.write("not-this-one\n")
        os.chmod(secret, 0o600)
        flags = [f"--log={self.postgres_url()}", "--node=a", f"--log-password-file={secret}"]
        self.refused("password authentication failed", flags)

        config, port = self.path("config"), free_port()
        with open(config, "w", encoding="ascii") as file:
            file.write(f'listen: "127.0.0.1:{port}"\nauthorization {{user: u, password: right}}\n')
            file.write(f'jetstream {{store_dir: "{self.path("store")}"}}\n')
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        engine = start_kept([nats_program(), "-c", config], **quiet)
        self.addCleanup(engine.wait)
        self.addCleanup(engine.kill)
        wait_until(lambda: can_connect(port), "NATS is there")
        self.refused(
            "NATS refuses the user, password",
            [f"--log=nats://u:wrong@127.0.0.1:{port}/jobs", "--node=a", "--allow-unsynced-log"],
        )

    def test_an_engine_that_does_not_sync(self):
        unsaid = self.url().split("?")[0]
        self.refused("whether it syncs", [f"--log={unsaid}", "--node=a"])
        alone = f"--log={unsaid}?synced=yes"
        self.refused("on one server, and lost with it", [alone, "--node=a"])
        log = f"--log={unsaid}?replicas=1"
        self.refused("power cut|whether it syncs", [log, "--node=a"])
        with open(self.path("pgpass"), "w", encoding="ascii") as file:
            file.write(PASSWORD + "\n")
        os.chmod(self.path("pgpass"), 0o600)
        address = self.postgres_url() + "&options=-csynchronous_commit%3Doff"
        flags = [f"--log={address}", "--node=a", f"--log-password-file={self.path('pgpass')}"]
        self.refused("synchronous_commit is", flags)

    def test_a_stream_that_belongs_to_something_else(self):
        name = self.url().rsplit("/", 1)[1].split("?")[0]
        ask_nats("$JS.API.STREAM.CREATE." + name, {"name": name, "subjects": ["orders.>"]})
        before = ask_nats("$JS.API.STREAM.INFO." + name, None)
        self.refused(name, self.flags(self.url()))
        after = ask_nats("$JS.API.STREAM.INFO." + name, None)
        self.assertEqual((before["config"], before["state"]), (after["config"], after["state"]))

    def test_a_table_that_belongs_to_something_else(self):
        query("CREATE TABLE orders (id integer); INSERT INTO orders VALUES (1)")
        self.refused("orders", self.flags(self.postgres_url("orders")))
        self.assertEqual(query("SELECT count(*) FROM orders").strip(), "1")

    # ---- directories

    def test_a_directory_with_jobs_that_are_not_in_the_log(self):
        alone = self.server()
        alone.start()
        alone.terminate()
        self.refused("holds the jobs of a server without --log", self.flags(self.url()))

    def test_a_cache_without_its_log(self):
        node = self.lead(self.node(self.url()))
        self.assertEqual(node.terminate(), 0)
        self.refused("is a cache of a log that several servers share", [], data="data-a")

    def test_a_cache_of_another_log(self):
        mine = self.lead(self.node(self.url("mine")))
        mine.terminate()
        self.lead(self.node(self.url("other"), "b"))
        flags = self.flags(self.url("other"))
        server = Server(mine.data, flags)
        self.addCleanup(self.end, server)
        begun = files(mine.data)
        process = start_kept(
            server.arguments(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment(),
            text=True,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        said = ""
        for line in process.stdout:
            said += line
            if re.search("another log|another one", line):
                break
        self.assertRegex(said, "another log|another one")
        self.assertNotIn(" leading ", said)
        self.assertEqual(files(mine.data) - begun, set())

    # ---- names

    def test_two_nodes_of_one_name(self):
        first = self.lead(self.node(self.url()))
        second = self.server(*self.flags(self.url()), data="data-second")
        second.start()
        text = "another server that is called a leads the log: give each its own --node"
        wait_until(lambda: text in second.error_text(), "it says so")
        time.sleep(0.5)
        self.assertEqual(second.error_text().count("cannot_follow"), 1)
        self.assertNotIn(" leading ", second.error_text())
        self.assertEqual(first.terminate(), 0)


def can_connect(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def query(text):
    primary = ENGINES["postgres"].primary
    at = ["-h", primary.host.address, "-p", str(primary.host.port(5432)), "-U", "tester"]
    more = ["-c", "SET synchronous_commit = local", "-c", text]
    return primary.call("psql", "-q", "-t", "-d", "postgres", *at, *more)


def files(folder):
    """Names, and what the segments have, without what only says that a process is there: its lock,
    its start, and the room at the end of the last segment."""
    try:
        names = set(os.listdir(folder)) - {"lock", "starts"}
    except FileNotFoundError:
        return set()
    return {(name, content(os.path.join(folder, name))) for name in names}


def content(path):
    if not path.endswith(".log"):
        return os.path.getsize(path)
    with open(path, "rb") as file:
        return file.read().rstrip(b"\0")


if __name__ == "__main__":
    unittest.main()
