"""A disk that is full: new work is refused, jobs can still end, and room is found again."""

import contextlib
import json
import os
import random
import re
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

from clients import Beanstalk, Faktory, Gone
from program import PROGRAM, Server, ServerTest, wait_until

DISK_BYTES = 24 << 20
SEGMENT_BYTES = 1 << 20
BODY = b"b" * 60_000
SMALL = b"s" * 60
PATIENCE_S = 20


class SmallDisk:
    """A file system in memory of its own; `skip` where this machine does not let us mount one."""

    def __init__(self, test):
        self.path = tempfile.mkdtemp(prefix="millrace-disk-")
        test.addCleanup(shutil.rmtree, self.path, ignore_errors=True)
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", self.path],
            capture_output=True,
            text=True,
        )
        if mounted.returncode != 0:
            test.skipTest(f"no file system of its own: {mounted.stderr.strip()}")
        test.addCleanup(subprocess.run, ["umount", "-l", self.path], check=True)


class FullDiskTest(unittest.TestCase):
    def setUp(self):
        self.disk = SmallDisk(self)
        self.ballast = f"{self.disk.path}/ballast"
        self.server = Server(
            f"{self.disk.path}/data", [f"--segment-bytes={SEGMENT_BYTES}", "--max-job-size=100000"]
        )
        self.addCleanup(self.server.end)
        self.server.start()
        self.client = Beanstalk(self.server.beanstalk_address)
        self.addCleanup(self.client.close)

    def fill(self):
        ids = []
        while (reply := self.client.put(BODY)) != "OUT_OF_MEMORY":
            self.assertIsInstance(reply, int)
            ids.append(reply)
        return ids

    def wait_for_room(self):
        """Puts as soon as that works."""
        end = time.monotonic() + PATIENCE_S
        while (reply := self.client.put(BODY)) == "OUT_OF_MEMORY":
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        return reply

    def take_what_is_free(self):
        """As another program may."""
        with open(self.ballast, "wb", buffering=0) as file:
            with self.assertRaises(OSError):
                while True:
                    file.write(bytes(65536))

    def take_what_becomes_free(self):
        """As another program may, over and over."""
        is_over = threading.Event()

        def take():
            with open(self.ballast, "ab", buffering=0) as file:
                while not is_over.wait(0.005):
                    try:
                        while True:
                            file.write(bytes(65536))
                    except OSError:
                        pass

        rival = threading.Thread(target=take)
        rival.start()

        def end():
            is_over.set()
            rival.join()

        self.addCleanup(end)
        return end

    def delete_all(self, ids):
        for each in ids:
            self.assertEqual(self.client.delete(each), "DELETED")

    def delete_all_at_once(self, ids):
        self.client.send(b"".join(b"delete %d\r\n" % each for each in ids))
        self.assertEqual({self.client.line() for _ in ids}, {"DELETED"})

    def test_jobs_are_refused_and_what_ends_them_is_not(self):
        ids = self.fill()
        self.assertGreater(len(ids) * len(BODY), DISK_BYTES / 4)
        worker = Faktory(self.server.faktory_address)
        self.addCleanup(worker.close)
        self.assertEqual(
            worker.command('PUSH {"jid":"12345678","jobtype":"t","args":[]}'),
            "-ERR server is out of space: no jobs are taken until some have ended",
        )
        self.assertEqual(self.client.reserve(), (ids[0], BODY))
        self.assertEqual(self.client.command(f"bury {ids[0]} 1"), "BURIED")
        self.assertEqual(self.client.command("kick 1"), "KICKED 1")
        self.delete_all(ids[1:])
        again = self.wait_for_room()
        self.server.kill()
        self.server.start()
        client = Beanstalk(self.server.beanstalk_address)
        self.addCleanup(client.close)
        self.assertEqual(client.command(f"peek {ids[1]}"), "NOT_FOUND")
        for each in [ids[0], again]:
            self.assertEqual(client.command(f"peek {each}"), f"FOUND {each} {len(BODY)}")
            self.assertEqual(client.body(len(BODY)), BODY)

    def test_jobs_can_be_released_without_end(self):
        """Each time, what the log holds of the job before is obsolete: it must go in time."""
        ids = self.fill()
        self.take_what_is_free()
        for _ in range(3000):
            each, _ = self.client.reserve()
            self.assertEqual(self.client.command(f"release {each} 0 0"), "RELEASED")
        self.delete_all(ids)
        self.wait_for_room()

    def test_what_fails_with_long_texts_can_be_requeued_all_at_once(self):
        """Each move writes the texts anew: more, together, than is kept back."""
        worker = Faktory(self.server.faktory_address, wid="worker")
        self.addCleanup(worker.close)
        jids = [f"failing-{each}" for each in range(150)]
        for jid in jids:
            worker.push(jid)
        failure = {"errtype": "E", "message": "m", "backtrace": ["line " + "x" * 395] * 50}
        for _ in jids:
            self.fail_next(worker, failure)
        self.fill()
        self.take_what_is_free()
        for _ in range(3):
            self.assertEqual(
                worker.command('MUTATE {"cmd":"requeue","target":"retries"}'), "+OK"
            )
            for _ in jids:
                self.fail_next(worker, failure)
        self.assertEqual(worker.info()["faktory"]["tasks"]["Retries"]["size"], len(jids))
        self.assertEqual(worker.command("FLUSH"), "+OK")
        self.wait_for_room()

    def test_whoever_asks_is_answered_while_another_program_takes_what_is_free(self):
        """Clients wait while the log is cleaned, and go on when it is: nobody wakes them else."""
        worker = Faktory(self.server.faktory_address, wid="worker")
        self.addCleanup(worker.close)
        pushed = 0
        while worker.push(f"job-number-{pushed}", args=["x" * 5000]) == "+OK":
            pushed += 1
        self.assertGreater(pushed, 1000)
        ids = self.fill()
        end_rival = self.take_what_becomes_free()
        failure = {"errtype": "E", "message": "m" * 1000, "backtrace": ["x" * 400] * 50}
        chance = random.Random(1)
        for _ in range(1500):
            step = chance.random()
            if step < 0.5:
                reply = worker.command("FETCH default")
                if reply is not None and not reply.startswith("-"):
                    fail = {"jid": json.loads(reply)["jid"], **failure}
                    self.assertEqual(worker.command("FAIL " + json.dumps(fail)), "+OK")
            elif step < 0.6:
                requeue = 'MUTATE {"cmd":"requeue","target":"retries"}'
                self.assertEqual(worker.command(requeue), "+OK")
            elif step < 0.8:
                self.assertTrue(self.client.command("kick 20").startswith("KICKED"))
            else:
                self.assertIn(self.client.put(b"n" * 2000), ["OUT_OF_MEMORY", *range(99999)])
        self.delete_all(ids)
        self.assertEqual(worker.command("FLUSH"), "+OK")
        end_rival()
        os.remove(self.ballast)
        self.wait_for_room()

    def test_long_jobs_are_moved_and_ended_while_another_program_takes_what_is_free(self):
        """What such a job leaves unused at the end of a segment must not become free."""
        worker = Faktory(self.server.faktory_address, wid="worker")
        self.addCleanup(worker.close)
        chance = random.Random(1)
        pushed = 0
        longest = SEGMENT_BYTES // 2
        while worker.push(f"job-number-{pushed}", args=["x" * chance.randrange(longest)]) == "+OK":
            pushed += 1
        self.assertGreater(pushed, 20)
        end_rival = self.take_what_becomes_free()
        failure = {"errtype": "E", "message": "m", "backtrace": ["x" * 40] * 5}
        for _ in range(10):
            for _ in range(pushed):
                self.fail_next(worker, failure)
            requeue = 'MUTATE {"cmd":"requeue","target":"retries"}'
            self.assertEqual(worker.command(requeue), "+OK")
        for _ in range(pushed):
            self.assertEqual(worker.ack(self.fetch_in_time(worker)["jid"]), "+OK")
        end_rival()
        os.remove(self.ballast)
        self.wait_for_room()

    def test_jobs_can_be_ended_though_a_backup_keeps_what_is_trimmed(self):
        """Its links keep the space of segments that go, so cleaning would only use up the rest."""
        ids = [self.client.put(BODY) for _ in range(150)]
        backup = [PROGRAM, "backup", f"{self.disk.path}/data", f"{self.disk.path}/backup"]
        subprocess.run(backup, check=True, capture_output=True)
        ids += self.fill()
        refused = 0
        while refused == 0:
            self.client.send(b"reserve-with-timeout 0\r\n" * 100)
            held = []
            for _ in range(100):
                reply = self.client.line()
                if reply.startswith("RESERVED"):
                    held.append(reply.split()[1])
                    self.client.body(int(reply.split()[2]))
                else:
                    refused += 1
            self.client.send("".join(f"release {job} 0 0\r\n" for job in held).encode())
            for _ in held:
                self.assertEqual(self.client.line(), "RELEASED")
        self.delete_all(ids)
        shutil.rmtree(f"{self.disk.path}/backup")
        self.wait_for_room()

    def fetch_in_time(self, worker):
        """Where room is short, it is refused until the log has been cleaned."""
        end = time.monotonic() + PATIENCE_S
        while (reply := worker.command("FETCH default")).startswith("-"):
            self.assertLess(time.monotonic(), end, reply)
            time.sleep(0.01)
        return json.loads(reply)

    def fail_next(self, worker, failure):
        jid = self.fetch_in_time(worker)["jid"]
        self.assertEqual(worker.command("FAIL " + json.dumps({"jid": jid, **failure})), "+OK")

    def test_what_is_reserved_by_thousands_can_be_released(self):
        """That they were reserved is written when they are released, or written once more."""
        put = b"put 0 0 60 0\r\n\r\n"
        jobs = 60_000
        for _ in range(jobs // 500):
            self.client.send(put * 500)
            for _ in range(500):
                self.assertTrue(self.client.line().startswith("INSERTED"))
        for _ in range(jobs // 500):
            self.client.send(b"reserve-with-timeout 0\r\n" * 500)
            for _ in range(500):
                self.assertTrue(self.client.line().startswith("RESERVED"))
                self.client.body(0)
        filler = Beanstalk(self.server.beanstalk_address)
        self.addCleanup(filler.close)
        while filler.put(BODY) != "OUT_OF_MEMORY":
            pass
        while filler.put(b"") != "OUT_OF_MEMORY":
            pass
        self.take_what_is_free()
        for first in range(1, jobs, 500):
            ids = range(first, first + 500)
            self.client.send(b"".join(b"release %d 4294967295 0\r\n" % each for each in ids))
            self.assertEqual({self.client.line() for _ in ids}, {"RELEASED"})
        self.delete_all_at_once(range(1, 1000))

    def test_burying_ends_before_deleting_does(self):
        """A buried job takes more of the log: at last the room would not do to clean it."""
        jobs = self.fill_with_small_jobs()
        self.take_what_is_free()
        buried = 0
        while (replies := self.reserve_and_bury(buried + 1)) == ["BURIED", "NOT_FOUND"]:
            buried += 1
        self.assertEqual(replies, ["OUT_OF_MEMORY", "OUT_OF_MEMORY"])
        self.assertGreater(buried, 10_000)
        self.assertLess(buried, jobs - 1)
        self.assertEqual(self.client.command(f"release {buried + 1} 1 0"), "RELEASED")
        self.delete_all_at_once(range(1, buried + 1))
        self.assertEqual(self.reserve_and_bury(jobs), ["BURIED", "NOT_FOUND"])
        self.wait_for_room()
        self.assertIn("job_growth_refused", self.server.error_text())
        self.server.restart()
        client = Beanstalk(self.server.beanstalk_address)
        self.addCleanup(client.close)
        self.assertEqual(client.stats()["current-jobs-buried"], "1")

    def reserve_and_bury(self, each):
        """What burying it is answered, and then delaying it: at once, since a moment later the log
        may be cleaner."""
        commands = f"reserve-job {each}\r\nbury {each} 1\r\nrelease {each} 1 60\r\n"
        self.client.send(commands.encode())
        self.assertEqual(self.client.line(), f"RESERVED {each} {len(SMALL)}")
        self.client.body(len(SMALL))
        return [self.client.line(), self.client.line()]

    def fill_with_small_jobs(self):
        """How many there are then."""
        put = f"put 1 0 60 {len(SMALL)}\r\n".encode() + SMALL + b"\r\n"
        replies = ["INSERTED"]
        jobs = 0
        while replies[-1].startswith("INSERTED"):
            self.client.send(put * 500)
            replies = [self.client.line() for _ in range(500)]
            jobs += sum(reply.startswith("INSERTED") for reply in replies)
        self.assertEqual(replies[-1], "OUT_OF_MEMORY")
        return jobs

    def test_room_that_others_took_is_found_when_they_give_it_back(self):
        ids = [self.client.put(BODY)]
        self.take_what_is_free()
        ids += self.fill()
        self.delete_all(ids)
        os.remove(self.ballast)
        self.wait_for_room()
        self.assertIn("disk_full", self.server.error_text())
        self.assertIn("disk_has_room", self.server.error_text())


class SmallVolumeTest(ServerTest):
    """Of 8 to 300 MiB: what is reserved fits them, they fill, are emptied, and fill again."""

    def volume(self, mib):
        path = self.path(f"volume{mib}")
        os.mkdir(path)
        size = f"size={mib << 20}"
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", size, "tmpfs", path], capture_output=True, text=True
        )
        if done.returncode != 0:
            self.skipTest(f"no file system of its own: {done.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", path], check=True)
        return path

    def small(self, mib, *flags):
        return self.server(*flags, data=f"{self.volume(mib)}/data").start()

    def client(self, server):
        return self.open(Beanstalk(server.beanstalk_address))

    def fill(self, client):
        ids = []
        while (reply := client.put(BODY)) != "OUT_OF_MEMORY":
            self.assertIsInstance(reply, int)
            ids.append(reply)
        return ids

    def drain(self, client, ids):
        for each in ids:
            self.assertEqual(client.reserve(), (each, BODY))
            self.assertEqual(client.delete(each), "DELETED")

    def fill_and_drain(self, mib, *flags):
        """Twice, with a restart while it is full. Answers its log and how much fitted."""
        server = self.small(mib, *flags)
        ids = self.fill(self.client(server))
        filled = len(ids) * len(BODY)
        self.assertGreater(filled, (mib << 20) / 3)
        worker = self.open(Faktory(server.faktory_address))
        self.assertRegex(worker.push("12345678"), "^-ERR server is out of space")
        log = server.error_text()
        self.assertEqual(server.terminate(), 0)
        server.start()
        client = self.client(server)
        self.assertEqual(client.put(BODY), "OUT_OF_MEMORY")
        self.assertIn("disk_full", server.error_text())
        self.drain(client, ids)
        wait_until(lambda: "disk_has_room" in server.error_text(), "room")
        worker = self.open(Faktory(server.faktory_address))
        self.assertEqual(worker.push("12345678"), "+OK")
        self.assertEqual(worker.fetch()["jid"], "12345678")
        self.assertEqual(worker.ack("12345678"), "+OK")
        again = self.fill(client)
        self.assertGreater(len(again), len(ids) * 3 / 4)
        server.kill()
        server.start()
        self.drain(self.client(server), again)
        return log

    def test_a_full_small_volume_says_what_is_needed_and_what_to_do(self):
        log = self.fill_and_drain(100)
        self.assertIn("small_volume", log)
        line = re.search("disk_full.*", log).group()
        numbers = re.search(r"(\d+) bytes are free, and (\d+) are needed", line)
        self.assertLess(int(numbers[1]), int(numbers[2]))
        self.assertLess(int(numbers[2]), 20 << 20)
        self.assertIn("--segment-bytes", line)

    def test_each_volume_is_filled_and_emptied(self):
        for mib in (8, 20, 32, 64, 200, 300):
            with self.subTest(mib=mib):
                self.fill_and_drain(mib)

    def test_an_empty_server_takes_a_small_part(self):
        for mib in (64, 200, 300):
            server = self.small(mib)
            taken = sum(os.stat(f"{server.data}/{name}").st_blocks * 512
                        for name in os.listdir(server.data))
            self.assertLess(taken, (mib << 20) / 6)

    def test_a_start_with_other_sizes_reads_the_jobs(self):
        server = self.small(300, "--segment-bytes=67108864")
        client = self.client(server)
        ids = [client.put(BODY) for _ in range(500)]
        for flags, size in ((["--segment-bytes=1048576"], 300), ([], 500), ([], 100), ([], 3000)):
            server.kill()
            remount = f"remount,size={size << 20}"
            subprocess.run(["mount", "-o", remount, os.path.dirname(server.data)], check=True)
            server.flags = flags
            server.start()
            ids += [self.client(server).put(BODY)]
        self.drain(self.client(server), ids)

    def test_a_volume_that_is_too_small_is_refused(self):
        server = Server(f"{self.volume(4)}/data")
        self.assert_refused(
            server.arguments(), r"volume of 4194304 bytes; .* needs one of 8388608 bytes at least$"
        )

    def test_a_disk_without_room_for_the_first_file_says_how_much_is_needed(self):
        path = self.volume(100)
        with open(f"{path}/ballast", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 99 << 20)
        self.assert_refused(
            Server(f"{path}/data").arguments(),
            r"No space left on device; \d+ bytes are free, and 13107200 are needed$",
        )

    def test_a_job_that_no_segment_would_hold_is_too_long(self):
        server = self.small(100, "--max-job-size=50000000")
        client = self.client(server)
        longest = int(client.stats()["max-job-size"])
        self.assertGreater(longest, 5 << 20)
        self.assertEqual(client.put(b"b" * (longest + 1)), "JOB_TOO_BIG")
        ids = []
        while isinstance(reply := client.put(b"b" * longest), int):
            ids.append(reply)
        self.assertEqual(reply, "OUT_OF_MEMORY")
        self.assertGreater(len(ids), 8)
        for each in ids:
            self.assertEqual(client.delete(each), "DELETED")
        wait_until(lambda: isinstance(client.put(b"b" * longest), int), "room")

    def test_the_option_s_of_beanstalkd_is_the_size_of_its_files(self):
        server = self.server(data=f"{self.volume(200)}/data")
        os.symlink(os.path.abspath(PROGRAM), self.path("beanstalkd"))
        os.mkdir(server.data)
        address = server.beanstalk_address
        server.arguments = lambda: [
            self.path("beanstalkd"), "-l", address[0], "-p", str(address[1]),
            "-b", server.data, "-s", "1048576",
        ]
        server.begin()
        clients = []

        def is_open():
            with contextlib.suppress(Gone):
                clients.append(self.client(server))
            return clients

        wait_until(is_open, "an open port")
        [client] = clients
        self.assertEqual(os.path.getsize(server.segments()[0]), 1 << 20)
        wait_until(lambda: os.path.exists(f"{server.data}/spare-3"), "the reserve")
        self.assertIsInstance(client.put(BODY), int)
        self.assertEqual(client.stats()["binlog-max-size"], "1048576")


if __name__ == "__main__":
    unittest.main()
