"""`backup` that grows and `restore --until`: what was deleted by mistake is back, job by job.
Streams, and processes that are killed in the middle."""

import datetime
import os
import signal
import subprocess
import tarfile
import threading
import time
import unittest

from clients import Beanstalk, Faktory
from moving.test_import_binlog import SAME, jobs_of
from program import PROGRAM, ServerTest, environment, start_kept, wait_until

SECONDS_MAX = 60
BODY = b"b" * 20_000


def run(*arguments, stdin=subprocess.DEVNULL, text=True):
    return subprocess.run(
        [PROGRAM, *arguments],
        stdin=stdin,
        capture_output=True,
        env=environment(),
        text=text,
        timeout=SECONDS_MAX,
    )


def told(seconds):
    """As --until reads it."""
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat()


class Noise(threading.Thread):
    """A client that puts jobs as long as a test does other things."""

    def __init__(self, address):
        super().__init__()
        self.client = Beanstalk(address)
        self.client.command("use noise")
        self.has_to_end = threading.Event()
        self.rounds = 0

    def run(self):
        while not self.has_to_end.is_set():
            self.client.put(BODY)
            self.client.put(BODY, delay=3600)
            self.rounds += 1

    def end(self):
        self.has_to_end.set()
        self.join()
        self.client.close()


