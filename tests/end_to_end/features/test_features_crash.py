"""Batches, locks and tracks of the real program, which is killed again and again at its work."""

import collections
import itertools
import json
import threading
import time

from clients import Beanstalk, Faktory, Gone
from program import ServerTest, wait_until

LIVES = 5
LIFE_SECONDS = 1.0
MEMBERS = 5
QUEUES = ("members", "callbacks")


class Batch:
    """What a client was told of one batch."""

    def __init__(self, number, bid):
        self.number = number
        self.bid = bid
        self.tried = set()
        self.pushed = set()

    def callback(self, role):
        return f"{role}-{self.number:08}"


class Load:
    """What all clients were told, in all lives of the server."""

    def __init__(self):
        self.numbers = itertools.count(1)
        self.batches = []
        self.locks = {}
        self.percents = {}
        self.unsure = set()  # these may be reserved without anybody knowing
        self.fetched = []  # by life: how often each job was handed out
        self.stops = threading.Event()

    def begin_life(self):
        self.stops.clear()
        self.fetched.append(collections.Counter())


class KilledInALoadTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.load = Load()
        self.live_server = self.server()
        self.failures = []

    def test_counters_callbacks_locks_and_tracks(self):
        for _ in range(LIVES):
            self.live(self.live_server.restart if self.live_server.process else self.start)
        self.finish()
        self.assertGreater(len(self.load.batches), 20)
        self.assertGreater(len(self.load.locks), 20)
        self.assertGreater(len(self.load.percents), 20)

    def start(self):
        return self.live_server.start()

    # ---- lives ------------------------------------------------------------------------------

    def live(self, start):
        start()
        self.load.begin_life()
        self.check_told()
        self.resume()
        threads = self.run_clients()
        time.sleep(LIFE_SECONDS)
        self.live_server.kill()
        self.join(threads)

    def finish(self):
        """The last life ends when all is done."""
        self.live_server.restart()
        self.load.begin_life()
        self.check_told()
        self.resume()
        threads = [self.begin(self.work, "worker-1"), self.begin(self.work, "worker-2")]
        client = self.faktory()
        for batch in self.load.batches:
            wait_until(lambda batch=batch: self.is_finished(client, batch), batch.bid)
            self.check_finished(client, batch)
        self.load.stops.set()
        self.join(threads)
        for life in self.load.fetched:
            twice = [jid for jid, times in life.items() if times > 1]
            self.assertEqual(twice, [], "handed out twice in one life")
        jobs = client.info()["faktory"]["queues"]
        self.assertEqual((jobs["members"], jobs["callbacks"]), (0, 0), "a callback too many")

    def run_clients(self):
        return [
            self.begin(self.make_batches),
            self.begin(self.make_batches),
            self.begin(self.take_locks),
            self.begin(self.work, "worker-1"),
            self.begin(self.work, "worker-2"),
            self.begin(self.work_in_tube),
        ]

    def begin(self, work, *arguments):
        def body():
            try:
                work(*arguments)
            except Gone:
                pass
            except AssertionError as failure:
                self.failures.append(failure)

        thread = threading.Thread(target=body, daemon=True)
        thread.start()
        return thread

    def join(self, threads):
        for thread in threads:
            thread.join(30)
            self.assertFalse(thread.is_alive())
        self.assertEqual(self.failures, [])

    def faktory(self, wid=None):
        return self.open(Faktory(self.live_server.faktory_address, wid))

    # ---- clients ----------------------------------------------------------------------------

    def make_batches(self):
        client = self.faktory()
        while True:
            number = next(self.load.numbers)
            batch = Batch(number, None)
            callbacks = {
                role: {
                    "jid": batch.callback(role),
                    "jobtype": "Callback",
                    "queue": "callbacks",
                    "args": [],
                }
                for role in ("complete", "success")
            }
            self.load.unsure.update(batch.callback(role) for role in callbacks)
            batch.bid = client.command("BATCH NEW " + json.dumps(callbacks))
            self.load.batches.append(batch)
            for member in range(MEMBERS):
                jid = f"member-{number:08}-{member}"
                batch.tried.add(jid)
                self.load.unsure.add(jid)
                custom = {"bid": batch.bid, "track": 1}
                self.assertEqual(client.push(jid, "members", custom=custom), "+OK")
                batch.pushed.add(jid)
            self.assertEqual(client.command("BATCH COMMIT " + batch.bid), "+OK")

    def take_locks(self):
        """Nobody runs these jobs."""
        client = self.faktory()
        while True:
            number = next(self.load.numbers)
            jid = f"unique-{number:08}"
            custom = {"unique_for": 3600, "track": 1}
            reply = client.push(jid, "locked", [number], custom=custom)
            self.assertEqual(reply, "+OK")
            self.load.locks[number] = jid
            told = json.dumps({"jid": jid, "percent": number % 101})
            self.assertEqual(client.command("TRACK SET " + told), "+OK")
            self.load.percents[jid] = number % 101

    def work(self, wid):
        client = self.faktory(wid)
        while not self.load.stops.is_set():
            job = client.fetch(*QUEUES)
            if job is None:
                continue
            self.load.fetched[-1][job["jid"]] += 1
            client.command("TRACK SET " + json.dumps({"jid": job["jid"], "desc": "at work"}))
            self.assertEqual(client.ack(job["jid"]), "+OK")
            self.load.unsure.discard(job["jid"])

    def work_in_tube(self):
        client = self.open(Beanstalk(self.live_server.beanstalk_address))
        client.command("watch members")
        while True:
            reserved = client.reserve(timeout=1)
            if reserved is None:
                continue
            job, body = reserved
            jid = json.loads(body)["jid"]
            self.load.fetched[-1][jid] += 1
            self.assertEqual(client.delete(job), "DELETED")
            self.load.unsure.discard(jid)

    # ---- after a crash ----------------------------------------------------------------------

    def check_told(self):
        """Locks are held, and values are those that were acknowledged."""
        client = self.faktory()
        for number in self.load.locks:
            reply = client.push(f"again-{number:08}", "locked", [number], custom={"unique_for": 9})
            self.assertEqual(reply, "-NOTUNIQUE Job not unique")
        for jid, percent in self.load.percents.items():
            track = json.loads(client.command(f"TRACK GET {jid}"))
            self.assertEqual((track["state"], track["percent"]), ("enqueued", percent))
        for batch in self.load.batches:
            status = self.status(client, batch)
            self.assertGreaterEqual(status["total"], len(batch.pushed))
            self.assertLessEqual(status["total"], len(batch.tried))
            self.assertEqual(status["failed"], 0)

    def resume(self):
        """Commits what may not have been, and ends what a worker may hold that does not know."""
        client = self.faktory()
        for batch in self.load.batches:
            self.assertEqual(client.command("BATCH COMMIT " + batch.bid), "+OK")
        for jid in list(self.load.unsure):
            self.assertEqual(client.ack(jid), "+OK")

    def status(self, client, batch):
        return json.loads(client.command("BATCH STATUS " + batch.bid))

    def is_finished(self, client, batch):
        for role in ("complete", "success"):
            client.ack(batch.callback(role))
        return self.status(client, batch)["success_st"] == "2"

    def check_finished(self, client, batch):
        status = self.status(client, batch)
        self.assertEqual((status["pending"], status["failed"]), (0, 0))
        self.assertEqual((status["complete_st"], status["success_st"]), ("2", "2"))

