"""`millrace put` and `millrace fetch`, over the beanstalk port."""

import json
import os
import signal
import subprocess
import unittest

from clients import Beanstalk, Faktory
from program import PROGRAM, environment, start_kept, wait_until
from terminal.test_cli import DONE, REFUSED, UNREACHABLE, USAGE, CliTest

SECONDS_MAX = 120


class JobPortTest(CliTest):
    def serve(self, *flags, env=None):
        server = super().serve(*flags, env=env)
        self.address = f"127.0.0.1:{server.beanstalk_address[1]}"
        self.beanstalk = self.open(Beanstalk(server.beanstalk_address))
        return server

    def run_cli(self, *arguments, env=None):
        return super().run_cli(*arguments, env={"BEANSTALKD_URL": self.address, **(env or {})})

    def put(self, *arguments, body=None):
        done = subprocess.run(
            [PROGRAM, "put", "--json", *arguments],
            input=body,
            capture_output=True,
            env=environment({"BEANSTALKD_URL": "beanstalk://" + self.address}),
            timeout=SECONDS_MAX,
        )
        self.assertEqual((done.returncode, done.stderr), (DONE, b""))
        return json.loads(done.stdout)

    def fetched(self, *arguments):
        return [json.loads(line) for line in self.cli("fetch", *arguments).splitlines()]

    def stats(self, job):
        self.beanstalk.send(f"stats-job {job}\r\n".encode())
        reply = self.beanstalk.line()
        return self.beanstalk.body(int(reply.split()[1])).decode()


class PutTest(JobPortTest):
    def test_a_job_has_what_was_given(self):
        self.serve()
        shown = self.cli("put", "hello", "--tube=mail", "--priority=7", "--delay=2m", "--ttr=90")
        self.assertEqual(shown, "put         job 1, tube mail\n")
        stats = self.stats(1)
        for line in ('tube: "mail"', "pri: 7", "delay: 120", "ttr: 90", "state: delayed"):
            self.assertIn(line, stats)

    def test_stdin_is_taken_byte_by_byte(self):
        self.serve()
        body = bytes(range(256)) * 200
        self.assertEqual(self.put(body=body), {"id": 1, "tube": "default"})
        self.assertEqual(self.beanstalk.reserve(), (1, body))
        self.put("-", body=b"")
        self.assertEqual(self.beanstalk.reserve(), (2, b""))

    def test_refusals_say_why(self):
        self.serve("--max-job-size=10")
        self.assertIn("11 bytes, and the server takes fewer", self.refusal("put", "x" * 11))
        self.assertIn("tube", self.refusal("put", "x", "--tube=a b", status=USAGE))
        for verb in (("put", "x", "--tube=a!"), ("fetch", "a!")):
            refusal = self.refusal(*verb, status=USAGE)
            self.assertIn('no tube can have the name "a!"', refusal)
        self.assertIn("at most 200 bytes", self.refusal("fetch", "x" * 201, status=USAGE))
        refusal = self.refusal("put", "x", "--tube=a\r\ndelete 1", status=USAGE)
        self.assertIn("blanks", refusal)
        for wrong in ("--priority=-1", "--priority=4294967296", "--delay=x", "--address=a/b"):
            self.refusal("put", "x", wrong, status=USAGE)
        unreachable = self.refusal("put", "x", "--address=127.0.0.1:1", status=UNREACHABLE)
        self.assertNotIn("--address", unreachable)
        from_url = {"BEANSTALKD_URL": "", "MILLRACE_URL": "http://127.0.0.2"}
        unreachable = self.refusal("put", "x", env=from_url, status=UNREACHABLE)
        self.assertIn("cannot reach 127.0.0.2:11300: ", unreachable)
        self.assertIn("; --address names another port", unreachable)
        self.refusal("put", "x", "--address=unix:/nowhere", status=UNREACHABLE)
        refusal = self.refusal("put", "x", "--address=nosuch.invalid", status=UNREACHABLE)
        self.assertIn("the host nosuch.invalid is not known", refusal)

    def test_a_body_that_cannot_be_read_is_not_put(self):
        self.serve()
        directory = os.open(self.directory, os.O_RDONLY)
        self.addCleanup(os.close, directory)
        command = [PROGRAM, "put", "--address", self.address]
        done = subprocess.run(command, stdin=directory, capture_output=True, text=True)
        self.assertEqual(done.returncode, REFUSED)
        self.assertIn("the body cannot be read: Is a directory", done.stderr)
        self.assertEqual(self.beanstalk.stats()["total-jobs"], "0")

    def test_what_was_put_is_told_where_stdout_takes_nothing(self):
        self.serve()
        for command, told in (
            (["put", "x", "--address", self.address], "put job 1, tube default"),
            (["put", "x", "--json", "--address", self.address], "put job 2, tube default"),
            (["push", "T", "--jid=told-anyway"], "ready job 3, jid told-anyway"),
        ):
            with open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run(
                    [PROGRAM, *command],
                    stdout=full,
                    stderr=subprocess.PIPE,
                    env=environment({"MILLRACE_URL": self.url}),
                    text=True,
                )
            self.assertEqual(done.returncode, REFUSED)
            said = f"millrace: the output could not be written: {told}\n"
            self.assertEqual(done.stderr, said)

    def test_ports_of_other_protocols_are_named(self):
        server = self.serve()
        for address, text in (
            (server.faktory_address, "this is a Faktory port"),
            (server.web_address, "this is a web port"),
        ):
            self.address = "{}:{}".format(*address)
            self.assertIn(text, self.refusal("put", "x"))
            self.assertIn(text, self.refusal("fetch"))

    def test_a_server_that_drains_takes_no_jobs(self):
        server = self.serve()
        server.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: self.run_cli("put", "x").returncode == REFUSED, "it drains")
        self.assertIn("it is in drain mode (push still works)", self.refusal("put", "x"))
        self.push("Mail", "[]")


