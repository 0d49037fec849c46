"""What beanstalkd is known to get wrong, and hostile clients, against the real program."""

import itertools
import re
import resource
import socket
import time
import unittest

from beanstalkd import DropinTest, cpu_seconds, resident_bytes
from clients import Gone
from program import wait_until

MEGABYTE = 1 << 20


class RestartTest(DropinTest):
    """A process that is killed loses nothing, and its successor shows nothing of it."""

    def storing(self, *flags):
        return self.dropin("-b", self.directory, "-f0", *flags)

    def restarted(self, server, *flags):
        server.process.kill()
        server.process.wait()
        return self.storing(*flags)

    def test_jobs_of_the_largest_size(self):
        server = self.storing()
        client = self.client(server)
        bodies = [b"first", b"a" * 65534, b"b" * 65535, b"after"]
        self.assertEqual([client.put(body) for body in bodies], [1, 2, 3, 4])
        client = self.client(self.restarted(server))
        self.assertEqual([client.reserve() for _ in bodies], list(enumerate(bodies, start=1)))
        self.assertEqual(client.put(b"next"), 5)

    def test_jobs_larger_than_a_limit_that_was_lowered(self):
        server = self.storing()
        client = self.client(server)
        self.assertEqual([client.put(b"a" * 1000), client.put(b"b")], [1, 2])
        client = self.client(self.restarted(server, "-z", "10"))
        self.assertEqual([client.reserve(), client.reserve()], [(1, b"a" * 1000), (2, b"b")])

    def test_buried_jobs_keep_their_order_and_their_counters(self):
        server = self.storing()
        client = self.client(server)
        for body in (b"a", b"b", b"c"):
            client.put(body)
        for _ in range(3):
            client.reserve()
        for job in (2, 3, 1):
            self.assertEqual(client.command(f"bury {job} {job * 10}"), "BURIED")
        before = [client.stats(f"stats-job {job}") for job in (1, 2, 3)]
        for _ in range(2):
            server = self.restarted(server)
            client = self.client(server)
            for job, expected in zip((1, 2, 3), before):
                found = client.stats(f"stats-job {job}")
                self.assertEqual(found, {**expected, "age": found["age"]})
        for job in (2, 3, 1):
            self.assertEqual(client.command("peek-buried"), f"FOUND {job} 1")
            client.body(1)
            self.assertEqual(client.command("kick 1"), "KICKED 1")

    def test_the_priority_of_a_release_without_delay(self):
        server = self.storing()
        client = self.client(server)
        client.put(b"a", pri=1)
        client.put(b"b", pri=2)
        client.reserve()
        self.assertEqual(client.command("release 1 7 0"), "RELEASED")
        client = self.client(self.restarted(server))
        stats = client.stats("stats-job 1")
        self.assertEqual((stats["pri"], stats["releases"], stats["state"]), ("7", "1", "ready"))
        self.assertEqual(client.reserve(), (2, b"b"))

    def test_ids_are_never_used_again(self):
        server = self.storing()
        for expected in (1, 3, 5):
            client = self.client(server)
            self.assertEqual([client.put(b"a"), client.put(b"b")], [expected, expected + 1])
            self.assertEqual(client.delete(expected), "DELETED")
            self.assertEqual(client.delete(expected + 1), "DELETED")
            client.close()
            server = self.restarted(server)

    def test_a_held_job_is_ready_and_a_delayed_one_waits_on(self):
        server = self.storing()
        client = self.client(server)
        client.put(b"a", ttr=1000)
        client.put(b"b", delay=1000)
        client.reserve()
        client = self.client(self.restarted(server))
        self.assertEqual(client.stats("stats-job 1")["state"], "ready")
        stats = client.stats("stats-job 2")
        self.assertEqual((stats["state"], stats["delay"]), ("delayed", "1000"))
        self.assertIn(int(stats["time-left"]), range(900, 1000))


class IdleTest(DropinTest):
    """A server with nothing to do uses no processor time, whatever made it wake up."""

    def assert_idle(self, server):
        before = cpu_seconds(server.process)
        time.sleep(1)
        self.assertLess(cpu_seconds(server.process) - before, 0.2)

    def test_an_out_of_band_byte(self):
        server = self.dropin()
        reading, waiting = self.client(server), self.client(server)
        waiting.send(b"reserve\r\n")
        for client in (reading, waiting):
            client.socket.send(b"!", socket.MSG_OOB)
        self.assert_idle(server)
        self.assertEqual(self.client(server).put(b"a"), 1)

    def test_no_descriptors_left(self):
        limit = 40
        server = self.dropin(
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        )
        clients = [self.client(server) for _ in range(limit)]
        self.assert_idle(server)
        self.assertEqual(clients[0].put(b"a"), 1)
        self.assertLess(len(server.error_text()), 2000)
        # Waiting clients are served when others leave.
        for client in clients[1:-1]:
            client.close()
        self.assertEqual(clients[-1].reserve(), (1, b"a"))

    def test_a_holder_that_says_nothing(self):
        server = self.dropin()
        watcher = self.client(server)
        holders = [self.client(server) for _ in range(50)]
        for holder in holders:
            holder.put(b"a", ttr=1)
            self.assertIsNotNone(holder.reserve())
        wait_until(lambda: watcher.stats()["job-timeouts"] == "50", "the end of 50 TTRs", 5)
        self.assertEqual(watcher.stats()["current-jobs-reserved"], "0")


