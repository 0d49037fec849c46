"""Leaders whose addresses lead a standby to itself, or to programs of its own machine: 127.0.0.1 is
another machine for each reader. Each node has a network namespace of its own, which needs root."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

from engines import Nats, wait_for
from network import open_network, start_kept
from nodes import Cluster

PRIVATE = """
import socket, sys
listener = socket.create_server((sys.argv[2] or "127.0.0.1", int(sys.argv[1])))
print("listens", flush=True)
while True:
    client, _ = listener.accept()
    client.sendall(b"PRIVATE\\r\\n")
"""
PORTS = {"beanstalk": 11300, "faktory": 7419, "web": 7420}
REFUSED = (b"", b"DRAINING\r\n")


class AddressTest(unittest.TestCase):
    size = 2

    def setUp(self):
        folder = tempfile.mkdtemp(prefix="millrace-cluster-")
        self.addCleanup(shutil.rmtree, folder)
        self.network = open_network(lambda line: None)
        self.cluster = Cluster(
            self.network, Nats(self.network, folder, size=1), folder, size=self.size
        )
        self.addCleanup(self.cluster.end)
        if not self.network.can_cut:
            self.skipTest("all nodes have the same loopback")
        self.cluster.engine.start()

    def listen_on(self, node, host, more=0):
        for name, port in PORTS.items():
            setattr(node, name, (host, port + more))

    def lead(self, node):
        led = len(node.takeovers())
        node.start()
        wait_for(lambda: len(node.takeovers()) > led, "it leads")

    def follow(self, node):
        before = node.log_text().count(" caught_up ")
        node.start()
        wait_for(lambda: node.log_text().count(" caught_up ") > before, "it follows")

    def start_pair(self, leader_host, flags=()):
        leader, standby = self.cluster.nodes
        self.listen_on(leader, leader_host)
        leader.flags = list(flags)
        self.listen_on(standby, "0.0.0.0")
        self.lead(leader)
        self.follow(standby)
        return leader, standby

    def ask(self, node, command, port="beanstalk", timeout=20):
        """The first answer of the port, from another machine; empty if it closes the connection."""
        place = (node.host.address, getattr(node, port)[1])
        with socket.create_connection(place, timeout) as client:
            client.sendall(command)
            try:
                return client.recv(1000)
            except ConnectionError:
                return b""

    def health(self, node):
        url = f"http://{node.host.address}:{node.web[1]}/health"
        with urllib.request.urlopen(url, timeout=2) as answer:
            return json.load(answer)

    def sockets(self, node):
        """How many the process has."""
        folder = f"/proc/{node.process.pid}/fd"
        links = [os.readlink(os.path.join(folder, each)) for each in os.listdir(folder)]
        return sum(link.startswith("socket:") for link in links)

    def put(self, node, body=b"x"):
        return self.ask(node, b"put 0 0 60 %d\r\n%s\r\n" % (len(body), body))

    def out_of_reach(self, leader, standby, ports):
        told = f' leader_out_of_reach leader={leader.host.name} ports="{ports}"\n'
        wait_for(lambda: told in standby.log_text(), "the standby says so")
        self.assertEqual(self.health(standby)["leader_out_of_reach"], ports.split())


class LoopbackTest(AddressTest):
    def test_a_standby_names_the_ports_at_which_nobody_else_reaches_the_leader(self):
        for node in self.cluster.nodes:
            node.web = ("127.0.0.1", 7420)
        self.cluster.start_nodes()
        leader = self.cluster.leader()
        (standby,) = [node for node in self.cluster.nodes if node is not leader]
        told = f' leader_out_of_reach leader={leader.host.name} ports="web=127.0.0.1:7420"\n'
        wait_for(lambda: told in standby.log_text(), "the standby says so")
        self.assertNotIn("leader_out_of_reach", leader.log_text())

    def test_one_client_of_a_standby_does_not_become_many(self):
        leader, standby = self.start_pair("127.0.0.1")
        before = self.sockets(standby)
        place = (standby.host.address, standby.beanstalk[1])
        with socket.create_connection(place) as client:
            client.sendall(b"put 0 0 60 1\r\nx\r\n")
            time.sleep(2)
            self.assertLess(self.sockets(standby), before + 5)
            self.assertEqual(self.health(standby)["relayed_connections"], 0)
            client.settimeout(20)
            self.assertIn(client.recv(100), REFUSED)
        text = b"-ERR this server cannot reach the leader"
        self.assertTrue(self.ask(standby, b"", "faktory").startswith(text))
        self.assertIn(b" 503 ", self.ask(standby, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "web"))
        shown = "beanstalk=127.0.0.1:11300 faktory=127.0.0.1:7419 web=127.0.0.1:7420"
        self.out_of_reach(leader, standby, shown)

    def test_a_standby_does_not_report_to_itself(self):
        for flag in ("--advertise=127.0.0.1", "--advertise=localhost", "--advertise=[::1]"):
            with self.subTest(flag):
                _, standby = self.start_pair("0.0.0.0", [flag])
                before = self.sockets(standby)
                time.sleep(3)
                self.assertLess(self.sockets(standby), before + 3)
                self.assertEqual(self.health(standby)["relayed_connections"], 0)
                self.cluster.end_nodes()

    def test_private_programs_of_a_standby_are_not_reached_through_it(self):
        for number, host in enumerate(["", "127.0.0.1", "127.0.1.1"]):
            with self.subTest(host):
                leader, standby = self.cluster.nodes
                self.listen_on(leader, "0.0.0.0" if host else "127.0.0.1", more=number + 1)
                leader.flags = ["--advertise=" + host] if host else []
                self.listen_on(standby, "0.0.0.0")
                private = start_kept(
                    [sys.executable, "-c", PRIVATE, str(leader.beanstalk[1]), host],
                    stdout=subprocess.PIPE,
                    preexec_fn=standby.host.enter,
                )
                private.stdout.readline()
                self.lead(leader)
                self.follow(standby)
                self.assertIn(self.put(standby), REFUSED)
                self.cluster.end_nodes()
                private.kill()
                private.wait()
                private.stdout.close()


class RollingChange(AddressTest):
    size = 3

    def change(self, node, host, more):
        """Restarts it with other ports."""
        self.assertEqual(node.terminate(), 0)
        self.listen_on(node, host, more)
        leads = len(self.cluster.takeovers())
        seen = node.log_text().count(" caught_up ")
        node.start()
        wait_for(
            lambda: node.log_text().count(" caught_up ") > seen
            or len(self.cluster.takeovers()) > leads,
            "it is back",
        )

    def change_all(self, host, more, check):
        leader = self.cluster.leader()
        for node in [each for each in self.cluster.nodes if each is not leader] + [leader]:
            self.change(node, host, more)
            check(node)

    def served(self, node):
        wait_for(lambda: self.put(node).startswith(b"INSERTED"), "a client is served")
        self.assertTrue(self.ask(node, b"", "faktory").startswith(b"+HI "))

    def test_of_port_numbers_is_not_seen_by_clients_of_any_node(self):
        for node in self.cluster.nodes:
            self.listen_on(node, "0.0.0.0")
            node.flags = ["--advertise=" + node.host.address]
        self.cluster.start_nodes()

        def check(_):
            for node in self.cluster.nodes:
                self.served(node)

        self.change_all("0.0.0.0", 1000, check)
        for node in self.cluster.nodes:
            self.assertNotIn("leader_out_of_reach", node.log_text())

    def test_from_loopback_to_all_addresses_ends_with_all_nodes_reached(self):
        for node in self.cluster.nodes:
            self.listen_on(node, "127.0.0.1")
        self.cluster.start_nodes()
        leader = self.cluster.leader()

        def check(changed):
            if changed is leader:
                return
            # The leader is on its loopback, with the very ports of this node.
            before = self.sockets(changed)
            self.assertIn(self.put(changed), REFUSED)
            self.assertLess(self.sockets(changed), before + 5)
            self.assertEqual(self.health(changed)["relayed_connections"], 0)

        for node in self.cluster.nodes:
            node.flags = ["--advertise=" + node.host.address]
        self.change_all("0.0.0.0", 0, check)
        for node in self.cluster.nodes:
            self.served(node)
            wait_for(lambda: "leader_out_of_reach" not in self.health(node), "all are reached")


if __name__ == "__main__":
    unittest.main()
