"""`millrace import --faktory`: databases that are odd, foreign, cut off, gone or in use."""

import json
import os
import shutil
import signal
import subprocess
import threading
import unittest

from clients import Beanstalk, Faktory
from moving.faktory_import import FaktoryImportTest, body_of, jobs_in
from moving.redis_server import REDIS_SERVER
from program import PROGRAM, environment, free_port, start_kept, wait_until

ODD_JOB = (b'{"retry":25,"custom":{"n":12345678901234567890123,"s":"\\u0000\xe2\x82\xac"},'
           b'"jid":"odd-job-1","queue":"q","jobtype":"T","created_at":"2026-01-02T03:04:05Z",'
           b'"args":[9007199254740993,-0.0,1E400,"\\ud83e\\udd80","</a>"]}')


def job(jid, queue="q", **more):
    text = {"jid": jid, "queue": queue, "jobtype": "T", "args": [],
            "created_at": "2026-01-02T03:04:05Z", "retry": 25, **more}
    return json.dumps(text, separators=(",", ":")).encode()


@unittest.skipUnless(REDIS_SERVER, "redis-server is not installed")
class RedisTest(FaktoryImportTest):
    """A Redis that the test fills as it likes."""

    def setUp(self):
        super().setUp()
        self.old = self.path("old")
        os.mkdir(self.old)

    def begin(self, *flags, **more):
        self.server_process = self.redis(self.old, *flags, **more)
        self.client = self.open(self.server_process.client())
        self.source = f"unix:{self.old}/test.sock"

    def save(self):
        """Ends the Redis; its snapshot is there."""
        self.client.command("SAVE")
        self.server_process.end()

    def fill(self, *jobs, queue="q"):
        self.client.command("SADD", "queues", queue)
        self.client.command("LPUSH", f"q:{queue}", *jobs)


