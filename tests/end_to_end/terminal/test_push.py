"""`millrace push` with arguments and jobs from files and stdin."""

import json
import os
import subprocess
import unittest

from program import PROGRAM, environment
from terminal.test_cli import DONE, NOT_UNIQUE, REFUSED, USAGE, CliTest

SECONDS_MAX = 120


class PushTest(CliTest):
    def run_push(self, *arguments, stdin=subprocess.DEVNULL, text=None):
        """`text` comes on a pipe."""
        return subprocess.run(
            [PROGRAM, "push", *arguments],
            **({"stdin": stdin} if text is None else {"input": text}),
            capture_output=True,
            env=environment({"MILLRACE_URL": self.url}),
            text=True,
            timeout=SECONDS_MAX,
        )

    def pushed(self, *arguments, **more):
        """The whole jobs, in order."""
        done = self.run_push("--json", *arguments, **more)
        self.assertEqual((done.returncode, done.stderr), (DONE, ""))
        return [self.unit(line) for line in done.stdout.splitlines()]

    def unit(self, line):
        _, _, body = self.web.get(f"/api/v1/jobs/{json.loads(line)['id']}")
        return json.loads(body)["work_unit"]

    def args_of(self, *arguments, **more):
        (unit,) = self.pushed(*arguments, **more)
        return unit["jobtype"], unit["args"]

    def refused(self, *arguments, status=USAGE, **more):
        done = self.run_push(*arguments, **more)
        self.assertEqual(done.returncode, status, (arguments, done.stdout, done.stderr))
        return done.stderr

    def file(self, text, name="input"):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def test_arguments_come_from_stdin(self):
        self.serve()
        for flags in ([], ["-"]):
            self.assertEqual(self.args_of("Mail", *flags, text='[1, "a"]\n'), ("Mail", [1, "a"]))
            several = " [\r\n 1,\n 2 ]\n"
            self.assertEqual(self.args_of("Mail", *flags, text=several), ("Mail", [1, 2]))
            with open(self.file("[3]"), encoding="utf-8") as file:
                self.assertEqual(self.args_of("Mail", *flags, stdin=file), ("Mail", [3]))

    def test_nothing_on_stdin_is_a_job_without_arguments(self):
        self.serve()
        self.assertEqual(self.args_of("Mail"), ("Mail", []))
        self.assertEqual(self.args_of("Mail", text=""), ("Mail", []))
        self.assertEqual(self.args_of("Mail", text="\n"), ("Mail", []))
        with open(self.file(""), encoding="utf-8") as file:
            self.assertEqual(self.args_of("Mail", stdin=file), ("Mail", []))
        # As some services start their programs.
        done = subprocess.run(
            ["sh", "-c", '"$0" push Mail <&-', PROGRAM],
            env=environment({"MILLRACE_URL": self.url}),
            timeout=SECONDS_MAX,
            check=False,
        )
        self.assertEqual(done.returncode, DONE)
        folder = os.open("/", os.O_RDONLY)
        self.assertIn("Is a directory", self.refused("Mail", status=1, stdin=folder))
        os.close(folder)
        self.assertIn("nothing on stdin", self.refused("Mail", "-"))
        self.assertIn("nothing in", self.refused("Mail", "@" + self.file(" ")))

    def test_arguments_on_the_command_line_leave_stdin_alone(self):
        self.serve()
        ours, theirs = os.pipe()
        os.write(theirs, b"not for it\n")
        self.assertEqual(self.args_of("Mail", "[1]", stdin=ours), ("Mail", [1]))
        self.assertEqual(os.read(ours, 100), b"not for it\n")
        os.close(ours)
        os.close(theirs)

    def test_a_pipe_on_which_nothing_comes_does_not_hang(self):
        self.serve()
        ours, theirs = os.pipe()
        self.assertIn("nothing comes on stdin", self.refused("Mail", stdin=ours))
        os.close(ours)
        os.close(theirs)
        self.assertIn('"jobs":[]', self.cli("ls", "ready", "--json"))

    def test_arguments_come_from_a_file(self):
        self.serve()
        big = ["x" * 200_000]
        self.assertEqual(self.args_of("Mail", "@" + self.file(json.dumps(big))), ("Mail", big))
        self.assertEqual(self.args_of("Mail", text=json.dumps(big)), ("Mail", big))
        self.assertIn("No such file", self.refused("Mail", "@" + self.path("nowhere")))
        self.assertIn("directory", self.refused("Mail", "@" + self.path(""), status=REFUSED))

    def test_each_line_is_a_job(self):
        self.serve()
        lines = '[1]\n\n{"args": [2], "queue": "other", "retry": 3}\r\n[]'
        units = self.pushed("Mail", "-", "--queue=mail", "--retry=1", text=lines)
        shown = [(each["args"], each["queue"], each["retry"]) for each in units]
        self.assertEqual(shown, [([1], "mail", 1), ([2], "other", 3), ([], "mail", 1)])

    def test_lines_may_be_whole_jobs(self):
        self.serve()
        lines = '{"jobtype":"A","args":[1]}\n{"jobtype":"B","args":[],"queue":"q"}\n'
        for source, text in (("-", lines), ("@" + self.file(lines), None)):
            units = self.pushed(source, "--queue=mail", "--priority=7", text=text)
            self.assertEqual([each["jobtype"] for each in units], ["A", "B"])
            self.assertEqual([each["queue"] for each in units], ["mail", "q"])
            self.assertEqual([each["priority"] for each in units], [7, 7])
        self.assertIn("jobtype", self.refused("-", text="[1]"))
        self.assertIn("jobtype", self.refused("-", text='{"args":[]}'))

    def test_a_refusal_says_what_is_wrong_where_and_what_is_expected(self):
        self.serve()
        array = "ARGS must be a JSON array such as '[1, \"a\"]', @FILE or -, but it "
        custom = "--custom must be a JSON object such as '{\"a\": 1}', but it "
        for arguments, said in (
            (("[1,",), "TYPE must be a jobtype, but it looks like JSON; write push TYPE '[1"),
            (("T", "[1,"), array + "is incomplete"),
            (("T", "[1 2]"), array + "is invalid at byte 4"),
            (("T", "[1e999,}"), array + "is invalid"),
            (("T", "5"), array + "is of type number"),
            (("T", "[]", '--custom={"a":x}'), custom + "is invalid at byte 6"),
            (("T", "[]", "--queue=a b"),
             '--queue may contain only letters, digits and . _ -, but it is "a b"'),
        ):
            self.assertIn(said, self.refused(*arguments))
        self.assertIn('"jobs":[]', self.cli("ls", "ready", "--json"))

    def test_no_job_is_pushed_if_a_line_is_none(self):
        self.serve()
        refusal = self.refused("Mail", "-", text='[1]\n[2]\n{"a"\n')
        expected = "must be a JSON array of arguments or a JSON object"
        self.assertIn(f"line 3: {expected}, but it is incomplete", refusal)
        refusal = self.refused("Mail", "-", "--jid=12345678", text="[1]\n[2]")
        self.assertIn("--jid is for one job", refusal)
        self.assertIn('"jobs":[]', self.cli("ls", "ready", "--json"))

    def test_no_job_is_pushed_if_one_would_be_refused(self):
        self.serve()
        for wrong, why in (
            ('{"args": [], "queue": "bad name"}', "queue names"),
            ('{"args": [], "reserve_for": 86401}', "reserved for more"),
            ('{"args": [], "jid": "short"}', "reasonable jid"),
            ('{"args": [], "at": "tomorrow"}', "tomorrow"),
            ('{"args": [], "custom": {"unique_for": "x"}}', "unique_for"),
            ('{"args": {}}', "args"),
            ('{"args": [], "retry": "x"}', "retry"),
        ):
            refusal = self.refused("Mail", "-", text=f"[1]\n\n{wrong}\n[4]\n")
            self.assertIn("line 3: ", refusal)
            self.assertIn(why, refusal)
        for wrong in ("77", "0", "-1", "5.5", '"7"', "1e400"):
            line = f'{{"args": [], "Priority": {wrong}}}'
            for lines in (f"[1]\n[2]\n{line}\n", line):
                refusal = self.refused("Mail", "-", text=lines)
                self.assertIn("priority must be from 1 to 9", refusal)
                self.assertEqual("line 3: " in refusal, lines != line)
        self.assertIn('"jobs":[]', self.cli("ls", "ready", "--json"))
        changes = self.web.read("/api/v1/activity")["changes"]
        self.assertEqual([each["action"] for each in changes], ["server/start"])
        self.pushed("Mail", "-", text='{"args": [], "priority": null}')

    def test_a_refusal_says_how_many_were_pushed(self):
        self.serve()
        lines = '[1]\n\n{"args": [], "custom": {"bid": "b-AQAAAAAAAAA3ng"}}\n[4]\n'
        refusal = self.refused("Mail", "-", text=lines)
        self.assertIn("line 3: ", refusal)
        self.assertIn("the 1 before it were pushed", refusal)

    def test_a_line_that_is_not_utf8_is_refused(self):
        self.serve()
        for lines, place in ((b'[1]\n\n["\xff"]\n[3]', "line 3"), (b'["\n\xc3"]', "line 2")):
            with open(self.path("input"), "wb") as file:
                file.write(lines)
            refusal = self.refused("Mail", "@" + self.path("input"))
            self.assertIn(place + ": not UTF-8", refusal)
        self.assertIn('"jobs":[]', self.cli("ls", "ready", "--json"))
        self.assertEqual(self.args_of("Mail", text='["\u00fc\\ud800"]'), ("Mail", ["\u00fc\ufffd"]))

    def test_a_byte_order_mark_is_no_part_of_the_input(self):
        self.serve()
        for lines in ("[1]\n[2]\n", '{"args": [1]}\n[2]'):
            marked = "\ufeff" + lines
            for source, text in (("-", marked), ("@" + self.file(marked), None)):
                units = self.pushed("Mail", source, text=text)
                self.assertEqual([each["args"] for each in units], [[1], [2]])
        self.assertEqual(self.args_of("Mail", text="\ufeff"), ("Mail", []))

    def test_a_job_that_is_there_does_not_stop_the_others(self):
        self.serve()
        unique = '{"args": [7], "custom": {"unique_for": 60}}\n'
        done = self.run_push("Mail", "-", text=unique + unique + "[8]\n")
        self.assertEqual(done.returncode, NOT_UNIQUE)
        self.assertEqual(done.stdout.count("ready"), 2)
        self.assertIn("line 2: ", done.stderr)

    def test_priority_is_that_of_the_protocol(self):
        self.serve()
        (unit,) = self.pushed("Mail", "[]", "--priority=9")
        self.assertEqual(unit["priority"], 9)
        for wrong in ("0", "10", "high", "-1", "5.5"):
            self.assertIn("9 comes first", self.refused("Mail", f"--priority={wrong}"))


if __name__ == "__main__":
    unittest.main()
