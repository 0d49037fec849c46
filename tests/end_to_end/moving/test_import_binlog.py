"""`millrace import --beanstalkd`: against directories that Debian's beanstalkd wrote, job by job
against what it says after its own restart."""

import contextlib
import hashlib
import os
import re
import shutil
import signal
import struct
import subprocess
import threading
import time
import unittest

from clients import Beanstalk, Gone
from program import PROGRAM, ServerTest, environment, free_port, start_kept
from test_bad_directories import mount

BEANSTALKD = shutil.which("beanstalkd") or "/usr/bin/beanstalkd"
START_SECONDS_MAX = 60
LONGEST_BODY = b"x" * 65_530
# The members of stats-job that a restart of beanstalkd leaves as they are, and so does an import.
# Its own counts of reservations and timeouts are as new as the last record of the job in the log.
SAME = ("tube", "state", "pri", "delay", "ttr", "reserves", "timeouts", "releases", "kicks")
JOB_BYTES = 80


class Beanstalkd:
    """One process of Debian's beanstalkd."""

    def __init__(self, directory, *flags):
        address = self.address = ("127.0.0.1", free_port())
        self.process = start_kept(
            [BEANSTALKD, "-l", address[0], "-p", str(address[1]), "-b", directory, *flags],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def client(self):
        end = time.monotonic() + START_SECONDS_MAX
        while True:
            try:
                return Beanstalk(self.address)
            except Gone:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(START_SECONDS_MAX)


def fingerprint(directory):
    """All that an import could change."""
    found = {}
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        status = os.stat(path)
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        found[name] = (digest, status.st_mode, status.st_mtime_ns)
    return found


def jobs_of(client, last_id):
    """Each job that is there, with what is said of it."""
    found = {}
    for job in range(1, last_id + 1):
        reply = client.command(f"peek {job}").split()
        if reply[0] == "FOUND":
            body = client.body(int(reply[2]))
            # From version 1.13 on, names are in quotes.
            stats = client.stats(f"stats-job {job}")
            found[job] = (body, {name: text.strip('"') for name, text in stats.items()})
    return found


def record(version, job, tube=b"", body=b"", state=1, pri=0, delay=0, ttr=60):
    """A record as beanstalkd writes it; without a tube it is a change."""
    unit = 10**9 if version == 7 else 10**6
    now = int(time.time() * unit)
    stored = len(body) + 2 if tube else 0
    fields = struct.pack("<QI4xqqi4xqq5IB", job, pri, delay * unit, ttr * unit, stored, now,
                         now + delay * unit, 1, 2, 3, 4, 5, state)
    length = struct.pack("<i" if version == 7 else "<Q", len(tube))
    padding = b"\0" * (JOB_BYTES - len(fields)) if version == 7 else b""
    return length + tube + fields + padding + (body + b"\r\n" if tube else b"")


@unittest.skipUnless(os.path.exists(BEANSTALKD), "Debian's beanstalkd is not installed")
class ImportTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.binlog = self.path("binlog")
        os.mkdir(self.binlog)

    def beanstalkd(self, *flags):
        server = Beanstalkd(self.binlog, *flags)
        self.addCleanup(server.kill)
        return server

    def run_import(self, *flags, into="data"):
        return subprocess.run(
            [PROGRAM, "import", "--beanstalkd", self.binlog, "--into", self.path(into), *flags],
            capture_output=True,
            env=environment(None),
            text=True,
            timeout=START_SECONDS_MAX,
        )

    def imported(self, *flags, status=0, **more):
        done = self.run_import(*flags, **more)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def refused(self, *flags):
        """What it says, in one line."""
        done = self.run_import(*flags)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        return done.stderr

    def write(self, name, *parts):
        with open(os.path.join(self.binlog, name), "wb") as file:
            file.write(b"".join(parts))

    def data_client(self):
        """Of a server on the data directory."""
        return self.open(Beanstalk(self.server("--sync=off").start().beanstalk_address))

    def rows(self, report):
        """{(tube, state): [found, taken, why not]}"""
        lines = [re.split(r"  +", line) for line in report.splitlines()]
        return {(line[0], line[1]): line[2:] for line in lines if len(line) >= 4}


class WrittenByBeanstalkdTest(ImportTest):
    def fill(self, client):
        """Jobs in every state and of every past; returns the last id."""
        for tube in ("mail", "a/b;c.d$e_(f)+g-h"):
            client.command(f"use {tube}")
            client.command(f"watch {tube}")
            for i in range(200):
                client.put(b"%d" % i * 10, pri=i % 7, delay=3600 * (i % 3 == 0), ttr=30 + i)
            client.put(b"")
            client.put(LONGEST_BODY, pri=4_000_000_000)
            client.put(b"\r\n\0\xff" * 100)
        for _ in range(20):
            job, _body = client.reserve()
            client.command(f"bury {job} {job + 5}")
        for _ in range(20):
            job, _body = client.reserve()
            client.command(f"release {job} 9 1800")
        for _ in range(20):
            client.delete(client.reserve()[0])
        client.command("use mail")
        client.command("kick 3")
        client.reserve()
        return client.put(b"last")

    def compare(self, expected, found):
        self.assertEqual(expected.keys(), found.keys())
        for job, (body, stats) in expected.items():
            with self.subTest(job=job):
                self.assertEqual(body, found[job][0])
                ours = found[job][1]
                self.assertEqual({n: stats[n] for n in SAME}, {n: ours[n] for n in SAME})
                # A restart of beanstalkd counts the burial once more.
                buries = int(stats["buries"]) - (stats["state"] == "buried")
                self.assertEqual(int(ours["buries"]), buries)
                self.assertAlmostEqual(int(ours["age"]), int(stats["age"]), delta=20)
                if stats["state"] == "delayed":
                    self.assertAlmostEqual(
                        int(ours["time-left"]), int(stats["time-left"]), delta=20
                    )

    def test_every_job_is_as_after_a_restart_of_beanstalkd(self):
        old = self.beanstalkd("-s", "200000")
        client = self.open(old.client())
        last_id = self.fill(client)
        old.kill()
        self.assertGreater(len(os.listdir(self.binlog)), 2)
        before = fingerprint(self.binlog)
        report = self.imported()
        self.assertEqual(fingerprint(self.binlog), before)
        self.assertIn("ids: as they were", report)

        restarted = self.beanstalkd("-s", "200000")
        expected = jobs_of(self.open(restarted.client()), last_id)
        server = self.server("--sync=off").start()
        client = self.open(Beanstalk(server.beanstalk_address))
        self.compare(expected, jobs_of(client, last_id))
        self.assertGreater(client.put(b"new"), last_id)

        counts = {}
        for _body, stats in expected.values():
            key = (stats["tube"], stats["state"])
            counts[key] = counts.get(key, 0) + 1
        rows = self.rows(report)
        for key, count in counts.items():
            self.assertEqual(rows[key], [str(count), str(count)])

    def compare_with_restart(self, last_id, *flags, status=0):
        """Imports, and compares all jobs with what beanstalkd has after a restart."""
        report = self.imported(*flags, status=status)
        restarted = self.beanstalkd()
        expected = jobs_of(self.open(restarted.client()), last_id)
        restarted.kill()
        # It takes a body that was not written to its end for a job.
        expected = {job: told for job, told in expected.items() if b"\0" not in told[0]}
        self.compare(expected, jobs_of(self.data_client(), last_id))
        self.assertRegex(report, rf"(?m)^all +{len(expected):,} +{len(expected):,}$")
        return expected

    def test_killed_while_it_takes_jobs(self):
        jobs, acknowledged = 4000, 1500
        old = self.beanstalkd("-s", "100000")
        client = self.open(old.client())
        puts = b"".join(b"put 5 0 60 100\r\n" + b"%0100d\r\n" % i for i in range(1, jobs + 1))

        def send():
            with contextlib.suppress(Gone):
                client.send(puts)

        sender = threading.Thread(target=send)
        sender.start()
        for i in range(acknowledged):
            self.assertEqual(client.line(), f"INSERTED {i + 1}")
        old.kill()
        sender.join()
        expected = self.compare_with_restart(jobs)
        self.assertGreaterEqual(len(expected), acknowledged)
        self.assertEqual(expected[acknowledged][0], b"%0100d" % acknowledged)

    def test_a_tail_that_is_cut_anywhere(self):
        old = self.beanstalkd()
        client = self.open(old.client())
        for i in range(3):
            client.put(b"body %d" % i, delay=3600 * (i == 1))
        client.command(f"bury {client.reserve()[0]} 7")
        old.kill()
        name = os.path.join(self.binlog, "binlog.1")
        with open(name, "rb") as file:
            written = file.read()
        end = len(written.rstrip(b"\0")) + 4
        for size in range(60, end, 37):
            for rest in (b"", b"\0" * 4096):
                with self.subTest(size=size, rest=len(rest)):
                    for path in (self.path("data"), self.binlog):
                        shutil.rmtree(path, ignore_errors=True)
                    os.mkdir(self.binlog)
                    self.write("binlog.1", written[:size], rest)
                    if rest:
                        self.compare_with_restart(3)
                        continue
                    # No file that beanstalkd still writes is so short.
                    self.assertIn("it was not copied whole; nothing was written", self.refused())
                    self.assertFalse(os.path.exists(self.path("data")))
                    self.compare_with_restart(3, "--skip-damage", status=4)

    def test_the_compaction_of_beanstalkd_changes_nothing(self):
        old = self.beanstalkd("-s", "20000")
        client = self.open(old.client())
        kept = [client.put(b"kept %d" % i, delay=3600) for i in range(20)]
        for i in range(3000):
            client.delete(client.put(b"passing %d" % i))
        old.kill()
        rows = self.rows(self.imported())
        self.assertEqual(rows[("default", "delayed")], [str(len(kept))] * 2)

    def test_a_target_in_use_is_refused(self):
        old = self.beanstalkd()
        self.open(old.client()).put(b"job")
        old.kill()
        server = self.server().start()
        said = self.refused("--merge")
        self.assertRegex(said, rf"data is in use .*pid {server.process.pid}\)$")

    def test_a_directory_in_use_is_refused(self):
        old = self.beanstalkd()
        self.open(old.client()).put(b"job")
        used = rf"beanstalkd \(process {old.process.pid}\) uses .*: stop it"
        self.assertRegex(self.refused(), used)
        self.assertFalse(os.path.exists(self.path("data")))


class CraftedTest(ImportTest):
    def version(self, number):
        return struct.pack("<i", number)

    def test_version_5(self):
        body = b"old"
        delayed = record(5, 3, b"t", body, pri=7, delay=3600, state=4)
        self.write("binlog.1", self.version(5), delayed,
                   record(5, 4, b"t", b"gone"), record(5, 4, state=0))
        self.imported()
        client = self.data_client()
        found = jobs_of(client, 4)
        self.assertEqual(list(found), [3])
        self.assertEqual(found[3][0], body)
        stats = found[3][1]
        self.assertEqual([stats[n] for n in ("state", "pri", "ttr", "delay", "kicks")],
                         ["delayed", "7", "60", "3600", "5"])

    def test_buried_jobs_keep_the_order_of_their_burials(self):
        jobs = [record(7, i, b"t", b"%d" % i) for i in (1, 2, 3)]
        self.write("binlog.1", self.version(7), *jobs, *(record(7, i, state=3) for i in (2, 3, 1)))
        self.imported()
        client = self.data_client()
        client.command("use t")
        self.assertEqual(client.command("peek-buried"), "FOUND 2 1")

    def test_a_torn_tail_is_told(self):
        whole = record(7, 1, b"t", b"one")
        torn = record(7, 2, b"t", b"two")[:-2] + b"\0" * 4096
        self.write("binlog.1", self.version(7), whole, torn)
        report = self.imported()
        self.assertRegex(report, f"torn: .*binlog.1, offset {4 + len(whole)}: ")
        self.assertEqual(self.rows(report)[("t", "ready")], ["1", "1"])

    def test_half_a_copy_is_refused_and_nothing_is_written(self):
        whole = record(7, 1, b"t", b"one")
        self.write("binlog.1", self.version(7), whole, record(7, 2, b"t", b"two")[:-2])
        told = f"binlog.1, offset {4 + len(whole)}: .* it was not copied whole"
        self.assertRegex(self.refused(), f"^millrace: .*{told}; .* --skip-damage .*\n$")
        self.assertFalse(os.path.exists(self.path("data")))
        report = self.imported("--skip-damage", status=4)
        self.assertRegex(report, f"damage: .*{told}")
        self.assertEqual(self.rows(report)[("t", "ready")], ["1", "1"])

    def test_nothing_is_written_into_the_old_directory_by_any_name(self):
        self.write("binlog.1", self.version(7), record(7, 1, b"t", b"one"))
        for source, into in ((".", "new"), (".", "./new"), (self.binlog, "new")):
            with self.subTest(source=source, into=into):
                done = subprocess.run([PROGRAM, "import", "--beanstalkd", source, "--into", into],
                                      cwd=self.binlog, env=environment(), capture_output=True,
                                      text=True, timeout=60)
                self.assertRegex(done.stderr, " must not be inside .*\n$")
        self.assertEqual(os.listdir(self.binlog), ["binlog.1"])

    def test_an_empty_file_is_told(self):
        self.write("binlog.1")
        self.assertIn("binlog.1 is empty; nothing was written", self.refused())
        self.write("binlog.1", self.version(7), record(7, 1, b"t", b"one"))
        self.write("binlog.2")
        self.assertRegex(self.imported(), "torn: .*binlog.2 is empty")

    def test_damage_ends_its_file_only_and_the_status_says_so(self):
        self.write("binlog.1", self.version(7), record(7, 1, b"t", b"one"), b"\xff" * 200)
        self.write("binlog.2", self.version(7), record(7, 2, b"t", b"two"))
        report = self.imported("--skip-damage", status=4)
        self.assertIn("binlog.1, offset ", report)
        self.assertEqual(self.rows(report)[("t", "ready")], ["2", "2"])

    def test_a_tube_that_no_client_can_name_is_not_taken(self):
        self.write("binlog.1", self.version(7), record(7, 1, b"a b", b"one"))
        row = self.rows(self.imported(status=4))[("a b", "ready")]
        self.assertEqual(row, ["1", "0", "1 in a tube with a name that no client can use"])

    def test_other_versions_are_refused_and_nothing_is_written(self):
        for number, text in ((1, "binlog of version 1"), (8, "version 8"), (1 << 24, "machine")):
            with self.subTest(number):
                self.write("binlog.1", self.version(number))
                self.assertRegex(self.refused(), rf"binlog\.1: offset 0: .*{text}")
                self.assertFalse(os.path.exists(self.path("data")))

    def test_a_target_with_jobs_needs_merge_and_ids_are_moved(self):
        server = self.server().start()
        self.open(Beanstalk(server.beanstalk_address)).put(b"here")
        server.terminate()
        self.write("binlog.1", self.version(7), record(7, 1, b"t", b"one"))
        self.assertRegex(self.refused(), r"has jobs already \(1\), .*use --merge")
        self.assertIn("ids: 1 added to each", self.imported("--merge"))
        client = self.open(Beanstalk(server.start().beanstalk_address))
        self.assertEqual([body for body, _ in jobs_of(client, 5).values()], [b"here", b"one"])

    def killed_import(self, sent=signal.SIGKILL, **more):
        """An import whose process was sent the signal before its end."""
        process = start_kept(
            [PROGRAM, "import", "--beanstalkd", self.binlog, "--into", self.path("data")],
            env=environment(None),
            stdout=subprocess.DEVNULL,
            **more,
        )
        end = time.monotonic() + START_SECONDS_MAX
        while not os.path.exists(self.path("data/import")):
            self.assertLess(time.monotonic(), end)
            self.assertIsNone(process.poll())
        time.sleep(0.05)
        process.send_signal(sent)
        return process

    def test_a_signal_ends_it_with_a_word(self):
        self.write("binlog.1", self.version(7),
                   *(record(7, i, b"t", b"%0100d" % i) for i in range(1, 300_001)))
        process = self.killed_import(signal.SIGINT, stderr=subprocess.PIPE, text=True)
        _, errors = process.communicate(timeout=START_SECONDS_MAX)
        self.assertEqual(process.returncode, 1)
        self.assertRegex(errors, "interrupted after [0-9,]+ jobs: run the same command again\n$")
        self.assertEqual(self.rows(self.imported())[("t", "ready")], ["300,000"] * 2)

    def test_an_import_that_was_killed_begins_again_and_doubles_nothing(self):
        jobs = 150_000
        self.write("binlog.1", self.version(7),
                   *(record(7, i, b"t", b"%0100d" % i) for i in range(1, jobs + 1)))
        self.assertEqual(self.killed_import().wait(), -signal.SIGKILL)
        data, refusal = self.path("data"), "import of beanstalkd's .* has not ended: run it again"
        to_log = ["move-to-log", data, "--log=nats://127.0.0.1:1/log"]
        self.assert_refused(self.server().arguments(), refusal)
        self.assert_refused([PROGRAM, "backup", data, self.path("copy")], refusal)
        self.assert_refused([PROGRAM, *to_log], refusal)
        self.assertEqual(self.killed_import().wait(), -signal.SIGKILL)
        report = self.imported()
        self.assertEqual(self.rows(report)[("t", "ready")], [f"{jobs:,}"] * 2)
        self.assertIn("ids: as they were", report)
        client = self.data_client()
        stats = client.stats("stats-tube t")
        self.assertEqual(stats["current-jobs-ready"], str(jobs))
        for job in (1, jobs // 2, jobs):
            self.assertEqual(client.command(f"peek {job}"), f"FOUND {job} 100")
            self.assertEqual(client.body(100), b"%0100d" % job)
        self.assertGreater(client.put(b"new"), jobs)

    def test_a_full_disk_ends_it_and_with_room_it_begins_again(self):
        jobs, disk = 2000, self.path("disk")
        os.mkdir(disk)
        mount(self, "-t", "tmpfs", "-o", "size=90M", "tmpfs", disk)
        self.write("binlog.1", self.version(7),
                   *(record(7, i, b"t", LONGEST_BODY) for i in range(1, jobs + 1)))
        done = self.run_import(into="disk/data")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, "not enough disk space in .*; make room, and run it again")
        subprocess.run(["mount", "-o", "remount,size=900M", disk], check=True)
        report = self.imported(into="disk/data")
        self.assertEqual(self.rows(report)[("t", "ready")], [f"{jobs:,}"] * 2)
        check = subprocess.run([PROGRAM, "check", f"{disk}/data"], capture_output=True, text=True)
        self.assertIn(f"jobs: 0 scheduled, {jobs} ready, 0 reserved", check.stdout)


if __name__ == "__main__":
    unittest.main()