class OddTest(RedisTest):
    def test_numbers_and_bytes_stay_as_they_are(self):
        self.begin()
        self.fill(ODD_JOB)
        self.imported(self.source)
        _server, web = self.serving()
        body = body_of(web, jobs_in(web, "ready")[0])
        # The server fills in when it became ready.
        self.assertEqual(body.replace(b'"enqueued_at":"2026-01-02T03:04:05Z",', b""), ODD_JOB)

    def test_what_a_push_would_refuse_but_faktory_had(self):
        self.begin()
        self.fill(b' { "jid" : "spaced-out" , "jobtype":"T", "args":[ 1 ], "retry":null } ',
                  job("reserved-for-days", reserve_for=1_000_000), job("at-oddly", at="soon"),
                  job("bad-wish", custom={"unique_for": "x", "bid": "b-unknown"}),
                  job("\xff-broken").replace(b"\\u00ff", b"\xff"))
        report = self.imported(self.source)
        self.assertEqual(self.rows(report)[("q", "enqueued")], ["5", "5"])
        _server, web = self.serving()
        found = {row["jid"]: row for row in jobs_in(web, "ready")}
        self.assertIn("\ufffd-broken", found)
        self.assertIn(b'"retry":25', body_of(web, found["spaced-out"]))
        self.assertIn(b'"reserve_for":1000000', body_of(web, found["reserved-for-days"]))
        self.assertIn(b'"bid":"b-unknown"', body_of(web, found["bad-wish"]))

    def test_queues_of_old_versions_and_lists_without_a_name(self):
        self.begin()
        self.client.command("SADD", "queues", "mail", "retries")
        self.client.command("LPUSH", "mail", job("older-one"), job("older-two"))
        self.client.command("LPUSH", "q:mail", job("newer-one"))
        self.client.command("LPUSH", "retries", job("in-a-queue-named-retries"))
        self.client.command("LPUSH", "q:forgotten", job("forgotten"))
        self.imported(self.source)
        _server, web = self.serving()
        found = [(row["queue"], row["jid"]) for row in jobs_in(web, "ready")]
        self.assertEqual(sorted(found), sorted([
            ("mail", "older-one"), ("mail", "older-two"), ("mail", "newer-one"),
            ("retries", "in-a-queue-named-retries"), ("forgotten", "forgotten")]))
        mail = [jid for queue, jid in found if queue == "mail"]
        self.assertEqual(mail, ["older-one", "older-two", "newer-one"])

    def test_entries_that_are_no_jobs_are_counted_and_the_status_says_so(self):
        self.begin()
        self.fill(b"junk", b"", job("good-one"), b'{"jid":"cut-off-he')
        self.client.command("ZADD", "working", 2e9, b"junk")
        done = self.run_import(self.source)
        self.assertEqual(done.returncode, 4)
        self.assertRegex(done.stderr, "4 jobs not taken; the table says why; 4 of them cannot be "
                                      "read as jobs, the last one of the key q:q$")
        reason = "that cannot be read as the JSON of a job"
        rows = self.rows(done.stdout)
        self.assertEqual(rows[("q", "enqueued")], ["4", "1", f"3 {reason}"])
        self.assertEqual(rows[("?", "working")], ["1", "0", f"1 {reason}"])

    def test_jobs_that_nobody_could_run_are_not_taken(self):
        self.begin()
        self.fill(job("short"), job("no-type-", jobtype=""), job("no-args-", args=None))
        for jid, queue in (("bad-queue", "a b"), ("long-queue", "x" * 1025)):
            self.client.command("ZADD", "scheduled", 4e9, job(jid, queue))
        self.client.command("LPUSH", "q:q", b"junk")
        done = self.run_import(self.source)
        self.assertEqual(done.returncode, 4)
        rows = self.rows(done.stdout)
        self.assertRegex(done.stdout, "(?m)^all +6 +0 +6$")
        self.assertRegex(done.stderr, "6 jobs not taken; .*; 1 of them cannot be read as jobs")
        self.assertEqual(rows[("q", "enqueued")][:2], ["4", "0"])
        self.assertIn("1 without a jid of 8 to 1024 bytes", rows[("q", "enqueued")][2])
        bad = "1 for a queue with a name that no worker can use"
        self.assertEqual(rows[("a b", "scheduled")], ["1", "0", bad])

    def test_scores_that_no_clock_shows(self):
        self.begin()
        self.client.command("SADD", "queues", "q")
        for i, score in enumerate(("-inf", "inf", "1e30", "-5")):
            for name in ("scheduled", "retries", "dead"):
                self.client.command("ZADD", name, score, job(f"in-{name}-{i}"))
            held = b'{"job":%s,"reserved_at":"x","expires_at":"y","wid":"w"}' % job(f"held---{i}")
            self.client.command("ZADD", "working", score, held)
        self.imported(self.source, "--keep-working")
        checking = [PROGRAM, "check", self.path("data")]
        check = subprocess.run(checking, capture_output=True, text=True)
        self.assertIn("jobs: 4 scheduled, 0 ready, 4 reserved, 4 retrying, 4 dead", check.stdout)
        server, _web = self.serving()
        sets = self.open(Faktory(server.faktory_address)).info()["faktory"]["sets"]
        # Those of the far future stay.
        self.assertGreaterEqual(sets["scheduled"], 2)
        self.assertGreaterEqual(sets["retries"], 2)

    def test_the_dead_of_one_moment_are_all_there(self):
        self.begin()
        self.client.command("SADD", "queues", "q")
        for i in range(300):
            self.client.command("ZADD", "dead", 1.9e9, job(f"died-at-once-{i:03}"))
        self.imported(self.source)
        _server, web = self.serving()
        found = [row["jid"] for row in jobs_in(web, "dead")]
        self.assertEqual(found, [f"died-at-once-{i:03}" for i in range(300)])

    def test_a_lock_is_held_by_the_first_job_that_wants_it(self):
        self.begin()
        wish = {"unique_for": 4e9}
        self.fill(job("first-one", custom=wish), job("second-one", custom=wish))
        self.imported(self.source)
        server, _web = self.serving()
        client = self.open(Faktory(server.faktory_address))
        again = {"jid": "third-one", "queue": "q", "jobtype": "T", "args": [], "custom": wish}
        push = "PUSH " + json.dumps(again)
        self.assertIn("NOTUNIQUE", client.command(push))
        for jid in ("first-one", "second-one"):
            self.assertEqual(client.fetch("q")["jid"], jid)
            self.assertEqual(client.ack(jid), "+OK")
        self.assertEqual(client.command(push), "+OK")

    def test_long_jobs_and_many(self):
        self.begin()
        jobs = [job(f"job-{i:06}", args=["x" * (300_000 if i % 500 == 3 else 10)])
                for i in range(3000)]
        self.fill(*jobs)
        rows = self.rows(self.imported(self.source))
        self.assertEqual(rows[("q", "enqueued")], ["3,000", "3,000"])
        _server, web = self.serving()
        found = jobs_in(web, "ready")
        self.assertEqual([row["jid"] for row in found], [f"job-{i:06}" for i in range(3000)])
        self.assertIn(b"x" * 300_000, body_of(web, found[503]))


