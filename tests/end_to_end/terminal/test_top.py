"""`millrace top`, as a person sees it: in tmux, which is a terminal of 80 by 24."""

import os
import shutil
import shlex
import signal
import subprocess
import unittest

from clients import Beanstalk, Faktory
from program import PROGRAM, environment, start_kept, wait_until
from terminal.test_cli import USAGE, CliTest

COLUMNS, ROWS = 80, 24


@unittest.skipIf(shutil.which("tmux") is None, "tmux is missing")
class TopTest(CliTest):
    def tmux(self, *arguments):
        return subprocess.run(
            ["tmux", "-S", self.path("tmux"), "-f", "/dev/null", *arguments],
            capture_output=True,
            env=environment({"LC_ALL": "C.UTF-8", "TERM": "xterm"}),
            text=True,
            check=True,
        ).stdout

    def top(self, *flags, columns=COLUMNS, rows=ROWS, term=None):
        """What remains on the terminal, and the status, are seen after its end."""
        command = shlex.join([PROGRAM, "top", f"--url={self.url}", *flags])
        # Ctrl-C is for both, and ends the shell unless it is told otherwise.
        setting = f"TERM={term} " if term else ""
        shell = f"trap : INT; {setting}{command}; echo status $?; read wait"
        size = ("-x", str(columns), "-y", str(rows))
        # No daemon: so it ends with this program, too.
        tmux = start_kept(
            ["tmux", "-S", self.path("tmux"), "-f", "/dev/null", "-D"],
            env=environment({"LC_ALL": "C.UTF-8", "TERM": "xterm"}),
        )
        self.addCleanup(tmux.wait)
        self.addCleanup(tmux.terminate)
        wait_until(lambda: os.path.exists(self.path("tmux")), "tmux listens")
        self.tmux("new-session", "-d", *size, "sh", "-c", shell)

    def screen(self):
        return self.tmux("capture-pane", "-p").splitlines()

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def wait_for(self, condition):
        lines = []

        def is_shown():
            lines[:] = self.screen()
            return condition(lines)

        wait_until(is_shown, lines)
        return lines

    def wait_for_text(self, text):
        return self.wait_for(lambda lines: any(text in line for line in lines))

    def queues(self, lines):
        """The names, from the top; none while the screen is being drawn."""
        begin = next((n for n, line in enumerate(lines) if line.startswith("name")), 0)
        end = next((n for n, line in enumerate(lines) if line.startswith("worker")), 0)
        return [line.split()[0] for line in lines[begin + 1 : end] if line.strip()]

    def turns_of(self, queue):
        """What was done to the queue, in order."""
        rows = self.web.read("/api/v1/activity")["changes"]
        return [row["action"] for row in reversed(rows) if row["target"] == queue]

    def prepare(self):
        server = self.serve()
        for name, jobs in (("few", 1), ("many", 5), ("more", 3), ("two", 2)):
            for _ in range(jobs):
                self.push("Mail", "[]", f"--queue={name}")
        worker = self.open(Faktory(server.faktory_address, wid="worker-1"))
        worker.fetch("few")
        tube = self.open(Beanstalk(server.beanstalk_address))
        tube.put(b"x")
        tube.reserve()
        return server

    def test_queues_workers_and_what_they_run_fit_on_80_by_24(self):
        self.prepare()
        self.top()
        lines = self.wait_for_text("q quit")
        self.assertLessEqual(len(lines), ROWS)
        self.assertIn("Millrace ", lines[0])
        self.assertIn("10 ready, 2 reserved", lines[1])
        self.assertRegex(lines[2], r"in/s, .* out/s, .* fail/s  sync [\d.]+ ms, memory \d+ MiB")
        self.assertRegex("\n".join(lines), r"(?m)^worker-1 +running +1 +\d+s +Mail$")
        self.assertRegex("\n".join(lines), r"(?m)^connection \d+ +beanstalk +1 +\d+s +default$")
        self.assertRegex("\n".join(lines), r"(?m)^many +5 +\d+s +0 +0 +0 ")
        self.assertEqual(self.queues(lines), ["many", "more", "two", "default", "few"])
        self.keys("q")
        lines = self.wait_for_text("status 0")
        self.assertFalse(any("many" in line for line in lines))

    def test_keys_are_obeyed_while_the_server_does_not_answer(self):
        server = self.prepare()
        self.top()
        self.wait_for_text("q quit")
        server.process.send_signal(signal.SIGSTOP)
        self.addCleanup(server.process.send_signal, signal.SIGCONT)
        self.wait_for_text(" s: the figures are old")
        self.keys("/", "m", "Enter")
        self.wait_for(lambda lines: set(self.queues(lines)) == {"many", "more"})
        self.wait_for_text(" s: the figures are old")
        self.keys("Up", "p", "y", "Down")
        server.process.send_signal(signal.SIGCONT)
        self.wait_for_text("many is paused")
        self.wait_for(lambda lines: not any("figures are old" in line for line in lines))
        self.assertFalse(self.web.read("/api/v1/queues/more")["is_paused"])
        server.process.send_signal(signal.SIGSTOP)
        self.wait_for_text(" s: the figures are old")
        self.keys("q")
        self.wait_for_text("status 0")

    def test_keys_sort_filter_and_pause(self):
        self.prepare()
        self.top()
        self.wait_for_text("q quit")
        for _ in range(5):
            self.keys("s")
        by_name = ["default", "few", "many", "more", "two"]
        self.wait_for(lambda lines: "name*" in str(lines) and self.queues(lines) == by_name)
        self.keys("/", "m", "o", "Enter")
        self.wait_for(lambda lines: self.queues(lines) == ["more"])
        self.keys("p")
        self.wait_for_text("pause more? y pauses it, any other key does not")
        self.keys("q")  # It is the answer to that.
        self.wait_for(lambda lines: not any("pause more?" in line for line in lines))
        self.assertEqual(self.turns_of("more"), [])
        self.keys("p", "y")
        self.wait_for_text("more is paused")
        self.assertTrue(self.web.read("/api/v1/queues/more")["is_paused"])
        self.keys("p")
        self.wait_for_text("more is resumed")
        self.assertFalse(self.web.read("/api/v1/queues/more")["is_paused"])
        self.keys("p", "y")
        turns = ["queues/pause", "queues/resume"]
        wait_until(lambda: self.turns_of("more") == turns + turns[:1], "turned")
        self.wait_for_text("more is paused")
        self.keys("Escape")
        self.wait_for(lambda lines: self.queues(lines) == by_name)
        self.keys("Down", "p", "y")
        self.wait_for_text("two is paused")
        self.keys("C-c")
        self.wait_for_text("status 0")

    def test_a_small_terminal_and_a_new_size(self):
        self.prepare()
        self.top(columns=30, rows=6)
        self.wait_for(lambda lines: lines and lines[0].startswith("Millrace"))
        self.tmux("resize-window", "-x", "120", "-y", "40")
        self.wait_for_text("q quit")

    def test_it_needs_a_terminal_and_a_server(self):
        self.url = "http://127.0.0.1:1"
        self.assertIn("terminal", self.refusal("top", status=USAGE))
        self.top()
        self.wait_for(lambda lines: "cannot reach" in str(lines) and "status 3" in str(lines))

    def test_a_terminal_that_cannot_do_it_is_told(self):
        self.url = "http://127.0.0.1:1"
        self.top(term="dumb")
        self.wait_for(lambda lines: "cannot move its cursor" in str(lines))
        self.wait_for_text("status 2")

    def test_a_server_that_has_ended_is_told_after_the_end_too(self):
        server = self.prepare()
        self.top()
        self.wait_for_text("q quit")
        server.terminate()
        self.wait_for_text("cannot reach")
        self.keys("q")
        self.wait_for(lambda lines: "cannot reach" in str(lines) and "status 3" in str(lines))

    def test_long_names_differ_and_the_chosen_one_is_shown_whole(self):
        server = self.serve()
        client = self.open(Faktory(server.faktory_address))
        names = [f"customers-of-the-whole-world-in-the-{end}" for end in ("north", "south")]
        for name in names:
            client.push(f"job-in-{name}", queue=name)
        self.top()
        lines = self.wait_for_text("q quit")
        self.assertEqual(len(set(self.queues(lines))), 3)
        self.keys("Down")
        self.wait_for(lambda lines: lines[3] in names)


if __name__ == "__main__":
    unittest.main()
