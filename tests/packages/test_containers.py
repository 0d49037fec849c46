"""The Containerfile and the Kubernetes manifests, as far as they can be checked without a builder
and a cluster: their parts fit each other, and the program takes what they say."""

import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PACKAGING = os.path.join(ROOT, "packaging")
CONTAINERFILE = os.path.join(PACKAGING, "Containerfile")
sys.path.insert(0, os.path.join(ROOT, "tests", "end_to_end"))

import containerfile  # noqa: E402
from clients import Beanstalk  # noqa: E402
from program import PROGRAM, ServerTest, environment  # noqa: E402

try:
    import yaml
except ImportError:
    yaml = None

PORTS = {"beanstalk": 11300, "faktory": 7419, "web": 7420}


def text_of(*path):
    with open(os.path.join(PACKAGING, *path), encoding="utf-8") as file:
        return file.read()


def help_text():
    done = subprocess.run(
        [PROGRAM, "serve", "--help"], capture_output=True, check=True, env=environment(), text=True
    )
    return done.stdout


class Containerfile(ServerTest):
    def all_of(self, name):
        return containerfile.all_of(CONTAINERFILE, name)

    def variables(self):
        return containerfile.variables(CONTAINERFILE)

    def test_the_program_knows_its_variables(self):
        known = set(re.findall(r"MILLRACE_[A-Z_]+", help_text()))
        self.assertLessEqual(set(self.variables()), known)
        self.assertEqual(self.all_of("ENTRYPOINT"), ['["millrace"]'])
        self.assertEqual(self.all_of("CMD"), ['["serve"]'])

    def test_ports_and_volume_fit(self):
        variables = self.variables()
        for name, port in PORTS.items():
            self.assertEqual(variables[f"MILLRACE_{name.upper()}"], f":{port}")
        self.assertEqual(self.all_of("EXPOSE"), [" ".join(map(str, PORTS.values()))])
        self.assertEqual(self.all_of("VOLUME"), [variables["MILLRACE_DATA"]])

    def test_it_is_not_root(self):
        (user,) = self.all_of("USER")
        self.assertEqual(user, "10001:10001")
        prepared = f"install -d -m 700 -o 10001 -g 10001 {self.variables()['MILLRACE_DATA']}"
        self.assertIn(prepared, self.all_of("RUN")[0])

    def test_health_is_told(self):
        command = containerfile.health_command(CONTAINERFILE)
        server = self.server()
        server.web_address = ("127.0.0.1", 0)
        server.start()
        port = next(line.rsplit(":", 1)[1] for line in server.ports if line.startswith("web"))
        command[-1] = command[-1].replace("7420", port)
        self.assertEqual(subprocess.run(command).returncode, 0)
        server.terminate()
        self.assertNotEqual(subprocess.run(command, stderr=subprocess.DEVNULL).returncode, 0)

    def test_it_needs_a_password_or_the_word_insecure(self):
        folder = {"MILLRACE_DATA": self.path("data")}
        self.assert_refused([PROGRAM, "serve"], "insecure", env=self.variables() | folder)


@unittest.skipIf(yaml is None, "needs python3-yaml")
class Kubernetes(ServerTest):
    def setUp(self):
        super().setUp()
        self.documents = {each["kind"]: each for each in yaml.safe_load_all(self.text())}
        self.pod = self.documents["StatefulSet"]["spec"]["template"]["spec"]
        (self.container,) = self.pod["containers"]

    def text(self):
        return text_of("kubernetes", "millrace.yaml")

    def config(self):
        return self.documents["ConfigMap"]["data"]["millrace.toml"]

    def test_ports_match_everywhere(self):
        container = {port["name"]: port["containerPort"] for port in self.container["ports"]}
        self.assertEqual(container, PORTS)
        for port in self.documents["Service"]["spec"]["ports"]:
            self.assertEqual(PORTS[port["targetPort"]], port["port"])
        for name, port in PORTS.items():
            self.assertIn(f'{name} = ":{port}"', self.config())
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            asked = self.container[probe]["httpGet"]
            self.assertEqual(asked, {"path": "/health", "port": "web"})

    def test_selectors_find_the_pod(self):
        wanted = self.documents["StatefulSet"]["spec"]["template"]["metadata"]["labels"]
        self.assertEqual(self.documents["Service"]["spec"]["selector"], wanted)
        for kind, place in (("StatefulSet", "selector"), ("NetworkPolicy", "podSelector")):
            self.assertEqual(self.documents[kind]["spec"][place]["matchLabels"], wanted)
        self.assertEqual(
            self.documents["StatefulSet"]["spec"]["serviceName"],
            self.documents["Service"]["metadata"]["name"],
        )

    def test_volumes_fit_and_only_the_data_can_be_written(self):
        claims = self.documents["StatefulSet"]["spec"]["volumeClaimTemplates"]
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

    def test_the_program_starts_with_what_they_say(self):
        """With places of this test for those of the container, and ports that are free."""
        places = {
            "/etc/millrace/millrace.toml": self.path("millrace.toml"),
            "/run/millrace-password/password": self.path("password"),
            "/var/lib/millrace/jobs": self.path("jobs"),
        }
        config, arguments = self.config(), list(self.container["args"])
        for place, ours in places.items():
            config = config.replace(place, ours)
            arguments = [each.replace(place, ours) for each in arguments]
        with open(self.path("millrace.toml"), "w", encoding="ascii") as file:
            file.write(re.sub(r'":\d+"', '"127.0.0.1:0"', config))
        with open(self.path("password"), "w", encoding="ascii") as file:
            file.write("password\n")
        server = self.server()
        server.arguments = lambda: [PROGRAM, *arguments]
        server.start()
        host, port = server.ports[0].removeprefix("beanstalk: ").split(":")
        self.assertEqual(self.open(Beanstalk((host, int(port)))).put(b"a"), 1)
        self.assertTrue(os.path.isdir(self.path("jobs")))


if __name__ == "__main__":
    unittest.main()
