"""The hostile clients notice a server that is not well, and follow from their seed."""

import os
import random
import signal
import tempfile
import threading
import unittest
from unittest import mock

import fuzz_sockets
from streams import Streams, conversations, unescaped

SECONDS = 20  # of a session that finds nothing


class FoundTest(unittest.TestCase):
    def problems(self, harm, seconds=SECONDS):
        """Of a session to whose server that is done a moment after its start."""
        with tempfile.TemporaryDirectory(prefix="millrace-test-") as directory:
            session = fuzz_sockets.Session(1, directory)
            harming = threading.Timer(1, lambda: harm(session.server))
            harming.start()
            try:
                return "\n".join(session.run(seconds))
            finally:
                harming.join()

    def test_a_server_that_is_well(self):
        self.assertEqual(self.problems(lambda server: None, seconds=2), "")

    def test_one_that_crashes(self):
        problems = self.problems(lambda server: server.process.send_signal(signal.SIGSEGV))
        self.assertIn("it has ended with status -11", problems)

    def test_one_that_does_not_answer(self):
        def stop(server):
            server.process.send_signal(signal.SIGSTOP)
            threading.Timer(5, server.process.send_signal, [signal.SIGCONT]).start()

        with mock.patch.object(fuzz_sockets, "WITNESS_SECONDS_MAX", 1):
            self.assertRegex(self.problems(stop), "the witness on")

    def test_one_whose_sanitizer_reports(self):
        def report(server):
            os.write(server.errors.fileno(), b"x.cpp:1:2: runtime error: null pointer\n")

        self.assertIn("a sanitizer reports", self.problems(report, seconds=2))


class StreamsTest(unittest.TestCase):
    def test_they_follow_from_the_seed(self):
        streams = Streams()
        for port in ("beanstalk", "faktory", "web"):
            drawn = [streams.draw(random.Random(seed), port) for seed in (1, 1, 2)]
            self.assertEqual(drawn[0], drawn[1])
            self.assertNotEqual(drawn[0], drawn[2])

    def test_conversations_are_those_of_the_transcripts(self):
        self.assertGreater(len(conversations("beanstalk")), 30)
        self.assertGreater(len(conversations("faktory")), 30)

    def test_a_line_of_a_transcript(self):
        self.assertEqual(unescaped(r"put \x00\r"), b"put \0\r\r\n")
        self.assertEqual(unescaped("{ab*3}"), b"ababab\r\n")
        self.assertEqual(unescaped("open\\"), b"open")


if __name__ == "__main__":
    unittest.main()
