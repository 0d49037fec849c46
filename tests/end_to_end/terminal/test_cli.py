"""The verbs that talk to a running server, used as a person and as a script use them."""

import base64
import fcntl
import json
import os
import pty
import re
import shlex
import signal
import struct
import subprocess
import termios
import unicodedata
import unittest

from clients import Beanstalk, Faktory
from program import PROGRAM, ServerTest, environment, free_port, start_kept, wait_until
from web import Web

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
PAGE = os.path.join(ROOT, "docs/operations/command-line.md")
TOOLS_PAGE = os.path.join(ROOT, "docs/operations/tools.md")
VERBS = "stats queues ls peek tail retry move kill delete pause resume push put fetch top".split()
VERBS += "workers errors batches cron throttles dev doctor bench".split()
VERBS += "health cluster types audit locks tokens".split()
DONE, REFUSED, USAGE, UNREACHABLE, NOT_UNIQUE = range(5)
SECONDS_MAX = 120
LIST_VERBS = ("stats", "queues", "workers", "errors", "ls ready", "ls completed")
LIST_VERBS += ("batches", "cron", "throttles", "types", "audit", "locks")
ODD_TYPES = ("李 明", "a/b?c#d%20&e", "..", "\x1b[31mred", "x" * 1000, "-dash", "one\ntwo", "[a,b]")
ODD_TUBES = ("a/b;c$(d)+e", ".", "..", "x" * 200)


def columns_of(line):
    """As a terminal counts them."""
    wide = sum(unicodedata.east_asian_width(each) in "WF" for each in line)
    return len(line) + wide - sum(unicodedata.combining(each) > 0 for each in line)


