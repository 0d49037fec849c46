"""Jobs that are moved from one server to a shared log, and back."""

import os
import signal
import subprocess
import time
import unittest

from clients import Beanstalk, Faktory
from program import environment, wait_until
from shared.shared_log import SharedLogTest

BODY = b"x" * 30_000
JOBS = 300


class Move(SharedLogTest):
    node_count = 0

    def move(self, command, directory, name="jobs", more=()):
        flags = [f"--log={self.log_url(name)}", "--allow-unsynced-log", *more]
        return subprocess.run(
            [os.environ["MILLRACE"], command, self.path(directory), *flags],
            capture_output=True,
            text=True,
            env=environment(),
            timeout=60,
        )

    def assert_moved(self, command, directory, name="jobs"):
        result = self.move(command, directory, name)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def assert_not_moved(self, text, command, directory, name="jobs"):
        result = self.move(command, directory, name)
        self.assertEqual(result.returncode, 1)
        self.assertIn(text, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def fill(self, server):
        """Jobs of both protocols, in several states. All but one is still there."""
        client = self.open(Beanstalk(server.beanstalk_address))
        for _ in range(JOBS):
            client.put(BODY)
        first, _ = client.reserve()
        self.assertEqual(client.command(f"bury {first} 1"), "BURIED")
        second, _ = client.reserve()
        self.assertEqual(client.delete(second), "DELETED")
        client.command("use later")
        producer = self.open(Faktory(server.faktory_address))
        self.assertEqual(producer.push("a-job-for-mail", "mail"), "+OK")

    def states(self, server):
        client = self.open(Beanstalk(server.beanstalk_address))
        stats = client.stats("stats-tube default")
        names = ("current-jobs-ready", "current-jobs-buried")
        return {name: stats[name] for name in names}

    def test_an_engine_that_is_away_for_some_seconds_ends_no_move(self):
        server = self.server(data="data")
        server.start()
        self.fill(server)
        server.terminate()
        flags = [f"--log={self.log_url()}", "--allow-unsynced-log"]
        self.stop_engine()
        with subprocess.Popen(
            [os.environ["MILLRACE"], "move-to-log", self.path("data"), *flags],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        ) as move:
            self.addCleanup(move.kill)
            time.sleep(3)
            self.engine.send_signal(signal.SIGCONT)
            told, problems = move.communicate(timeout=60)
        self.assertEqual(move.returncode, 0, problems)
        self.assertIn("writes", told)

    def test_there_and_back(self):
        server = self.server(data="data")
        server.start()
        self.fill(server)
        before = self.states(server)
        self.assert_not_moved("is in use by another process", "move-to-log", "data")
        server.terminate()
        self.assertIn("writes", self.assert_moved("move-to-log", "data"))
        # Asked for once more, it is done already.
        self.assert_moved("move-to-log", "data")
        arguments = [os.environ["MILLRACE"], "serve", f"--data={self.path('data')}"]
        self.assert_refused(arguments, "were moved to a shared log", status=1)

        nodes = [self.node(name) for name in "ab"]
        nodes[0].start()
        self.wait_for_leader(nodes[0])
        nodes[1].start()
        wait_until(lambda: "caught_up" in nodes[1].error_text(), "the node has all jobs")
        self.assertEqual(self.states(nodes[0]), before)
        worker = self.open(Faktory(nodes[1].faktory_address, "a-worker"))
        self.assertEqual(worker.fetch("mail")["jid"], "a-job-for-mail")
        self.assert_not_moved("stop all nodes first", "move-to-file", "one")
        nodes[1].terminate()
        nodes[0].kill()

        self.assertIn("no damage", self.assert_moved("move-to-file", "one"))
        self.assert_not_moved("has a journal already", "move-to-file", "one")
        self.assert_not_moved("were moved, or are being moved", "move-to-file", "two")
        again = self.move("move-to-file", "two", more=["--again"])
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assert_not_moved("has no jobs", "move-to-file", "three", "jobs3")
        nodes[1].start()
        wait_until(lambda: "the log is held" in nodes[1].error_text(), "the node says why it waits")
        self.assertNotIn("leading", nodes[1].error_text())
        nodes[1].terminate()
        alone = self.server(data="one")
        alone.start()
        self.assertEqual(self.states(alone), before)
        worker = self.open(Faktory(alone.faktory_address, "a-worker"))
        self.assertEqual(worker.ack("a-job-for-mail"), "+OK")
        alone.terminate()

        # And forward again: a log of a new name, and then no other one.
        self.assert_not_moved("name a new one in the URL", "move-to-log", "one")
        self.assert_moved("move-to-log", "one", "jobs2")
        self.assertIn("before", self.assert_moved("move-to-log", "one", "jobs2"))
        self.assert_not_moved("jobs2 before", "move-to-log", "one", "jobs4")

    def test_the_directory_of_a_node_is_gone_on_with(self):
        node = self.node("a")
        node.start()
        self.wait_for_leader(node)
        self.fill(node)
        before = self.states(node)
        node.terminate()
        self.assert_moved("move-to-file", "data-a")
        self.assertFalse(os.path.exists(self.path("data-a/cache")))
        alone = self.server(data="data-a")
        alone.start()
        self.assertEqual(self.states(alone), before)

    def test_nothing_to_move_is_one_line(self):
        self.assert_not_moved("nothing: No such file or directory", "move-to-log", "nothing")
        self.engine.kill()
        self.engine.wait()
        self.assert_not_moved("NATS", "move-to-file", "new")
        self.assertFalse(os.path.exists(self.path("new/cache")))


if __name__ == "__main__":
    unittest.main()
