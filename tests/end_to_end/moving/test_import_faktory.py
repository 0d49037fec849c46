"""`millrace import --faktory`: what the official server wrote, job by job. FAKTORY_BIN names that
server. Without it, what it wrote once is in the folder `recorded`."""

import json
import os
import re
import shlex
import shutil
import subprocess
import unittest
from datetime import datetime, timedelta, timezone

from clients import Faktory
from moving.faktory_import import FaktoryImportTest, body_of, jobs_in
from moving.official_faktory import OfficialFaktory, fill
from moving.redis_server import REDIS_SERVER
from program import PROGRAM, environment

OFFICIAL = os.environ.get("FAKTORY_BIN")
RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded", "faktory.rdb")
DEAD_DAYS = 180


def exact(text):
    """The JSON, with numbers as they are spelled."""
    return json.loads(text, parse_int=str, parse_float=str)


def time_of(text):
    """To the microsecond."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    time = datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    return time + timedelta(microseconds=int(fraction[:6].ljust(6, "0")))


def time_of_score(score):
    return datetime.fromtimestamp(float(score), timezone.utc)


class Stored:
    """All that Faktory's database has, by another reader than that of Millrace."""

    def __init__(self, client):
        names = sorted(name.decode() for name in client.command("SMEMBERS", "queues"))
        self.queues = {n: client.command("LRANGE", f"q:{n}", 0, -1)[::-1] for n in names}
        self.paused = {name.decode() for name in client.command("SMEMBERS", "paused")}
        self.processed = int(client.command("GET", "processed"))
        self.failed = int(client.command("GET", "failures"))
        self.days = sorted(k.decode()[-10:] for k in client.command("KEYS", "processed:*"))
        self.sets = {}
        for name in ("scheduled", "retries", "dead", "working"):
            flat = client.command("ZRANGE", name, 0, -1, "WITHSCORES")
            self.sets[name] = list(zip(flat[::2], flat[1::2]))


