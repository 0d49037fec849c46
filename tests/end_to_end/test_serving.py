"""Starting, stopping and the options, from outside."""

import json
import os
import signal
import stat
import subprocess
import time
import unittest

from beanstalkd import resident_bytes
from clients import Beanstalk, Client, Faktory, Gone
from program import PROGRAM, ServerTest, wait_until

MEGABYTE = 1 << 20


class MemoryTest(ServerTest):
    def test_it_goes_back_when_jobs_are_gone_and_nobody_asks_for_anything(self):
        server = self.server("--volatile").start()
        client = self.open(Beanstalk(server.beanstalk_address))
        before = resident_bytes(server.process)
        ids = [client.put(b"x" * 60_000) for _ in range(2_000)]
        self.assertGreater(resident_bytes(server.process) - before, 100 * MEGABYTE)
        client.send(b"".join(b"delete %d\r\n" % each for each in ids))
        self.assertEqual({client.line() for _ in ids}, {"DELETED"})
        wait_until(
            lambda: resident_bytes(server.process) - before < 16 * MEGABYTE, "freed memory to go"
        )


class StartTest(ServerTest):
    def test_it_names_its_ports_and_says_ready(self):
        server = self.server().start()
        said = "\n".join(server.ports)
        self.assertEqual(len(server.ports), 2, said)
        self.assertIn(f"127.0.0.1:{server.beanstalk_address[1]}", said)
        self.assertIn(f"127.0.0.1:{server.faktory_address[1]}", said)

    def test_both_protocols_serve_at_once(self):
        server = self.server().start()
        put = self.open(Beanstalk(server.beanstalk_address))
        job = put.put(b"hello")
        worker = self.open(Faktory(server.faktory_address, wid="worker-1"))
        unit = worker.fetch()
        self.assertEqual((unit["jobtype"], unit["args"]), ("beanstalk", ["hello"]))
        self.assertEqual(unit["jid"], f"beanstalk-{job}")

    def test_waiting_clients_of_both_protocols_are_served(self):
        server = self.server().start()
        producer = self.open(Faktory(server.faktory_address))
        worker = self.open(Faktory(server.faktory_address, wid="worker-1"))
        worker.send(b"FETCH default\r\n")
        wait_until(lambda: self.waiting(server) == 1, "a waiting worker")
        producer.push("jid-00001", args=[1])
        size = int(worker.line()[1:])
        self.assertEqual(json.loads(worker.body(size))["args"], [1])

        consumer = self.open(Beanstalk(server.beanstalk_address))
        consumer.send(b"reserve\r\n")
        wait_until(lambda: self.waiting(server) == 1, "a waiting consumer")
        producer.push("jid-00002", args=[2])
        size = int(consumer.line().split()[2])
        self.assertEqual(json.loads(consumer.body(size))["args"], [2])

    def waiting(self, server):
        return int(self.open(Beanstalk(server.beanstalk_address)).stats()["current-waiting"])

    def test_a_port_can_be_off(self):
        server = self.server()
        server.faktory_address = None
        server.start()
        self.assertEqual(len(server.ports), 1)
        self.assertEqual(self.open(Beanstalk(server.beanstalk_address)).put(b"a"), 1)

    def test_version_and_help(self):
        for flag, text in (("--version", r"^millrace \d+\.\d+\.\d+"), ("--help", "serve")):
            done = subprocess.run([PROGRAM, flag], capture_output=True, text=True, timeout=20)
            self.assertEqual(done.returncode, 0)
            self.assertRegex(done.stdout, text)

    def test_unix_sockets(self):
        server = self.server()
        server.beanstalk_address = self.path("beanstalk.sock")
        server.faktory_address = self.path("faktory.sock")
        server.start()
        self.assertTrue(stat.S_ISSOCK(os.stat(server.beanstalk_address).st_mode))
        job = self.open(Beanstalk(server.beanstalk_address)).put(b"over a file")
        unit = self.open(Faktory(server.faktory_address)).fetch()
        self.assertEqual(unit["jid"], f"beanstalk-{job}")
        server.restart()
        self.assertEqual(self.open(Beanstalk(server.beanstalk_address)).put(b"again"), job + 1)

    def test_volatile_keeps_nothing(self):
        server = self.server("--volatile").start()
        self.assertEqual(self.open(Beanstalk(server.beanstalk_address)).put(b"a"), 1)
        server.restart()
        self.assertIsNone(self.open(Beanstalk(server.beanstalk_address)).reserve())
        self.assertFalse(os.path.exists(server.data))

    def test_a_larger_job_size(self):
        server = self.server("--max-job-size=1000000").start()
        client = self.open(Beanstalk(server.beanstalk_address))
        self.assertEqual(client.put(b"x" * 1000000), 1)
        self.assertEqual(client.put(b"x" * 1000001), "JOB_TOO_BIG")

    def test_options_from_the_environment(self):
        server = self.server(env={"MILLRACE_MAX_JOB_SIZE": "10"}).start()
        client = self.open(Beanstalk(server.beanstalk_address))
        self.assertEqual(client.put(b"x" * 11), "JOB_TOO_BIG")

    def test_a_variable_that_is_no_option_is_named_without_its_value(self):
        server = self.server(env={"MILLRACE_PASWORD_FILE": "/nowhere"}).start()
        self.assertRegex(
            server.error_text(), r" environment_ignored variables=MILLRACE_PASWORD_FILE\n"
        )
        self.assertNotIn("nowhere", server.error_text())


