"""`millrace import --from beanstalk://...`: the jobs of a server that runs move, and none is lost
or doubled when the import is killed."""

import os
import re
import signal
import socket
import subprocess
import threading
import unittest

from clients import Beanstalk, Faktory, Gone
from moving.test_import_binlog import BEANSTALKD, SAME, Beanstalkd, jobs_of
from program import PROGRAM, START_SECONDS_MAX, ServerTest, environment, start_kept, wait_until


class RunningImportTest(ServerTest):
    def run_import(self, address, *flags):
        return subprocess.run(
            [PROGRAM, "import", "--from", url_of(address), "--into", self.path("data"), *flags],
            capture_output=True,
            env=environment(),
            text=True,
            timeout=START_SECONDS_MAX,
        )

    def imported(self, address, *flags, status=0):
        done = self.run_import(address, *flags)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def data_client(self):
        return self.open(Beanstalk(self.server("--sync=off").start().beanstalk_address))

    def old_server(self, binlog="binlog"):
        """A client of it, and its address."""
        os.mkdir(self.path(binlog))
        server = Beanstalkd(self.path(binlog))
        self.addCleanup(server.kill)
        return self.open(server.client()), server.address

    def assert_moved(self, old, expected, new):
        """All jobs are in the new server with what the old one told of them."""
        last_id = max(expected)
        found = jobs_of(new, last_id)
        self.assertEqual(found.keys(), expected.keys())
        for job, (body, stats) in expected.items():
            with self.subTest(job=job):
                ours = found[job][1]
                self.assertEqual(found[job][0], body)
                self.assertEqual({n: stats[n] for n in SAME}, {n: ours[n] for n in SAME})
                self.assertEqual(stats["buries"], ours["buries"])
                self.assertAlmostEqual(int(ours["age"]), int(stats["age"]), delta=20)
                if stats["state"] == "delayed":
                    self.assertAlmostEqual(
                        int(ours["time-left"]), int(stats["time-left"]), delta=20
                    )
        self.assertEqual(jobs_of(old, last_id), {})


def url_of(address):
    return "beanstalk://{}:{}".format(*address)


@unittest.skipUnless(os.path.exists(BEANSTALKD), "Debian's beanstalkd is not installed")
class FromBeanstalkdTest(RunningImportTest):
    def fill(self, client):
        for tube in ("mail", "a/b;c.d$e_(f)+g-h", "default"):
            client.command(f"use {tube}")
            client.command(f"watch {tube}")
            for i in range(150):
                client.put(b"%d" % i * 10, pri=i % 7, delay=3600 * (i % 30 == 0), ttr=30 + i)
            client.put(b"", pri=4_000_000_000)
            client.put(b"\r\n\0\xff" * 100)
            client.put(b"x" * 65_000)
        for _ in range(20):
            job, _body = client.reserve()
            client.command(f"bury {job} {job + 5}")
        for _ in range(20):
            job, _body = client.reserve()
            client.command(f"release {job} 9 1800")
        client.command("use mail")
        client.command("kick 3")
        return client.put(b"last")

    def test_jobs_move_with_all_that_was_told_of_them(self):
        client, address = self.old_server()
        last_id = self.fill(client)
        client.command("pause-tube mail 3600")
        expected = jobs_of(client, last_id)
        report = self.imported(address)
        self.assertRegex(report, rf"(?m)^all +{len(expected)} +{len(expected)}$")
        self.assert_moved(client, expected, self.data_client())

    def test_buried_jobs_keep_their_order(self):
        client, address = self.old_server()
        ids = [client.put(b"%d" % i) for i in range(5)]
        for job in (ids[2], ids[0], ids[4]):
            client.command(f"reserve-job {job}")
            body = client.body(1)
            self.assertEqual(len(body), 1)
            client.command(f"bury {job} 1")
        self.imported(address)
        new = self.data_client()
        self.assertEqual(new.command("peek-buried"), f"FOUND {ids[2]} 1")

    def test_jobs_that_workers_hold_stay_there(self):
        client, address = self.old_server()
        held = client.put(b"held")
        client.put(b"free")
        client.reserve()
        done = self.run_import(address)
        self.assertEqual(done.returncode, 4, done.stdout)
        self.assertRegex(done.stderr, "workers hold 1 job of beanstalk://.*, which stay there")
        self.assertRegex(done.stdout, r"(?m)^default +reserved +1 +0 +1 held by a worker$")
        client.command(f"release {held} 0 0")
        self.imported(address, "--merge")
        new = self.data_client()
        self.assertEqual(new.stats()["current-jobs-ready"], "2")

    def test_a_killed_import_goes_on_and_no_job_is_lost_or_doubled(self):
        client, address = self.old_server()
        jobs = 20_000
        client.send(b"".join(b"put 0 0 60 100\r\n%0100d\r\n" % i for i in range(jobs)))
        for _ in range(jobs):
            client.line()
        command = [PROGRAM, "import", "--from", url_of(address), "--into", self.path("data")]
        for left in (jobs - 2000, jobs - 6000):
            process = start_kept(command, env=environment(), stdout=subprocess.DEVNULL)
            wait_until(lambda: int(client.stats()["current-jobs-ready"]) < left, "some have moved")
            process.kill()
            self.assertEqual(process.wait(), -signal.SIGKILL)
        refusal = "import of the server beanstalk://.* has not ended: run it again"
        self.assert_refused(self.server().arguments(), refusal)
        report = self.imported(address)
        self.assertRegex(report, r"goes on: [0-9,]+ jobs moved before, not in this table")
        new = self.data_client()
        bodies = [body for body, _ in jobs_of(new, jobs).values()]
        self.assertEqual(bodies, [b"%0100d" % i for i in range(jobs)])
        self.assertEqual(new.stats()["current-jobs-ready"], str(jobs))