class CliTest(ServerTest):
    def serve(self, *flags, env=None):
        server = self.server(*flags, env=env)
        server.web_address = ("127.0.0.1", free_port())
        server.start()
        self.url = f"http://127.0.0.1:{server.web_address[1]}"
        self.web = Web(server.web_address)
        return server

    def run_cli(self, *arguments, env=None):
        return subprocess.run(
            [PROGRAM, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment({"MILLRACE_URL": self.url, **(env or {})}),
            text=True,
            timeout=SECONDS_MAX,
        )

    def cli(self, *arguments, status=DONE, env=None):
        """stdout. A verb that is done says nothing on stderr, and others say one line."""
        done = self.run_cli(*arguments, env=env)
        self.assertEqual(done.returncode, status, (arguments, done.stdout, done.stderr))
        if status == DONE:
            self.assertEqual(done.stderr, "")
        else:
            self.assertRegex(done.stderr, r"\Amillrace: [^\n]+\n\Z")
        return done.stdout

    def on_terminal(self, columns, *arguments, env=None):
        """What a terminal of that width gets, with its exit status."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        settings = {"MILLRACE_URL": self.url, "TERM": "xterm", "NO_COLOR": "", **(env or {})}
        process = start_kept(
            [PROGRAM, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment(settings),
        )
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:
            pass  # the end of a terminal is an error
        os.close(ours)
        return process.wait(SECONDS_MAX), shown.decode()

    def refusal(self, *arguments, status=REFUSED, env=None):
        """The line on stderr."""
        done = self.run_cli(*arguments, env=env)
        self.assertEqual(done.returncode, status, (arguments, done.stdout, done.stderr))
        self.assertRegex(done.stderr, r"\Amillrace: [^\n]+\n\Z")
        return done.stderr

    def json(self, *arguments, status=DONE):
        """The one document on stdout."""
        return json.loads(self.cli(arguments[0], "--json", *arguments[1:], status=status))

    def push(self, jobtype="Mail", args="[]", *flags):
        return self.json("push", jobtype, args, *flags)

    def fail_job(self, server, jid, message="timeout after 5 s", to=None, **job):
        to = to or f"q-{jid}"
        worker = self.open(Faktory(server.faktory_address, wid=f"of-{jid}"))
        self.assertEqual(worker.push(jid, to, **job), "+OK")
        self.assertEqual(worker.fetch(to)["jid"], jid)
        failure = {"jid": jid, "errtype": "Net", "message": message, "backtrace": ["a.rb:1"]}
        self.assertEqual(worker.command("FAIL " + json.dumps(failure)), "+OK")


class ListTest(CliTest):
    def test_an_empty_server_has_nothing_to_list(self):
        self.serve()
        self.assertIn("0 ready, 0 reserved, 0 scheduled, 0 retrying, 0 dead", self.cli("stats"))
        for verb in ("workers", "errors", "ls dead", "ls completed", "cron"):
            done = self.run_cli(*verb.split())
            self.assertEqual((done.returncode, done.stdout), (DONE, ""), verb)
            self.assertEqual(len(done.stderr.splitlines()), 1, verb)
        self.assertEqual(len(self.cli("queues").splitlines()), 2)
        self.assertIn("no queue matches", self.refusal("queues", "--match=nowhere"))
        self.assertEqual(self.json("ls", "dead")["jobs"], [])
        self.assertEqual(self.json("errors")["groups"], [])

    def test_lists_have_what_the_api_has(self):
        server = self.serve()
        self.push("Mail", '["you", 12345678901234567890123]', "--queue=mail")
        self.push("Later", "[]", "--at=2099-01-01T00:00:00Z")
        self.fail_job(server, "dies-0001", retry=-1)
        self.fail_job(server, "fails-001")
        tube = self.open(Beanstalk(server.beanstalk_address))
        tube.put(b"of beanstalk")
        self.assertRegex(self.cli("queues"), r"(?m)^mail +1 +\d+s +0 +0 +0 +0 ")
        self.assertRegex(self.cli("ls", "ready"), r'(?m)^ *1  mail +Mail +\d+s  \["you",')
        put = r"(?m)^ *5  default +beanstalk +\d+s  of beanstalk$"
        self.assertRegex(self.cli("ls", "ready"), put)
        self.assertRegex(self.cli("ls", "scheduled"), r"(?m)^ *2  default +Later +\d+d  \[\]$")
        self.assertRegex(self.cli("ls", "dead"), r"q-dies-0001 +Test +\d+s  Net: timeout after 5 s")
        self.assertRegex(self.cli("ls", "retrying"), r"q-fails-001 +Test +\d+[sm]  Net: timeout")
        self.assertRegex(self.cli("errors"), r"(?m)^ +2 +1 +1 +0 +\d+s ago  [0-9a-f]{16}  Net ")
        self.assertRegex(self.cli("workers"), r"(?m)^of-dies-0001  test +1  running +0 ")
        tube.reserve()
        self.assertRegex(self.cli("ls", "reserved"), r"(?m)^ +5 .* connection \d+ +of beanstalk$")

    def test_json_is_the_answer_of_the_api(self):
        server = self.serve()
        self.push("Mail", "[1]")
        self.fail_job(server, "fails-001")
        for verb, target in (
            ("stats", "overview"),
            ("queues", "queues?sort=name"),
            ("workers", "workers"),
            ("errors", "errors"),
            ("ls ready", "jobs?state=ready"),
            ("ls retrying", "jobs?state=retrying"),
            ("ls completed", "finished"),
            ("peek 1", "jobs/1"),
        ):
            here = self.json(*verb.split())
            there = self.web.read(f"/api/v1/{target}")
            self.assertEqual(list(here), list(there), verb)
            if verb.startswith(("ls", "peek")):
                self.assertEqual(here, there, verb)

    def test_a_long_list_is_read_page_by_page(self):
        server = self.serve()
        client = self.open(Faktory(server.faktory_address))
        for number in range(450):
            client.push(f"job-{number:05}", f"queue-{number}", priority=5)
        self.assertEqual(len(self.json("queues", "--match=queue-")["queues"]), 450)
        self.assertEqual(len(self.json("queues", "--match=queue-44")["queues"]), 11)
        self.assertEqual(len(self.cli("queues", "--names").splitlines()), 451)
        self.assertEqual(self.cli("queues", "--match=queue-449", "--names"), "queue-449\n")
        self.assertIn("--names", self.refusal("queues", "--names", "--json", status=USAGE))
        page = self.json("ls", "ready", "--limit=333")
        self.assertEqual(len({job["jid"] for job in page["jobs"]}), 333)
        following = self.web.read(f"/api/v1/jobs?state=ready&cursor={page['next']}&limit=200")
        self.assertEqual(following["jobs"][0]["jid"], "job-00333")
        done = self.run_cli("ls", "ready", "--limit=450")
        self.assertEqual((done.stderr, len(done.stdout.splitlines())), ("", 451))
        last = self.json("ls", "ready", "--reverse", "--limit=1")["jobs"][0]
        self.assertEqual(last["jid"], "job-00449")
        self.assertIn("--limit", self.run_cli("ls", "ready", "--limit=449").stderr)

    def test_filters_are_those_of_the_web_ui(self):
        server = self.serve()
        self.fail_job(server, "dies-0001", retry=-1, message="Timeout of 李", jobtype="MailLater")
        self.fail_job(server, "dies-0002", retry=-1, message="refused", args=["needle"])
        group = self.json("errors")["groups"][0]["group"]

        def found(*filters):
            return [job["jid"] for job in self.json("ls", "dead", *filters)["jobs"]]

        self.assertEqual(found("--error=timeout"), ["dies-0001"])
        self.assertEqual(found("--queue=q-dies-0002"), ["dies-0002"])
        self.assertEqual(found("--queue=q-*", "--error=refused"), ["dies-0002"])
        self.assertEqual(found("--text=needle"), ["dies-0002"])
        self.assertEqual(found("--id=dies-0001"), ["dies-0001"])
        self.assertEqual(len(found(f"--group={group}")), 1)
        self.assertEqual(found("--error=李"), ["dies-0001"])
        for nothing in ("--older-than=1h", "--type=Nope*", "--wid=w"):
            self.assertIn("no job matches", self.refusal("ls", "dead", nothing))

    def test_completed_jobs_have_filters_of_their_own(self):
        server = self.serve()
        self.push("Mail", "[]", "--queue=mail")
        self.push("Other", "[]", "--queue=other", "--jid=given-jid")
        worker = self.open(Faktory(server.faktory_address, wid="w-1"))
        jid = worker.fetch("mail")["jid"]
        worker.ack(jid)
        self.cli("delete", "given-jid")
        self.assertRegex(self.cli("ls", "completed"), r"(?m)^ *1  mail +Mail +done +\d+s ago")
        self.assertEqual(len(self.json("ls", "completed", "--outcome=deleted")["jobs"]), 1)
        self.assertEqual(self.json("ls", "completed", "--type=Mail")["jobs"][0]["jid"], jid)
        self.assertIn("outcome", self.cli("peek", jid))
        self.refusal("ls", "completed", "--error=x", status=USAGE)
        self.refusal("ls", "dead", "--outcome=done", status=USAGE)

    def test_put_jobs_have_the_type_that_the_api_shows(self):
        server = self.serve()
        tube = self.open(Beanstalk(server.beanstalk_address))
        bodies = {
            r"App\Jobs\Send": {"displayName": r"App\Jobs\Send", "job": "x@call", "data": {}},
            r"App\Message\Bill": {"body": "{}", "headers": {"type": r"App\Message\Bill"}},
            "Mail": {"jobtype": "Mail", "args": [1]},
            "beanstalk": "plain",
        }
        for number, (shown, body) in enumerate(bodies.items(), 1):
            tube.put(json.dumps(body).encode())
            row = rf"(?m)^ *{number}  default +{re.escape(shown)} "
            self.assertEqual(self.json("peek", str(number))["type"], shown)
            self.assertRegex(self.cli("ls", "ready"), row)
            self.assertRegex(self.cli("peek", str(number)), rf"(?m)^type +{re.escape(shown)}$")
            self.cli("delete", str(number))
            self.assertRegex(self.cli("ls", "completed"), row)
            self.assertRegex(self.cli("peek", str(number)), rf"(?m)^type +{re.escape(shown)}$")


class JobTest(CliTest):
    def test_push_sends_every_member_as_it_was_typed(self):
        self.serve()
        pushed = self.push(
            "Mail",
            '[12345678901234567890123, "李", 1.50]',
            "--queue=mail",
            "--at=+1h",
            "--retry=3",
            "--reserve-for=10m",
            '--custom={"track": 1}',
            "--jid=my-own-jid",
        )
        self.assertEqual((pushed["jid"], pushed["state"]), ("my-own-jid", "scheduled"))
        raw = self.cli("peek", "my-own-jid", "--json")
        self.assertIn('"args":[12345678901234567890123,"李",1.50]', raw.replace(", ", ","))
        unit = json.loads(raw)["work_unit"]
        self.assertEqual((unit["retry"], unit["reserve_for"], unit["queue"]), (3, 600, "mail"))
        self.assertEqual(unit["custom"], {"track": 1})
        self.assertRegex(self.cli("ls", "scheduled"), r"mail +Mail +59m  ")
        self.assertRegex(self.cli("push", "Plain"), r"\Aready +job 2, jid \S+\n\Z")

    def test_push_takes_what_faktory_clients_push(self):
        self.serve()
        long = "[-0.5e-999, " + "9" * 500 + "]"
        for args in ("[1E400]", long, r'["\ud800\"", {"a\\": "\u00e9"}]'):
            self.push("Mail", args, "--custom", '{"n": 1e400}')
        self.assertIn("1E400", self.cli("ls", "ready"))
        self.assertIn("1E400", self.cli("peek", "1"))
        self.assertIn("1E400", self.cli("peek", "--json", "1"))

    def test_push_refuses_what_is_no_job(self):
        self.serve()
        self.assertIn("JSON array", self.refusal("push", "Mail", "{}", status=USAGE))
        self.assertIn("JSON array", self.refusal("push", "Mail", "[1", status=USAGE))
        self.assertIn("--custom", self.refusal("push", "Mail", "--custom=[]", status=USAGE))
        for time in ("yesterday", "+", "-30m"):
            refusal = self.refusal("push", "Mail", f"--at={time}", status=USAGE)
            self.assertIn("such as +30m", refusal)
        self.refusal("push", status=USAGE)
        self.refusal("push", "Mail", "--at=tomorrow", status=USAGE)
        self.refusal("push", "Mail", "--queue=bad queue", status=USAGE)
        self.refusal("push", "", "[]", status=USAGE)
        for args in ("[1E]", "[01]", '["\\u12"]', '["\\x"]', "[1],[2]", '[1], "queue": "x"'):
            self.assertIn("JSON array", self.refusal("push", "Mail", args, status=USAGE))
        self.refusal("push", "Mail", "--at=+soon", status=USAGE)

    def test_push_has_a_status_of_its_own_for_a_job_that_is_there(self):
        self.serve()
        unique = ("push", "Mail", "[7]", '--custom={"unique_for": 60, "unique_conflict": "jid"}')
        self.cli(*unique, "--jid=first-one")
        refusal = self.refusal(*unique, status=NOT_UNIQUE)
        self.assertIn("NOTUNIQUE Job not unique first-one", refusal)

    def test_peek_knows_numbers_and_jids(self):
        server = self.serve()
        self.fail_job(server, "dies-0001", retry=-1, message="one\ntwo\x1b[2J")
        for name in ("1", "dies-0001"):
            text = self.cli("peek", name)
            self.assertRegex(text, r"(?m)^state +dead$")
            self.assertRegex(text, r"(?m)^error +Net: one\n +two\\x1b\[2J$")
            self.assertRegex(text, r"(?m)^backtrace +a\.rb:1$")
        self.assertIn("no job", self.refusal("peek", "99"))
        self.assertIn("no job", self.refusal("peek", "nobody"))

    def test_peek_tells_who_had_a_job_and_its_lock(self):
        server = self.serve()
        self.fail_job(server, "dies-0001", retry=-1, custom={"unique_for": 600})
        attempt = r"(?m)^attempt 1 .* failed, by worker of-dies-0001, "
        self.assertRegex(self.cli("peek", "1"), attempt)
        self.assertRegex(self.cli("peek", "1"), r"(?m)^died +2\d{3}-")
        self.cli("delete", "1")
        self.assertRegex(self.cli("peek", "1"), attempt)
        self.push("Sync", "[]", "--custom", '{"unique_for":600}')
        self.assertRegex(self.cli("peek", "2"), r"(?m)^unique +until 2\d{3}-")

    def test_a_put_job_is_found_by_the_jid_that_is_shown(self):
        server = self.serve()
        tube = self.open(Beanstalk(server.beanstalk_address))
        job = tube.put(b"bytes")
        self.push()
        self.assertRegex(self.cli("peek", f"beanstalk-{job}"), r"(?m)^id +1$")
        self.cli("delete", f"beanstalk-{job}")
        self.assertRegex(self.cli("peek", f"beanstalk-{job}"), r"(?m)^outcome +deleted$")
        for other in ("beanstalk-2", "beanstalk-99", "beanstalk-"):
            self.assertIn("no job", self.refusal("peek", other))

    def test_peek_shows_bytes_that_are_no_text(self):
        server = self.serve()
        tube = self.open(Beanstalk(server.beanstalk_address))
        job = tube.put(b"\xff\x00")
        self.assertIn(r"\xff\x00", self.cli("ls", "ready"))
        self.assertIn(base64.b64encode(b"\xff\x00").decode(), self.cli("peek", str(job)))

    def test_jobs_of_one_jid_are_listed_and_not_changed(self):
        server = self.serve("--push-once=off")
        client = self.open(Faktory(server.faktory_address))
        for _ in range(2):
            client.push("twin-0001")
        self.assertEqual(len(self.cli("peek", "twin-0001").splitlines()), 3)
        self.assertIn("several", self.refusal("delete", "twin-0001"))
        self.cli("delete", "1")
        self.assertEqual(self.json("ls", "ready")["jobs"][0]["id"], 2)

    def test_named_jobs_are_changed_and_others_are_told_of(self):
        server = self.serve()
        self.fail_job(server, "dies-0001", retry=-1)
        self.push("Mail", "[]", "--jid=alive-001")
        self.assertEqual(self.cli("retry", "dies-0001"), "job 1 made ready\n")
        self.assertEqual(self.cli("kill", "1", "alive-001"), "job 1 killed\njob 2 killed\n")
        done = self.run_cli("delete", "1", "99", "alive-001", "--json")
        self.assertEqual(done.returncode, REFUSED)
        document = json.loads(done.stdout)
        self.assertEqual([each["id"] for each in document["changed"]], [1, 2])
        self.assertEqual([each["id"] for each in document["refused"]], ["99"])
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn("has ended", self.refusal("delete", "1"))

    def test_a_job_in_another_state_is_left_alone(self):
        server = self.serve()
        self.push("Mail", "[]", "--jid=held-0001")
        self.refusal("delete", "held-0001", "--state=dead")
        worker = self.open(Faktory(server.faktory_address, wid="w-1"))
        worker.fetch()
        self.refusal("delete", "held-0001")
        self.cli("delete", "held-0001", "--state=reserved")


class ManyJobsTest(CliTest):
    def fill(self, server, count):
        client = self.open(Faktory(server.faktory_address))
        for number in range(count):
            client.push(f"job-{number:05}", f"queue-{number % 3}", args=[number])

    def counts(self):
        return self.web.read("/api/v1/overview")["jobs"]

    def test_two_thousand_jobs_are_counted_and_then_deleted(self):
        server = self.serve("--sync=off")
        self.fill(server, 2100)
        self.push("Mail", "[]", "--queue=other")
        filters = ("--state=ready", "--type=Test", "--queue=queue-*")
        done = self.run_cli("delete", *filters)
        self.assertEqual(done.returncode, REFUSED)
        self.assertTrue(done.stdout.startswith("2,100 jobs match\n"), done.stdout)
        self.assertRegex(done.stdout, r"(?m)^ +700  queue-0$")
        self.assertIn("nothing is deleted without --yes", done.stderr)
        self.assertEqual(self.counts()["ready"], 2101)
        document = self.json("delete", *filters, "--yes")
        self.assertEqual((document["changed"], document["phase"]), (2100, "done"))
        self.assertEqual(self.counts()["ready"], 1)
        self.assertIn("no job matches", self.refusal("delete", *filters, "--yes"))
        self.assertEqual(self.run_cli("delete", *filters).stdout, "")

    def test_jobs_of_several_states_are_killed_and_retried(self):
        server = self.serve()
        self.fill(server, 5)
        self.fail_job(server, "fails-001")
        self.assertIn("6 jobs killed", self.cli("kill", "--state=ready,retrying", "--yes"))
        self.assertEqual(self.counts()["dead"], 6)
        self.assertEqual(self.json("retry", "--state=dead", "--dry-run")["matched"], 6)
        self.assertEqual(self.counts()["dead"], 6)
        self.assertIn("5 jobs made ready", self.cli("retry", "--state=dead", "--queue=queue-*"))
        self.assertEqual((self.counts()["dead"], self.counts()["ready"]), (1, 5))

    def test_jobs_are_moved_and_are_there_after_a_crash(self):
        server = self.serve("--sync=always")
        self.fill(server, 6)
        self.fail_job(server, "fails-001")
        self.assertEqual(self.cli("move", "job-00000", "--to=later"), "job 1 moved\n")
        self.assertIn("is in later already", self.refusal("move", "1", "--to=later"))
        self.refusal("move", "1", status=USAGE)
        done = self.cli("move", "--state=ready,retrying", "--queue=q*", "--to=later")
        self.assertIn("6 jobs moved", done)
        server.kill()
        server.start()
        jobs = self.json("ls", "ready", "--queue=later")["jobs"]
        self.assertEqual([each["id"] for each in jobs], [1, 2, 3, 4, 5, 6])
        [failed] = self.json("ls", "retrying")["jobs"]
        self.assertEqual((failed["queue"], failed["error"]["failures"]), ("later", 1))

    def test_jobs_that_are_so_already_are_left_alone(self):
        server = self.serve()
        self.fill(server, 2)
        self.assertIn("2 jobs not changed", self.refusal("retry", "--state=ready"))
        self.cli("kill", "--state=ready", "--yes")
        self.assertIn("2 jobs not changed", self.refusal("kill", "--state=dead", "--yes"))
        self.assertEqual(self.counts()["dead"], 2)

    def test_what_is_not_named_is_not_changed(self):
        server = self.serve()
        self.fill(server, 1)
        for arguments in (
            ("delete",),
            ("delete", "--yes"),
            ("delete", "--type=Test", "--yes"),
            ("delete", "1", "--type=Test"),
            ("delete", "1", "--yes"),
            ("kill", "1", "--state=ready", "--dry-run"),
            ("delete", "--state=reserved", "--yes"),
            ("delete", "--state=ready", "--type=", "--yes"),
            ("delete", "--state=ready", "--older-than=x", "--yes"),
            ("delete", "", "--yes"),
            ("delete", "1", ""),
            ("delete", "--state=", "--yes"),
        ):
            with self.subTest(arguments):
                self.refusal(*arguments, status=USAGE)
        self.assertEqual(self.counts()["ready"], 1)


class QueueTest(CliTest):
    def test_what_needs_attention_names_its_queue(self):
        self.serve()
        self.push("Mail", "[]", "--queue=mail")
        self.cli("pause", "mail")
        self.assertRegex(self.cli("stats"), r"(?m)^(notice|trouble) +mail ")

    def test_queues_are_paused_and_resumed(self):
        self.serve()
        self.push("Mail", "[]", "--queue=mail")
        self.push("Mail", "[]", "--queue=post")
        self.assertRegex(self.cli("pause", "mail", "post"), r"\Apaused +mail\npaused +post\n\Z")
        self.assertRegex(self.cli("queues"), r"(?m)^mail +paused +1 ")
        self.assertEqual(self.json("resume", "post"), {"name": "post", "is_paused": False})
        self.cli("pause", "post", "--for=1h")
        self.assertIsNotNone(self.web.read("/api/v1/queues/post")["paused_until"])
        self.refusal("pause", status=USAGE)
        self.refusal("pause", "", status=USAGE)
        self.assertIn("no such queue", self.refusal("resume", "nowhere"))


class OddNamesTest(CliTest):
    def test_types_reach_the_server_as_they_are_and_the_terminal_as_text(self):
        self.serve()
        for name in ODD_TYPES:
            with self.subTest(name):
                jid = self.json("push", "--", name, "[]")["jid"]
                self.assertEqual(self.json("peek", jid)["type"], name)
                self.assertEqual(self.json("ls", "ready", f"--type={name}")["jobs"][0]["jid"], jid)
                self.cli("peek", jid)
        for verb in LIST_VERBS:
            done = self.run_cli(*verb.split())
            self.assertEqual(done.returncode, DONE)
            self.assertNotIn("\x1b", done.stdout + done.stderr)
        self.assertIn("\\x1b[31mred", self.cli("ls", "ready"))
        for name in ODD_TYPES:
            arguments = ("--state=ready", f"--type={name}", "--yes")
            self.assertEqual(self.json("delete", *arguments)["changed"], 1, name)

    def test_queues_of_any_name_are_reached(self):
        server = self.serve()
        client = self.open(Beanstalk(server.beanstalk_address))
        for name in ODD_TUBES:
            with self.subTest(name):
                client.command(f"use {name}")
                job = client.put(b"x")
                self.assertEqual(self.json("ls", "ready", f"--queue={name}")["jobs"][0]["id"], job)
                self.assertTrue(self.json("pause", name)["is_paused"])
                self.assertRegex(self.cli("queues"), rf"(?m)^{re.escape(name)} +paused +1 ")
                self.assertEqual(self.json("resume", name)["name"], name)
                self.cli("delete", str(job))

    def test_jids_may_have_any_characters(self):
        self.serve()
        for jid in ("a/b c?d#e%41", "01234567", "12345678", "李明李明李明"):
            with self.subTest(jid):
                self.assertEqual(self.push("Mail", "[]", f"--jid={jid}")["jid"], jid)
                self.assertEqual(self.json("peek", jid)["jid"], jid)
                self.cli("delete", jid)


class ExamplesTest(CliTest):
    """Those of the page: each command with its output, one after the other."""

    def test_examples_print_what_the_page_says(self):
        server = self.serve()
        with open(PAGE, encoding="utf-8") as file:
            blocks = re.findall(r"^```\n(\$ .*?)^```$", file.read(), re.DOTALL | re.MULTILINE)
        # What `tail` prints depends on when it looks.
        blocks = [block for block in blocks if not block.startswith("$ millrace tail")]
        self.assertEqual(len(blocks), 3)
        self.check(blocks[0])
        for _ in range(3):
            self.push("Mail", "[]", "--queue=mail")
        self.check(blocks[1])
        for jid in ("dies-0001", "dies-0002"):
            self.fail_job(server, jid, retry=-1, jobtype="MailLater", to="mail")
        self.check(blocks[2])

    def check(self, block):
        for example in re.split(r"^\$ millrace ", block, flags=re.MULTILINE)[1:]:
            command, _, output = example.partition("\n")
            done = subprocess.run(
                [PROGRAM, *shlex.split(command)],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment({"MILLRACE_URL": self.url}),
                text=True,
            )
            self.assertEqual(re.sub(r"jid \S+", "jid web-90a22abecc594a47", done.stdout), output)

    def test_every_verb_and_option_is_on_the_page(self):
        page = ""
        for path in (PAGE, TOOLS_PAGE):
            with open(path, encoding="utf-8") as file:
                page += file.read()
        self.url = ""
        for verb in VERBS:
            self.assertIn(f"`millrace {verb}", page)
        for verb in VERBS:
            shown = self.run_cli(verb, "--help").stdout
            for option in re.findall(r"^  (?:-[a-z],)?(--[a-z-]+)", shown, re.MULTILINE):
                self.assertIn(option, page)


class TerminalTest(CliTest):
    def test_tables_fit_and_have_colors_on_a_terminal_only(self):
        server = self.serve()
        self.fail_job(server, "dies-0001", retry=-1, message="李明" * 40)
        for columns in (1, 20, 80):
            for verb in ("ls dead", "queues", "errors", "workers"):
                status, shown = self.on_terminal(columns, *verb.split(), env={"NO_COLOR": "1"})
                self.assertEqual(status, DONE)
                self.assertNotIn("\x1b", shown)
                for line in shown.splitlines():
                    self.assertLessEqual(columns_of(line), columns, shown)
        self.assertIn("\x1b[31m", self.on_terminal(80, "ls", "dead")[1])
        self.assertNotIn("\x1b", self.on_terminal(80, "ls", "dead", env={"TERM": "dumb"})[1])
        self.assertIn("李明" * 40, self.cli("ls", "dead"))

    def test_long_texts_are_broken_at_blanks(self):
        server = self.serve()
        for number in range(3):
            self.open(Beanstalk(server.beanstalk_address)).put(b"%d" % number)
        shown = self.on_terminal(40, "stats", env={"NO_COLOR": "1"})[1].splitlines()
        for line in shown:
            self.assertLessEqual(columns_of(line), 40, shown)
        at = next(n for n, line in enumerate(shown) if line.startswith("jobs"))
        self.assertRegex(shown[at], r"^jobs {8}3 ready, 0 reserved, 0$")
        self.assertRegex(shown[at + 1], r"^ {12}scheduled,")

    def test_limits_are_shown_whole(self):
        self.serve()
        self.cli("throttles", "set", "a-queue-with-a-long-name-that-has-limits",
                 "--concurrency=300", "--worker=20", "--timeout=60", "--rate=1000/60s")
        shown = self.on_terminal(80, "throttles", env={"NO_COLOR": "1"})[1].splitlines()
        self.assertIn("  300 concurrent, 20 per worker, 1,000 per 60 s  ", shown[1])
        for line in shown:
            self.assertLessEqual(columns_of(line), 80, shown)

    def test_groups_of_errors_can_be_copied(self):
        server = self.serve()
        self.fail_job(server, "dies-0001", retry=-1, message="no such customer was found" * 3)
        shown = self.on_terminal(80, "errors", env={"NO_COLOR": "1"})[1].splitlines()
        # Before the table there was progress.
        group = shown[-1].split()[shown[-2].split().index("group") + 1]
        self.assertIn("dies-0001", self.cli("ls", "dead", f"--group={group}", "--json"))

    def test_queues_keep_their_figures_on_a_narrow_terminal(self):
        server = self.serve()
        tube = self.open(Beanstalk(server.beanstalk_address))
        for name in ("x" * 199 + "1", "short", "paused"):
            tube.command(f"use {name}")
            tube.put(b"one")
        self.cli("pause", "paused")
        whole = "queue note ready oldest reserved scheduled retrying dead in/s out/s fail/s"
        for columns, titles in (
            (80, "queue note ready oldest reserved scheduled retrying dead"),
            (40, "queue note ready"),
            (200, whole),
        ):
            shown = self.on_terminal(columns, "queues", env={"NO_COLOR": "1"})[1].splitlines()
            self.assertEqual(shown[0].split(), titles.split())
            self.assertIn("…", [line for line in shown if line.startswith("xxxx")][0])
            for line in shown:
                self.assertLessEqual(columns_of(line), columns, shown)
        self.assertEqual(self.cli("queues").splitlines()[0].split(), whole.split())

    def test_progress_is_shown_on_a_terminal(self):
        server = self.serve("--sync=off")
        client = self.open(Faktory(server.faktory_address))
        for number in range(300):
            client.push(f"job-{number:05}")
        status, shown = self.on_terminal(80, "delete", "--state=ready", "--yes")
        self.assertEqual(status, DONE)
        self.assertRegex(shown, r"\rdeleting: [\d,]+ jobs, \d+ % of 300 looked at +\r")
        self.assertTrue(shown.endswith("\r300 jobs deleted\r\n"), shown)

    def test_ctrl_c_cancels_the_operation(self):
        server = self.serve("--sync=off")
        client = self.open(Faktory(server.faktory_address))
        body = "x" * 5000
        for start in range(0, 20_000, 500):
            jobs = [
                {"jid": f"job-{each:06}", "jobtype": "T", "args": [body], "queue": "q"}
                for each in range(start, start + 500)
            ]
            client.command("PUSHB " + json.dumps(jobs))
        # To search bodies takes long enough for a signal.
        process = start_kept(
            [PROGRAM, "delete", "--state=ready", "--text=xxxx", "--yes", "--json"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment({"MILLRACE_URL": self.url}),
            text=True,
        )

        def operations():
            return self.web.read("/api/v1/operations")["operations"]

        wait_until(lambda: operations() or process.poll() is not None, "it has begun")
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=SECONDS_MAX)
        phase = operations()[0]["phase"]
        self.assertIn(phase, ("cancelled", "done"))
        self.assertEqual(process.returncode, 130 if phase == "cancelled" else 0, errors)
        self.assertEqual(json.loads(out)["phase"], phase)

    def test_a_reader_that_leaves_is_no_fault(self):
        server = self.serve()
        client = self.open(Faktory(server.faktory_address))
        # More than is kept before it is written.
        for number in range(400):
            client.push(f"job-{number:05}")
        ours, theirs = os.pipe()
        os.close(ours)
        done = subprocess.run(
            [PROGRAM, "ls", "ready", "--limit=400"],
            stdout=theirs,
            stderr=subprocess.PIPE,
            env=environment({"MILLRACE_URL": self.url}),
            timeout=SECONDS_MAX,
        )
        os.close(theirs)
        self.assertEqual((done.returncode, done.stderr), (DONE, b""))


if __name__ == "__main__":
    unittest.main()
