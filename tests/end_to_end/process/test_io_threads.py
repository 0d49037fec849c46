"""The sockets of clients in threads of their own: `--io-threads`."""

import contextlib
import json
import os
import re
import socket
import threading
import unittest

from clients import Beanstalk, Faktory, Gone
from preloaded import Countdown
from program import ServerTest, free_port, wait_until
from test_faktory import make_certificate
from web import Web

ROUNDS = 200
PUT = b"put 0 0 60 1\r\nx\r\n"


class IoThreadsTest(ServerTest):
    def start(self, count):
        server = self.server("--io-threads", str(count))
        server.web_address = ("127.0.0.1", free_port())
        return server.start()

    def threads(self, server):
        tasks = f"/proc/{server.process.pid}/task"
        names = []
        for task in os.listdir(tasks):
            with open(f"{tasks}/{task}/comm", encoding="utf-8") as file:
                names.append(file.read().strip())
        return sorted(name for name in names if name.startswith("io_"))

    def test_each_has_a_name_and_figures(self):
        server = self.start(2)
        self.assertEqual(self.threads(server), ["io_1", "io_2"])
        clients = [self.open(Beanstalk(server.beanstalk_address)) for _ in range(4)]
        for client in clients:
            client.put(b"x")
        metrics = Web(server.web_address).get("/metrics")[2].decode()
        for thread in ("io_1", "io_2"):
            self.assertIn(f'millrace_io_connections{{thread="{thread}"}} 2\n', metrics)
            self.assertRegex(metrics, rf'io_received_bytes_total\{{thread="{thread}"\}} [1-9]')
            self.assertRegex(metrics, rf'io_sent_bytes_total\{{thread="{thread}"\}} [1-9]')
            self.assertRegex(metrics, rf'io_processor_seconds_total\{{thread="{thread}"\}} 0\.')
        shown = Web(server.web_address).read("/api/v1/server")["io_threads"]
        self.assertEqual([each["thread"] for each in shown], ["io_1", "io_2"])
        self.assertEqual([each["connections"] for each in shown], [2, 2])

    def test_clients_that_leave_in_the_handshake_leave_nothing(self):
        certificate, key = self.path("cert.pem"), self.path("key.pem")
        make_certificate(certificate, key, "first")
        for count in (0, 1, 4):
            with self.subTest(count=count):
                server = self.server(
                    f"--io-threads={count}", f"--tls-cert={certificate}", f"--tls-key={key}"
                )
                server.start()
                descriptors = f"/proc/{server.process.pid}/fd"
                before = len(os.listdir(descriptors))
                for _ in range(500):
                    socket.create_connection(server.faktory_address).close()
                wait_until(lambda: len(os.listdir(descriptors)) <= before, "closed", seconds=10)
                self.assertEqual(server.terminate(), 0)

    def test_without_one_the_main_thread_has_the_figures(self):
        server = self.start(0)
        self.assertEqual(self.threads(server), [])
        self.open(Beanstalk(server.beanstalk_address)).put(b"x")
        metrics = Web(server.web_address).get("/metrics")[2].decode()
        self.assertIn('millrace_io_connections{thread="main"} 1\n', metrics)
        self.assertIn('millrace_io_processor_seconds_total{thread="main"} 0\n', metrics)

    def test_what_many_clients_put_at_once_is_taken_once(self):
        server = self.start(3)
        taken = []

        def put(number):
            client = Beanstalk(server.beanstalk_address)
            for i in range(ROUNDS):
                client.put(f"{number} {i}".encode())
            client.close()

        def take():
            client = Faktory(server.faktory_address, wid="w")
            for _ in range(ROUNDS):
                job = client.command("FETCH default")
                jid = re.search(r'"jid":"([^"]+)"', job)[1]
                client.command(f'ACK {{"jid":"{jid}"}}')
                taken.append(jid)
            client.close()

        work = [threading.Thread(target=put, args=(number,)) for number in range(4)]
        work += [threading.Thread(target=take) for _ in range(4)]
        for each in work:
            each.start()
        for each in work:
            each.join()
        self.assertEqual(len(set(taken)), 4 * ROUNDS)
        self.assertEqual(server.terminate(), 0)

    def test_pushes_are_answered_and_stored_alike(self):
        """A thread makes the jobs of most lines before the session has them."""
        kinds = [
            {},
            {"custom": {"unique_for": 60}},
            {"at": "2100-01-01T00:00:00Z"},
            {"queue": "no queue!"},
            {"custom": {"locale": "de"}, "queue": "mail"},
            {"jid": "short"},
        ]
        lines = [
            {"jid": f"job-number-{i}", "jobtype": "T", "args": ["x" * i]} | kinds[i % len(kinds)]
            for i in range(ROUNDS)
        ]
        sent = "".join(f"PUSH {json.dumps(line)}\r\n" for line in lines)
        sent += 'PUSH {"jid":\r\nFETCH default mail\r\nFETCH default mail\r\n'
        seen = []
        for count in (0, 2):
            server = self.start(count)
            client = self.open(Faktory(server.faktory_address, wid="w"))
            client.send(sent.encode())
            replies = [client.line() for _ in range(ROUNDS + 1)]
            jobs = [json.loads(client.body(int(client.line()[1:]))) for _ in range(2)]
            tasks = client.info()["faktory"]["tasks"]
            seen.append((replies, [job["jid"] for job in jobs], tasks["Scheduled"]["size"]))
            self.assertEqual(client.command("FLUSH"), "+OK")
            client.close()
            self.assertEqual(server.terminate(), 0)
        self.assertEqual(*seen)
        self.assertIn("+OK", seen[0][0])

    def test_what_a_client_held_is_ready_once_it_has_closed(self):
        server = self.start(3)
        asking = self.open(Beanstalk(server.beanstalk_address))
        asking.put(b"x")
        for _ in range(ROUNDS):
            leaving = Beanstalk(server.beanstalk_address)
            leaving.command("reserve-with-timeout 0")
            leaving.close()
            self.assertEqual(asking.command("reserve-with-timeout 0"), "RESERVED 1 1")
            self.assertEqual(asking.body(1), b"x")
            self.assertEqual(asking.command("release 1 0 0"), "RELEASED")

    def test_clients_that_leave_replies_unread_end_no_server(self):
        for count in (0, 1, 3):
            server = self.start(count)
            for _ in range(40):
                leaving = [Beanstalk(server.beanstalk_address) for _ in range(20)]
                for command in (PUT, PUT, b"list-tube-used\r\n"):
                    for client in leaving:
                        client.send(command)
                for client in leaving:
                    client.close()
            self.assertEqual(server.terminate(), 0)

    def test_a_stop_while_clients_ask_is_orderly(self):
        for count in (0, 1, 3):
            server = self.start(count)
            asking = [threading.Thread(target=self.ask, args=(server,)) for _ in range(20)]
            for each in asking:
                each.start()
            self.wait_for_answers(server, 2000)
            self.assertEqual(server.terminate(), 0)
            for each in asking:
                each.join()

    def ask(self, server):
        client = Beanstalk(server.beanstalk_address)
        with contextlib.suppress(Gone):
            while True:
                client.command("list-tube-used")
        client.close()

    def wait_for_answers(self, server, count):
        client = self.open(Beanstalk(server.beanstalk_address))
        wait_until(lambda: int(client.stats()["cmd-list-tube-used"]) > count, "answers")

    def test_what_was_answered_is_there_after_a_crash(self):
        server = self.start(2)
        clients = [self.open(Beanstalk(server.beanstalk_address)) for _ in range(4)]
        ids = [client.put(b"x") for client in clients for _ in range(20)]
        server.restart()
        client = self.open(Beanstalk(server.beanstalk_address))
        self.assertEqual(client.stats()["current-jobs-ready"], str(len(ids)))

    def test_too_many_are_refused_with_the_limit(self):
        for value in ("1000", "9", "-1", "some"):
            server = self.server("--io-threads", value)
            self.assert_refused(server.arguments(), "--io-threads.* 8, or auto$", status=2)

    def test_one_that_cannot_start_is_one_line(self):
        threads = Countdown(self, "failing_thread")
        server = self.server("--io-threads", "1", "--volatile", env=threads.env)
        threads.let(1)
        self.assert_refused(
            server.arguments(),
            "cannot start a thread: raise the process limit",
            env=server.env,
            status=1,
        )


if __name__ == "__main__":
    unittest.main()
