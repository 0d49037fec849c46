"""Input that was not executed yet: all clients together can fill only so much memory with it."""

import contextlib
import socket
import struct
import threading
import unittest

from beanstalkd import resident_bytes
from clients import Beanstalk, Faktory
from program import ServerTest

MEBIBYTE = 1 << 20
KEPT_MAX = 256 * MEBIBYTE
LINE_BYTES = 31 * MEBIBYTE
CLIENTS = 20
# One client may finish its line all the same, and what was freed goes back to the system a little
# later.
IN_USE = 2 * LINE_BYTES
# The one that is parsed may take eight times its length (docs/operations/limits.md).
PARSED = 8 * LINE_BYTES


class KeptInputTest(ServerTest):
    def start(self):
        server = self.server("--sync=off").start()
        self.before = resident_bytes(server.process)
        self.most = self.before
        self.process = server.process
        return server

    def look(self):
        self.most = max(self.most, resident_bytes(self.process))

    def let_all(self, send):
        """Calls it in as many threads as there are clients, and returns its results."""
        results = []
        threads = [
            threading.Thread(target=lambda number=number: results.append(send(number)))
            for number in range(CLIENTS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                self.look()
                thread.join(0.005)
        self.assertLess(self.most - self.before, KEPT_MAX + IN_USE)
        return results

    def test_long_lines_of_many_clients_come_to_their_end(self):
        server = self.start()

        # Their HELLO has 2 s, and is not what takes long here.
        clients = [
            self.open(Faktory(server.faktory_address, timeout=120)) for _ in range(CLIENTS)
        ]

        def send(number):
            # No job, so that nothing of it is stored.
            return clients[number].command("PUSH " + "x" * LINE_BYTES)

        self.assertEqual([reply[:4] for reply in self.let_all(send)], ["-ERR"] * CLIENTS)

    def test_long_lines_of_clients_that_are_gone_take_no_memory(self):
        server = self.start()
        numbers = b",1" * (LINE_BYTES // 2)
        for number in range(3 * CLIENTS):
            client = Faktory(server.faktory_address)
            # It closes with a reset, while its line waits to be parsed.
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.socket.settimeout(1)
            with contextlib.suppress(OSError):
                client.socket.sendall(
                    b'PUSH {"jid":"gone-%04d","jobtype":"x","args":[1' % number + numbers + b"]}\n"
                )
            client.close()
            self.look()
        self.assertLess(self.most - self.before, KEPT_MAX + PARSED)
        # They hold up nobody.
        patient = self.open(Faktory(server.faktory_address, timeout=20))
        self.assertEqual(patient.command("PUSH " + "x" * MEBIBYTE)[:4], "-ERR")

    def test_lines_that_do_not_end_leave_short_commands_alone(self):
        server = self.start()
        # The server takes no more of them than it may keep.
        for _ in range(CLIENTS):
            client = self.open(Faktory(server.faktory_address))
            client.socket.settimeout(1)
            try:
                client.socket.sendall(b"PUSH " + b"x" * LINE_BYTES)
            except socket.timeout:
                break
        else:
            self.fail("all of it was taken")
        beanstalk = self.open(Beanstalk(server.beanstalk_address))
        faktory = self.open(Faktory(server.faktory_address, wid="worker"))
        for number in range(100):
            self.assertIsInstance(beanstalk.put(b"b" * 60_000), int)
            self.assertEqual(faktory.push(f"job-{number:06}"), "+OK")
            self.look()
        self.assertLess(self.most - self.before, KEPT_MAX + IN_USE)

    def test_long_reports_of_many_clients_are_all_recorded(self):
        server = self.start()
        producer = self.open(Faktory(server.faktory_address))
        clients = []
        for number in range(CLIENTS):
            client = self.open(Faktory(server.faktory_address, wid=f"worker-{number}", timeout=120))
            self.assertEqual(producer.push(f"job-{number:06}"), "+OK")
            client.fetch()
            clients.append(client)

        def report(number):
            message = "x" * LINE_BYTES
            return clients[number].command(
                f'FAIL {{"message":"{message}","jid":"job-{number:06}"}}'
            )

        self.assertEqual(self.let_all(report), ["+OK"] * CLIENTS)
        self.assertEqual(producer.info()["faktory"]["tasks"]["Retries"]["size"], CLIENTS)


if __name__ == "__main__":
    unittest.main()
