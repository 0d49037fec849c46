"""`millrace dev`: a server to try things out, used as somebody does who has just installed it."""

import os
import re
import signal
import socket
import subprocess
import threading
import unittest

from program import PROGRAM, ServerTest, environment, start_kept, wait_until
from web import Web

SECONDS_MAX = 120


class Dev(ServerTest):
    def start(self, *flags, env=None):
        process = start_kept(
            [PROGRAM, "dev", *flags],
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment({"TMPDIR": self.directory, **(env or {})}),
            text=True,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        said = {}
        for line in process.stdout:
            name, text = line.rstrip("\n").split("  ", 1)
            said[name] = text.strip()
            if name == "to end it":
                break
        # Its log must not fill the pipe.
        threading.Thread(target=drain, args=(process.stderr,), daemon=True).start()
        pages = re.match(r"http://127\.0\.0\.1:(\d+)/(, since 7420 is taken)?$", said["pages"])
        port = pages.group(1)
        self.web = Web(("127.0.0.1", int(port)))
        return process, said

    def assert_gone(self):
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(self.web.address, timeout=SECONDS_MAX)
        self.assertEqual(os.listdir(self.directory), [])

    def test_the_demo_is_alive_within_ten_seconds_and_leaves_nothing(self):
        process, said = self.start("--demo")
        self.assertIn("newsletter", said["demo"])
        self.assertEqual(names_of_children(process.pid), ["millrace"])
        seen = {}

        def is_alive():
            all_of_it = self.web.read("/api/v1/overview")
            seen.update(all_of_it["jobs"], **all_of_it["totals"])
            seen.update(workers=all_of_it["workers"], **all_of_it["connections"])
            wanted = ("ready", "scheduled", "retrying", "dead", "processed", "failed", "workers")
            return all(seen[name] > 0 for name in (*wanted, "beanstalk", "faktory"))

        wait_until(is_alive, seen, seconds=10)
        queues = {each["name"]: each for each in self.web.read("/api/v1/queues")["queues"]}
        self.assertTrue(queues["newsletter"]["is_paused"])
        self.assertGreater(queues["newsletter"]["ready"], 10)
        self.assertIn("thumbnails", queues)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(SECONDS_MAX), 0)
        self.assert_gone()

    def test_ports_that_are_taken_are_replaced(self):
        first, _ = self.start(env={"MILLRACE_DATA": "/nowhere", "FAKTORY_PASSWORD": "secret"})
        first_web = self.web
        second, said = self.start()
        self.assertNotEqual(self.web.address, first_web.address)
        self.assertRegex(said["faktory"], r"127\.0\.0\.1:\d+, since 7419 is taken")
        self.assertIn("/, since 7420 is taken", said["pages"])
        url = f"http://127.0.0.1:{self.web.address[1]}"
        address = said["beanstalk"].split(",")[0]
        self.assertEqual(said["verbs"], f"export MILLRACE_URL={url}")
        self.assertEqual(said[""], f"export BEANSTALKD_URL={address}")
        for web in (first_web, self.web):
            self.assertEqual(web.read("/api/v1/overview")["queues"], 1)
        for process in (first, second):
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(SECONDS_MAX), 0)
        self.assert_gone()

    def test_a_dev_that_is_killed_leaves_no_server(self):
        process, _ = self.start()
        process.kill()
        process.wait(SECONDS_MAX)

        def is_gone():
            try:
                socket.create_connection(self.web.address, timeout=SECONDS_MAX).close()
            except ConnectionResetError:
                return False  # the port was being closed
            except ConnectionRefusedError:
                return True
            return False

        wait_until(is_gone, "the server ends with it")


def drain(stream):
    try:
        while stream.read(4096):
            pass
    except ValueError:
        pass  # closed meanwhile


def names_of_children(pid):
    """As `ps` shows them."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        children = file.read().split()
    names = []
    for child in children:
        with open(f"/proc/{child}/comm", encoding="utf-8") as file:
            names.append(file.read().strip())
    return names


if __name__ == "__main__":
    unittest.main()
