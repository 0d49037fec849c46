"""The server of one case: the real program with a data directory of its own."""

import base64
import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
from contextlib import contextmanager

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "end_to_end"))

from clients import Beanstalk, Faktory, Gone  # noqa: E402
from program import PROGRAM, Server, free_port, start_kept, wait_until  # noqa: E402
from web import Web  # noqa: E402

PASSWORD = "very-secret"
STATES = ("ready", "reserved", "scheduled", "retrying", "dead")


def free_address():
    return ("127.0.0.1", free_port())


class Millrace:
    """A server with all ports open, and the addresses as clients want them."""

    def __init__(self, directory, password=None, certificate=None, unix=False, config=""):
        self.password = password
        self.certificate = certificate
        secret = base64.b64encode(f":{password}".encode()).decode()
        self.login = {"Authorization": f"Basic {secret}"} if password else {}
        env = {"FAKTORY_PASSWORD": password} if password else None
        flags = [f"--config={written(directory, config)}"] if config else []
        if certificate:
            flags += [f"--tls-cert={certificate.path}", f"--tls-key={certificate.key_path}"]
        self.server = Server(os.path.join(directory, "data"), flags, env)
        socket_file = os.path.join(directory, "beanstalk.sock")
        self.server.beanstalk_address = socket_file if unix else free_address()
        self.server.faktory_address = free_address()
        self.server.web_address = free_address()
        trusting = ssl.create_default_context(cafile=certificate.path) if certificate else None
        self.web = Web(self.server.web_address, trusting)

    def start(self):
        self.server.start()

    def kill(self):
        self.server.kill()

    def terminate(self):
        """As an upgrade ends it."""
        assert self.server.terminate() == 0, self.server.error_text()

    def end(self):
        self.server.end()

    def environment(self):
        """What a program of any language gets to find the server."""
        user = f":{self.password}@" if self.password else ""
        scheme = "tcp+tls" if self.certificate else "tcp"
        host, port = self.server.faktory_address
        trusted = self.certificate.environment() if self.certificate else {}
        return {
            "FAKTORY_URL": f"{scheme}://{user}{host}:{port}",
            "BEANSTALKD_URL": self.beanstalk_url(),
            **trusted,
        }

    def beanstalk_url(self):
        """`unix:PATH`, `HOST:PORT`, or `tls:HOST:PORT`."""
        address = self.server.beanstalk_address
        if isinstance(address, str):
            return f"unix:{address}"
        return "{}{}:{}".format("tls:" if self.certificate else "", *address)

    def info(self):
        """What INFO says, without a command."""
        return self.web.read("/stats")

    def beanstalk(self):
        return Beanstalk(self.server.beanstalk_address)

    def faktory(self):
        return Faktory(self.server.faktory_address)

    def api(self, path):
        """What the JSON API answers to a GET."""
        status, _, body = self.web.get("/api/v1" + path, **self.login)
        assert status == 200, (path, status, body)
        return json.loads(body)

    def change(self, path, value=None):
        status, answer = self.web.post("/api/v1" + path, value, **self.login)
        assert status < 300, (path, status, answer)
        return answer

    def job(self, jid):
        """The job with that jid as the API shows it, or None when it is gone.

        A job that changes its state meanwhile can be missed by one walk over the states.
        The second walk finds it.
        """
        for state in STATES + STATES:
            for job in self.api(f"/jobs?state={state}&id={jid}")["jobs"]:
                if job["jid"] == jid:
                    return job
        return None

    def is_gone(self, jid):
        return self.job(jid) is None

    def jobs_left(self, queue):
        """How many jobs the queue has in any state."""
        for found in self.api("/queues")["queues"]:
            if found["name"] == queue:
                return sum(found[state] for state in STATES)
        return 0

    def workers(self):
        return self.api("/workers")["workers"]


def written(directory, config):
    """The path of a new file with that text."""
    path = os.path.join(directory, "config.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(config)
    return path


def wait_for_port(address, seconds=20):
    """Until something listens there."""

    def is_listening():
        with socket.socket() as probe:
            return probe.connect_ex(address) == 0

    wait_until(is_listening, f"a server on {address}", seconds)


class Certificate:
    """A certificate for 127.0.0.1 that vouches for itself."""

    def __init__(self, directory):
        self.path = os.path.join(directory, "certificate.pem")
        self.key_path = os.path.join(directory, "key.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
            + ["-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
            + ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
            + ["-addext", "basicConstraints=critical,CA:FALSE"]
            + ["-keyout", self.key_path, "-out", self.path],
            check=True,
            capture_output=True,
        )

    def environment(self):
        """How a user tells OpenSSL, Go and Rust (the first), and Node, whom to trust."""
        return {"SSL_CERT_FILE": self.path, "NODE_EXTRA_CA_CERTS": self.path}


@contextmanager
def serving(password=None, tls=False, unix=False, config=""):
    with tempfile.TemporaryDirectory(prefix="millrace-interop-") as directory:
        certificate = Certificate(directory) if tls else None
        server = Millrace(directory, password, certificate, unix, config)
        server.start()
        try:
            yield server
        finally:
            server.end()


__all__ = [
    "Faktory",
    "Gone",
    "PASSWORD",
    "PROGRAM",
    "free_address",
    "serving",
    "start_kept",
    "wait_for_port",
    "wait_until",
]
