"""`millrace doctor`: what it finds in a directory and at a server."""

import json
import os
import subprocess
import time
import unittest

from clients import Beanstalk
from program import PROGRAM
from terminal.test_cli import DONE, REFUSED, UNREACHABLE, USAGE, CliTest

YEAR_S = 365 * 86_400


class DoctorTest(CliTest):
    url = ""

    def findings(self, *arguments):
        """By check: whether all is well, and the whole line. The clock of this machine is its own
        affair."""
        done = self.run_cli("doctor", "--json", *arguments)
        self.assertEqual(done.stderr, "")
        document = json.loads(done.stdout)
        self.assertEqual(done.returncode, DONE if document["is_well"] else REFUSED)
        self.assertEqual(document["is_well"], all(each["is_well"] for each in document["findings"]))
        found = {}
        for each in document["findings"]:
            members = ["check", "is_well", "seen"] + ([] if each["is_well"] else ["means", "to_do"])
            self.assertEqual([name for name in each if name != "command"], members)
            found.setdefault(each["check"], []).append(each)
        return found

    def trouble(self, found, check):
        """What is seen and what to do, of the one finding of that check that is none of well."""
        (one,) = [each for each in found[check] if not each["is_well"]]
        return " | ".join((one["seen"], one["to_do"], one.get("command", "")))

    def test_a_directory_in_use_has_a_process_and_is_not_changed(self):
        server = self.serve()
        names = sorted(os.listdir(server.data))
        found = self.findings(server.data)
        self.assertIn(f"process {server.process.pid} serves it", found["use"][0]["seen"])
        self.assertEqual(found["journal"][0]["seen"], "1 file of format 1; no damage")
        self.assertRegex(found["sync"][0]["seen"], r"ms \(median of \d+\), [\d.]+ ms at most|tmpfs")
        for check in ("owner", "use", "journal"):
            self.assertTrue(found[check][0]["is_well"], found[check])
        self.assertEqual(sorted(os.listdir(server.data)), names)
        server.terminate()
        self.assertIn("no process", self.findings(server.data)["use"][0]["seen"])

    def test_each_trouble_of_a_directory_says_what_to_do(self):
        server = self.serve()
        self.push("Mail", "[]")
        server.terminate()
        segment = server.segments()[-1]
        os.utime(segment, (time.time() + YEAR_S,) * 2)
        os.chmod(server.data, 0o755)
        os.remove(os.path.join(server.data, "extent"))
        found = self.findings(server.data)
        self.assertIn("d from now", found["clock"][-1]["seen"])
        self.assertIn("chmod o-rwx", self.trouble(found, "owner"))
        self.assertIn("millrace check", self.trouble(found, "journal"))
        with open(segment, "r+b") as file:
            file.seek(8)
            file.write(b"c")
        trouble = self.trouble(self.findings(server.data), "journal")
        self.assertRegex(trouble, r"\.log is damaged at offset 0: the segment header is not whole"
                         r" \| restore a backup, or copy .* \| millrace check ")
        with open(os.path.join(server.data, "binlog.1"), "wb"):
            pass
        trouble = self.trouble(self.findings(server.data), "journal")
        self.assertRegex(trouble, r"binlog\.1\) \| stop beanstalkd, .* \| millrace import --beanst")
        if os.getuid() == 0:
            os.chown(segment, 1, 1)
            self.assertIn("chown", self.trouble(self.findings(server.data), "owner"))

    def test_a_password_that_others_can_read_is_found(self):
        secret = self.path("secret")
        with open(secret, "w", encoding="ascii") as file:
            file.write("secret")
        os.chmod(secret, 0o600)
        found = self.findings(self.directory, f"--password-file={secret}")
        self.assertTrue(found["password"][0]["is_well"])
        os.chmod(secret, 0o644)
        done = self.run_cli("doctor", self.directory, f"--password-file={secret}")
        self.assertEqual(done.returncode, REFUSED)
        told = r"(?m)^look  password .*every user.*: .*\n {19}close .*\n {19}\$ chmod o-r "
        self.assertRegex(done.stdout, told)

    def test_what_may_be_a_server_is_told_from_a_directory(self):
        for target, url in (("a:7420", "http://a:7420"), ("data", "http://HOST:PORT")):
            said = self.refusal("doctor", target, status=USAGE)
            self.assertIn(f"for a server, write its URL: {url}", said)

    def test_advice_is_broken_and_a_command_is_not(self):
        old = self.path("a-directory-with-a-rather-long-name")
        os.mkdir(old)
        with open(os.path.join(old, "binlog.1"), "wb"):
            pass
        lines = self.on_terminal(80, "doctor", old, env={"NO_COLOR": "1"})[1].splitlines()
        (command,) = [line for line in lines if line.startswith(" " * 19 + "$ ")]
        self.assertTrue(command.endswith("-millrace"), command)
        for line in lines:
            self.assertTrue(len(line) <= 80 or line == command or old in line, line)

    def test_a_server_is_asked_for_its_troubles(self):
        server = self.serve()
        found = self.findings(self.url)
        for check in ("version", "clock", "queues"):
            self.assertTrue(found[check][0]["is_well"], found[check])
        for number in range(12):
            self.push("Mail", "[]", f"--queue=idle-{number}")
        self.open(Beanstalk(server.beanstalk_address)).put(b"x")
        self.cli("pause", "idle-3")
        found = self.findings(self.url)
        self.assertEqual(len(found["queue"]), 10)
        self.assertIn("1 job, the oldest", found["queue"][0]["seen"])
        self.assertIn("no worker", found["queue"][0]["seen"])
        self.assertTrue(any("default has 1 job" in each["seen"] for each in found["queue"]),
                        "a client that only puts is no worker")
        (command,) = [each["command"] for each in found["queue"] if "idle-0 " in each["seen"]]
        self.assertNotIn("delete", command)
        shown = self.run_cli(*command.split()[1:])
        self.assertIn("Mail", shown.stdout)
        self.assertIn("2 more queues are", self.trouble(found, "queues"))
        self.assertEqual(len(self.findings()["queue"]), 10, "MILLRACE_URL names the server")
        self.assertEqual(len(self.findings("--url", self.url)["queue"]), 10)
        said = self.refusal("doctor", self.url, "--url", self.url, status=USAGE)
        self.assertIn("TARGET or --url, not both", said)

    def test_names_from_clients_are_quoted_in_commands(self):
        server = self.serve()
        tube = self.open(Beanstalk(server.beanstalk_address))
        tube.command("use a;id")
        tube.put(b"x")
        found = self.findings(self.url)["queue"]
        (command,) = [each["command"] for each in found if each["seen"].startswith("a;id ")]
        self.assertIn(f" --queue 'a;id' --url {self.url}", command)
        self.cli("pause", "a;id")

    def test_output_that_cannot_be_written_is_told(self):
        self.serve()
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run(
                [PROGRAM, "doctor", self.url], stdout=full, stderr=subprocess.PIPE, text=True
            )
        self.assertEqual(done.returncode, REFUSED)
        self.assertIn("the output could not be written", done.stderr)

    def test_a_server_that_keeps_nothing_says_so(self):
        self.serve("--volatile")
        self.assertIn("--data DIR", self.trouble(self.findings(self.url), "journal"))

    def test_what_cannot_be_looked_at_is_one_line(self):
        for target in ("/nowhere/at/all", __file__):
            self.assertIn(target, self.refusal("doctor", target, status=USAGE))
        for target in ("ftp://x", ""):
            self.assertIn("TARGET", self.refusal("doctor", target, status=USAGE))
        self.refusal("doctor", "http://127.0.0.1:1", status=UNREACHABLE)


if __name__ == "__main__":
    unittest.main()
