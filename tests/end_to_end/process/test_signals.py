"""Every signal, sent to the program under each of its names: it serves on, or ends as it says."""

import os
import re
import resource
import signal
import time
import unittest

from clients import Beanstalk, Faktory, Gone
from preloaded import preloaded
from program import HERE, PROGRAM, Server, ServerTest, free_port, wait_until
from web import Web

NAMES = ("millrace", "beanstalkd", "faktory")
# By name of the signal; what is not named here does not end or stop a process by itself.
ENDS = {
    "SIGTERM": "stops",
    "SIGINT": "stops",
    "SIGKILL": "is killed",
    **dict.fromkeys(
        ("SIGQUIT", "SIGABRT", "SIGILL", "SIGTRAP", "SIGBUS", "SIGFPE", "SIGSEGV", "SIGSYS"),
        "is killed",
    ),
}
# Of these the system decides: they stop the process, and let it go on.
LEFT_OUT = {"SIGSTOP", "SIGCONT"}
PAGE = os.path.join(os.path.dirname(os.path.dirname(HERE)), "docs/operations/running.md")


def all_signals():
    named = {each.name: each for each in signal.Signals if each.name not in LEFT_OUT}
    return named | {"SIGRTMIN+1": signal.SIGRTMIN + 1, "SIGSTKFLT": 16}