class MergeTest(RedisTest):
    def test_a_target_with_jobs_needs_merge_and_counts_are_added(self):
        server = self.server(env=self.clock_env).start()
        client = self.open(Faktory(server.faktory_address))
        for jid in ("done-here", "here-still"):
            client.push(jid, "q")
        client.fetch("q")
        client.ack("done-here")
        client.command("QUEUE PAUSE q")
        server.terminate()
        self.begin()
        self.fill(job("from-faktory"))
        self.client.commands([("SET", "processed", 40), ("SET", "failures", 2)])
        done = self.run_import(self.source)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"has jobs already \(1\), .*use --merge")
        self.imported(self.source, "--merge")
        client = self.open(Faktory(server.start().faktory_address))
        told = client.info()["faktory"]
        self.assertEqual((told["total_processed"], told["total_failures"]), (41, 2))
        self.assertIsNone(client.fetch("q"))
        client.command("QUEUE RESUME q")
        self.assertEqual([client.fetch("q")["jid"] for _ in range(2)],
                         ["here-still", "from-faktory"])

    def test_beside_beanstalkds_jobs_ids_are_fresh(self):
        server = self.server(env=self.clock_env).start()
        self.open(Beanstalk(server.beanstalk_address)).put(b"here")
        server.terminate()
        self.begin()
        self.fill(job("from-faktory"))
        self.imported(self.source, "--merge")
        client = self.open(Beanstalk(server.start().beanstalk_address))
        self.assertEqual(client.command("peek 1"), "FOUND 1 4")
        self.assertEqual(client.body(4), b"here")
        self.assertEqual(client.put(b"new"), 3)


class EndedTest(RedisTest):
    """Imports that do not come to their end."""

    JOBS = 150_000

    def fill_many(self):
        self.begin()
        for begin in range(0, self.JOBS, 10_000):
            self.fill(*(job(f"job-{i:06}") for i in range(begin, begin + 10_000)))
        self.client.commands([("SET", "processed", 40), ("SADD", "paused", "q")])

    def begin_import(self, source, env=None):
        return start_kept(
            [PROGRAM, "import", "--faktory", source, "--into", self.path("data")],
            env=environment({**self.clock_env, **(env or {})}),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def killed_import(self):
        process = self.begin_import(self.source)
        wait_until(lambda: os.path.exists(self.path("data/import")), "the mark")
        process.kill()
        self.assertEqual(process.wait(), -signal.SIGKILL)

    def test_one_that_was_killed_begins_again_and_doubles_nothing(self):
        self.fill_many()
        self.killed_import()
        refusal = "import of Faktory's unix:.* has not ended: run it again"
        self.assert_refused(self.server().arguments(), refusal)
        self.killed_import()
        rows = self.rows(self.imported(self.source))
        self.assertEqual(rows[("q", "enqueued")], [f"{self.JOBS:,}"] * 2)
        server, _web = self.serving()
        told = self.open(Faktory(server.faktory_address)).info()["faktory"]
        self.assertEqual((told["queues"]["q"], told["total_processed"]), (self.JOBS, 40))

    def test_a_redis_that_changes_meanwhile_is_not_imported(self):
        self.fill_many()
        busy = self.open(self.server_process.client())
        is_over = threading.Event()

        def push():
            while not is_over.is_set():
                busy.command("ZADD", "scheduled", 4e9, job("comes-and-goes"))
                busy.command("ZREM", "scheduled", job("comes-and-goes"))

        pushing = threading.Thread(target=push)
        pushing.start()
        done = self.run_import(self.source)
        is_over.set()
        pushing.join()
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stderr, "was changed while it was read: stop Faktory")
        rows = self.rows(self.imported(self.source))
        self.assertEqual(rows[("q", "enqueued")], [f"{self.JOBS:,}"] * 2)

    def test_a_redis_that_ends_meanwhile(self):
        self.fill_many()
        process = self.begin_import(self.source)
        wait_until(lambda: os.path.exists(self.path("data/import")), "the mark")
        self.server_process.end()
        self.assertEqual(process.wait(), 1)

    def test_a_signal_leaves_neither_the_copy_nor_a_redis(self):
        self.fill_many()
        self.save()
        folder = self.path("temporary")
        os.mkdir(folder)
        process = self.begin_import(self.old, {"TMPDIR": folder})
        copies = []
        wait_until(lambda: copies.extend(os.listdir(folder)) or copies, "the copy")
        copy = os.path.join(folder, copies[0]).encode()
        process.send_signal(signal.SIGTERM)
        self.assertNotEqual(process.wait(), 0)
        self.assertEqual(os.listdir(folder), [])
        wait_until(lambda: not any(copy in line for line in command_lines()), "the end of Redis")


def command_lines():
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                yield file.read()
        except OSError:
            continue