class FromFaktory:
    """Each test for itself: how the data came into the directory is of the class below."""

    def setUp(self):
        super().setUp()
        self.old = self.path("old")
        os.mkdir(self.old)
        self.write_old()
        copy = self.path("copy")
        shutil.copytree(self.old, copy)
        client = self.open(self.redis(copy).client())
        self.stored = Stored(client)

    def assert_time(self, told, wanted):
        """What the API tells has milliseconds."""
        self.assertLess(abs(time_of(told) - wanted), timedelta(milliseconds=2), (told, wanted))

    def assert_same_job(self, web, row, text):
        """A worker gets what Faktory would have handed out."""
        body, wanted = body_of(web, row), exact(text)
        self.assertEqual(exact(body), wanted)
        self.assertEqual(row["jid"], wanted["jid"])
        self.assertEqual(row["queue"], wanted["queue"])
        self.assert_time(row["created_at"], time_of(wanted["created_at"]))
        if "failure" not in wanted:
            self.assertEqual(body, text)

    def compare_ready(self, web, ready, in_front):
        """`in_front`: what is ready before what was in the queue."""
        wanted = {name: list(texts) for name, texts in self.stored.queues.items()}
        for text in reversed(in_front):
            wanted[json.loads(text)["queue"]].insert(0, text)
        found = {name: [row for row in ready if row["queue"] == name] for name in wanted}
        self.assertEqual(len(ready), sum(map(len, wanted.values())))
        for name, texts in wanted.items():
            jids = [json.loads(text)["jid"] for text in texts]
            self.assertEqual([row["jid"] for row in found[name]], jids)
            for row, text in zip(found[name], texts):
                with self.subTest(jid=row["jid"]):
                    if row["jid"] != "created-oddly":
                        self.assert_same_job(web, row, text)
                    self.assert_time(row["enqueued_at"], time_of(json.loads(text)["enqueued_at"]))

    def compare_set(self, web, state, name, earlier=timedelta()):
        rows = {row["jid"]: row for row in jobs_in(web, state)}
        entries = self.stored.sets[name]
        self.assertEqual(len(rows), len(entries))
        for text, score in entries:
            row = rows[json.loads(text)["jid"]]
            with self.subTest(set=name, jid=row["jid"]):
                self.assert_same_job(web, row, text)
                self.assert_time(row["when"], time_of_score(score) - earlier)

    def working_texts(self):
        """The jobs that workers have, without what is around them."""
        texts = []
        for text, _score in self.stored.sets["working"]:
            end = text.index(b',"reserved_at":')
            texts.append(text[len(b'{"job":') : end])
        return texts

    def compare_rest(self, server, web):
        client = self.open(Faktory(server.faktory_address))
        told = client.info()["faktory"]
        self.assertEqual(told["total_processed"], self.stored.processed)
        self.assertEqual(told["total_failures"], self.stored.failed)
        queues = {queue["name"]: queue for queue in web.read("/api/v1/queues")["queues"]}
        self.assertEqual({n for n, q in queues.items() if q["is_paused"]}, self.stored.paused)
        # `default` is there always; a queue with nothing in it was kept.
        self.assertEqual(set(told["queues"]) - {"default"}, set(self.stored.queues))

    def test_every_job_is_as_faktory_had_it(self):
        report = self.imported(self.old)
        server, web = self.serving()
        self.compare_ready(web, jobs_in(web, "ready"), self.working_texts())
        self.compare_set(web, "scheduled", "scheduled")
        self.compare_set(web, "retrying", "retries")
        self.compare_set(web, "dead", "dead", timedelta(days=DEAD_DAYS))
        self.assertEqual(jobs_in(web, "reserved"), [])
        self.compare_rest(server, web)
        rows = self.rows(report)
        for name, texts in self.stored.queues.items():
            if texts:
                self.assertEqual(rows[(name, "enqueued")], [str(len(texts))] * 2)
        self.assertEqual(rows[("busy", "working")], ["7", "7"])
        self.assertIn("paused: in.order_of-a-queue, paused\n", report)

    def test_workers_keep_what_they_have_and_finish_it(self):
        self.imported(self.old, "--keep-working")
        server, web = self.serving()
        self.compare_ready(web, jobs_in(web, "ready"), [])
        entries = {json.loads(text)["job"]["jid"]: (text, score)
                   for text, score in self.stored.sets["working"]}
        held = jobs_in(web, "reserved")
        self.assertEqual({row["jid"] for row in held}, set(entries))
        for row in held:
            text, score = entries[row["jid"]]
            stored = json.loads(text)
            self.assertEqual(exact(body_of(web, row)), exact(text)["job"])
            self.assertEqual(row["reservation"]["wid"], stored["wid"])
            self.assert_time(row["reservation"]["since"], time_of(stored["reserved_at"]))
            self.assert_time(row["when"], time_of_score(score))
        worker = self.open(Faktory(server.faktory_address, "worker-of-the-test"))
        self.assertEqual(worker.ack(held[0]["jid"]), "+OK")
        self.assertEqual(worker.info()["faktory"]["total_processed"], self.stored.processed + 1)
        self.assertEqual(len(jobs_in(web, "reserved")), len(held) - 1)

    def test_a_redis_that_runs_gives_the_same(self):
        copy = self.path("copy")
        by_socket = self.imported(f"unix:{copy}/test.sock")
        self.assertRegex(by_socket, "other clients? (is|are) connected to that Redis")
        by_file = self.imported(self.old, into="again")
        self.assertEqual(self.rows(by_file), self.rows(by_socket))

    def test_the_command_that_the_refusal_names_does_it(self):
        link = self.path("faktory")
        os.symlink(os.path.abspath(PROGRAM), link)
        flags = ["-b=127.0.0.1:0", "-w=:0", "-c", self.path("c"), "-d", self.old]
        done = subprocess.run([link, *flags], capture_output=True, env=environment(), text=True)
        self.assertEqual(done.returncode, 1)
        command, start = re.search(r"type: (.*); then start with (.*)\n", done.stderr).groups()
        words = shlex.split(command)
        self.assertEqual((words[0], start), ("millrace", os.path.realpath(self.old) + "-millrace"))
        subprocess.run([PROGRAM, *words[1:]], check=True, stdout=subprocess.DEVNULL,
                       env=environment(self.clock_env))
        _server, web = self.serving("old-millrace")
        self.assertEqual(len(jobs_in(web, "dead")), len(self.stored.sets["dead"]))

    def test_nothing_changes_in_the_old_directory(self):
        def seen():
            path = os.path.join(self.old, "faktory.rdb")
            with open(path, "rb") as file:
                return sorted(os.listdir(self.old)), os.stat(path).st_mtime_ns, file.read()

        before = seen()
        self.imported(self.old, env={"TMPDIR": self.directory})
        self.assertEqual(seen(), before)
        self.assertFalse([n for n in os.listdir(self.directory) if n.startswith("millrace-import")])

    def test_the_days_are_shown(self):
        self.imported(self.old)
        _server, web = self.serving()
        days = web.read("/api/v1/history?days=30")["days"]
        counted = [day for day in days if day["processed"]]
        self.assertEqual([day["day"] for day in counted], self.stored.days)
        self.assertEqual(sum(day["processed"] for day in counted), self.stored.processed)
        self.assertEqual(sum(day["failed"] for day in counted), self.stored.failed)


@unittest.skipUnless(REDIS_SERVER, "redis-server is not installed")
class RecordedTest(FromFaktory, FaktoryImportTest):
    """Of version 1.10.0, by record_faktory.py. Nothing of it is due at that time."""

    def write_old(self):
        shutil.copy(RECORDED, self.old)
        with open(RECORDED, "rb") as file:
            beginning = file.read(200)
        # Redis notes the whole second in which it wrote: `ctime`, and a number of four bytes. Jobs
        # may be of later in that second, and what comes from the future is not taken as it is.
        at = beginning.index(b"\x05ctime\xc2") + 7
        self.set_clock(int.from_bytes(beginning[at : at + 4], "little") + 1)


@unittest.skipUnless(OFFICIAL and REDIS_SERVER, "FAKTORY_BIN does not name the official program")
class WrittenNowTest(FromFaktory, FaktoryImportTest):
    def write_old(self):
        official = OfficialFaktory(OFFICIAL, self.old)
        self.addCleanup(official.terminate)
        fill(official)
        official.terminate()


if __name__ == "__main__":
    unittest.main()