class Named(Server):
    """The program under one of its names, the leader of no session: as under tini or a shell, where
    the system stops what reads from a terminal that is not its own."""

    def __init__(self, test, name):
        super().__init__(test.path(f"{name}-data"))
        self.link = test.path(name)
        if not os.path.lexists(self.link):
            os.symlink(os.path.abspath(PROGRAM), self.link)
        self.name = name
        self.folder = test.path(f"{name}-folder")
        os.makedirs(self.folder, exist_ok=True)
        os.makedirs(self.data, exist_ok=True)
        # Core files would fill the disk.
        self.preexec_fn = lambda: (os.setpgrp(), resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))

    def arguments(self):
        if self.name == "beanstalkd":
            host, port = self.beanstalk_address
            return [self.link, "-V", "-l", host, "-p", str(port), "-b", self.data]
        faktory, web = flag(self.faktory_address), flag(self.web_address)
        if self.name == "faktory":
            return [self.link, "-b", faktory, "-w", web or ":0", "-d", self.data, "-c", self.folder]
        return [self.link, *super().arguments()[1:]]

    def serves(self):
        """Whether it answers a client of one of its ports."""
        if self.name == "faktory":
            client = Faktory(self.faktory_address)
            answer = client.hello_reply == "+OK"
        else:
            client = Beanstalk(self.beanstalk_address)
            answer = "version" in client.stats()
        client.close()
        return answer

    def state(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            return re.search(r"(?m)^State:\t(.)", file.read())[1]


def flag(address):
    return address and f"{address[0]}:{address[1]}"


class SignalsTest(ServerTest):
    def named(self, name):
        server = Named(self, name)
        self.addCleanup(self.end, server)
        server.begin()
        wait_until(lambda: is_open(server), f"{name} serves")
        return server

    def expected(self, name, signal_name):
        # beanstalkd does not know it, so it ends there.
        if name == "beanstalkd" and signal_name == "SIGHUP":
            return "is killed"
        return ENDS.get(signal_name, "serves")

    def check_all(self, name):
        server = self.named(name)
        for signal_name, number in sorted(all_signals().items()):
            with self.subTest(name=name, signal=signal_name):
                expected = self.expected(name, signal_name)
                server.process.send_signal(number)
                if expected == "serves":
                    self.assertTrue(server.serves())
                    self.assertNotEqual(server.state(), "T")
                    continue
                status = server.process.wait(60)
                dies_by_it = expected == "is killed" or name == "beanstalkd"
                self.assertEqual(status, -number if dies_by_it else 0)
                server = self.named(name)

    def test_millrace(self):
        self.check_all("millrace")

    def test_beanstalkd(self):
        self.check_all("beanstalkd")

    def test_faktory(self):
        self.check_all("faktory")

    def test_the_page_has_every_signal(self):
        with open(PAGE, encoding="utf-8") as file:
            table = file.read().partition("## Signals\n")[2].partition("\n### ")[0]
        told = set(re.findall(r"SIG[A-Z0-9]+", table))
        harmless = {"SIGCHLD", "SIGCLD", "SIGURG", "SIGWINCH", "SIGCONT", "SIGSTOP"}
        alias = {"SIGPOLL", "SIGIOT", "SIGRTMIN+1", "SIGRTMAX"}
        self.assertEqual(set(all_signals()) - told - harmless - alias, set())


def is_open(server):
    try:
        return server.serves()
    except Gone:
        return False


def is_asleep(thread):
    with open(f"/proc/{thread}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "S"


class ReportTest(ServerTest):
    def assert_reported(self, server):
        wait_until(lambda: " state_main_loop " in server.error_text(), "the report")
        text = server.error_text()
        for thread in ("journal", "state"):
            self.assertRegex(text, rf" state_thread id=\d+ name={thread} state=[RSD] waits_in=")
        self.assertRegex(text, rf" state_thread id={server.process.pid} name=millrace ")

    def test_sigttin_tells_of_threads_loop_and_queues(self):
        server = self.server().start()
        client = self.open(Beanstalk(server.beanstalk_address))
        client.put(b"a")
        # The reply comes before the loop waits again.
        wait_until(lambda: is_asleep(server.process.pid), "an idle main loop")
        server.process.send_signal(signal.SIGTTIN)
        self.assert_reported(server)
        self.assertRegex(
            server.error_text(),
            r" state_main_loop step=input goes_on=yes steps=\d+ stack=\S*millrace\+0x[0-9a-f]+",
        )
        wait_until(lambda: " state_queues " in server.error_text(), "the queues")
        self.assertRegex(
            server.error_text(),
            r" state_queue name=default ready=1 running=0 scheduled=0 retrying=0 dead=0 "
            r"clients_waiting=0\n",
        )
        self.assertRegex(server.error_text(), r" state_queues count=1 connections=1\n")
        self.assertEqual(client.put(b"b"), 2)

    def test_threads_have_their_names_once_it_serves(self):
        tasks = f"/proc/{self.server().start().process.pid}/task"
        names = []
        for task in os.listdir(tasks):
            with open(f"{tasks}/{task}/comm", encoding="utf-8") as file:
                names.append(file.read().strip())
        self.assertCountEqual(names, ["millrace", "background", "journal", "state"])

    def test_its_memory_is_not_dumped(self):
        with open(f"/proc/{self.server().start().process.pid}/limits", encoding="utf-8") as file:
            self.assertRegex(file.read(), r"(?m)^Max core file size +0 ")

    def test_it_tells_of_a_loop_that_hangs_too(self):
        library = preloaded("hanging_loop", self.path("hanging_loop.so"))
        server = self.server(env={"LD_PRELOAD": library, "HANG_FILE": self.path("hang")}).start()
        with open(self.path("hang"), "w", encoding="utf-8"):
            pass
        time.sleep(0.5)
        server.process.send_signal(signal.SIGTTIN)
        self.assert_reported(server)
        self.assertRegex(
            server.error_text(), r" state_main_loop step=input goes_on=no .*hanging_loop\.so\+0x"
        )
        self.assertNotIn(" state_queues ", server.error_text())
        os.unlink(self.path("hang"))
        wait_until(lambda: " state_queues " in server.error_text(), "the queues")

    def test_a_thousand_are_few_reports(self):
        server = self.server().start()
        for _ in range(1000):
            server.process.send_signal(signal.SIGTTIN)
        self.assert_reported(server)
        self.assertLess(server.error_text().count(" state_main_loop "), 1000)
        self.assertEqual(self.open(Beanstalk(server.beanstalk_address)).put(b"a"), 1)

    def test_one_that_workers_know_is_named(self):
        server = self.server().start()
        server.process.send_signal(signal.SIGTSTP)
        wait_until(
            lambda: " signal_ignored signal=SIGTSTP\n" in server.error_text(), "it is logged"
        )
        server.process.send_signal(signal.SIGUSR2)
        wait_until(
            lambda: " signal_ignored signal=SIGUSR2\n" in server.error_text(), "it is logged"
        )

    def test_health_is_answered_after_it(self):
        server = self.server()
        server.web_address = ("127.0.0.1", free_port())
        server.start()
        server.process.send_signal(signal.SIGTTIN)
        self.assertEqual(Web(server.web_address).get("/health")[0], 200)


if __name__ == "__main__":
    unittest.main()