class RefusedTest(RedisTest):
    def assert_not_imported(self, source, text, *flags, **more):
        told = super().assert_not_imported(source, text, *flags, **more)
        self.assertFalse(os.path.exists(self.path("data")))
        return told

    def test_a_database_of_something_else(self):
        self.begin()
        self.assert_not_imported(self.source, "Faktory has stored nothing there$")
        self.client.commands([("SADD", "queues", "default"), ("LPUSH", "queue:default", "{}"),
                              ("ZADD", "dead", 1, "{}")])
        self.assert_not_imported(self.source,
                                 "not a database of Faktory alone: .* like queue:default")
        self.client.commands([("DEL", "queue:default", "dead"), ("LPUSH", "dead", "x")])
        self.assert_not_imported(self.source, "the key dead is a list, and Faktory's is a zset$")
        self.client.commands([("FLUSHALL",), ("SET", "queues", "x")])
        self.assert_not_imported(self.source, "the key queues is a string, and Faktory's is a set$")

    def test_keys_of_others_are_left_alone_when_asked_to(self):
        self.begin()
        self.fill(job("good-one"))
        self.client.commands([("SET", "b-1234", 1), ("SET", "odd\n\x01key", 1)])
        self.assert_not_imported(self.source, "it makes no key like .*, use --ignore-other-keys$")
        report = self.imported(self.source, "--ignore-other-keys")
        self.assertRegex(report, "(?m)^left alone: 2 keys, such as ")
        self.assertEqual(self.rows(report)[("q", "enqueued")], ["1", "1"])

    def test_no_redis_is_there(self):
        self.assert_not_imported(f"unix:{self.old}/none", "none: no connection to Redis: No such")
        self.assert_not_imported(f"redis://127.0.0.1:{free_port()}", "no connection to Redis: Conn")
        self.assert_not_imported("unix:" + "/x" * 60, "the path of a socket has at most 107 bytes")

    def test_passwords(self):
        secret, port = "s3cret/@%", free_port()
        self.begin(port=port)
        self.fill(job("good-one"))
        self.client.command("CONFIG", "SET", "requirepass", secret)
        at = f"@127.0.0.1:{port}"
        self.assert_not_imported(f"redis://127.0.0.1:{port}", "wants a password: .*REDISCLI_AUTH")
        for user in (":wrong-one", "nobody:wrong-one"):
            told = self.assert_not_imported(f"redis://{user}{at}/0", "Redis says: WRONGPASS")
            self.assertNotIn("wrong-one", told)
        told = self.assert_not_imported(
            f"redis://:{secret}{at}/x", "--faktory: not redis://", status=2
        )
        self.assertNotIn("s3cret", told)
        report = self.imported(f"redis://:s3cret/@%25{at}/0")
        self.assertNotIn("s3cret", report)
        self.imported(f"redis://default:s3cret%2F%40%25{at}", into="two")
        self.imported(self.source, into="three", env={"REDISCLI_AUTH": secret})
        with self.assertRaises(FileNotFoundError):
            open(self.path("data/import"), "rb")

    def test_another_database_number(self):
        self.begin(port=free_port())
        self.fill(job("in-zero-"))
        self.client.command("SELECT", 7)
        self.fill(job("in-seven"), job("in-seven-too"))
        port = self.server_process.address[1]
        rows = self.rows(self.imported(f"redis://127.0.0.1:{port}/7"))
        self.assertEqual(rows[("q", "enqueued")], ["2", "2"])
        self.assert_refused_into_two(f"redis://127.0.0.1:{port}/99", "DB index is out of range")

    def assert_refused_into_two(self, source, text):
        done = self.run_import(source, into="two")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, text)

    def snapshot(self):
        """A good one, of some kilobytes."""
        self.begin()
        for i in range(50):
            self.fill(*(job(f"job-{i:02}-{j:03}", f"q{i}") for j in range(20)), queue=f"q{i}")
        self.save()
        return os.path.join(self.old, "faktory.rdb")

    def test_a_snapshot_that_is_cut_off_or_damaged(self):
        path = self.snapshot()
        with open(path, "rb") as file:
            whole = file.read()
        for size in (9, 10, len(whole) // 3, len(whole) - 9, len(whole) - 1):
            with self.subTest(size=size):
                write(path, whole[:size])
                reason = r"old/faktory\.rdb: (offset \d+: |Short read)"
                self.assert_not_imported(self.old, reason)
        middle = len(whole) // 2
        write(path, whole[:middle] + b"\xff" * 40 + whole[middle + 40 :])
        self.assert_not_imported(path, r"old/faktory\.rdb: (offset \d+: |Wrong RDB)")

    def test_files_that_are_no_snapshots(self):
        path = os.path.join(self.old, "faktory.rdb")
        for content in (b"", b"REDIS", b"REDIS\0\0\0\0", b"SQLite format 3\0", b"x" * 10_000):
            write(path, content)
            self.assert_not_imported(path, r"faktory\.rdb: offset 0: this is not a Redis snapshot")
        write(path, b"REDIS0099")
        told = r"faktory\.rdb: offset 5: Can't handle RDB format version 99: install "
        self.assert_not_imported(path, told)
        os.remove(path)
        self.assert_not_imported(path, r"faktory\.rdb: no such file, and not redis://")
        self.assert_not_imported(self.old, "old has no file faktory.rdb$")
        os.mkdir(path)
        self.assert_not_imported(path, "faktory.rdb has no file faktory.rdb$")

    def test_without_a_redis_server(self):
        path = self.snapshot()
        self.assert_not_imported(path, "install Debian's package redis-server$",
                                 env={"PATH": self.old})

    def test_tls(self):
        certificate, key = self.path("cert.pem"), self.path("key.pem")
        subprocess.run(
            f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
            f"-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 "
            f"-keyout {key} -out {certificate}".split(),
            check=True, capture_output=True)
        port, plain = free_port(), free_port()
        self.begin("--tls-port", str(port), "--tls-cert-file", certificate, "--tls-key-file", key,
                   "--tls-ca-cert-file", certificate, "--tls-auth-clients", "no", port=plain)
        self.fill(*(job(f"job-{i:05}", args=["x" * 300]) for i in range(3000)))
        self.client.command("CONFIG", "SET", "requirepass", "s3cret")
        url = f"rediss://:s3cret@127.0.0.1:{port}"
        self.assert_not_imported(url, "no connection to Redis: its certificate is not trusted")
        self.assert_not_imported(url, "the certificates of --ca cannot be read", "--ca=/none")
        self.assert_not_imported(f"rediss://127.0.0.1:{plain}", "no connection to Redis: no TLS")
        self.assert_not_imported(f"redis://127.0.0.1:{port}", "ended|no Redis")
        report = self.imported(url, f"--ca={certificate}")
        self.assertEqual(self.rows(report)[("q", "enqueued")], ["3,000", "3,000"])
        self.assertNotIn("s3cret", report)

    def test_something_else_listens_there(self):
        other = self.server(data="other").start()
        host, port = other.beanstalk_address
        self.assert_not_imported(f"redis://{host}:{port}", "this is not Redis: name the socket of")
        host, port = other.faktory_address
        self.assert_not_imported(f"redis://{host}:{port}", "this is the port of Faktory itself: ")

    def test_a_directory_in_use(self):
        # What this Redis has not saved yet is not in the file.
        self.begin(socket="redis.sock")
        self.fill(job("saved-one"))
        self.client.command("SAVE")
        process = self.server_process.process.pid
        self.assert_not_imported(self.old, rf"a Redis \(process {process}\) uses .*: stop Faktory")
        shutil.copy(f"{self.old}/faktory.rdb", self.path("copy.rdb"))
        self.imported(self.path("copy.rdb"))

    def test_the_directory_of_faktory_is_no_target(self):
        path = self.snapshot()
        done = self.run_import(path, into="old")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "old has jobs of another server: name a new directory")

    def test_no_room_for_the_copy(self):
        path = self.snapshot()
        self.assert_not_imported(path, "cannot create .*/none/millrace-import-",
                                 env={"TMPDIR": self.path("none")})

    def test_wrong_arguments(self):
        for arguments, text in (
            ((), "--beanstalkd, --faktory or --from is required"),
            (("--faktory", "x", "--beanstalkd", "y"), "give one of"),
            (("--beanstalkd", "y", "--keep-working"), "--keep-working needs --faktory"),
            (("--beanstalkd", "y", "--ignore-other-keys"), "--ignore-other-keys needs --faktory"),
            (("--faktory", "redis://h", "--ca=x"), "--ca needs --faktory rediss://"),
        ):
            command = [PROGRAM, "import", "--into", self.path("data"), *arguments]
            self.assert_refused(command, text, status=2)
        self.assert_not_imported("rediss://h:x", "--faktory: not rediss://", status=2)
        for source in ("redis://", "redis://:0", "redis://h:x", "redis://%zz@h", "redis://[::1"):
            self.assert_not_imported(source, "--faktory: not redis://", status=2)
        self.assert_not_imported("unix:", "without the path of a socket", status=2)


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)


if __name__ == "__main__":
    unittest.main()
