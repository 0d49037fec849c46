"""Servers that share a log, and the engine of it: a nats-server of the test's own."""

import http.client
import os
import shutil
import signal
import socket
import subprocess
import unittest

from program import ServerTest, environment, free_port, wait_until
from keeper import start_kept

LEASE_MS = 1000


class SharedLogTest(ServerTest):
    """`self.nodes`: servers with the names a, b and so on; the first one leads."""

    node_count = 2
    node_flags = ()

    def setUp(self):
        super().setUp()
        program = nats_program()
        if program is None:
            raise unittest.SkipTest("nats-server is missing")
        self.nats_port = free_port()
        self.start_engine(program)
        self.nodes = []
        for name in "abc"[: self.node_count]:
            self.nodes.append(self.node(name))
            self.nodes[-1].start()
            if name == "a":
                self.wait_for_leader(self.nodes[0])

    def start_engine(self, program):
        store = ["-js", "-sd", self.path("nats"), "-a", "127.0.0.1", "-p", str(self.nats_port)]
        engine = start_kept(
            [program, *store],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(),
        )
        self.engine = engine
        self.addCleanup(engine.wait)
        self.addCleanup(engine.kill)
        wait_until(lambda: listens(("127.0.0.1", self.nats_port)), "nats-server listens")

    def stop_engine(self):
        """Until SIGCONT it answers nothing more, not even what it got before."""
        self.engine.send_signal(signal.SIGSTOP)
        self.addCleanup(self.engine.send_signal, signal.SIGCONT)
        wait_until(lambda: is_stopped(self.engine.pid), "the engine is stopped")

    def log_url(self, name="jobs"):
        return f"nats://127.0.0.1:{self.nats_port}/{name}"

    def node(self, name):
        flags = [f"--log={self.log_url()}", f"--node={name}", "--allow-unsynced-log"]
        flags.append(f"--lease={LEASE_MS}")
        server = self.server(*flags, *self.node_flags, data=f"data-{name}")
        server.web_address = ("127.0.0.1", free_port())
        return server

    def wait_for_leader(self, node):
        wait_until(lambda: "leading " in node.error_text(), "a server leads")


def is_stopped(pid):
    """With all its threads: one may still run when the signal was sent."""
    states = set()
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/stat", encoding="ascii") as file:
                states.add(file.read().rpartition(")")[2].split()[0])
        except FileNotFoundError:
            return False  # it has just ended
    return states == {"T"}


def nats_program():
    return shutil.which("nats-server", path="/usr/sbin:/usr/bin:/usr/local/bin")


def listens(address):
    try:
        socket.create_connection(address, 1).close()
        return True
    except OSError:
        return False


def leads(web):
    """Whether the server says so. A takeover may close the connection before the answer."""
    try:
        return web.get("/health/leader")[0] == 200
    except (http.client.HTTPException, ConnectionError):
        return False


def make_authority(directory):
    certificate, key = directory + "/ca.pem", directory + "/ca-key.pem"
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    more = ["-nodes", "-subj", "/CN=authority", "-keyout", key, "-out", certificate]
    subprocess.run([*make, *more], check=True, capture_output=True)
    return certificate, key


def make_issued(directory, name, authority, host="IP:127.0.0.1"):
    """A certificate that the authority has issued for that host."""
    certificate, key = f"{directory}/{name}.pem", f"{directory}/{name}-key.pem"
    request, extension = f"{directory}/{name}.csr", f"{directory}/{name}.ext"
    with open(extension, "w", encoding="ascii") as file:
        file.write(f"subjectAltName={host}\n")
    make = ["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    make += ["-subj", "/CN=" + name, "-keyout", key, "-out", request]
    subprocess.run(make, check=True, capture_output=True)
    issue = ["openssl", "x509", "-req", "-in", request, "-CA", authority[0], "-CAkey", authority[1]]
    issue += ["-CAcreateserial", "-extfile", extension, "-out", certificate]
    subprocess.run(issue, check=True, capture_output=True)
    return certificate, key


def make_certificate(directory):
    certificate, key = directory + "/cert.pem", directory + "/key.pem"
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    more = ["-nodes", "-subj", "/CN=localhost", "-keyout", key, "-out", certificate]
    subprocess.run([*make, *more], check=True, capture_output=True)
    return certificate, key
