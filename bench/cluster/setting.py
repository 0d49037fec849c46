"""Engines and nodes to be measured, all on the loopback of this machine: those that tests/cluster
plays with."""

import contextlib
import itertools
import json
import os
import shutil
import sys
import tempfile
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "tests", "cluster")]

from engines import Nats, Postgres, nats_version, wait_for  # noqa: E402
from network import Loopback  # noqa: E402
from nodes import Cluster  # noqa: E402

LEASE_MS = 1000
READY_S_MAX = 120


def health(node):
    """What the node tells of itself; nothing while it does not answer."""
    try:
        url = f"http://{node.web[0]}:{node.web[1]}/health"
        with urllib.request.urlopen(url, timeout=5) as answer:
            return json.load(answer)
    except OSError:
        return {}


def follows(told):
    """A leader that has nothing to append still beats four times in a lease."""
    lag_s = told.get("lag_seconds")
    return told.get("role") == "standby" and lag_s is not None and lag_s < LEASE_MS / 1000


class Serving(Cluster):
    """Nodes that share a log of their own. `port` and `pid` are those of the leader, as of a
    server that is measured."""

    def __init__(self, setting, name, size):
        folder = os.path.join(setting.folder, name)
        os.mkdir(folder)
        super().__init__(setting.network, setting.engine, folder, size, LEASE_MS, name)
        self.log_name = name

    def start_nodes(self):
        super().start_nodes()
        self.wait_for_standbys()

    def standbys(self):
        leader = self.leader()
        return [node for node in self.nodes if node is not leader]

    def wait_for_standbys(self):
        """Until all others than the leader have applied what it appends, but for the latest."""
        wait_for(lambda: all(follows(health(node)) for node in self.standbys()),
                 "the standbys follow", READY_S_MAX)

    @property
    def port(self):
        return self.leader().beanstalk[1]

    @property
    def pid(self):
        return self.leader().process.pid


class Setting:
    """A running engine, for one log after the other."""

    def __init__(self, engine, network, folder):
        self.engine = engine
        self.network = network
        self.folder = folder
        self.names = (f"log{number}" for number in itertools.count(1))

    @contextlib.contextmanager
    def nodes(self, size):
        """So many, of which one leads."""
        name = next(self.names)
        self.engine.make_log(name)
        serving = Serving(self, name, size)
        try:
            serving.start_nodes()
            yield serving
        finally:
            serving.end_nodes()
            shutil.rmtree(serving.folder, ignore_errors=True)


@contextlib.contextmanager
def running(engine_of):
    """`engine_of` makes the engine of a network and a folder."""
    folder = tempfile.mkdtemp(prefix="millrace-bench-")
    network = Loopback()
    engine = engine_of(network, folder)
    try:
        engine.start()
        yield Setting(engine, network, folder)
    finally:
        engine.end()
        shutil.rmtree(folder, ignore_errors=True)


def nats():
    """Three servers, which sync before they acknowledge if they can."""
    return running(Nats)


def quick_nats():
    """One server that never syncs: where the engine's part is the same on both sides of a
    difference, and would only add noise."""
    return running(lambda network, folder: Nats(network, folder, size=1, syncs=False))


def postgres():
    """A primary, and a synchronous standby."""
    return running(Postgres)


def nats_syncs():
    return nats_version() >= (2, 10)
