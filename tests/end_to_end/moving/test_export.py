"""`millrace export`: the jobs of a stopped server go to a beanstalkd or a Faktory that runs."""

import json
import os
import re
import signal
import socket
import subprocess
import threading
import unittest

from clients import Beanstalk, Faktory
from moving.faktory_import import jobs_in
from moving.official_faktory import OfficialFaktory
from moving.test_import_binlog import BEANSTALKD, Beanstalkd, jobs_of
from program import PROGRAM, START_SECONDS_MAX, ServerTest, environment, free_port, start_kept
from web import Web

OFFICIAL = os.environ.get("FAKTORY_BIN")
FAR = "2099-01-02T03:04:05.678901234Z"
# Jobs that are sent before their answers are read.
AT_ONCE = 100


class ExportTest(ServerTest):
    def run_export(self, to, *flags, data="data", env=None):
        return subprocess.run(
            [PROGRAM, "export", self.path(data), "--to", to, *flags],
            capture_output=True,
            env=environment(env),
            text=True,
            timeout=START_SECONDS_MAX,
        )

    def exported(self, to, status=0, **more):
        done = self.run_export(to, **more)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def assert_not_exported(self, to, text, status=1, **more):
        done = self.run_export(to, **more)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertRegex(done.stderr, text)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def rows(self, report):
        """{(queue, state): [found, given, why not]}"""
        lines = [re.split(r"  +", line) for line in report.splitlines()]
        return {(line[0], line[1]): line[2:] for line in lines if len(line) >= 4}

    def filled(self, *jobs):
        """The directory of a server that has these puts and is stopped."""
        server = self.server("--sync=off").start()
        client = self.open(Beanstalk(server.beanstalk_address))
        for job in jobs:
            client.put(**job)
        server.terminate()

    def other(self, *flags, data="other"):
        """Another Millrace."""
        server = self.server("--sync=off", *flags, data=data)
        server.web_address = ("127.0.0.1", free_port())
        return server.start()


def beanstalk_url(address):
    return "beanstalk://{}:{}".format(*address)


def faktory_url(address, password=""):
    return "tcp://{}{}:{}".format(f":{password}@" if password else "", *address)


class HoldingBeanstalkd:
    """Takes jobs as beanstalkd does, and waits with one answer until it is told to go on."""

    def __init__(self, holds_at):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()
        self.holds_at = holds_at
        self.holds, self.goes_on = threading.Event(), threading.Event()
        self.bodies = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            with peer, peer.makefile("rwb") as stream:
                for line in stream:
                    self.answer(stream, line.split())
                    stream.flush()

    def answer(self, stream, words):
        if words[0] == b"stats":
            text = b'---\ncurrent-jobs-reserved: 0\nid: "0123456789abcdef"\n'
            stream.write(b"OK %d\r\n%s\r\n" % (len(text), text))
        elif words[0] == b"use":
            stream.write(b"USING %s\r\n" % words[1])
        else:
            self.bodies.append(stream.read(int(words[4]) + 2)[:-2])
            if len(self.bodies) == self.holds_at:
                self.holds.set()
                self.goes_on.wait(START_SECONDS_MAX)
            stream.write(b"INSERTED %d\r\n" % len(self.bodies))


