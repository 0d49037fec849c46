"""The system gives the server no further thread: a start fails with one line, and a server that
runs goes on."""

import signal
import unittest

from clients import Beanstalk
from preloaded import Countdown
from program import ServerTest, free_port, wait_until

PROBLEM = "cannot start a thread: raise the process limit"


class NoThreadTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.threads = Countdown(self, "failing_thread")
        self.one = self.server(env=self.threads.env)
        self.one.web_address = ("127.0.0.1", free_port())

    def test_a_start_without_one_of_them_fails_with_one_line(self):
        count = 0
        while True:
            count += 1
            self.threads.let(count)
            self.one.begin()
            wait_until(lambda: self.one.process.poll() is not None or self.has_all(), "its end")
            if self.one.process.poll() is None:
                break
            self.assertEqual(self.one.process.returncode, 1, self.one.error_text())
            last = self.one.error_text().splitlines()[-1]
            self.assertTrue(last.startswith(f"millrace: {PROBLEM}"), self.one.error_text())
        self.assertGreater(count, 5)
        self.one.wait_until_ready()
        self.assertEqual(self.one.terminate(), 0)

    def has_all(self):
        return "started " in self.one.error_text() and self.threads.left() > 0

    def test_a_reload_without_one_is_refused_and_clients_are_served(self):
        self.one.start()
        client = self.open(Beanstalk(self.one.beanstalk_address))
        self.threads.let(-1)
        self.one.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "reload_failed" in self.one.error_text(), "reload_failed")
        self.assertRegex(self.one.error_text(), f'reload_failed problem="{PROBLEM}')
        self.assertEqual(client.put(b"x"), 1)
        self.threads.let(0)
        self.one.process.send_signal(signal.SIGHUP)
        wait_until(lambda: " reloaded" in self.one.error_text(), "reloaded")
        self.assertEqual(self.one.terminate(), 0)


if __name__ == "__main__":
    unittest.main()
