"""What the server has acknowledged survives `kill -9`, and what is finished does not come back."""

import os
import threading
import unittest

from beanstalkd import most_resident_bytes
from clients import Beanstalk, Faktory, Gone
from program import ServerTest, wait_until

PRODUCERS = 4
ACKNOWLEDGED_MIN = 1000


class Stream:
    """What clients of one protocol were told, collected from their threads."""

    def __init__(self):
        self.added = set()
        self.taken = set()
        self.finishing = set()
        self.finished = set()
        self.threads = []

    def run(self, work):
        """Runs `work` on a thread until the server is gone."""

        def body():
            try:
                work()
            except Gone:
                pass

        thread = threading.Thread(target=body, daemon=True)
        self.threads.append(thread)
        thread.start()

    def join(self):
        for thread in self.threads:
            thread.join(30)
            assert not thread.is_alive()


class KilledInAStreamTest(ServerTest):
    def test_puts_and_deletes(self):
        server = self.server().start()
        stream = Stream()
        for number in range(PRODUCERS):
            stream.run(lambda number=number: self.put_forever(server, stream, number))
        stream.run(lambda: self.delete_forever(server, stream))
        wait_until(lambda: len(stream.added) >= ACKNOWLEDGED_MIN, "a stream of puts")
        wait_until(lambda: len(stream.finished) >= ACKNOWLEDGED_MIN // 10, "a stream of deletes")
        server.kill()
        stream.join()

        left = dict(self.reserve_all(server.start()))
        lost = stream.added - stream.finishing - left.keys()
        self.assertEqual(lost, set(), "acknowledged and gone")
        self.assertEqual(stream.finished & left.keys(), set(), "deleted and back")

    def put_forever(self, server, stream, number):
        client = self.open(Beanstalk(server.beanstalk_address))
        client.command("use stream")
        while True:
            stream.added.add(client.put(b"body of producer %d" % number))

    def delete_forever(self, server, stream):
        client = self.open(Beanstalk(server.beanstalk_address))
        client.command("watch stream")
        while True:
            job = client.reserve(timeout=5)
            stream.finishing.add(job[0])
            self.assertEqual(client.delete(job[0]), "DELETED")
            stream.finished.add(job[0])

    def reserve_all(self, server):
        client = self.open(Beanstalk(server.beanstalk_address))
        client.command("watch stream")
        return iter(client.reserve, None)

    def test_pushes_and_acks(self):
        stream = self.killed_in_pushes_and_acks()
        # The job that was fetched last may be ready again.
        self.assertEqual(stream.taken & stream.left - stream.in_hand, set(), "taken and back")

    def test_pushes_and_acks_with_strict_fetch(self):
        stream = self.killed_in_pushes_and_acks("--strict-fetch")
        self.assertEqual(stream.taken & stream.left, set(), "reserved by a worker and back")

    def killed_in_pushes_and_acks(self, *flags):
        server = self.server(*flags).start()
        stream = Stream()
        for number in range(PRODUCERS):
            stream.run(lambda number=number: self.push_forever(server, stream, number))
        stream.run(lambda: self.ack_forever(server, stream))
        wait_until(lambda: len(stream.added) >= ACKNOWLEDGED_MIN, "a stream of pushes")
        wait_until(lambda: len(stream.finished) >= ACKNOWLEDGED_MIN // 10, "a stream of ACKs")
        server.kill()
        stream.join()

        server.start()
        client = self.open(Faktory(server.faktory_address))
        working = client.info()["faktory"]["sets"]["working"]
        queued = client.info()["faktory"]["queues"]["stream"]
        left = {client.fetch("stream")["jid"] for _ in range(queued)}
        self.assertEqual(len(left), queued, "a job came twice")
        self.assertEqual(stream.finished & left, set(), "ACKed and back")
        held = stream.added - stream.finishing - left
        self.assertLessEqual(len(held), working, "acknowledged and gone")
        stream.left = left
        stream.in_hand = stream.taken - stream.finished
        self.assertLessEqual(len(stream.in_hand), 1)
        return stream

    def push_forever(self, server, stream, number):
        client = self.open(Faktory(server.faktory_address))
        count = 0
        while True:
            jid = f"producer-{number}-{count}"
            self.assertEqual(client.push(jid, "stream", [count]), "+OK")
            stream.added.add(jid)
            count += 1

    def ack_forever(self, server, stream):
        client = self.open(Faktory(server.faktory_address, wid="worker-1"))
        while True:
            job = client.fetch("stream")
            stream.taken.add(job["jid"])
            stream.finishing.add(job["jid"])
            self.assertEqual(client.ack(job["jid"]), "+OK")
            stream.finished.add(job["jid"])


class RestartTest(ServerTest):
    def beanstalk(self, server):
        return self.open(Beanstalk(server.beanstalk_address))

    def faktory(self, server, **more):
        return self.open(Faktory(server.faktory_address, **more))

    def test_a_worker_keeps_its_reservation(self):
        server = self.server().start()
        worker = self.faktory(server, wid="worker-1")
        self.assertEqual(worker.push("jid-00001"), "+OK")
        self.assertEqual(worker.fetch()["jid"], "jid-00001")
        worker.info()  # it tells of everything, so the reservation is safe
        server.restart()
        worker = self.faktory(server, wid="worker-1")
        self.assertEqual(worker.info()["faktory"]["sets"]["working"], 1)
        self.assertEqual(worker.info()["faktory"]["queues"]["default"], 0)
        self.assertEqual(worker.ack("jid-00001"), "+OK")
        server.restart()
        info = self.faktory(server).info()["faktory"]
        self.assertEqual((info["sets"]["working"], info["total_processed"]), (0, 1))

    def test_a_job_that_was_fetched_just_now_is_never_lost(self):
        server = self.server().start()
        worker = self.faktory(server, wid="worker-1")
        for number in range(20):
            jid = f"jid-{number:05}"
            self.assertEqual(worker.push(jid), "+OK")
            self.assertEqual(worker.fetch()["jid"], jid)
            server.restart()
            worker = self.faktory(server, wid="worker-1")
            sizes = worker.info()["faktory"]
            held, ready = sizes["sets"]["working"], sizes["queues"]["default"]
            self.assertEqual(held + ready, 1)
            if ready:
                self.assertEqual(worker.fetch()["jid"], jid)
            self.assertEqual(worker.ack(jid), "+OK")

    def test_a_strict_server_never_loses_a_reservation(self):
        server = self.server("--strict-fetch").start()
        worker = self.faktory(server, wid="worker-1")
        for number in range(20):
            jid = f"jid-{number:05}"
            self.assertEqual(worker.push(jid), "+OK")
            self.assertEqual(worker.fetch()["jid"], jid)
            server.restart()
            worker = self.faktory(server, wid="worker-1")
            self.assertEqual(worker.info()["faktory"]["sets"]["working"], 1)
            self.assertEqual(worker.ack(jid), "+OK")

    def test_a_connection_loses_its_reservation(self):
        server = self.server().start()
        client = self.beanstalk(server)
        job = client.put(b"work")
        self.assertEqual(client.reserve(), (job, b"work"))
        server.restart()
        self.assertEqual(self.beanstalk(server).reserve(), (job, b"work"))

    def test_buried_and_delayed_jobs_stay_so(self):
        server = self.server().start()
        client = self.beanstalk(server)
        buried = client.put(b"buried")
        client.reserve()
        self.assertEqual(client.command(f"bury {buried} 7"), "BURIED")
        client.put(b"delayed", delay=1000)
        server.restart()
        stats = self.beanstalk(server).stats("stats-tube default")
        self.assertEqual(stats["current-jobs-buried"], "1")
        self.assertEqual(stats["current-jobs-delayed"], "1")
        self.assertEqual(stats["current-jobs-ready"], "0")

    def test_a_failed_work_unit_waits_for_its_retry(self):
        server = self.server().start()
        worker = self.faktory(server, wid="worker-1")
        worker.push("jid-00001")
        worker.fetch()
        failure = '{"jid":"jid-00001","errtype":"Boom","message":"no","backtrace":[]}'
        self.assertEqual(worker.command("FAIL " + failure), "+OK")
        server.restart()
        self.assertEqual(self.faktory(server).info()["faktory"]["sets"]["retries"], 1)

    def test_ids_are_never_given_twice(self):
        server = self.server().start()
        client = self.beanstalk(server)
        first = client.put(b"a")
        self.assertEqual(client.delete(first), "DELETED")
        server.restart()
        self.assertGreater(self.beanstalk(server).put(b"b"), first)

    def test_many_restarts_add_nothing(self):
        server = self.server().start()
        job = self.beanstalk(server).put(b"kept")
        for _ in range(5):
            server.restart()
        client = self.beanstalk(server)
        self.assertEqual(client.reserve(), (job, b"kept"))
        self.assertIsNone(client.reserve())

    def test_compaction_buries_a_job_whose_body_decayed_and_removes_the_damage(self):
        flags = ("--segment-bytes=1048576", "--max-job-size=100000", "--memory-limit=100000")
        server = self.server(*flags).start()
        client = self.beanstalk(server)
        for number in range(60):
            client.put(b"<%d>" % number + b"b" * 60_000)
        self.assertEqual(client.command("use other"), "USING other")
        damaged = server.segments()[0]
        with open(damaged, "r+b") as file:
            file.seek(file.read().index(b"<5>") + 1000)
            file.write(b"/")

        def rewrites():
            client.command(f"delete {client.put(b'b' * 60_000)}")
            return not os.path.exists(damaged)

        wait_until(rewrites, "the removal of the damaged segment")
        self.assertEqual(client.stats("stats-job 6")["state"], "buried")
        self.assertEqual(server.terminate(), 0)
        # Without the damage the next start is not refused.
        server.start()
        client = self.beanstalk(server)
        self.assertEqual(client.stats("stats-job 6")["state"], "buried")
        bodies = [client.reserve()[1] for _ in range(59)]
        self.assertEqual(bodies, [b"<%d>" % n + b"b" * 60_000 for n in range(60) if n != 5])

    def test_a_restart_needs_less_memory_than_two_long_jobs(self):
        size = 100_000_000
        flags = (f"--max-job-size={size}", "--memory-limit=10000000", "--sync=off")
        server = self.server(*flags).start()
        client = self.beanstalk(server)
        for number in range(6):
            self.assertEqual(client.put(b"%d" % number + b"b" * (size - 1)), number + 1)
        self.assertEqual(server.terminate(), 0)
        server.start()
        self.assertLess(most_resident_bytes(server.process), 2 * size)
        client = self.beanstalk(server)
        for number in range(6):
            self.assertEqual(client.reserve(), (number + 1, b"%d" % number + b"b" * (size - 1)))

    def test_stats_tell_the_journal(self):
        server = self.server("--segment-bytes=1048576", "--max-job-size=100000").start()
        client = self.beanstalk(server)
        fresh = client.stats()
        self.assertEqual(fresh["binlog-oldest-index"], "0")
        self.assertEqual(fresh["binlog-current-index"], "0")
        self.assertEqual(fresh["binlog-records-written"], "0")
        self.assertEqual(fresh["binlog-max-size"], "1048576")
        for _ in range(100):
            client.command(f"delete {client.put(b'b' * 90_000)}")
        stats = client.stats()

        def numbers():
            return [int(os.path.basename(path)[:20]) for path in server.segments()]

        # A segment is removed a moment after it was trimmed.
        wait_until(
            lambda: numbers()[0] == int(stats["binlog-oldest-index"]),
            "the oldest segment is the one that stats tell",
        )
        self.assertEqual(numbers()[-1], int(stats["binlog-current-index"]))
        self.assertGreater(numbers()[0], 0)
        self.assertGreaterEqual(int(stats["binlog-records-written"]), 200)
        self.assertRegex(server.error_text(), r" segments_removed count=\d+ segments_left=\d+ ")

    def test_every_sync_mode_survives_the_end_of_the_process(self):
        for mode in ("always", "interval:50", "off"):
            with self.subTest(mode):
                server = self.server(f"--sync={mode}", data=mode.replace(":", "-")).start()
                job = self.beanstalk(server).put(b"kept")
                server.restart()
                self.assertEqual(self.beanstalk(server).reserve(), (job, b"kept"))


if __name__ == "__main__":
    unittest.main()
