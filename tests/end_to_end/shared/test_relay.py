"""Clients that come to a server while another one leads the log."""

import json
import resource
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
import unittest

from clients import Beanstalk, Faktory
from program import PROGRAM, environment, flag_of, wait_until
from shared.shared_log import SharedLogTest, leads, listens, make_certificate
from web import Web

CLIENTS = 200


class Relay(SharedLogTest):
    def setUp(self):
        super().setUp()
        self.leader, self.standby = self.nodes

    def beanstalk(self, node):
        return self.open(Beanstalk(node.beanstalk_address))

    def test_beanstalk_clients_work_through_a_standby(self):
        through = self.beanstalk(self.standby)
        job = through.put(b"a job")
        direct = self.beanstalk(self.leader)
        self.assertEqual(direct.reserve(10), (job, b"a job"))
        self.assertEqual(direct.delete(job), "DELETED")
        # A client that waits is told when there is something.
        through.send(b"reserve-with-timeout 60\r\n")
        second = direct.put(b"another")
        self.assertEqual(through.line(), f"RESERVED {second} 7")
        self.assertEqual(through.body(7), b"another")

    def test_a_long_body_comes_and_goes(self):
        body = bytes(range(256)) * 255
        through = self.beanstalk(self.standby)
        for _ in range(40):
            through.put(body)
        for _ in range(40):
            self.assertEqual(through.reserve(10)[1], body)

    def test_faktory_clients_work_through_a_standby(self):
        producer = self.open(Faktory(self.standby.faktory_address))
        self.assertEqual(producer.push("a-job-for-mail", "mail"), "+OK")
        worker = self.open(Faktory(self.standby.faktory_address, "a-worker"))
        self.assertEqual(worker.fetch("mail")["jid"], "a-job-for-mail")
        self.assertEqual(worker.ack("a-job-for-mail"), "+OK")

    def test_what_a_client_sends_before_it_ends_its_side_is_answered(self):
        for node in (self.leader, self.standby):
            client = self.beanstalk(node)
            client.send(b"put 0 0 60 1\r\nx\r\nuse mail\r\n")
            client.socket.shutdown(socket.SHUT_WR)
            self.assertRegex(client.line(), "INSERTED")
            self.assertEqual(client.line(), "USING mail")
            self.assertTrue(client.is_closed_by_server())

    def test_what_a_client_had_reserved_is_ready_when_it_leaves(self):
        through = self.beanstalk(self.standby)
        job = through.put(b"a job")
        through.reserve(10)
        through.close()
        self.assertEqual(self.beanstalk(self.leader).reserve(10), (job, b"a job"))

    def test_when_the_leader_is_killed_its_clients_are_closed_and_served_after_the_takeover(self):
        clients = [self.beanstalk(self.standby) for _ in range(CLIENTS)]
        jobs = [client.put(b"a job") for client in clients]
        self.leader.kill()
        self.assertTrue(all(client.is_closed_by_server() for client in clients))
        self.assertNotIn("leading ", self.standby.error_text())
        # These wait until the server leads: they see nothing but a delay.
        waiting = [self.beanstalk(self.standby) for _ in range(CLIENTS)]
        for client in waiting:
            client.send(b"reserve-with-timeout 10\r\n")
        reserved = []
        for client in waiting:
            reserved.append(int(client.line().split()[1]))
            client.body(5)
        self.assertEqual(sorted(reserved), sorted(jobs))

    def test_the_ports_of_a_standby_are_open_through_a_takeover(self):
        self.leader.kill()
        refused = 0
        while "leading " not in self.standby.error_text():
            refused += not listens(self.standby.beanstalk_address)
            time.sleep(0.001)
        self.assertEqual(refused, 0)
        self.assertIsInstance(self.beanstalk(self.standby).put(b"a job"), int)

    def test_more_clients_than_there_are_descriptors_for_wait(self):
        small = self.node("c")
        small.preexec_fn = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (160, 160))
        small.start()
        clients = [self.beanstalk(small) for _ in range(100)]
        for client in clients:
            client.send(b"use mail\r\n")
        wait_until(lambda: "accept_failed" in small.error_text(), "no more are let in")
        # The log is still followed, and those that were let in are served.
        self.assertEqual(clients[0].line(), "USING mail")
        for client in clients[:90]:
            client.close()
        for client in clients[90:]:
            self.assertEqual(client.line(), "USING mail")

    def test_clients_are_kept_waiting_and_then_refused_while_nobody_leads(self):
        self.stop_engine()
        self.leader.kill()
        idle, client = self.beanstalk(self.standby), self.beanstalk(self.standby)
        began = time.monotonic()
        self.assertEqual(client.put(b"a job"), "DRAINING")
        self.assertTrue(client.is_closed_by_server())
        self.assertTrue(idle.is_closed_by_server())
        self.assertGreater(time.monotonic() - began, 9)


