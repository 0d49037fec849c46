"""What clients get while the engine of a shared log is away, or a server is deposed."""

import json
import os
import re
import signal
import socket
import time
import unittest

from clients import Beanstalk, Faktory, Gone
from preloaded import Countdown
from program import wait_until
from shared.shared_log import SharedLogTest, nats_program
from web import Web

NO_LEADER = "-ERR no server leads the shared log at present, try again later"


class EngineAway(SharedLogTest):
    node_count = 1

    def setUp(self):
        super().setUp()
        self.leader = self.nodes[0]
        self.web = Web(self.leader.web_address)

    def beanstalk(self):
        return self.open(Beanstalk(self.leader.beanstalk_address))

    def test_clients_wait_are_closed_and_then_refused_until_it_is_back(self):
        client, idle = self.beanstalk(), self.beanstalk()
        client.put(b"a job")
        worker = self.open(Faktory(self.leader.faktory_address, "a-worker"))
        self.stop_engine()
        began = time.monotonic()
        client.send(b"put 0 0 60 1\r\nx\r\n")
        self.assertTrue(client.is_closed_by_server())
        self.assertTrue(idle.is_closed_by_server())
        self.assertTrue(worker.is_closed_by_server())
        self.assertGreater(time.monotonic() - began, 1.5)
        self.assertLess(time.monotonic() - began, 8)
        self.assertIn("out_of_touch connections=3", self.leader.error_text())

        # What the web port knows may be old.
        status, _, body = self.web.get("/api/v1/queues")
        self.assertEqual(status, 503)
        self.assertIn(b"may be old", body)
        self.assertEqual(self.web.get("/health/leader")[0], 503)
        # But of nodes and engine it knows.
        status, _, body = self.web.get("/api/v1/cluster")
        self.assertEqual(status, 200)
        shown = json.loads(body)["cluster"]
        self.assertFalse(shown["engine"]["is_reachable"], shown)
        self.assertIn("a", [node["node"] for node in shown["nodes"]])

        # New clients wait, and are refused in the end. After that they are refused at once.
        waiting = self.beanstalk()
        waiting.send(b"put 0 0 60 1\r\ny\r\n")
        self.assertEqual(waiting.line(), "DRAINING")
        self.assertTrue(waiting.is_closed_by_server())
        self.assertGreater(time.monotonic() - began, 10)
        again = time.monotonic()
        self.assertEqual(self.beanstalk().put(b"y"), "DRAINING")
        with socket.create_connection(self.leader.faktory_address) as plain:
            self.assertEqual(plain.makefile().readline().rstrip(), NO_LEADER)
        self.assertLess(time.monotonic() - again, 2)

        # Service resumes by itself. What was answered with an error is not there; what was not
        # answered may be.
        patient = self.beanstalk()
        self.engine.send_signal(signal.SIGCONT)
        wait_until(lambda: "in_touch" in self.leader.error_text(), "it serves again")
        self.assertEqual(patient.command("use mail"), "USING mail")
        bodies = []
        while (found := patient.reserve()) is not None:
            bodies.append(found[1])
        self.assertIn(b"a job", bodies)
        self.assertNotIn(b"y", bodies)
        self.assertEqual(self.web.get("/api/v1/queues")[0], 200)
        self.assertNotIn("deposed", self.leader.error_text())

    def test_new_clients_are_served_when_it_comes_back_soon(self):
        client = self.beanstalk()
        self.stop_engine()
        self.assertTrue(client.is_closed_by_server())
        waiting = self.beanstalk()
        waiting.send(b"put 0 0 60 1\r\nx\r\n")
        self.engine.send_signal(signal.SIGCONT)
        self.assertRegex(waiting.line(), "INSERTED")


class StartWithoutEngine(SharedLogTest):
    node_count = 0

    def setUp(self):
        super().setUp()
        self.engine.kill()
        self.engine.wait()
        self.late = self.node("a")
        self.late.begin()
        wait_until(lambda: "log_unreachable" in self.late.error_text(), "it says so")

    def test_a_server_waits_for_it_and_then_starts(self):
        status, _, body = Web(self.late.web_address).get("/health")
        self.assertEqual((status, json.loads(body)), (503, {"status": "without_log"}))
        waiting = self.open(Beanstalk(self.late.beanstalk_address))
        waiting.send(b"put 0 0 60 1\r\nx\r\n")
        self.late.process.send_signal(signal.SIGHUP)
        time.sleep(1.5)
        self.assertEqual(self.late.error_text().count("log_unreachable"), 1)
        self.assertFalse(os.path.exists(os.path.join(self.late.data, "cache")))
        self.start_engine(nats_program())
        self.late.wait_until_ready()
        self.wait_for_leader(self.late)
        self.assertIn(" reloaded", self.late.error_text())
        client = self.open(Beanstalk(self.late.beanstalk_address))
        self.assertIsInstance(client.put(b"x"), int)

    def test_sigterm_ends_it(self):
        began = time.monotonic()
        self.assertEqual(self.late.terminate(), 0)
        self.assertLess(time.monotonic() - began, 8)
        self.assertIn(" stopped", self.late.error_text())


