"""The Helm chart, as far as it can be checked without Helm and a cluster, by the manifests that
`./dev charts` has rendered; and the Compose file, without an engine. Their parts fit each other,
and the program takes what they say."""

import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PACKAGING = os.path.join(ROOT, "packaging")
CHART = os.path.join(PACKAGING, "helm", "millrace")
for place in ("end_to_end", "support"):
    sys.path.insert(0, os.path.join(ROOT, "tests", place))

from clients import Beanstalk  # noqa: E402
from keeper import start_kept  # noqa: E402
from packing import content  # noqa: E402
from ports import free_port  # noqa: E402
from program import PROGRAM, ServerTest, environment, wait_until  # noqa: E402

try:
    import yaml
except ImportError:
    yaml = None

PORTS = {"beanstalk": 11300, "faktory": 7419, "web": 7420}


def chart_digest():
    paths = glob.glob(f"{CHART}/**", recursive=True)
    files = sorted(path for path in paths if os.path.isfile(path))
    return hashlib.sha256(b"".join(content(path) for path in files)).hexdigest()


class Manifest:
    """One of packaging/kubernetes. `name`: of its file. `log`: how the URL of its log begins."""

    name = None
    log = None

    def setUp(self):
        super().setUp()
        self.text = content(os.path.join(PACKAGING, "kubernetes", f"{self.name}.yaml")).decode()
        self.documents = {each["kind"]: each for each in yaml.safe_load_all(self.text)}
        self.spec = self.documents["StatefulSet"]["spec"]
        self.labels = self.spec["template"]["metadata"]["labels"]
        self.pod = self.spec["template"]["spec"]
        (self.container,) = self.pod["containers"]
        self.config = self.documents["ConfigMap"]["data"]["millrace.toml"]

    def test_it_is_of_the_chart_as_it_is(self):
        first = self.text.splitlines()[0]
        self.assertEqual(first, f"# Made by `./dev charts`: {chart_digest()}")

    def test_ports_match_everywhere(self):
        ports = {port["name"]: port["containerPort"] for port in self.container["ports"]}
        self.assertEqual(ports, PORTS)
        for port in self.documents["Service"]["spec"]["ports"]:
            self.assertEqual(PORTS[port["targetPort"]], port["port"])
        for name, port in PORTS.items():
            self.assertIn(f'{name} = ":{port}"', self.config)
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            asked = self.container[probe]["httpGet"]
            self.assertEqual(asked, {"path": "/health", "port": "web"})

    def test_selectors_find_the_pods(self):
        selectors = [
            self.documents["Service"]["spec"]["selector"],
            self.spec["selector"]["matchLabels"],
            self.documents["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
        ]
        self.assertEqual(selectors, [self.labels] * 3)
        self.assertEqual(self.spec["serviceName"], self.documents["Service"]["metadata"]["name"])

    def test_volumes_fit_and_only_the_data_can_be_written(self):
        claims = self.spec["volumeClaimTemplates"]
        volumes = {each["name"] for each in self.pod["volumes"]}
        volumes |= {each["metadata"]["name"] for each in claims}
        mounts = {each["name"]: each for each in self.container["volumeMounts"]}
        self.assertEqual(set(mounts), volumes)
        written = [name for name, mount in mounts.items() if not mount.get("readOnly")]
        self.assertEqual(written, ["data"])
        data = next(each for each in self.container["args"] if each.startswith("--data="))
        self.assertTrue(data.startswith(f"--data={mounts['data']['mountPath']}/"))
        self.assertTrue(self.container["securityContext"]["readOnlyRootFilesystem"])
        self.assertTrue(self.pod["securityContext"]["runAsNonRoot"])

    def arguments(self):
        """With places of this test for those of the container, and ports that are free."""
        places = {
            "/etc/millrace": self.path("config"),
            "/run/millrace-password": self.path("secret"),
            "/var/lib/millrace": self.path("data"),
        }
        config, arguments = self.config, list(self.container["args"])
        for place, ours in places.items():
            os.mkdir(ours)
            config = config.replace(place, ours)
            arguments = [each.replace(place, ours) for each in arguments]
        with open(self.path("config/millrace.toml"), "w", encoding="ascii") as file:
            file.write(re.sub(r'":\d+"', '"127.0.0.1:0"', config))
        for name in ("password", "log"):
            with open(self.path(f"secret/{name}"), "w", encoding="ascii") as file:
                file.write("password\n")
        return arguments

    def test_the_program_takes_what_it_says(self):
        serve, *flags = self.arguments()
        self.assertEqual(serve, "serve")
        variables = {each["name"]: "a" for each in self.container.get("env", [])}
        done = subprocess.run(
            [PROGRAM, "config", "check", *flags],
            capture_output=True,
            env=environment(variables),
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Nodes(Manifest):
    def test_they_share_a_log(self):
        self.assertEqual(self.spec["replicas"], 3)
        self.assertIn(f'log = "{self.log}', self.config)
        names = {each["name"] for each in self.container["env"]}
        self.assertEqual(names, {"MILLRACE_NODE", "MILLRACE_ADVERTISE"})

    def test_they_reach_each_other(self):
        admitted = self.documents["NetworkPolicy"]["spec"]["ingress"][0]["from"]
        self.assertIn({"podSelector": {"matchLabels": self.labels}}, admitted)

    def test_one_at_a_time_is_taken_away(self):
        spec = self.documents["PodDisruptionBudget"]["spec"]
        self.assertEqual(spec["maxUnavailable"], 1)
        self.assertEqual(spec["selector"]["matchLabels"], self.labels)


@unittest.skipIf(yaml is None, "needs python3-yaml")
class OneServer(Manifest, ServerTest):
    name = "one-server"

    def test_the_program_starts_with_what_it_says(self):
        arguments = self.arguments()
        server = self.server()
        server.arguments = lambda: [PROGRAM, *arguments]
        server.start()
        host, port = server.ports[0].removeprefix("beanstalk: ").split(":")
        self.assertEqual(self.open(Beanstalk((host, int(port)))).put(b"a"), 1)
        self.assertTrue(os.path.isdir(self.path("data/jobs")))

    def test_there_is_one(self):
        self.assertEqual(self.spec["replicas"], 1)


@unittest.skipIf(yaml is None, "needs python3-yaml")
class NodesOverNats(Nodes, ServerTest):
    name = "three-nodes-nats"
    log = "nats://"


@unittest.skipIf(yaml is None, "needs python3-yaml")
class NodesOverPostgresql(Nodes, ServerTest):
    name = "three-nodes-postgresql"
    log = "postgresql://"


@unittest.skipIf(yaml is None, "needs python3-yaml")
class Compose(ServerTest):
    def setUp(self):
        super().setUp()
        self.folder = os.path.join(PACKAGING, "compose")
        self.services = self.read("compose.yaml")["services"]

    def read(self, name):
        return yaml.safe_load(content(os.path.join(self.folder, name)))

    def mounts(self, service):
        """The files of this tree in it, by their place there."""
        pairs = [each.split(":")[:2] for each in self.services[service]["volumes"]]
        files = {place: path for path, place in pairs if path.startswith(".")}
        return {place: os.path.join(self.folder, path) for place, path in files.items()}

    def test_what_is_mounted_exists(self):
        for service in self.services:
            for path in self.mounts(service).values():
                self.assertTrue(os.path.exists(path), path)

    def test_only_this_machine_reaches_the_ports(self):
        for name, service in self.services.items():
            for port in service["ports"]:
                self.assertTrue(port.startswith("127.0.0.1:"), name)
        ports = {int(each.rsplit(":", 1)[1]) for each in self.services["millrace"]["ports"]}
        self.assertEqual(ports, set(PORTS.values()))

    def test_dashboards_are_where_grafana_looks(self):
        mounts = self.mounts("grafana")
        (provider,) = self.read("dashboards.yml")["providers"]
        self.assertEqual(os.listdir(mounts[provider["options"]["path"]]), ["millrace.json"])
        (source,) = self.read("grafana.yml")["datasources"]
        self.assertEqual(source["url"], "http://prometheus:9090")
        self.assertIn("9090:9090", self.services["prometheus"]["ports"][0])

    def test_prometheus_scrapes_the_server(self):
        """Both as the file says, with places of this test and ports that are free."""
        program = shutil.which("prometheus")
        if program is None:
            self.skipTest("prometheus is missing")
        with open(self.path("password"), "w", encoding="ascii") as file:
            file.write("password\n")
        variables = dict(self.services["millrace"]["environment"])
        variables["MILLRACE_PASSWORD_FILE"] = self.path("password")
        server = self.server(env=variables)
        server.web_address = ("127.0.0.1", free_port())
        server.start()
        mounts = self.mounts("prometheus")
        text = content(mounts["/etc/prometheus/prometheus.yml"]).decode()
        for place, ours in {
            "/etc/prometheus/millrace.rules.yml": mounts["/etc/prometheus/millrace.rules.yml"],
            "/run/secrets/password": self.path("password"),
            "millrace:7420": "%s:%d" % server.web_address,
            "15s": "1s",
        }.items():
            self.assertIn(place, text)
            text = text.replace(place, os.path.abspath(ours) if ours.startswith("/") else ours)
        with open(self.path("prometheus.yml"), "w", encoding="ascii") as file:
            file.write(text)
        port = free_port()
        prometheus = start_kept(
            [program, f"--config.file={self.path('prometheus.yml')}"]
            + [f"--storage.tsdb.path={self.path('series')}"]
            + [f"--web.listen-address=127.0.0.1:{port}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(prometheus.wait)
        self.addCleanup(prometheus.kill)
        wait_until(lambda: answer(port, "millrace_accepts_jobs") == ["1"], "a scrape")


def answer(port, query):
    """The values that Prometheus has for it; None while it does not answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?query={query}") as said:
            return [each["value"][1] for each in json.load(said)["data"]["result"]]
    except OSError:
        return None


if __name__ == "__main__":
    unittest.main()