class HostileTest(DropinTest):
    def assert_serves(self, server):
        self.assertEqual(self.client(server).command("list-tube-used"), "USING default")

    def test_a_client_that_leaves_at_every_byte_of_a_put(self):
        server = self.dropin()
        put = b"put 1 2 3 12\r\nhello\r\nworld\r\n"
        for size in range(len(put)):
            client = server.client()
            client.send(put[:size])
            client.close()
        watcher = self.client(server)
        wait_until(lambda: watcher.stats()["current-connections"] == "1", "the end of all others")
        stats = watcher.stats()
        self.assertEqual((stats["total-jobs"], stats["current-jobs-delayed"]), ("0", "0"))

    def test_a_client_that_never_reads(self):
        server = self.dropin()
        client = self.client(server)
        self.assertEqual(client.put(b"x" * 65535), 1)
        before = resident_bytes(server.process)
        client.socket.settimeout(2)
        with self.assertRaises(Gone):  # It blocks: the server does not read any more.
            client.send(b"peek 1\r\n" * MEGABYTE)
        self.assert_serves(server)
        self.assertLess(resident_bytes(server.process) - before, 16 * MEGABYTE)

    def test_a_body_that_never_ends(self):
        server = self.dropin()
        client = self.client(server)
        before = resident_bytes(server.process)
        client.send(b"put 0 0 1 4294967295\r\n")
        for _ in range(200):
            client.send(b"x" * MEGABYTE)
        self.assert_serves(server)
        self.assertLess(resident_bytes(server.process) - before, 16 * MEGABYTE)

    def test_a_declared_body_costs_nothing_before_it_comes(self):
        server = self.dropin("-z", "1073741824")
        # What is loaded at the first use counts for nobody.
        self.assert_serves(server)
        before = resident_bytes(server.process)
        for _ in range(20):
            self.client(server).send(b"put 0 0 1 1073741824\r\nx")
        self.assert_serves(server)
        self.assertLess(resident_bytes(server.process) - before, 16 * MEGABYTE)

    def test_a_line_that_never_ends(self):
        server = self.dropin()
        client = self.client(server)
        before = resident_bytes(server.process)
        for _ in range(100):
            client.send(b"z" * MEGABYTE)
        self.assertEqual(client.command(""), "BAD_FORMAT")
        self.assertLess(resident_bytes(server.process) - before, 16 * MEGABYTE)

    def test_a_million_lines_of_nonsense(self):
        server = self.dropin()
        client = self.client(server)
        words = [b"peek ", b"\t", b"put", b"delete 1x", b"\0", b"reserve-", b"kick", b"\xff", b" 1"]
        lines = [b"".join(each) for each in itertools.permutations(words, 4)]
        replies = {"BAD_FORMAT", "UNKNOWN_COMMAND", "NOT_FOUND", "KICKED 0"}
        block = b"\r\n".join(lines) + b"\r\n"
        for _ in range(1_000_000 // len(lines) + 1):
            client.send(block)
            for _ in lines:
                self.assertIn(client.line(), replies)
        self.assert_serves(server)

    def test_a_kick_without_bound_of_what_is_not_there(self):
        server = self.dropin()
        client = self.client(server)
        began = time.monotonic()
        self.assertEqual(client.command("kick 4294967295"), "KICKED 0")
        self.assertLess(time.monotonic() - began, 5)


class ClientsTest(DropinTest):
    """What client libraries depend on and only the real clock shows."""

    def seconds(self, command, reply, client):
        began = time.monotonic()
        self.assertRegex(client.command(command), reply)
        return time.monotonic() - began

    def best(self, measure):
        """Of some attempts: what else the machine does is not ours."""
        return min(measure() for _ in range(4))

    def test_waits_end_within_50_ms(self):
        server = self.dropin()
        client = self.client(server)

        def wait():
            return self.seconds("reserve-with-timeout 1", "^TIMED_OUT$", client) - 1

        self.assertTrue(0 <= self.best(wait) < 0.05)

    def test_delays_and_pauses_end_within_50_ms(self):
        server = self.dropin()
        client = self.client(server)

        def delay():
            job = client.put(b"", delay=1)
            late = self.seconds("reserve", f"^RESERVED {job} 0$", client) - 1
            client.body(0)
            client.delete(job)
            return late

        def pause():
            job = client.put(b"")
            self.assertEqual(client.command("pause-tube default 1"), "PAUSED")
            late = self.seconds("reserve", f"^RESERVED {job} 0$", client) - 1
            client.body(0)
            client.delete(job)
            return late

        for measure in (delay, pause):
            self.assertTrue(-0.01 <= self.best(measure) < 0.05)

    def test_time_left_right_after_reserve_is_floored(self):
        client = self.client(self.dropin())
        client.put(b"a", ttr=10)
        client.reserve()
        self.assertEqual(client.stats("stats-job 1")["time-left"], "9")

    def test_the_version_is_plain(self):
        stats = self.client(self.dropin()).stats()
        self.assertTrue(re.fullmatch(r'"\d+\.\d+"', stats["version"]))
        self.assertEqual(stats["draining"], "false")

    def test_quit_closes(self):
        client = self.client(self.dropin())
        client.send(b"quit\r\n")
        self.assertTrue(client.is_closed_by_server())


if __name__ == "__main__":
    unittest.main()