class StartOver(SharedLogTest):
    def setUp(self):
        self.secret = None
        super().setUp()
        self.first, self.second = self.nodes

    def node(self, name):
        if self.secret is None:
            self.secret = self.path("secret")
            self.write_password("before")
        node = super().node(name)
        node.flags.append(f"--password-file={self.secret}")
        return node

    def write_password(self, password):
        with open(self.secret, "w", encoding="ascii") as file:
            file.write(password + "\n")
        os.chmod(self.secret, 0o600)

    def depose_first(self):
        self.first.process.send_signal(signal.SIGSTOP)
        self.wait_for_leader(self.second)
        self.first.process.send_signal(signal.SIGCONT)

    def test_the_ports_stay_open_and_the_options_in_force(self):
        self.write_password("after")
        self.first.process.send_signal(signal.SIGUSR1)
        self.first.process.send_signal(signal.SIGHUP)
        wait_until(lambda: " reloaded" in self.first.error_text(), "it has reloaded")
        self.depose_first()
        refused = 0
        while self.first.error_text().count("standing_by") < 2:
            try:
                Beanstalk(self.first.beanstalk_address).close()
            except Gone:
                refused += 1
        self.assertEqual(refused, 0)
        self.assertIn(" deposed ", self.first.error_text())
        self.second.kill()
        wait_until(lambda: self.first.error_text().count(" leading ") == 2, "it leads again")
        address = self.first.faktory_address
        self.assertEqual(self.open(Faktory(address, password="after")).hello_reply, "+OK")
        with self.assertRaises(Gone):
            self.open(Faktory(address, password="before")).line()
        client = self.open(Beanstalk(self.first.beanstalk_address))
        self.assertEqual(client.put(b"x"), "DRAINING")
        self.assertEqual(self.first.terminate(), 0)

    def test_a_signal_during_it_is_heeded(self):
        self.first.process.send_signal(signal.SIGSTOP)
        self.wait_for_leader(self.second)
        self.first.process.send_signal(signal.SIGTERM)
        self.first.process.send_signal(signal.SIGCONT)
        self.assertEqual(self.first.process.wait(30), 0)


class StartOverWithoutThreads(SharedLogTest):
    def node(self, name):
        node = super().node(name)
        if name == "a":
            self.threads = Countdown(self, "failing_thread")
            node.env = self.threads.env
        return node

    def test_it_tries_until_it_has_all(self):
        first, second = self.nodes
        first.process.send_signal(signal.SIGSTOP)
        self.wait_for_leader(second)
        self.threads.let(-1)
        first.process.send_signal(signal.SIGCONT)
        told = r'log_unreachable .*problem="cannot start a thread'
        wait_until(lambda: re.search(told, first.error_text()), "it says so")
        number = 0

        def follows():
            return first.error_text().count("standing_by") == 2

        # Each of them fails once.
        while not follows():
            number += 1
            self.threads.let(number)
            wait_until(lambda: self.threads.left() == 0 or follows(), "the next try")
        self.assertGreater(number, 3)
        second.kill()
        wait_until(lambda: first.error_text().count(" leading ") == 2, "it leads again")
        client = self.open(Beanstalk(first.beanstalk_address))
        self.assertIsInstance(client.put(b"x"), int)
        self.assertEqual(first.terminate(), 0)


class StartOverWithoutRelay(SharedLogTest):
    node_flags = ("--no-relay",)

    def test_the_ports_are_closed_until_it_leads_again(self):
        first, second = self.nodes
        first.process.send_signal(signal.SIGSTOP)
        self.wait_for_leader(second)
        first.process.send_signal(signal.SIGCONT)
        wait_until(lambda: first.error_text().count("standing_by") == 2, "it follows")
        with self.assertRaises(Gone):
            Beanstalk(first.beanstalk_address)
        second.terminate()
        wait_until(lambda: first.error_text().count(" leading ") == 2, "it leads again")
        self.assertIsInstance(self.open(Beanstalk(first.beanstalk_address)).put(b"x"), int)


if __name__ == "__main__":
    unittest.main()
