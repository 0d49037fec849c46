"""Verbs with actions, short flags, lists that are watched, and the help."""

import http.server
import json
import os
import re
import shlex
import signal
import subprocess
import threading
import unittest
import urllib.request

from clients import Beanstalk, Faktory
from program import PROGRAM, environment, start_kept, wait_until
from shared.shared_log import make_certificate
from terminal.test_cli import DONE, REFUSED, USAGE, CliTest


class ActionTest(CliTest):
    def test_a_queue_is_cleared_and_deleted_only_with_yes(self):
        self.serve()
        for _ in range(3):
            self.push("Mail", "[]", "-q", "mail")
        done = self.run_cli("queues", "clear", "mail")
        self.assertEqual((done.returncode, done.stdout),
                         (REFUSED, "queue       mail: 3 ready jobs\n"))
        self.assertIn("nothing is deleted without --yes", done.stderr)
        self.assertEqual(self.cli("queues", "clear", "mail", "--yes"), "3 jobs deleted\n")
        self.push("Later", "[]", "-q", "mail", "--at=+30m")
        self.assertEqual(self.cli("queues", "delete", "mail", "--yes"), "1 job deleted\n")
        self.assertNotIn("mail", self.cli("queues"))
        self.assertIn("QUEUE is needed", self.refusal("queues", "clear", status=USAGE))
        self.assertIn("did you mean clear?", self.refusal("queues", "claer", "a", status=USAGE))
        self.refusal("queues", "clear", "nowhere")

    def test_workers_are_told_to_be_quiet_and_to_stop(self):
        server = self.serve()
        first, second = (self.open(Faktory(server.faktory_address, wid)) for wid in ("w-1", "w-2"))

        def state_of(worker, wid):
            return json.loads(worker.command('BEAT {"wid":"%s"}' % wid))["state"]

        self.assertEqual(self.cli("workers", "quiet", "w-1"), "quieting    w-1\n")
        self.assertEqual(state_of(first, "w-1"), "quiet")
        self.assertEqual(self.cli("workers", "stop", "--all"), "stopping    2 workers\n")
        self.assertEqual(state_of(second, "w-2"), "terminate")
        self.refusal("workers", "stop", "w-3")
        self.assertIn("WID is needed", self.refusal("workers", "stop", status=USAGE))
        self.assertIn("not both", self.refusal("workers", "stop", "a", "--all", status=USAGE))

    def test_a_batch_is_retried_accepted_discarded_and_forgotten(self):
        server = self.serve()
        client = self.open(Faktory(server.faktory_address))
        bid = client.command('BATCH NEW {"success":{"jobtype":"Done","args":[]}}')
        for jid in ("member-01", "member-02"):
            self.fail_job(server, jid, retry=-1, custom={"bid": bid})
        client.command(f"BATCH COMMIT {bid}")
        self.assertEqual(self.cli("batches", "retry", bid), "2 jobs made ready\n")
        self.assertIn("without --yes", self.run_cli("batches", "discard", bid).stderr)
        self.assertEqual(self.cli("batches", "discard", bid, "--yes"), "2 jobs deleted\n")
        self.assertIn("accepted", self.cli("batches", "accept", bid))
        other = client.command('BATCH NEW {"success":{"jobtype":"Done","args":[]}}')
        self.assertEqual(self.json("batches", "delete", other, "--yes")["bid"], other)

    def test_locks_are_listed_and_freed(self):
        self.serve()
        unique = ["push", "Mail", "[]", "-q", "mail", "--custom", '{"unique_for":600}']
        self.cli(*unique)
        self.assertRegex(self.cli("locks", "-q", "mail"), r"(?m)^ *1  mail +Mail +ready +\d+s ")
        self.assertEqual(self.json("locks", "--queue=other")["locks"], [])
        self.assertEqual(self.cli("locks", "free", "1"), "freed       1\n")
        self.cli(*unique)

    def test_dead_jobs_become_ready_bit_by_bit(self):
        server = self.serve()
        for number in range(5):
            self.fail_job(server, f"dies-{number:04}", retry=-1)
        shown = self.cli("retry", "--state=dead", "--spread=10m")
        self.assertIn("5 jobs made ready", shown)
        counts = self.json("stats")["jobs"]
        self.assertEqual((counts["dead"], counts["ready"] + counts["scheduled"] +
                          counts["retrying"]), (0, 5))
        self.assertLess(counts["ready"], 5)
        self.refusal("retry", "1", "--spread=10m", status=USAGE)

    def test_health_types_audit_and_a_cluster_of_one(self):
        server = self.serve()
        self.assertEqual(self.cli("health"), "status      serving\n")
        self.fail_job(server, "dies-0001", retry=-1)
        self.assertRegex(self.cli("types"), r"(?m)^Test +1 +1 ")
        self.push("Mail", "[]", "-q", "mail")
        self.cli("pause", "mail")
        self.assertRegex(self.cli("audit"), r"(?m)Z  \S+ +mail ")
        self.assertEqual(self.json("audit", "--limit=1")["changes"][0]["target"], "mail")
        alone = self.run_cli("cluster")
        self.assertEqual((alone.returncode, alone.stdout), (DONE, ""))
        self.assertIn("does not use a shared log", alone.stderr)


