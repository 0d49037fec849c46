"""What systemd is told: signs of life for its watchdog, reloads, the stop."""

import os
import queue
import signal
import socket
import threading
import time
import unittest

from clients import Beanstalk
from preloaded import preloaded
from program import PROGRAM, WAIT_SECONDS_MAX, Server, ServerTest, wait_until
from shared.shared_log import SharedLogTest
from test_replay import SHORT_SEGMENTS, fill

WATCHDOG_SECONDS = 2
FED = b"WATCHDOG=1"


class Notices:
    """Where systemd listens. It reads at once: few datagrams have room in a socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.arrived = queue.Queue()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        with self.socket:
            while notice := self.socket.recv(4096):
                self.arrived.put((time.monotonic(), notice))

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)

    def next(self, seconds=60):
        """None: nothing comes in that time."""
        try:
            return self.arrived.get(timeout=seconds)[1]
        except queue.Empty:
            return None

    def during(self, seconds):
        """What comes in that time, with the times of it."""
        heard, end = [], time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                heard.append(self.arrived.get(timeout=left))
            except queue.Empty:
                pass
        return heard

    def wait_for(self, notice):
        """What came before it, with times."""
        before, end = [], time.monotonic() + WAIT_SECONDS_MAX
        while time.monotonic() < end:
            at, heard = self.arrived.get(timeout=WAIT_SECONDS_MAX)
            if heard == notice:
                return before
            before.append((at, heard))
        raise AssertionError(f"no {notice}, but {before}")


def longest_pause(heard, began, seconds):
    """Between two signs of life."""
    fed = [began] + [at for at, notice in heard if notice == FED] + [began + seconds]
    return max(after - before for before, after in zip(fed, fed[1:]))


class ServiceManagerTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.notices = self.open(Notices(self.path("notices")))

    def watched(self, *flags, **more):
        env = {
            "NOTIFY_SOCKET": self.path("notices"),
            "WATCHDOG_USEC": str(WATCHDOG_SECONDS * 1_000_000),
            **more,
        }
        return self.server(*flags, env=env)

    def assert_fed_in_time(self, heard, began, seconds):
        self.assertLess(longest_pause(heard, began, seconds), WATCHDOG_SECONDS, heard)

    def test_an_idle_loop_feeds_the_watchdog_at_half_of_its_time(self):
        self.watched().start()
        self.notices.wait_for(b"READY=1")
        began = time.monotonic()
        heard = self.notices.during(4.5)
        self.assert_fed_in_time(heard, began, 4.5)
        self.assertIn(len(heard), (4, 5))

    def test_a_loop_that_hangs_does_not(self):
        library = preloaded("hanging_loop", self.path("hanging_loop.so"))
        self.watched(LD_PRELOAD=library, HANG_FILE=self.path("hang")).start()
        self.notices.wait_for(b"READY=1")
        with open(self.path("hang"), "w", encoding="utf-8"):
            pass
        self.notices.during(0.5)
        self.assertEqual(self.notices.during(WATCHDOG_SECONDS + 0.5), [])
        os.unlink(self.path("hang"))
        self.assertEqual(self.notices.next(), FED)

    def test_a_replay_is_no_hang(self):
        server = self.watched("--sync=off", SHORT_SEGMENTS).start()
        fill(self.open(Beanstalk(server.beanstalk_address)))
        server.terminate()
        self.notices.wait_for(b"STOPPING=1")
        self.notices.during(0.1)
        server.env["LD_PRELOAD"] = preloaded("slow_reads", self.path("slow_reads.so"))
        began = time.monotonic()
        server.start()
        heard = self.notices.wait_for(b"READY=1")
        self.assertEqual({notice for _, notice in heard}, {FED})
        self.assert_fed_in_time(heard[:-1], began, time.monotonic() - began)

    def test_a_watchdog_for_another_process_is_left_alone(self):
        self.watched(WATCHDOG_PID="1").start()
        self.assertEqual(self.notices.next(), b"READY=1")
        self.assertEqual(self.notices.during(WATCHDOG_SECONDS), [])

    def test_a_reload_is_told_with_its_end(self):
        server = self.watched(WATCHDOG_USEC="").start()
        self.assertEqual(self.notices.next(), b"READY=1")
        server.process.send_signal(signal.SIGHUP)
        told = self.notices.next()
        self.assertRegex(told, rb"\ARELOADING=1\nMONOTONIC_USEC=\d+\Z")
        at = int(told.rpartition(b"=")[2]) / 1_000_000
        self.assertLess(abs(time.clock_gettime(time.CLOCK_MONOTONIC) - at), 60)
        self.assertEqual(self.notices.next(), b"READY=1")

    def test_a_reload_that_fails_ends_too(self):
        with open(self.path("config.toml"), "w", encoding="utf-8"):
            pass
        server = self.watched(f"--config={self.path('config.toml')}", WATCHDOG_USEC="").start()
        self.assertEqual(self.notices.next(), b"READY=1")
        with open(self.path("config.toml"), "w", encoding="utf-8") as file:
            file.write("nonsense")
        server.process.send_signal(signal.SIGHUP)
        self.assertTrue(self.notices.next().startswith(b"RELOADING=1\n"))
        self.assertEqual(self.notices.next(), b"READY=1")
        wait_until(lambda: " reload_failed " in server.error_text(), "the problem is logged")

    def test_a_stop_is_told_when_it_begins(self):
        server = self.watched(WATCHDOG_USEC="").start()
        self.assertEqual(self.notices.next(), b"READY=1")
        self.assertEqual(server.terminate(), 0)
        self.assertEqual(self.notices.next(), b"STOPPING=1")
        self.assertIsNone(self.notices.next(0.1))


class SharedLogWatchdogTest(SharedLogTest):
    def node(self, name):
        server = super().node(name)
        server.notices = self.open(Notices(self.path(f"notices-{name}")))
        server.env = {
            "NOTIFY_SOCKET": self.path(f"notices-{name}"),
            "WATCHDOG_USEC": str(WATCHDOG_SECONDS * 1_000_000),
        }
        return server

    def assert_fed(self, server, seconds):
        server.notices.during(0.01)
        began = time.monotonic()
        heard = server.notices.during(seconds)
        self.assertLess(longest_pause(heard, began, seconds), WATCHDOG_SECONDS, heard)

    def test_leader_standby_and_who_waits_for_the_engine_feed_it(self):
        for node in self.nodes:
            node.notices.wait_for(b"READY=1")
            self.assert_fed(node, 3)
        standby = self.nodes[1]
        standby.terminate()
        self.stop_engine()
        standby.begin()
        self.assert_fed(standby, 3)
        self.assertIsNone(standby.process.poll())


class OtherNamesTest(ServerTest):
    def test_the_other_names_tell_the_same(self):
        notices = self.open(Notices(self.path("notices")))
        faktory = ["-b", "127.0.0.1:0", "-w", ":0", "-d", self.path("f"), "-c", self.path("c")]
        beanstalkd = ["-l", f"unix:{self.path('b.sock')}"]
        for name, flags in (("beanstalkd", beanstalkd), ("faktory", faktory)):
            os.symlink(os.path.abspath(PROGRAM), self.path(name))
            server = NamedServer([self.path(name), *flags])
            self.addCleanup(server.end)
            server.env = {"NOTIFY_SOCKET": self.path("notices"), "WATCHDOG_USEC": "1000000"}
            server.begin()
            notices.wait_for(b"READY=1")
            notices.wait_for(FED)
            server.process.send_signal(signal.SIGTERM)
            server.process.wait(60)
            notices.wait_for(b"STOPPING=1")


class NamedServer(Server):
    def __init__(self, arguments):
        super().__init__(None)
        self.own_arguments = arguments

    def arguments(self):
        return self.own_arguments


if __name__ == "__main__":
    unittest.main()