@unittest.skipUnless(os.getuid() == 0, "only root may write into anybody's directory")
class OwnerTest(ExportTest):
    """What root makes in the directory of a service belongs to that service."""

    SERVICE = 12345

    def given_away(self, name):
        """The directory, and all that is in it, belongs to the service."""
        os.makedirs(self.path(name), exist_ok=True)
        for entry in (self.path(name), *(each.path for each in os.scandir(self.path(name)))):
            os.chown(entry, self.SERVICE, self.SERVICE)
        return self.path(name)

    def assert_all_are_of_service(self, directory):
        found = {each.name: (each.stat().st_uid, each.stat().st_mode & 0o777)
                 for each in os.scandir(directory)}
        self.assertTrue(found)
        self.assertEqual(set(found.values()), {(self.SERVICE, 0o600)}, found)

    def run_as_root(self, *arguments):
        done = subprocess.run([PROGRAM, *arguments], capture_output=True, env=environment(),
                              text=True, timeout=START_SECONDS_MAX)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_mark_of_an_export(self):
        self.filled({"body": b"a"})
        other = self.other()
        data = self.given_away("data")
        self.exported(beanstalk_url(other.beanstalk_address))
        self.assertIn("export", os.listdir(data))
        self.assert_all_are_of_service(data)

    def test_an_import_a_backup_and_a_restore(self):
        other = self.other()
        self.open(Beanstalk(other.beanstalk_address)).put(b"a")
        into, backup, restored = (self.given_away(name) for name in ("into", "backup", "restored"))
        source = beanstalk_url(other.beanstalk_address)
        report = self.run_as_root("import", "--from", source, "--into", into)
        self.assertNotIn("chown", report)
        self.assert_all_are_of_service(into)
        self.run_as_root("backup", into, "--to", backup)
        self.assert_all_are_of_service(backup)
        self.run_as_root("restore", backup, "--to", restored)
        self.assert_all_are_of_service(restored)