class Relay:
    """Passes on what a client sends to a server, until it has seen `delete`: then it cuts both off,
    and the server never sees that."""

    def __init__(self, address):
        self.server = address
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        with self.listener:
            client, _ = self.listener.accept()
        with client, socket.create_connection(self.server) as server:
            answers = threading.Thread(target=self.answer, args=(server, client), daemon=True)
            answers.start()
            while True:
                data = client.recv(65536)
                if not data or b"delete " in data:
                    break
                server.sendall(data)
            # Closed, it would stay open for the other thread.
            for end in (server, client):
                end.shutdown(socket.SHUT_RDWR)
            answers.join()

    def answer(self, server, client):
        try:
            while data := server.recv(65536):
                client.sendall(data)
        except OSError:
            pass


@unittest.skipUnless(os.path.exists(BEANSTALKD), "Debian's beanstalkd is not installed")
class CutOffTest(RunningImportTest):
    def test_what_was_stored_and_not_deleted_is_only_deleted(self):
        client, address = self.old_server()
        for i in range(10):
            client.put(b"%d" % i)
        relay = Relay(address)
        done = self.run_import(relay.address)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "the connection was lost; run it again")
        _other, other_address = self.old_server("other")
        done = self.run_import(other_address)
        self.assertRegex(done.stderr, "has not ended: run that first")
        # Another address of the same process is the same source.
        wait_until(lambda: client.stats()["current-jobs-ready"] == "10", "they are ready again")
        report = self.imported(address)
        self.assertIn("goes on: 1 job of this table had come before, and had only to be deleted",
                      report)
        self.assertEqual(self.data_client().stats()["current-jobs-ready"], "10")

    def test_after_a_restart_of_the_other_server_ids_mean_nothing(self):
        client, address = self.old_server()
        client.put(b"one")
        relay = Relay(address)
        self.assertEqual(self.run_import(relay.address).returncode, 1)
        mark = self.path("data/import")
        with open(mark, encoding="utf-8") as file:
            text = re.sub(", process .*", ", process other", file.read())
        with open(mark, "w", encoding="utf-8") as file:
            file.write(text.replace(url_of(relay.address), url_of(address)))
        wait_until(lambda: client.stats()["current-jobs-ready"] == "1", "it is ready again")
        report = self.imported(address)
        self.assertIn("restarted since the import began; up to 100 jobs may be here twice", report)
        self.assertEqual(self.data_client().stats()["current-jobs-ready"], "2")


class RefusedTest(RunningImportTest):
    def assert_not_imported(self, url, text, status=1):
        command = [PROGRAM, "import", "--from", url, "--into", self.path("data")]
        self.assert_refused(command, text, status=status)
        self.assertFalse(os.path.exists(self.path("data")))

    def test_no_server_or_another_one(self):
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        address = server.getsockname()
        threading.Thread(target=answer_http, args=(server,), daemon=True).start()
        self.assert_not_imported(url_of(address), "is not a beanstalk port; it says HTTP/1.1 400")
        server.close()
        self.assert_not_imported(url_of(address), "no connection: Connection refused")

    def test_wrong_addresses(self):
        for url in ("x", "beanstalk://", "beanstalk://h:0", "beanstalk://h:x", "beanstalk://a b",
                    "beanstalk://u@h", "beanstalk://[::1", "beanstalk://h/p"):
            self.assert_not_imported(url, "--from: not beanstalk://HOST", status=2)

    def test_queues_that_no_beanstalk_command_can_name_stay_there(self):
        server = self.server("--push-once=off", data="there").start()
        worker = self.open(Faktory(server.faktory_address))
        for queue in ("-x", "mail", "y" * 201):
            self.assertEqual(worker.push(f"jid-of-{queue}", queue), "+OK")
        report = self.imported(server.beanstalk_address, status=4)
        self.assertIn("not emptied: tube -x, which no command can name\n", report)
        self.assertIn("tube " + "y" * 201, report)
        self.assertRegex(report, r"mail +ready +1 +1\n")

    def test_from_a_millrace(self):
        server = self.server(data="there").start()
        client = self.open(Beanstalk(server.beanstalk_address))
        client.put(b"ready", pri=5)
        client.put(b"later", delay=3600)
        report = self.imported(server.beanstalk_address)
        self.assertRegex(report, r"(?m)^all +2 +2$")
        self.assertEqual(client.stats()["current-jobs-ready"], "0")
        self.assertEqual(self.data_client().stats()["current-jobs-delayed"], "1")


def answer_http(server):
    try:
        client, _ = server.accept()
        with client:
            client.recv(1000)
            client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    except OSError:
        pass


if __name__ == "__main__":
    unittest.main()