class PasswordTest(ServerTest):
    def assert_guarded(self, server):
        right = self.open(Faktory(server.faktory_address, password="secret"))
        self.assertEqual(right.hello_reply, "+OK")
        wrong = self.open(Faktory(server.faktory_address, password="guess"))
        self.assertEqual(wrong.hello_reply, "-ERR Invalid password")
        self.assertTrue(wrong.is_closed_by_server())
        none = self.open(Faktory(server.faktory_address))
        self.assertEqual(none.hello_reply, "-ERR Invalid password")

    def test_from_a_file(self):
        with open(self.path("password"), "w", encoding="utf-8") as file:
            file.write("secret\n")
        os.chmod(self.path("password"), 0o600)
        self.assert_guarded(self.server(f"--password-file={self.path('password')}").start())

    def test_from_the_environment(self):
        self.assert_guarded(self.server(env={"FAKTORY_PASSWORD": "secret"}).start())

    def test_from_a_file_named_by_the_environment(self):
        with open(self.path("password"), "w", encoding="utf-8") as file:
            file.write("secret")
        self.assert_guarded(self.server(env={"FAKTORY_PASSWORD": self.path("password")}).start())


class TimeTest(ServerTest):
    def test_delays_and_deadlines_run_by_the_real_clock(self):
        server = self.server().start()
        client = self.open(Beanstalk(server.beanstalk_address))
        job = client.put(b"late", delay=1, ttr=1)
        began = time.monotonic()
        self.assertEqual(client.reserve(timeout=5), (job, b"late"))
        self.assertGreater(time.monotonic() - began, 0.9)
        other = self.open(Beanstalk(server.beanstalk_address))
        self.assertEqual(other.reserve(timeout=5), (job, b"late"))
        self.assertEqual(client.delete(job), "NOT_FOUND")

    def test_an_empty_fetch_answers_after_two_seconds(self):
        server = self.server().start()
        worker = self.open(Faktory(server.faktory_address))
        began = time.monotonic()
        self.assertIsNone(worker.fetch())
        self.assertTrue(1.9 < time.monotonic() - began < 3)

    def test_a_silent_handshake_ends(self):
        server = self.server().start()
        silent = self.open(Client(server.faktory_address))
        silent.line()
        self.assertTrue(silent.is_closed_by_server())


class StopTest(ServerTest):
    def test_sigterm_answers_what_is_in_flight(self):
        server = self.server().start()
        client = self.open(Beanstalk(server.beanstalk_address))
        client.send(b"put 0 0 60 1\r\nx\r\n" * 500)
        replies = [client.line()]
        server.process.send_signal(signal.SIGTERM)
        try:
            while True:
                replies.append(client.line())
        except Gone:
            pass
        self.assertEqual(server.process.wait(20), 0)
        inserted = sum(reply.startswith("INSERTED") for reply in replies)
        self.assertEqual(inserted + replies.count("DRAINING"), len(replies))
        stats = self.open(Beanstalk(server.start().beanstalk_address)).stats("stats-tube default")
        self.assertEqual(int(stats["current-jobs-ready"]), inserted)

    def test_sigterm_does_not_wait_for_waiting_clients(self):
        server = self.server().start()
        waiting = self.open(Beanstalk(server.beanstalk_address))
        waiting.send(b"reserve\r\n")
        idle = self.open(Faktory(server.faktory_address))
        began = time.monotonic()
        self.assertEqual(server.terminate(), 0)
        self.assertLess(time.monotonic() - began, 10)
        self.assertTrue(idle.is_closed_by_server())

    def test_sigterm_does_not_wait_for_who_has_his_answers_and_stays(self):
        server = self.server().start()
        staying = self.open(Faktory(server.faktory_address))
        self.assertEqual(staying.command("END"), "+OK")
        self.assertTrue(staying.is_closed_by_server())
        began = time.monotonic()
        self.assertEqual(server.terminate(), 0)
        # Others are waited for for five seconds.
        self.assertLess(time.monotonic() - began, 4)

    def test_sigterm_removes_the_sockets(self):
        server = self.server()
        server.beanstalk_address = self.path("beanstalk.sock")
        server.start()
        self.assertEqual(server.terminate(), 0)
        self.assertFalse(os.path.exists(server.beanstalk_address))

    def test_sigusr1_drains(self):
        server = self.server().start()
        client = self.open(Beanstalk(server.beanstalk_address))
        server.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: client.put(b"a") == "DRAINING", "drain mode")
        self.assertEqual(client.stats()["draining"], "true")


if __name__ == "__main__":
    unittest.main()
