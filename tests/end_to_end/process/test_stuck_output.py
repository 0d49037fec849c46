"""Whoever reads stderr or stdout has stopped to: jobs are served, and the process ends, as if he
read on."""

import contextlib
import ctypes
import fcntl
import os
import re
import signal
import socket
import time
import unittest

from beanstalkd import DropinTest
from clients import Beanstalk
from program import ServerTest, free_port, wait_until
from web import Web

EXIT_JOURNAL_FAILED = 3
F_SETPIPE_SZ = 1031
LOST = re.compile(r"^\S+Z log_lines_lost count=(\d+)\r?$", re.MULTILINE)
# The last line waits for a second. The rest is for a machine that is busy.
END_SECONDS_MAX = 10


PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE = 1
NOBODY = 65534


def drop_override():
    """What is another user's cannot be opened by the program that is started, though root's."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def pair_of_sockets():
    return [each.detach() for each in socket.socketpair()]


def read_all(reader):
    """What is there now. A terminal that nobody has open fails when all of it is read."""
    os.set_blocking(reader, False)
    text = b""
    with contextlib.suppress(OSError):
        while more := os.read(reader, 65536):
            text += more
    return text.decode()


class StuckLogTest(ServerTest):
    def begin(self, ends, before=lambda: None, tube="default"):
        """A server whose stderr is one of the ends. It is full, or nearly, and nobody reads it."""
        self.reader, writer = ends
        self.addCleanup(os.close, self.reader)
        self.one = self.server()
        self.one.web_address = ("127.0.0.1", free_port())
        self.one.preexec_fn = lambda: (os.dup2(writer, 2), before())
        self.one.start()
        os.close(writer)
        self.client = self.open(Beanstalk(self.one.beanstalk_address))
        self.client.command(f"use {tube}")
        while self.lost() == 0:
            self.one.process.send_signal(signal.SIGTTIN)
            self.assertIsInstance(self.client.put(b"x"), int)

    def lost(self):
        text = Web(self.one.web_address).get("/metrics")[2].decode()
        return int(re.search(r"(?m)^millrace_log_lines_lost_total (\d+)", text)[1])

    def read_until_told(self):
        text = read_all(self.reader)
        while not LOST.search(text):
            self.one.process.send_signal(signal.SIGTSTP)
            self.assertIsInstance(self.client.put(b"x"), int)
            text += read_all(self.reader)
        return text

    def check_lines(self, ends):
        self.begin(ends)
        text = self.read_until_told()
        told = sum(int(count) for count in LOST.findall(text))
        self.assertEqual(told, self.lost())
        self.assertRegex(text[: LOST.search(text).start()], r"\n\Z")
        self.assertEqual(self.one.terminate(), 0)
        self.assertRegex(read_all(self.reader), r" stopped\r?\n")

    def test_pipe(self):
        self.check_lines(os.pipe())

    def test_socket(self):
        self.check_lines(pair_of_sockets())

    def test_terminal(self):
        self.check_lines(os.openpty())

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a terminal away")
    def test_terminal_of_another_user(self):
        """It cannot be opened once more, and tells that it can be written to when little fits."""
        ends = os.openpty()
        os.fchown(ends[1], NOBODY, NOBODY)
        os.fchmod(ends[1], 0o600)
        kept = os.dup(ends[1])
        self.addCleanup(os.close, kept)
        self.begin(ends, drop_override, "t" * 190)
        for _ in range(20):
            self.one.process.send_signal(signal.SIGTTIN)
            self.assertIsInstance(self.client.put(b"x"), int)
        self.assertTrue(os.get_blocking(kept))

    def test_the_descriptor_stays_as_its_other_owners_have_it(self):
        ends = os.pipe()
        kept = os.dup(ends[1])
        self.addCleanup(os.close, kept)
        self.begin(ends)
        self.assertTrue(os.get_blocking(kept))

    def test_sigterm_ends_the_process(self):
        self.begin(os.pipe())
        began = time.monotonic()
        self.assertEqual(self.one.terminate(), 0)
        self.assertLess(time.monotonic() - began, END_SECONDS_MAX)

    def test_a_server_that_fails_ends_too(self):
        self.begin(os.pipe())
        began = time.monotonic()
        os.rename(self.one.data, self.path("moved"))
        self.assertEqual(self.one.process.wait(END_SECONDS_MAX), EXIT_JOURNAL_FAILED)
        self.assertLess(time.monotonic() - began, END_SECONDS_MAX)

    def test_the_last_line_waits_a_while_for_a_slow_reader(self):
        self.begin(os.pipe())
        os.rename(self.one.data, self.path("moved"))
        time.sleep(0.7)
        text = read_all(self.reader)
        self.assertEqual(self.one.process.wait(END_SECONDS_MAX), EXIT_JOURNAL_FAILED)
        self.assertIn(" journal_failed ", text + read_all(self.reader))


class StuckOutputTest(DropinTest):
    def test_connections_are_served_whoever_reads_of_them(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        fcntl.fcntl(writer, F_SETPIPE_SZ, 4096)
        server = self.dropin("-V", preexec_fn=lambda: os.dup2(writer, 1))
        os.close(writer)
        for _ in range(3):
            self.assertEqual(self.client(server).command("use a"), "USING a")
        text = ""
        while not LOST.search(text):
            self.client(server).command("use a")
            text += read_all(reader)
        self.assertRegex(text, r"^pid \d+\nbind ")


if __name__ == "__main__":
    unittest.main()
