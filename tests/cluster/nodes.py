"""The nodes of a cluster: each is `millrace serve --log` with a directory of its own."""

import datetime
import os
import re
import shutil
import signal
import subprocess
import time

from checker import LEADER
from engines import wait_for
from network import start_kept

LEADING = re.compile(r"^(\S+) leading epoch=(\d+)", re.MULTILINE)
RELAY_CLOSED = re.compile(r"^(\S+) relayed_clients_closed ", re.MULTILINE)
LOGGED_LATE_SECONDS = 0.01  # after that what it tells of
STOP_SECONDS_MAX = 30


def program():
    return os.environ.get("MILLRACE", "build/release/millrace")


def environment():
    """Ours, without what would configure the program."""
    return {name: value for name, value in os.environ.items() if not name.startswith("MILLRACE_")}


def moment_of(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Node:
    def __init__(self, host, folder, engine, lease_ms=1000, log_name="jobs"):
        self.host = host
        self.data = os.path.join(folder, "data-" + host.name)
        self.log = os.path.join(folder, host.name + ".log")
        self.engine = engine
        self.lease_ms = lease_ms
        self.log_name = log_name
        self.flags = []
        self.process = None
        self.is_paused = False
        self.ends = []  # the moments at which it was ended
        self.beanstalk, self.faktory, self.web = (
            (host.address, host.port(usual)) for usual in (11300, 7419, 7420)
        )

    def arguments(self):
        ports = {"beanstalk": self.beanstalk, "faktory": self.faktory, "web": self.web}
        return [
            program(),
            "serve",
            f"--log={self.engine.url(self.log_name)}",
            f"--node={self.host.name}",
            f"--lease={self.lease_ms}",
            f"--data={self.data}",
            *(f"--{name}={address}:{port}" for name, (address, port) in ports.items()),
            *self.engine.flags,
            *self.flags,
            *(["--insecure=beanstalk,faktory,web"] if self.host.namespace is not None else []),
        ]

    def start(self):
        with open(self.log, "ab") as log:
            self.process = start_kept(
                self.arguments(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment(),
                preexec_fn=self.host.enter,
            )

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def pause(self):
        self.is_paused = True
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)
        self.is_paused = False

    def kill(self):
        if self.is_running():
            self.ends.append(time.time())
            self.process.kill()
        if self.process:
            self.process.wait(STOP_SECONDS_MAX)
        self.is_paused = False

    def terminate(self):
        """The exit status."""
        self.ends.append(time.time())
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_SECONDS_MAX)

    def wipe(self):
        shutil.rmtree(self.data, ignore_errors=True)

    def log_text(self):
        try:
            with open(self.log, encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def last_words(self):
        return self.log_text().rstrip().rpartition("\n")[2]

    def takeovers(self):
        """(moment, epoch) of each time that it began to lead."""
        return [
            (moment_of(when), int(epoch)) for when, epoch in LEADING.findall(self.log_text())
        ]

    def relay_ends(self):
        """The moments at which it heard that another node leads, and closed what it had relayed."""
        return [
            moment_of(when) - LOGGED_LATE_SECONDS
            for when in RELAY_CLOSED.findall(self.log_text())
        ]


class Cluster:
    """An engine and three nodes, in that network."""

    def __init__(self, network, engine, folder, size=3, lease_ms=1000, log_name="jobs"):
        self.network = network
        self.engine = engine
        self.folder = folder
        self.lease = lease_ms / 1000
        self.nodes = [
            Node(network.host(name), folder, engine, lease_ms, log_name)
            for name in "abcdefg"[:size]
        ]

    def start(self):
        self.engine.start()
        self.start_nodes()

    def start_nodes(self):
        """With an engine that runs."""
        for node in self.nodes:
            node.start()
        wait_for(self.takeovers, "a node leads")


    def revive(self):
        """Starts the nodes that have ended by themselves, as a supervisor does. Answers (name,
        status, last words) of each."""
        ended = [node for node in self.nodes if node.process and not node.is_running()]
        found = [(node.host.name, node.process.returncode, node.last_words()) for node in ended]
        for node in ended:
            node.start()
        return found

    def takeovers(self):
        """(moment, epoch, node), oldest first."""
        return sorted((*each, node) for node in self.nodes for each in node.takeovers())

    def ends(self):
        """(moment, name) of each time that a node was ended, with `LEADER` as the name where it
        led, or that it closed the connections that it had relayed."""
        takeovers = self.takeovers()
        found = []
        for node in self.nodes:
            for moment in node.ends:
                leaders = [each[2] for each in takeovers if each[0] <= moment]
                found.append((moment, LEADER if leaders[-1:] == [node] else node.host.name))
            found += [(moment, node.host.name) for moment in node.relay_ends()]
        return found

    def leader(self):
        """The node that began to lead last."""
        return self.takeovers()[-1][2]

    def end_nodes(self):
        for node in self.nodes:
            node.kill()

    def end(self):
        self.end_nodes()
        self.engine.end()
        self.network.end()
