"""`millrace export` of some jobs of a running server, and `millrace import` of that file."""

import json
import os
import subprocess
import unittest

from clients import Beanstalk
from program import PROGRAM, environment, free_port
from terminal.test_cli import DONE, REFUSED, USAGE, CliTest

ODD_BODY = bytes(range(256))


class SomeJobsTest(CliTest):
    def other(self):
        """A second server: its environment for verbs."""
        server = self.server("--sync=off", data="other")
        server.web_address = ("127.0.0.1", free_port())
        server.start()
        self.tubes = self.open(Beanstalk(server.beanstalk_address))
        return {"MILLRACE_URL": "127.0.0.1:%d" % server.web_address[1],
                "BEANSTALKD_URL": "127.0.0.1:%d" % server.beanstalk_address[1]}

    def test_jobs_that_were_deleted_by_mistake_come_back_once(self):
        server = self.serve()
        for jid in ("dies-0001", "dies-0002", "other-001"):
            to = "mail" if jid.startswith("dies") else "slow"
            self.fail_job(server, jid, retry=-1, to=to, custom={"a": 1})
        file = self.path("lost.ndjson")
        chosen = ("export", "--state=dead", "-q", "ma*", "--since=1h", "--to", file)
        self.assertEqual(self.cli(*chosen), f"exported    2 jobs to {file}\n")
        self.assertEqual(os.stat(file).st_mode & 0o777, 0o600)
        with open(file, encoding="ascii") as lines:
            jids = [json.loads(line)["jid"] for line in lines]
        self.assertEqual(jids, ["dies-0001", "dies-0002"])
        self.assertIn("File exists", self.refusal(*chosen))
        nothing = ("export", "--state=dead", "--until=2h", "--to=-")
        self.assertIn("no job matches", self.refusal(*nothing))
        self.assertEqual(self.cli("import", file)[12:], "0 jobs pushed, 0 put, 2 there already\n")
        self.cli("delete", "--state=dead", "--queue=mail", "--yes")
        self.assertEqual(self.json("import", file), {"pushed": 2, "put": 0, "skipped": 0})
        self.assertEqual(self.cli("import", file)[12:], "0 jobs pushed, 0 put, 2 there already\n")
        self.assertEqual(self.json("peek", "dies-0001")["work_unit"]["custom"], {"a": 1})

    def test_jobs_of_both_protocols_go_to_another_server(self):
        server = self.serve()
        self.cli("push", "Mail", '["you", 1e400, "\\u00e9"]', "-q", "mail", "--priority=7")
        self.cli("push", "Later", "[]", "--at=2099-01-01T00:00:00Z")
        tube = self.open(Beanstalk(server.beanstalk_address))
        tube.command("use images")
        tube.put(ODD_BODY, pri=3, ttr=90)
        tube.put(b"later", delay=1000)
        exported = subprocess.run(
            [PROGRAM, "export", "--state=ready,scheduled", "--to=-"], capture_output=True,
            env=environment({"MILLRACE_URL": self.url}), check=True).stdout
        self.assertEqual(exported.count(b"\n"), 4)
        there = environment(self.other())
        done = subprocess.run([PROGRAM, "import", "-"], input=exported, capture_output=True,
                              env=there)
        self.assertEqual((done.returncode, done.stdout[12:]),
                         (DONE, b"2 jobs pushed, 2 put, 0 there already\n"), done.stderr)
        listed = subprocess.run([PROGRAM, "ls", "scheduled"], capture_output=True, env=there)
        self.assertRegex(listed.stdout, rb"(?m) Later +\d+d ")
        self.assertRegex(listed.stdout, rb"(?m)images +beanstalk +1\dm  later")
        listed = subprocess.run([PROGRAM, "ls", "ready"], capture_output=True, env=there)
        self.assertIn(b'["you", 1e400, "'.replace(b" ", b""), listed.stdout.replace(b" ", b""))
        self.tubes.command("watch images")
        self.assertEqual(self.tubes.reserve()[1], ODD_BODY)

    def test_nothing_is_imported_where_a_line_is_wrong(self):
        self.serve()
        file = self.path("lines")
        good = '{"tube":"a","priority":1,"ttr":60,'
        put = good + '"body":"x"}\n' + good + "%s}\n"
        for text, problem in (
            ('{"jobtype":"A","args":[],"jid":"12345678"}\n{"args":[]}\n', "line 2: must be an obj"),
            ('{"jobtype":"A","args":[],"jid":"12345678"}\n{"jobtype":"A"}\n', "line 2: "),
            ("not JSON\n", "line 1: "),
            (put % '"body":"x","tube":""', "line 2: tube must be"),
            (put % '"body":"x","priority":-1', "line 2: priority and ttr must be"),
            (put % '"body":{"x":1}', "line 2: body or body_base64 must be a text"),
            (put % '"body":"x","body_base64":"eA=="', "line 2: body or body_base64"),
            (put % '"body_base64":"###"', "line 2: body_base64 is not base64"),
            (put % '"body":"x","at":"soon"', "line 2: at must be a time"),
        ):
            with self.subTest(text), open(file, "w", encoding="ascii") as lines:
                lines.write(text)
                lines.flush()
                self.assertIn(problem, self.refusal("import", file, status=USAGE))
        self.assertIn("0 ready", self.cli("stats"))

    def test_the_two_kinds_do_not_mix(self):
        self.serve()
        for arguments, problem in (
            (["export", "--to=-"], "--state is needed"),
            (["export", "--state=dead"], "--to is needed"),
            (["export", "--state=dead", "--to=-", "--after-restart"], "stopped server"),
            (["export", "d", "--to=tcp://h", "--state=dead"], "--state is for jobs of a running"),
            (["import", "f", "--into=d"], "--into is for the directory of a stopped server"),
            (["import", "--into=d", "--json"], "--json is for jobs of a running server"),
            (["import", "/nowhere/f"], "No such file"),
        ):
            with self.subTest(arguments):
                self.assertIn(problem, self.refusal(*arguments, status=USAGE))


if __name__ == "__main__":
    unittest.main()
