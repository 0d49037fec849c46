"""Few descriptors: clients cannot take those that the journal needs."""

import os
import resource
import socket
import unittest

from clients import Beanstalk
from program import ServerTest, wait_until

SEGMENT_BYTES = 1 << 20
BODY = b"b" * 60_000
# Enough for several segments.
PUTS = 100


class FewDescriptorsTest(ServerTest):
    def limited(self, limit, *flags):
        """A server that may open so many files; we may open more."""
        size = f"--segment-bytes={SEGMENT_BYTES}"
        server = self.server(size, "--max-job-size=100000", *flags, data=f"data-{limit}")
        server.web_address = self.path(f"web-{limit}")
        server.preexec_fn = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        return server

    def idle(self, address, count):
        """So many connections that say nothing. The server may accept fewer."""
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        for _ in range(count):
            one = self.open(socket.socket(family))
            one.setblocking(False)
            one.connect_ex(address)

    def test_idle_clients_leave_what_the_journal_needs(self):
        for limit in (64, 96, 256):
            with self.subTest(limit):
                server = self.limited(limit).start()
                client = self.open(Beanstalk(server.beanstalk_address))
                self.idle(server.web_address, limit)
                self.idle(server.beanstalk_address, limit)
                self.idle(server.faktory_address, limit)
                for number in range(PUTS):
                    self.assertEqual(client.put(BODY), number + 1)
                for number in range(PUTS):
                    self.assertEqual(client.reserve(), (number + 1, BODY))
                    self.assertEqual(client.delete(number + 1), "DELETED")
                self.assertGreater(len(server.segments()), 0)
                self.assertNotIn("journal_failed", server.error_text())
                self.assertNotIn("disk_full", server.error_text())
                self.assertEqual(server.terminate(), 0)

    def test_bodies_on_the_disk_are_read(self):
        server = self.limited(64, "--memory-limit=1000000").start()
        client = self.open(Beanstalk(server.beanstalk_address))
        self.idle(server.beanstalk_address, 64)
        self.idle(server.web_address, 64)
        for number in range(500):
            self.assertEqual(client.put(BODY), number + 1)
        self.assertGreater(len(server.segments()), 20)
        for number in range(0, 500, 7):
            self.assertEqual(client.command(f"peek {number + 1}"), f"FOUND {number + 1} 60000")
            self.assertEqual(client.body(60_000), BODY)

    def test_a_limit_that_is_too_low_is_refused(self):
        server = self.limited(40)
        text = "the limit of open files is 40, and the server needs at least 6[0-9]: raise"
        self.assert_refused(server.arguments(), text, status=1, preexec_fn=server.preexec_fn)
        self.assertFalse(os.path.exists(server.data))

    def test_a_journal_without_descriptors_waits_for_some(self):
        """Of all processes of a machine, or because somebody has lowered the limit."""
        server = self.server(f"--segment-bytes={SEGMENT_BYTES}", "--max-job-size=100000").start()
        client = self.open(Beanstalk(server.beanstalk_address))
        soft, hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
        self.assertEqual(client.put(BODY), 1)
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (5, hard))
        put = 1
        while (reply := client.put(BODY)) != "OUT_OF_MEMORY":
            self.assertIsInstance(reply, int)
            put += 1
        self.assertGreater(put, 10)
        self.assertRegex(server.error_text(), 'disk_full problem="cannot create .*Too many open')
        self.assertEqual(client.reserve(), (1, BODY))
        self.assertEqual(client.delete(1), "DELETED")
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (soft, hard))
        wait_until(lambda: "disk_has_room" in server.error_text(), "room", 10)
        wait_until(lambda: isinstance(client.put(BODY), int), "a put", 10)
        self.assertEqual(server.terminate(), 0)


if __name__ == "__main__":
    unittest.main()