class ListTest(CliTest):
    def test_arguments_are_cut_with_a_mark_or_whole(self):
        server = self.serve()
        long = json.dumps(["x" * 5000])
        self.push("Mail", long)
        tube = self.open(Beanstalk(server.beanstalk_address))
        tube.put(b"y" * 3000)
        self.assertRegex(self.cli("ls", "ready"), r"(?m)x…$")
        shown = self.cli("ls", "ready", "--full")
        self.assertIn("x" * 5000 + '"]\n', shown)
        self.assertIn("y" * 3000 + "\n", shown)
        shown = [job["args"] for job in self.json("ls", "ready", "--full")["jobs"]]
        self.assertIn(long, shown)

    def test_all_rows_are_shown(self):
        self.serve()
        lines = "".join(f"[{number}]\n" for number in range(60))
        subprocess.run([PROGRAM, "push", "Mail", "-"], input=lines, text=True, check=True,
                       capture_output=True, env=environment({"MILLRACE_URL": self.url}))
        done = self.run_cli("ls", "ready")
        self.assertEqual(len(done.stdout.splitlines()), 51)
        self.assertIn("--all", done.stderr)
        self.assertEqual(len(self.cli("ls", "ready", "--all").splitlines()), 61)

    def test_a_list_is_watched_until_a_signal(self):
        self.serve()
        watcher = start_kept(
            [PROGRAM, "queues", "-w", "-o", "json"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            env=environment({"MILLRACE_URL": self.url}),
        )
        self.addCleanup(watcher.stdout.close)
        self.addCleanup(watcher.wait)
        self.addCleanup(watcher.kill)
        names = lambda: [queue["name"] for queue in json.loads(watcher.stdout.readline())["queues"]]
        self.assertEqual(names(), ["default"])
        self.push("Mail", "[]", "-q", "mail")
        wait_until(lambda: names() == ["default", "mail"], "the new queue is shown")
        watcher.send_signal(signal.SIGINT)
        self.assertEqual(watcher.wait(60), DONE)
        self.assertIn("cannot be combined with an ACTION",
                      self.refusal("cron", "run", "nightly", "-w", status=USAGE))


class PutLinesTest(CliTest):
    def put(self, server, text, *flags):
        return subprocess.run(
            [PROGRAM, "put", "--lines", *flags], input=text, capture_output=True,
            env=environment({"BEANSTALKD_URL": "127.0.0.1:%d" % server.beanstalk_address[1]}),
        )

    def test_each_line_is_a_job(self):
        server = self.serve()
        done = self.put(server, b'{"a":1}\n\n{"a":2}', "-q", "images")
        self.assertEqual((done.returncode, done.stderr), (DONE, b""))
        self.assertEqual(done.stdout.decode(),
                         "put         job 1, tube images\nput         job 2, tube images\n")
        tube = self.open(Beanstalk(server.beanstalk_address))
        tube.command("watch images")
        self.assertEqual([tube.reserve() for _ in range(2)], [(1, b'{"a":1}'), (2, b'{"a":2}')])

    def test_the_others_are_told_of_where_one_is_refused(self):
        server = self.serve("--max-job-size=10")
        done = self.put(server, b"short\n" + b"x" * 20 + b"\n")
        self.assertEqual(done.returncode, REFUSED)
        self.assertIn(b"jobs put before it: 1", done.stderr)
        self.assertEqual(self.put(server, b"\n").returncode, USAGE)
        self.assertEqual(self.put(server, b"a\n", "body").returncode, USAGE)


class PrefixTest(CliTest):
    def test_a_proxy_may_have_the_server_under_a_path(self):
        self.serve()
        target, asked = self.url, []

        class Proxy(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                with urllib.request.urlopen(target + self.path.removeprefix("/jobs")) as answer:
                    body = answer.read()
                    self.send_response(200)
                    for name in ("X-Instance", "X-Now-Ms"):
                        if name in answer.headers:
                            self.send_header(name, answer.headers[name])
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *_):
                pass

        proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
        self.addCleanup(proxy.server_close)
        self.addCleanup(proxy.shutdown)
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        url = f"127.0.0.1:{proxy.server_address[1]}/jobs/"
        self.assertIn("health", self.cli("stats", "--url", url))
        self.assertEqual(self.cli("health", "--url", url), "status      serving\n")
        self.assertEqual({path.split("/")[1] for path in asked}, {"jobs"})


class ConfigTest(CliTest):
    def check(self, *flags, status=DONE):
        done = subprocess.run([PROGRAM, "config", "check", *flags], capture_output=True,
                              env=environment(), text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout + done.stderr

    def test_a_configuration_is_checked_without_a_start(self):
        certificate, key = make_certificate(self.path("."))
        with open(self.path("config.toml"), "w", encoding="ascii") as file:
            file.write(f'tls-cert = "{certificate}"\ntls-key = "{key}"\n')
            file.write(f'data = "{self.path("d")}"\n')
        config = "--config=" + self.path("config.toml")
        self.assertEqual(self.check(config), "the configuration is valid\n")
        self.assertFalse(os.path.exists(self.path("d")))
        problem = self.check(config, "--password-file=/nowhere", status=USAGE)
        self.assertIn("cannot use password file /nowhere", problem)
        with open(self.path("config.toml"), "a", encoding="ascii") as file:
            file.write("\nmemory-limit = true\n")
        self.assertIn("config.toml:5: memory-limit must be", self.check(config, status=USAGE))


class HelpTest(unittest.TestCase):
    def run_briefly(self, *arguments):
        return subprocess.run([PROGRAM, *arguments], capture_output=True, env=environment(),
                              text=True, stdin=subprocess.DEVNULL)

    def test_without_a_command_there_is_the_help(self):
        bare, asked = self.run_briefly(), self.run_briefly("--help")
        self.assertEqual((bare.returncode, bare.stderr), (USAGE, ""))
        self.assertEqual(bare.stdout, asked.stdout)
        groups = re.findall(r"(?m)^([A-Z][a-z ,]+):$", asked.stdout)
        self.assertEqual(groups[-6:-4], ["Start", "Jobs"])

    def test_each_command_has_two_examples_that_it_takes(self):
        commands = re.findall(r"(?m)^  ([a-z-]+)  ", self.run_briefly("--help").stdout)
        manual = self.run_briefly("man").stdout
        self.assertGreater(len(commands), 30)
        for command in commands:
            shown = self.run_briefly(command, "--help").stdout
            examples = re.search(r"(?m)^Examples:\n  (.+)\n  (.+)\n\n", shown)
            self.assertIsNotNone(examples, command)
            for example in examples.groups():
                with self.subTest(example):
                    self.assertIn(f"millrace {command}", example)
                    words = shlex.split(re.search(r"millrace [^|)<>]*", example)[0])[1:]
                    words = [word for word in words if not word.startswith("@")]
                    # Help is shown only where no option before it is wrong.
                    checked = self.run_briefly(*words, "--help")
                    self.assertEqual((checked.returncode, checked.stderr), (DONE, ""))
                    self.assertIn(example.replace("-", "\\-").split(" | ")[0][:20], manual)


if __name__ == "__main__":
    unittest.main()