class BackupTest(ServerTest):
    def done(self, *arguments, **more):
        done = run(*arguments, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def started(self, data="data"):
        return self.server("--segment-bytes=1048576", "--sync=off", data=data).start()

    def grow(self):
        backup = self.path("backup")
        return self.done("backup", self.path("data"), "--since", backup, "--to", backup)

    def filled(self, jobs):
        """A server that was stopped, with that many jobs."""
        server = self.started()
        client = self.open(Beanstalk(server.beanstalk_address))
        for _ in range(jobs):
            client.put(BODY)
        server.terminate()
        return server


class PointInTimeTest(BackupTest):
    def load(self, server, name):
        """Jobs of both protocols, in several states; returns the last id."""
        client = self.open(Beanstalk(server.beanstalk_address))
        client.command(f"use {name}")
        client.command(f"watch {name}")
        for i in range(40):
            client.put(b"%d " % i + BODY, pri=i, delay=3600 * (i % 3 == 0), ttr=60 + i)
        for _ in range(5):
            client.command(f"bury {client.reserve()[0]} 9")
        for _ in range(5):
            client.delete(client.reserve()[0])
        worker = self.open(Faktory(server.faktory_address, wid=f"worker-{name}"))
        for i in range(20):
            worker.push(f"{name}-{i:08}", queue=f"{name}-work")
        worker.fetch(f"{name}-work")
        worker.ack(f"{name}-{0:08}")
        return client.put(b"last")

    def jobs(self, server, last_id):
        """Without those of the noise."""
        found = jobs_of(self.open(Beanstalk(server.beanstalk_address)), last_id)
        kept = {job: told for job, told in found.items() if told[1]["tube"] != "noise"}
        return {
            job: (body, {name: stats[name] for name in SAME}) for job, (body, stats) in kept.items()
        }

    def test_wrong_jobs_were_deleted(self):
        server = self.started()
        noise = Noise(server.beanstalk_address)
        noise.start()
        self.load(server, "mail")
        first = self.grow()
        self.assertIn("no damage", first)
        last_id = self.load(server, "post")
        before = self.jobs(server, last_id)
        # The server's clock runs evenly, and may differ by some milliseconds.
        done_at = time.time()
        wait_until(lambda: time.time() > done_at + 0.1, "a tenth of a second")
        client = self.open(Beanstalk(server.beanstalk_address))
        deleted = [job for job, told in before.items() if told[1]["tube"].startswith("mail")]
        for job in deleted:
            client.delete(job)
        rounds = noise.rounds
        wait_until(lambda: noise.rounds > rounds + 50, "more load")
        second = self.grow()
        self.assertNotIn("warning", second)
        noise.end()
        self.assertEqual(self.jobs(server, last_id).keys(), before.keys() - set(deleted))
        server.terminate()

        restored = self.done("restore", self.path("backup"), "--to", self.path("restored"),
                             "--until", told(done_at + 0.05))
        self.assertRegex(restored, r"(?m)^restored: .*, as it was at 2")
        self.assertEqual(self.jobs(self.started("restored"), last_id), before)
        # The latest is there too.
        self.done("restore", self.path("backup"), "--to", self.path("latest"))
        latest = self.jobs(self.started("latest"), last_id)
        self.assertEqual(latest.keys(), before.keys() - set(deleted))

        early = [PROGRAM, "restore", self.path("backup"), "--to", self.path("early"),
                 "--until", "2020-01-01T10:00Z"]
        said = "until 2020-01-01T10:00:00Z: it has the times from 20.* to 20"
        self.assert_refused(early, said, status=1)
        self.assertFalse(os.path.exists(self.path("early")))


class StreamTest(BackupTest):
    def streamed(self, name, *flags):
        path = self.path(name)
        with open(path, "wb") as file:
            done = subprocess.run(
                [PROGRAM, "backup", self.path("data"), "--to", "-", *flags],
                stdout=file,
                stderr=subprocess.PIPE,
                env=environment(),
                text=True,
                timeout=SECONDS_MAX,
            )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("can be restored: any time from", done.stderr)
        return path

    def test_to_stdout_and_back(self):
        server = self.filled(200)
        manifest = self.path("manifest")
        full = self.streamed("full", "--manifest", manifest)
        self.open(Beanstalk(server.start().beanstalk_address)).put(BODY)
        newer = self.streamed("newer", "--since", manifest, "--manifest", manifest)
        self.assertLess(os.path.getsize(newer), os.path.getsize(full) / 2)
        with tarfile.open(full) as archive:
            self.assertEqual(archive.getnames()[-1], "manifest")
            archive.extractall(self.path("unpacked"))
        with open(full, "rb") as stdin:
            one = self.done("restore", "-", "--to", self.path("one"), stdin=stdin)
        self.assertIn("jobs: 0 scheduled, 200 ready,", one)
        for source in ("full", "unpacked"):
            sources = [self.path(source), newer]
            with self.subTest(source):
                both = self.done("restore", *sources, "--to", self.path(f"both-{source}"))
                self.assertIn("jobs: 0 scheduled, 201 ready,", both)
        alone = [PROGRAM, "restore", newer, "--to", self.path("alone")]
        refusal = r"log is missing, which .*newer needs: name the earlier"
        self.assert_refused(alone, refusal, status=1)
        self.assert_refused([PROGRAM, "restore", "/etc/passwd", "--to", self.path("alone")],
                            "/etc/passwd is not a backup: what is at offset 0 begins no file")
        self.assertFalse(os.path.exists(self.path("alone")))

    def test_a_backup_since_one_that_is_not_there(self):
        self.server().start().terminate()
        self.assert_refused(
            [PROGRAM, "backup", self.path("data"), self.path("b"), "--since", self.path("none")],
            "--since: there is no backup and no manifest at .*/none", status=1)
        self.assertFalse(os.path.exists(self.path("b/manifest")))

    def test_arguments_that_make_no_sense(self):
        for arguments, text in (
            (["backup", "data"], "DEST is required"),
            (["backup", "data", "one", "--to", "two"], "DEST and --to mean the same"),
            (["backup", "data", "one", "--keep", "7d"], "--keep is for a backup that grows"),
            (["backup", "data", "one", "--since", "one", "--keep", "7"], "--keep needs a duration"),
            (["restore", "one"], "--to is required"),
            (["restore", "one", "--to", "two", "--until", "ten"], "--until needs a time such as"),
        ):
            with self.subTest(arguments):
                self.assert_refused([PROGRAM, *arguments], text, status=2)


class ServedBackupTest(BackupTest):
    def test_no_server_starts_on_a_backup(self):
        server = self.server().start()
        self.open(Beanstalk(server.beanstalk_address)).put(b"x")
        server.terminate()
        self.assertEqual(run("backup", self.path("data"), self.path("copy")).returncode, 0)
        self.assert_refused(self.server(data="copy").arguments(),
                            "copy is a backup, .* `millrace restore .*copy --to DATA`")
        self.assertEqual(
            run("restore", self.path("copy"), "--to", self.path("back")).returncode, 0)
        client = self.open(Beanstalk(self.server(data="back").start().beanstalk_address))
        self.assertEqual(client.reserve()[1], b"x")
        self.assert_refused([PROGRAM, "restore", self.path("data"), "--to", self.path("no")],
                            "data/manifest is not there: this is not a backup")


class KilledTest(BackupTest):
    def begun(self, *arguments, **more):
        process = start_kept([PROGRAM, *arguments], env=environment(), stderr=subprocess.DEVNULL,
                             **more)
        self.addCleanup(self.kill, process)
        return process

    def kill(self, process):
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait(SECONDS_MAX)

    def test_a_backup_that_is_killed_is_none_and_goes_on(self):
        self.filled(3000)
        backup = self.path("backup")
        for moment in range(6):
            process = self.begun("backup", self.path("data"), "--since", backup, "--to", backup,
                                 stdout=subprocess.DEVNULL)
            wait_until(lambda: os.path.exists(f"{backup}/lock"), "a backup was begun")
            end = time.monotonic() + 0.004 * moment
            wait_until(lambda: time.monotonic() >= end, "a moment later")
            self.kill(process)
            if os.path.exists(f"{backup}/manifest"):
                break
            self.assert_refused([PROGRAM, "restore", backup, "--to", self.path("new")],
                                "backup/manifest is not there", status=1)
        self.grow()
        restored = self.done("restore", backup, "--to", self.path("new"))
        self.assertIn("jobs: 0 scheduled, 3000 ready,", restored)

    def test_a_restore_that_is_killed_is_not_served_and_begins_again(self):
        self.filled(300)
        stream = run("backup", self.path("data"), "-", text=False).stdout
        self.assertGreater(len(stream), 300 * len(BODY))
        new = self.path("new")
        # A stream that is killed is cut.
        with open(self.path("cut"), "wb") as file:
            file.write(stream[: len(stream) // 2])
        cut = [PROGRAM, "restore", self.path("cut"), "--to", new]
        self.assert_refused(cut, "cut ends early, at offset .*: the backup is not whole", status=1)
        self.assertFalse(os.path.exists(new))

        process = self.begun("restore", "-", "--to", new, stdin=subprocess.PIPE,
                             stdout=subprocess.DEVNULL)
        process.stdin.write(stream[: len(stream) // 2])
        process.stdin.flush()
        wait_until(lambda: os.path.exists(f"{new}/from-0"), "a restore was begun")
        self.kill(process)
        process.stdin.close()
        server = self.server(data="new")
        refusal = "a restore into .*new has not ended: run it again"
        self.assert_refused(server.arguments(), refusal, status=1)
        self.assert_refused([PROGRAM, "backup", new, self.path("other")], refusal, status=1)
        self.grow()
        self.done("restore", self.path("backup"), "--to", new)
        self.assertEqual(sorted(os.listdir(new))[-3:], ["extent", "lock", "starts"])
        client = self.open(Beanstalk(server.start().beanstalk_address))
        self.assertEqual(client.stats()["current-jobs-ready"], "300")


if __name__ == "__main__":
    unittest.main()
