"""The verbs for batches, cron entries and throttles, used as a person and as a script use them."""

import json

from clients import Faktory
from terminal.test_cli import NOT_UNIQUE, USAGE, CliTest

CONFIG = """
[throttles]
mail = { concurrency = 2, timeout = 60 }

[[cron]]
name = "nightly report"
schedule = "30 2 * * *"
timezone = "Europe/Berlin"
[cron.job]
type = "Report"
queue = "reports"
[cron.job.custom]
unique_for = 600
"""
CALLBACK = {"jobtype": "Done", "args": []}


class FeatureVerbsTest(CliTest):
    def start(self):
        with open(self.path("config.toml"), "w", encoding="utf-8") as file:
            file.write(CONFIG)
        return self.serve("--config=" + self.path("config.toml"))

    def test_batches_are_listed_by_state(self):
        server = self.serve()
        self.assertIn("there are no batches", self.run_cli("batches").stderr)
        client = self.open(Faktory(server.faktory_address))
        text = json.dumps({"success": CALLBACK, "description": "import of\n2026"})
        bid = client.command("BATCH NEW " + text)
        client.push("member-01", "mail", custom={"bid": bid})
        shown = self.cli("batches")
        row = rf"(?m)^{bid}  open +1 +1 +0 +0 +\d+s ago  import of\\n2026  Waiting for its client"
        self.assertRegex(shown, row)
        shown = self.cli("batches", "show", bid)
        self.assertRegex(shown, r"(?m)^cause +Waiting for its client to commit it$")
        self.assertRegex(shown, r"(?m)^members +0 succeeded, 1 ready$")
        self.assertEqual(self.json("batches", "show", bid)["bid"], bid)
        self.assertIn("no such batch", self.refusal("batches", "show", "b-none"))
        self.assertEqual(self.json("batches", "--state=failed")["batches"], [])
        self.assertEqual(self.json("batches", "--state=open")["batches"][0]["bid"], bid)
        client.command("BATCH NEW " + text)
        self.assertEqual(len(self.json("batches", "--limit=1")["batches"]), 1)
        self.assertIn("open, running", self.refusal("batches", "--state=dead", status=USAGE))

    def test_a_cron_entry_is_listed_run_paused_and_resumed(self):
        self.start()
        shown = self.cli("cron")
        self.assertRegex(shown, r"(?m)^nightly report  on +every day at 02:30, Berlin +Report  ")
        self.assertRegex(shown, r"(?m) 2\d{3}-\d\d-\d\dT02:30:00\+0[12]:00$")
        shown = self.cli("cron", "run", "nightly report")
        self.assertRegex(shown, r"\Aready +job 1, jid \S+\n\Z")
        refusal = self.refusal("cron", "run", "nightly report", status=NOT_UNIQUE)
        self.assertIn("NOTUNIQUE", refusal)
        self.assertIn("NOTUNIQUE Job not unique", self.cli("cron"))
        shown = self.cli("cron", "pause", "nightly report")
        self.assertRegex(shown, r"\Apaused +nightly report\n\Z")
        self.assertRegex(self.cli("cron"), r"(?m)^nightly report  paused ")
        self.assertFalse(self.json("cron", "resume", "nightly report")["is_paused"])
        self.assertEqual(self.json("cron")["entries"][0]["name"], "nightly report")
        self.assertIn("no such cron entry", self.refusal("cron", "run", "weekly"))

    def test_limits_are_listed_set_and_reset(self):
        self.start()
        self.push("Mail", "[]", "--queue=mail")
        row = r"(?m)^mail +2 concurrent +mail +0 +2 +1 +0 +0"
        self.assertRegex(self.cli("throttles"), row)
        flags = ("--concurrency=1", "--worker=1", "--timeout=1m", "--rate=100/1m")
        shown = self.cli("throttles", "set", "mail", *flags)
        limits = "mail: 1 concurrent, 1 per worker, 100 per 60 s\n"
        self.assertEqual(shown.split(None, 1)[1], limits)
        self.assertRegex(self.cli("throttles"), r"(?m)^mail .* hand +0 +1 +1 ")
        self.assertEqual(self.json("throttles", "reset", "mail"), {"queue": "mail"})
        self.assertRegex(self.cli("throttles"), row)
        self.cli("throttles", "set", "type:Mail", "--rate=9/1m")
        self.assertRegex(self.cli("throttles"), r"(?m)^type:Mail +9 per 60 s +hand +[9a]\w* +0$")
        self.assertIn("no limit", self.cli("throttles", "set", "mail", "--unlimited"))
        self.assertTrue(self.json("throttles")["throttles"][0]["is_by_hand"])
        for flag in ("--concurrency=1", "--worker=1", "--per-key=1"):
            refusal = self.refusal("throttles", "set", "mail", flag, status=USAGE)
            self.assertIn("need --timeout", refusal)
        name = self.refusal("throttles", "set", "my mail", "--rate=1/1m", status=USAGE)
        self.assertIn('no queue can have the name "my mail"', name)

    def test_a_job_that_waits_says_for_which_limit(self):
        server = self.start()
        self.cli("throttles", "set", "type:Mail", "--concurrency=1", "--timeout=1m")
        jobs = [self.push("Mail") for _ in range(2)]
        worker = self.open(Faktory(server.faktory_address, wid="w"))
        self.assertEqual(worker.fetch("default")["jid"], jobs[0]["jid"])
        shown = self.cli("peek", jobs[1]["jid"])
        self.assertRegex(shown, r"(?m)^held up +throttled: type Mail 1 of 1$")

    def test_what_makes_no_sense_is_refused_before_anything_is_asked(self):
        self.url = "http://127.0.0.1:1"
        for arguments in (
            ("cron", "stop"),
            ("cron", "run"),
            ("cron", "run", ""),
            ("throttles", "set"),
            ("throttles", ""),
            ("throttles", "set", "mail"),
            ("throttles", "set", "mail", "--unlimited", "--rate=1/1m"),
            ("throttles", "set", "mail", "--rate=1"),
            ("throttles", "set", "mail", "--rate=x/1m"),
            ("throttles", "set", "mail", "--concurrency=0"),
            ("throttles", "reset", "mail", "--worker=1"),
            ("throttles", "--concurrency=1"),
        ):
            with self.subTest(arguments):
                self.refusal(*arguments, status=USAGE)