class RelayOfTheWeb(SharedLogTest):
    def setUp(self):
        super().setUp()
        self.leader, self.standby = (Web(node.web_address) for node in self.nodes)
        wait_until(lambda: self.health()["leader"] == "a", "the leader is known")

    def health(self):
        return json.loads(self.standby.get("/health")[2])

    def test_each_server_tells_of_itself(self):
        status, _, body = self.standby.get("/health")
        shown = json.loads(body)
        self.assertEqual((status, shown["status"], shown["node"]), (200, "standby", "b"))
        self.assertEqual((shown["leader"], shown["epoch"]), ("a", 1))
        self.assertLess(shown["lag_seconds"], 5)
        self.assertEqual(self.standby.get("/health/leader")[0], 503)
        status, _, body = self.leader.get("/health/leader")
        shown = json.loads(body)
        self.assertEqual((status, shown["role"], shown["node"]), (200, "serving", "a"))

    def test_stats_of_a_standby_say_whose_they_are(self):
        for web, role in ((self.standby, ["standby b; the rest is from the leader, a"]),
                          (self.leader, [])):
            shown = subprocess.run([PROGRAM, "stats", "--url=%s:%d" % web.address],
                                   capture_output=True, env=environment(), text=True, check=True)
            lines = [line.split(None, 1) for line in shown.stdout.splitlines()]
            self.assertEqual([text for name, text in lines if name == "role"], role)

    def test_each_server_shows_metrics_of_its_own(self):
        client = self.open(Beanstalk(self.nodes[1].beanstalk_address))
        client.put(b"a job")
        text = self.standby.get("/metrics")[2].decode()
        self.assertIn('millrace_role{role="standby"} 1\n', text)
        self.assertIn("millrace_relayed_connections 1\n", text)
        self.assertNotIn("millrace_jobs", text)
        text = self.leader.get("/metrics")[2].decode()
        self.assertIn('millrace_role{role="serving"} 1\n', text)
        self.assertIn("millrace_takeovers_total 1\n", text)

    def test_all_else_is_the_leaders(self):
        job = {"jobtype": "Test", "args": [], "queue": "mail"}
        status, body = self.standby.post("/api/v1/jobs", job)
        self.assertEqual(status, 201, body)
        for web in (self.leader, self.standby):
            self.assertIn(b"mail", web.get("/api/v1/queues")[2])
        self.assertIn(b"<html", self.standby.get("/")[2])
        path = "/health/leaders"
        self.assertEqual(self.standby.get(path)[0], self.leader.get(path)[0])

    def test_after_a_takeover_the_port_serves(self):
        self.nodes[0].kill()
        wait_until(lambda: leads(self.standby), "the other leads")
        self.assertIn(b"<html", self.standby.get("/")[2])
        self.assertEqual(self.health()["epoch"], 2)


class EncryptedRelay(SharedLogTest):
    def setUp(self):
        directory = tempfile.mkdtemp(prefix="millrace-test-")
        self.addCleanup(shutil.rmtree, directory)
        certificate, key = make_certificate(directory)
        self.node_flags = (f"--tls-cert={certificate}", f"--tls-key={key}")
        self.context = ssl._create_unverified_context()
        super().setUp()

    def test_job_clients_are_encrypted_up_to_the_leader(self):
        with socket.create_connection(self.nodes[1].beanstalk_address) as plain:
            with self.context.wrap_socket(plain) as client:
                client.sendall(b"use mail\r\n")
                self.assertEqual(client.recv(100), b"USING mail\r\n")

    def test_browsers_are_sent_to_the_leader(self):
        leader, standby = (Web(node.web_address, self.context) for node in self.nodes)
        self.assertEqual(standby.get("/health")[0], 200)
        self.assertEqual(standby.get("/health/leader")[0], 503)
        # At first it has heard of no leader.
        wait_until(lambda: standby.get("/")[0] == 307, "the leader is known")
        _, headers, _ = standby.get("/queues/mail?state=dead")
        address = flag_of(self.nodes[0].web_address)
        self.assertEqual(headers["Location"], f"https://{address}/queues/mail?state=dead")
        self.nodes[0].kill()
        wait_until(lambda: leads(standby), "the other leads")
        self.assertIn(b"<html", standby.get("/")[2])


class NoRelay(SharedLogTest):
    node_flags = ("--no-relay",)

    def test_the_ports_of_a_standby_are_closed(self):
        leader, standby = self.nodes
        ports = (standby.beanstalk_address, standby.faktory_address, standby.web_address)
        self.assertEqual([listens(port) for port in ports], [False] * 3)
        leader.terminate()
        wait_until(lambda: all(listens(port) for port in ports), "the other server listens")


if __name__ == "__main__":
    unittest.main()