class InterruptedTest(ExportTest):
    def test_a_signal_ends_an_export_that_goes_on_later(self):
        self.filled(*({"body": b"%d" % i} for i in range(350)))
        for number, ending in enumerate((signal.SIGINT, signal.SIGTERM, signal.SIGHUP)):
            with self.subTest(ending):
                self.interrupt(ending)
                os.remove(self.path("data/export"))

    def interrupt(self, ending):
        other = HoldingBeanstalkd(holds_at=150)
        self.addCleanup(other.listener.close)
        process = start_kept(
            [PROGRAM, "export", self.path("data"), "--to", beanstalk_url(other.address)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment(), text=True)
        self.assertTrue(other.holds.wait(START_SECONDS_MAX))
        process.send_signal(ending)
        other.goes_on.set()
        out, errors = process.communicate(timeout=START_SECONDS_MAX)
        self.assertEqual((process.returncode, out), (1, ""))
        name = beanstalk_url(other.address)
        self.assertEqual(errors, f"millrace: interrupted: 200 of 350 jobs given to {name}; the "
                                 "same command goes on\n")
        report = self.exported(name)
        self.assertIn("goes on: 200 jobs given before", report)
        self.assertEqual(other.bodies, [b"%d" % i for i in range(350)], "none twice")


@unittest.skipUnless(os.path.exists(BEANSTALKD), "Debian's beanstalkd is not installed")
class ToBeanstalkdTest(ExportTest):
    def old_server(self, *flags):
        os.mkdir(self.path("binlog"))
        server = Beanstalkd(self.path("binlog"), *flags)
        self.addCleanup(server.kill)
        return self.open(server.client()), server.address

    def test_jobs_are_there_as_they_were(self):
        server = self.server("--sync=off").start()
        client = self.open(Beanstalk(server.beanstalk_address))
        last = 0
        for tube in ("mail", "a/b;c.d$e_(f)+g-h"):
            client.command(f"use {tube}")
            client.command(f"watch {tube}")
            for i in range(250):
                last = client.put(b"%d" % i * 9, pri=i % 7, delay=3600 * (i % 25 == 0), ttr=30 + i)
            client.put(b"", pri=4_000_000_000)
            last = client.put(b"\r\nput 0 0 0 0\r\n\0\xff" * 100)
        buried = []
        for _ in range(30):
            job, body = client.reserve()
            client.command(f"bury {job} {job + 5}")
            buried.append(body)
        held, held_body = client.reserve()
        expected = jobs_of(client, last)
        server.terminate()

        old, address = self.old_server()
        report = self.exported(beanstalk_url(address))
        self.assertRegex(report, rf"(?m)^all +{len(expected)} +{len(expected)}$")
        found = jobs_of(old, len(expected) + 5)

        def facts(jobs):
            names = ("tube", "state", "pri", "ttr")
            return sorted((body, *(stats[n] for n in names)) for body, stats in jobs.values())

        expected[held][1]["state"] = "ready"
        self.assertEqual(facts(found), facts(expected))
        for _body, stats in found.values():
            if stats["state"] == "delayed":
                self.assertAlmostEqual(int(stats["time-left"]), 3600, delta=60)
        self.assertIn(held_body, [body for body, _stats in found.values()])
        kicked = []
        for tube in ("mail", "a/b;c.d$e_(f)+g-h"):
            old.command(f"use {tube}")
            while (reply := old.command("peek-buried").split())[0] == "FOUND":
                kicked.append(old.body(int(reply[2])))
                old.delete(int(reply[1]))
        self.assertEqual(sorted(kicked), sorted(buried))

    def test_ready_jobs_come_in_their_order(self):
        self.filled(*({"body": b"%d" % i, "pri": i % 3} for i in range(300)))
        old, address = self.old_server()
        self.exported(beanstalk_url(address))
        came = []
        while job := old.reserve():
            came.append(int(job[1]))
            old.delete(job[0])
        self.assertEqual(came, sorted(range(300), key=lambda i: (i % 3, i)))

    def test_pushed_jobs_are_their_json(self):
        server = self.server("--sync=off").start()
        client = self.open(Faktory(server.faktory_address))
        client.push("12345678", "mail", [2**60], custom={"a": 1})
        server.terminate()
        old, address = self.old_server()
        self.exported(beanstalk_url(address))
        old.command("watch mail")
        _job, body = old.reserve()
        job = json.loads(body)
        self.assertEqual((job["jid"], job["args"], job["custom"]), ("12345678", [2**60], {"a": 1}))

    def test_a_job_that_is_too_long_there_is_told_and_stays_here(self):
        self.filled({"body": b"x" * 5000}, {"body": b"short"})
        old, address = self.old_server("-z", "1000")
        done = self.run_export(beanstalk_url(address))
        self.assertEqual(done.returncode, 4)
        self.assertEqual(self.rows(done.stdout)[("default", "ready")],
                         ["2", "1", "1 longer than that server takes (-z)"])
        self.assertRegex(done.stderr, "1 job not taken by beanstalk://.* still in .*data")
        self.assertEqual(old.reserve()[1], b"short")
        again = self.run_export(beanstalk_url(address))
        self.assertEqual((again.returncode, again.stderr), (4, done.stderr))
        self.assertRegex(again.stdout, "before: 1 job\n$")

    def test_a_target_that_was_restarted_is_not_trusted(self):
        self.filled(*({"body": b"%d" % i} for i in range(300)))
        _old, address = self.old_server()
        self.exported(beanstalk_url(address))
        with open(self.path("data/export"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        # As after an interruption, and a restart of the target.
        lines[-5:] = [lines[-5], lines[-4], "0", "100", lines[-1]]
        lines[3] = "id of another process"
        with open(self.path("data/export"), "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))
        self.assert_not_exported(beanstalk_url(address),
                                 "was restarted since .* all 100 .* add --after-restart")
        done = self.run_export(beanstalk_url(address), "--after-restart")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, "(?m)^all +200 +200$")

    def test_one_that_was_restarted_since_is_not_said_to_have_the_jobs(self):
        self.filled({"body": b"x"})
        old, address = self.old_server()
        self.exported(beanstalk_url(address))
        path = self.path("data/export")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(old.stats()["id"], "0123456789abcdef"))
        self.assert_not_exported(beanstalk_url(address), "was restarted since .* all 1 that")
        done = self.run_export(beanstalk_url(address), "--after-restart")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, "^exported to .* before: 1 job\n$")

    def test_a_killed_export_goes_on(self):
        count = 5000
        self.filled(*({"body": b"%d" % i} for i in range(count)))
        old, address = self.old_server()
        for _ in range(3):
            process = start_kept(
                [PROGRAM, "export", self.path("data"), "--to", beanstalk_url(address)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env=environment())
            before = int(old.stats()["current-jobs-ready"])
            while process.poll() is None:
                if int(old.stats()["current-jobs-ready"]) > before + 200:
                    process.send_signal(signal.SIGKILL)
                    break
            process.wait(START_SECONDS_MAX)
        report = self.exported(beanstalk_url(address))
        self.assertRegex(report, r"goes on: [0-9,]+ jobs given before|exported to .* before")
        came = []
        while job := old.reserve():
            came.append(int(job[1]))
            old.delete(job[0])
        self.assertEqual(set(came), set(range(count)))
        self.assertLessEqual(len(came), count + 3 * AT_ONCE)

    def test_a_server_that_drains_is_told(self):
        self.filled({"body": b"x"})
        server = self.other()
        server.process.send_signal(signal.SIGUSR1)
        client = self.open(Beanstalk(server.beanstalk_address))
        while client.put(b"") != "DRAINING":
            pass
        self.assert_not_exported(beanstalk_url(server.beanstalk_address), "it is draining")


class ToFaktory:
    """Each test for itself: what the other server is, the class below says."""

    def fill(self):
        server = self.server("--sync=off").start()
        client = self.open(Faktory(server.faktory_address, "worker-1"))
        for i in range(250):
            client.push(f"ready-{i:05}", "mail", [i, 2**53 - 1])
        client.push("later-one", "mail", [], at=FAR)
        client.push("fails-once", "fails", [], retry=5)
        client.push("fails-for-good", "fails", [], retry=-1)
        for _ in range(2):
            jid = client.fetch("fails")["jid"]
            client.command("FAIL " + json.dumps(
                {"jid": jid, "errtype": "Odd", "message": "no <luck>", "backtrace": ["a:1"]}))
        client.push("is-running", "runs", [])
        client.fetch("runs")
        client.push("waits-with-a-lot", "waits", [1.0], reserve_for=7200,
                    custom={"mine": {"b": 1, "a": None}})
        client.command("QUEUE PAUSE waits")
        beanstalk = self.open(Beanstalk(server.beanstalk_address))
        beanstalk.command("use put")
        beanstalk.put(b"a body")
        beanstalk.command("use a/b;c")
        beanstalk.put(b"in a tube that is no queue")
        server.terminate()

    def test_jobs_are_there_as_they_were(self):
        self.fill()
        address = self.start_other()
        done = self.run_export(faktory_url(address))
        self.assertEqual(done.returncode, 4, done.stderr)
        rows = self.rows(done.stdout)
        self.assertEqual(rows[("a/b;c", "ready")],
                         ["1", "0", "1 no queue of Faktory can have that name"])
        self.assertRegex(done.stdout, r"(?m)^all +257 +256 +1$")

        client = self.open(Faktory(address, "worker-2"))
        for i in range(250):
            job = client.fetch("mail")
            self.assertEqual((job["jid"], job["args"]), (f"ready-{i:05}", [i, 2**53 - 1]))
            client.ack(job["jid"])
        self.assertEqual(client.fetch("runs")["jid"], "is-running")
        self.assertEqual(client.fetch("put")["args"], ["a body"])
        self.assertIsNone(client.fetch("waits"))
        client.command("QUEUE RESUME waits")
        job = client.fetch("waits")
        self.assertEqual((job["args"], job["reserve_for"], job["custom"]),
                         ([1.0], 7200, {"mine": {"b": 1, "a": None}}))
        web = Web(self.web_address)
        self.assert_others_are_there(client, web)

    def test_only_dead_jobs_are_killed(self):
        """Whatever else is scheduled there, and looks like them."""
        server = self.server("--sync=off").start()
        client = self.open(Faktory(server.faktory_address, "worker-1"))
        client.push("is-dead-now", "a", [], retry=-1)
        client.fetch("a")
        client.command('FAIL {"jid":"is-dead-now"}')
        client.push("looks-like-it", "a", [{"jid": "is-dead-now"}], at=FAR)
        server.terminate()
        address = self.start_other()
        other = self.open(Faktory(address))
        other.push("is-dead-now", "b", [], at=FAR)
        self.exported(faktory_url(address))
        sizes = {name: found["size"] for name, found in other.info()["faktory"]["tasks"].items()}
        self.assertEqual((sizes["Scheduled"], sizes["Dead"]), (2, 1))

    def test_one_that_asks_for_a_password(self):
        self.fill()
        address = self.start_other(password="secret/@:")
        self.assert_not_exported(faktory_url(address), "asks for a password")
        self.assert_not_exported(faktory_url(address, "wrong"), "refuses the password")
        done = self.run_export(faktory_url(address), env={"FAKTORY_PASSWORD": "secret/@:"})
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertNotIn("secret", done.stdout + done.stderr)
        self.assertNotIn("secret", self.read("data/export"))

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()


class ToMillraceTest(ToFaktory, ExportTest):
    def start_other(self, password=None):
        flags = []
        if password:
            with open(self.path("password"), "w", encoding="utf-8") as file:
                file.write(password)
            os.chmod(self.path("password"), 0o600)
            flags = ["--password-file", self.path("password")]
        server = self.other(*flags)
        self.web_address = server.web_address
        return server.faktory_address

    def assert_others_are_there(self, _client, web):
        jids = {state: [row["jid"] for row in jobs_in(web, state)]
                for state in ("scheduled", "retrying", "dead")}
        self.assertEqual(sorted(jids["scheduled"] + jids["retrying"]), ["fails-once", "later-one"])
        self.assertEqual(jids["dead"], ["fails-for-good"])


@unittest.skipUnless(OFFICIAL, "FAKTORY_BIN names no official server")
class ToOfficialFaktoryTest(ToFaktory, ExportTest):
    def start_other(self, password=None):
        os.mkdir(self.path("official"))
        env = {"FAKTORY_PASSWORD": password} if password else {}
        server = OfficialFaktory(OFFICIAL, self.path("official"), env)
        self.addCleanup(server.terminate)
        self.web_address = server.web
        self.open(server.client(password=password))
        return server.address

    def assert_others_are_there(self, client, _web):
        found = client.info()["faktory"]["tasks"]
        sizes = {name: found[name]["size"] for name in ("Scheduled", "Retries", "Dead")}
        self.assertEqual(sizes, {"Scheduled": 2, "Retries": 0, "Dead": 1})


class OtherMillraceTest(ExportTest):
    def test_a_ttr_that_faktory_does_not_have_is_cut(self):
        self.filled({"body": b"long", "ttr": 4_000_000_000}, {"body": b"a day", "ttr": 86400})
        other = self.other()
        report = self.exported(faktory_url(other.faktory_address))
        self.assertIn("warning: 1 job had a TTR of more than a day, which is the "
                      "longest there\n", report)
        client = self.open(Faktory(other.faktory_address, "worker-1"))
        jobs = [client.fetch("default") for _ in range(2)]
        self.assertEqual([(job["args"], job["reserve_for"]) for job in jobs],
                         [(["long"], 86400), (["a day"], 86400)])

    def test_a_target_has_several_names(self):
        self.filled({"body": b"x"})
        other = self.other()
        for url, address in ((beanstalk_url, other.beanstalk_address),
                             (faktory_url, other.faktory_address)):
            with self.subTest(url(address)):
                self.exported(url(address))
                again = self.exported(url(("localhost", address[1])))
                self.assertEqual(again, f"exported to {url(address)} before: 1 job\n")
                os.remove(self.path("data/export"))


class RefusedTest(ExportTest):
    def test_no_server_serves_what_was_exported(self):
        self.filled({"body": b"x"})
        other = self.other()
        self.exported(beanstalk_url(other.beanstalk_address))
        text = (r"the jobs of .*data were exported to beanstalk://.*; to use them here as well, "
                r"remove the file .*data/export")
        serve = [PROGRAM, "serve", "--data", self.path("data"), "--beanstalk", "127.0.0.1:0"]
        self.assert_refused(serve, text)
        self.assert_refused([PROGRAM, "move-to-log", self.path("data"), "--log",
                             "nats://127.0.0.1:1/x"], text)
        report = self.exported(beanstalk_url(other.beanstalk_address))
        self.assertRegex(report, "^exported to beanstalk://.* before: 1 job\n$")
        for copy in (["backup", self.path("data"), self.path("copy")],
                     ["check", self.path("data"), "--salvage", self.path("copy")]):
            self.assert_refused([PROGRAM, *copy], text)
        os.remove(self.path("data/export"))
        client = self.open(Beanstalk(self.server().start().beanstalk_address))
        self.assertEqual(client.reserve()[1], b"x")

    def test_a_second_server_gets_nothing(self):
        self.filled({"body": b"x"})
        self.exported(beanstalk_url(self.other().beanstalk_address))
        second = self.other(data="second")
        self.assert_not_exported(
            beanstalk_url(second.beanstalk_address),
            "jobs of .* were exported to .*, and .* is another server.*: if it is the same one, "
            "name it as before; to give them to another server as well, remove")

    def test_a_directory_that_has_changed_since(self):
        self.filled({"body": b"x"})
        other = self.other()
        self.exported(beanstalk_url(other.beanstalk_address))
        mark = self.path("data/export")
        os.rename(mark, self.path("mark"))
        self.filled({"body": b"y"})
        os.rename(self.path("mark"), mark)
        self.assert_not_exported(beanstalk_url(other.beanstalk_address),
                                 "has changed since its export began")

    def test_what_cannot_be_exported(self):
        to = beanstalk_url(("127.0.0.1", free_port()))
        self.assert_not_exported(to, "No such file")
        self.assertFalse(os.path.exists(self.path("data")))
        os.mkdir(self.path("foreign"))
        for name, text in (("faktory.rdb", "holds jobs of another server"),
                           ("redis.log", "has no journal")):
            with open(self.path(f"foreign/{name}"), "w", encoding="utf-8"):
                pass
            self.assert_not_exported(to, text, data="foreign")
            os.remove(self.path(f"foreign/{name}"))
        self.assertEqual(os.listdir(self.path("foreign")), [])
        self.filled({"body": b"x"})
        self.assert_not_exported(to, "no connection: Connection refused")
        self.assertFalse(os.path.exists(self.path("data/export")))
        for odd in ("", "beanstalk:/x", "http://x", "tcp://", "tcp://:%zz@x", "redis://x"):
            with self.subTest(to=odd):
                self.assert_not_exported(odd, "--to", status=2)
        server = self.server().start()
        self.assert_not_exported(to, "in use|is used|locked")
        server.terminate()
        with open(self.path("data/export"), "w", encoding="utf-8") as file:
            file.write("odd")
        self.assert_not_exported(beanstalk_url(self.other().beanstalk_address),
                                 "data/export is not of an export of Millrace")

    def test_another_protocol_at_the_other_end(self):
        self.filled({"body": b"x"})
        other = self.other()
        self.assert_not_exported(beanstalk_url(other.faktory_address),
                                 "is not a beanstalk port; it says .HI")
        self.assertFalse(os.path.exists(self.path("data/export")))
        self.exported(beanstalk_url(other.beanstalk_address))


if __name__ == "__main__":
    unittest.main()
