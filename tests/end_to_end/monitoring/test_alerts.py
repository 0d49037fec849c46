"""The alerts and the dashboard that come with the program fit what it shows at /metrics."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from test_manual import ROOT, shown_metrics

PACKAGING = os.path.join(ROOT, "packaging")
RULES = "millrace.rules.yml"


def read(*path):
    with open(os.path.join(PACKAGING, *path), encoding="utf-8") as file:
        return file.read()


def queries():
    """Those of the dashboard, with what Grafana puts in."""
    for panel in json.loads(read("grafana", "millrace.json"))["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"].replace("$__rate_interval", "5m").replace("$instance", ".*")


class Monitoring(unittest.TestCase):
    def promtool(self, *arguments):
        program = shutil.which("promtool")
        if program is None:
            self.skipTest("promtool is missing")
        done = subprocess.run(
            [program, *arguments],
            cwd=os.path.join(PACKAGING, "prometheus"),
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def assert_shown(self, text):
        known = set(shown_metrics())
        named = set(re.findall(r"millrace_[a-z_]+", text))
        self.assertTrue(named)
        of_histograms = {name: re.sub("_(bucket|sum|count)$", "", name) for name in named}
        unknown = [name for name in named if not {name, of_histograms[name]} & known]
        self.assertEqual(unknown, [])

    def test_the_alerts_name_metrics_that_exist(self):
        # Groups and alerts have other names.
        self.assert_shown(re.sub("name: .*", "", read("prometheus", RULES)))

    def test_the_dashboard_names_metrics_that_exist(self):
        self.assert_shown("\n".join(queries()))

    def test_prometheus_takes_the_alerts(self):
        self.promtool("check", "rules", RULES)

    def test_the_alerts_tell_of_what_they_should(self):
        self.promtool("test", "rules", "millrace.test.yml")

    def test_prometheus_takes_the_queries_of_the_dashboard(self):
        rules = [{"record": f"query:{i}", "expr": query} for i, query in enumerate(queries())]
        self.assertGreater(len(rules), 20)
        with tempfile.NamedTemporaryFile("w", suffix=".yml", encoding="utf-8") as file:
            json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, file)
            file.flush()
            self.promtool("check", "rules", file.name)


if __name__ == "__main__":
    unittest.main()