class FetchTest(JobPortTest):
    def test_jobs_are_shown_and_given_back(self):
        self.serve()
        for queue in ("a", "b"):
            self.cli("put", f"of {queue}", f"--tube={queue}")
        self.put("--tube=b", body=b"\xff\x00")
        self.push("Mail", "[1]", "--queue=a")
        jobs = self.fetched("a", "b", "--jobs=9")
        self.assertEqual([job["id"] for job in jobs], [1, 2, 3, 4])
        self.assertEqual(jobs[0], {"id": 1, "queue": "a", "body": "of a"})
        self.assertEqual(jobs[2], {"id": 3, "queue": "b", "body_base64": "/wA="})
        self.assertEqual(json.loads(jobs[3]["body"])["args"], [1])
        for job in range(1, 4):
            wait_until(lambda: "state: ready" in self.stats(job), "it is given back")
        self.assertEqual(len(self.fetched("a")), 1)

    def test_a_job_is_not_deleted_where_stdout_is_closed(self):
        self.serve()
        self.put("one")
        fetch = f'exec "{PROGRAM}" fetch --delete --address {self.address} >&-'
        done = subprocess.run(["sh", "-c", fetch], stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, REFUSED)
        self.assertIn("the output could not be written", done.stderr)
        wait_until(lambda: self.beanstalk.stats()["current-jobs-ready"] == "1", "it is back")

    def test_deleted_jobs_are_finished(self):
        server = self.serve()
        self.push("Mail", "[1]")
        self.assertEqual(self.fetched("--delete")[0]["id"], 1)
        self.assertIn("no job is ready in the queue default", self.refusal("fetch"))
        self.assertEqual(self.json("ls", "completed")["jobs"][0]["outcome"], "done")
        self.assertEqual(self.open(Faktory(server.faktory_address)).fetch("default"), None)

    def test_jobs_that_nobody_can_read_are_given_back(self):
        self.serve()
        self.cli("put", "x")
        ours, theirs = os.pipe()
        os.close(ours)
        done = subprocess.run(
            [PROGRAM, "fetch", "--delete"],
            stdout=theirs,
            stderr=subprocess.PIPE,
            env=environment({"BEANSTALKD_URL": self.address}),
            timeout=SECONDS_MAX,
        )
        os.close(theirs)
        self.assertEqual(done.returncode, REFUSED)
        self.assertIn(b"given back", done.stderr)
        self.assertEqual(len(self.fetched("--delete")), 1)

    def test_waiting_ends_with_a_job_or_with_ctrl_c(self):
        self.serve()
        waiting = self.begin("--wait=1h", "--delete")
        wait_until(lambda: self.waiting_clients() == 1, "it waits")
        self.cli("put", "late")
        out, _ = waiting.communicate(timeout=SECONDS_MAX)
        self.assertEqual((waiting.returncode, json.loads(out)["body"]), (DONE, "late"))
        waiting = self.begin("--wait=1h")
        wait_until(lambda: self.waiting_clients() == 1, "it waits")
        waiting.send_signal(signal.SIGINT)
        _, said = waiting.communicate(timeout=SECONDS_MAX)
        self.assertEqual((waiting.returncode, said), (130, "millrace: a signal ended it\n"))

    def test_ctrl_c_ends_it_while_the_server_does_not_answer(self):
        server = self.serve()
        waiting = self.begin("--wait=1h")
        wait_until(lambda: self.waiting_clients() == 1, "it waits")
        server.process.send_signal(signal.SIGSTOP)
        self.addCleanup(server.process.send_signal, signal.SIGCONT)
        waiting.send_signal(signal.SIGINT)
        self.assertEqual(waiting.wait(5), 130)

    def begin(self, *flags):
        return start_kept(
            [PROGRAM, "fetch", *flags],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment({"BEANSTALKD_URL": self.address}),
            text=True,
        )

    def waiting_clients(self):
        connections = self.web.read("/api/v1/connections")["connections"]
        return sum(each["is_waiting"] for each in connections)


class TlsTest(JobPortTest):
    def test_a_port_with_tls_needs_a_certificate_that_is_trusted(self):
        certificate, key = self.path("cert.pem"), self.path("key.pem")
        subprocess.run(
            f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
            f"-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 "
            f"-keyout {key} -out {certificate}".split(),
            check=True,
            capture_output=True,
        )
        server = CliTest.serve(self, f"--tls-cert={certificate}", f"--tls-key={key}")
        self.address = f"tls://127.0.0.1:{server.beanstalk_address[1]}"
        self.assertIn("job 1", self.cli("put", "x", f"--ca={certificate}"))
        self.assertEqual(self.fetched(f"--ca={certificate}")[0]["body"], "x")
        self.assertIn("not trusted", self.refusal("put", "x", status=UNREACHABLE))
        self.assertIn("--ca", self.refusal("put", "x", "--ca=/nowhere", status=USAGE))
        plain = f"--address=127.0.0.1:{server.beanstalk_address[1]}"
        for verb in (("put", "x"), ("fetch",)):
            self.assertIn("tls://", self.refusal(*verb, plain, status=UNREACHABLE))
        told = self.refusal("import", f"--from=beanstalk://{self.address[6:]}", "--into=/nowhere/x")
        self.assertIn("speak TLS", told)
        self.url = f"http://127.0.0.1:{server.web_address[1]}"
        self.assertIn("one with TLS: https://", self.refusal("stats", status=UNREACHABLE))


if __name__ == "__main__":
    unittest.main()
