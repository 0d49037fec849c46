"""What the leader of a shared log knows and shows of the other servers."""

import os
import re
import shutil
import ssl
import subprocess
import tempfile
import unittest

from features.test_sent_alerts import Receiver
from program import wait_until
from shared.shared_log import (
    LEASE_MS,
    SharedLogTest,
    leads,
    make_authority,
    make_certificate,
    make_issued,
    nats_program,
)
from web import Web, problems

PASSWORD = "a secret"
BASIC = {"Authorization": "Basic OmEgc2VjcmV0"}


class ClusterPage(SharedLogTest):
    node_count = 3

    def setUp(self):
        super().setUp()
        self.webs = [Web(node.web_address) for node in self.nodes]

    def cluster(self, web=None):
        return (web or self.webs[0]).read("/api/v1/cluster")["cluster"]

    def names(self, web):
        return [each["node"] for each in self.cluster(web)["nodes"] if not each["is_silent"]]

    def wait_for_nodes(self, expected, web):
        wait_until(lambda: self.names(web) == expected, "nodes tell of themselves")

    def test_the_answer_is_as_described(self):
        self.wait_for_nodes(["a", "b", "c"], self.webs[0])
        document = self.webs[0].read("/api/v1/openapi.json")
        schema = {"$ref": "#/components/schemas/Cluster"}
        shown = self.webs[0].read("/api/v1/cluster")
        self.assertEqual(list(problems(shown, schema, document)), [])

    def test_every_node_shows_all_nodes(self):
        self.wait_for_nodes(["a", "b", "c"], self.webs[0])
        shown = self.cluster(self.webs[2])
        self.assertEqual([each["role"] for each in shown["nodes"]], ["leader"] + ["standby"] * 2)
        for node, each in zip(self.nodes, shown["nodes"]):
            web = "{}:{}".format(*node.web_address)
            self.assertEqual(each["addresses"]["web"], web)
            self.assertTrue(each["version"])
        for each in shown["nodes"][1:]:
            self.assertLess(each["lag_seconds"], 5)
            self.assertLess(each["lag_messages"], 100)
        self.assertEqual(shown["engine"]["url"], f"nats://127.0.0.1:{self.nats_port}/jobs")
        self.assertEqual(shown["lease"]["seconds"], LEASE_MS / 1000)

    def test_the_next_leader_knows_nodes_and_takeovers(self):
        self.nodes[0].kill()
        wait_until(lambda: any(leads(web) for web in self.webs[1:]), "another one leads")
        at = 1 if leads(self.webs[1]) else 2
        name = "abc"[at]
        self.wait_for_nodes([name, "abc"[3 - at]], self.webs[at])
        first, last = self.cluster(self.webs[at])["takeovers"][::-1]
        self.assertEqual((first["to"], first["cause"]), ("a", "first"))
        self.assertEqual((last["from"], last["to"], last["cause"]), ("a", name, "lease_over"))
        self.assertGreater(last["gap_seconds"], LEASE_MS / 1000)
        text = self.webs[at].get("/metrics")[2].decode()
        self.assertIn("\nmillrace_nodes 2\n", text)
        self.assertIn("\nmillrace_leading 1\n", text)

    def test_the_next_leader_knows_what_people_changed(self):
        status, _ = self.webs[0].post("/api/v1/workers/quiet", {"all": True})
        self.assertEqual(status, 200)
        self.nodes[0].kill()
        wait_until(lambda: leads(self.webs[1]) or leads(self.webs[2]), "another node leads")
        web = self.webs[1] if leads(self.webs[1]) else self.webs[2]
        taken, quieted, first = web.read("/api/v1/activity")["changes"]
        self.assertEqual((taken["action"], first["action"]), ("server/lead",) * 2)
        self.assertEqual(first["target"], "a")
        self.assertEqual((quieted["action"], quieted["from"]), ("workers/quiet", "127.0.0.1"))
        self.assertEqual(first["number"], 1)

    def test_a_report_with_a_wrong_signature_is_refused(self):
        headers = {"X-Millrace-Node": '{"node":"x","epoch":1}', "X-Millrace-Signature": "0" * 64}
        self.assertEqual(self.webs[0].request("POST", "/cluster/report", headers=headers)[0], 403)
        self.assertNotIn("x", self.names(self.webs[0]))
        told = lambda: "node_report_refused node=x reason=" in self.nodes[0].error_text()
        wait_until(told, "the leader says so")

    def test_two_standbys_of_one_name_are_noticed(self):
        self.wait_for_nodes(["a", "b", "c"], self.webs[0])
        self.assertNotIn(True, [each["has_namesake"] for each in self.cluster()["nodes"]])
        again = self.node("b")
        again.data = self.path("data-again")
        again.start()
        marked = lambda: [each["node"] for each in self.cluster()["nodes"] if each["has_namesake"]]
        wait_until(lambda: marked() == ["b"], "the name is marked")
        self.assertIn("node_name_used_twice node=b", self.nodes[0].error_text())
        again.terminate()
        wait_until(lambda: marked() == [], "one node has the name")


class OldEngine(SharedLogTest):
    """NATS before 2.10, as Debian 12 has it."""

    node_count = 0

    def setUp(self):
        super().setUp()
        version = subprocess.run([nats_program(), "--version"], capture_output=True, text=True)
        if re.search(r"v2\.[0-9]\.", version.stdout) is None:
            self.skipTest("this nats-server can sync before it acknowledges")

    def test_it_is_refused_in_words(self):
        for query, text in (
            ("?synced=yes&replicas=1", "NATS servers before 2.10 cannot sync .* use 2.10.23 or la"),
            ("?replicas=1", "`sync_interval: always` .* which takes NATS 2.10.23 or later"),
        ):
            with self.subTest(query):
                url = self.log_url("old" if "synced" in query else "older") + query
                node = self.server(f"--log={url}", "--node=a")
                self.assert_refused(node.arguments(), text, status=1)

    def test_it_refuses_the_config_of_the_page(self):
        config = self.path("nats.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write('jetstream { store_dir: "/none", sync_interval: always }\n')
        refused = subprocess.run([nats_program(), "-c", config], capture_output=True, text=True)
        self.assertIn('unknown field "sync_interval"', refused.stderr)


class ClusterWithPassword(SharedLogTest):
    """Encrypted, and nobody may change anything over the web."""

    def setUp(self):
        directory = tempfile.mkdtemp(prefix="millrace-test-")
        self.addCleanup(shutil.rmtree, directory)
        certificate, key = make_certificate(directory)
        secret = directory + "/password"
        with open(secret, "w", encoding="utf-8", opener=lambda p, f: os.open(p, f, 0o600)) as file:
            file.write(PASSWORD)
        self.node_flags = (f"--tls-cert={certificate}", f"--tls-key={key}", "--web-read-only")
        self.node_flags += (f"--password-file={secret}",)
        self.context = ssl._create_unverified_context()
        super().setUp()

    def test_nodes_are_known_though_the_password_is_never_sent(self):
        web = Web(self.nodes[0].web_address, self.context)

        def names():
            status, _, body = web.get("/api/v1/cluster", **BASIC)
            self.assertEqual(status, 200)
            return re.findall(rb'"node":"(\w+)"', body)

        wait_until(lambda: names() == [b"a", b"b"], "the other node tells of itself")
        self.assertEqual(web.get("/api/v1/cluster")[0], 401)
        headers = {"X-Millrace-Node": '{"node":"x","epoch":1}', "X-Millrace-Signature": "0" * 64}
        self.assertEqual(web.request("POST", "/cluster/report", headers=headers)[0], 403)
        self.assertEqual(names(), [b"a", b"b"])
        for node in self.nodes:
            self.assertNotIn(PASSWORD, node.error_text())


class Certificates(SharedLogTest):
    """Each node has a certificate of its own."""

    host = "IP:127.0.0.1"
    trusts = True

    def setUp(self):
        self.keys = tempfile.mkdtemp(prefix="millrace-test-")
        self.addCleanup(shutil.rmtree, self.keys)
        self.authority = make_authority(self.keys)
        super().setUp()
        self.web = Web(self.nodes[0].web_address, ssl._create_unverified_context())

    def node(self, name):
        certificate, key = make_issued(self.keys, name, self.authority, self.host)
        self.node_flags = (f"--tls-cert={certificate}", f"--tls-key={key}")
        if self.trusts:
            self.node_flags += (f"--ca={self.authority[0]}",)
        return super().node(name)

    def names(self):
        return re.findall(rb'"node":"(\w+)"', self.web.get("/api/v1/cluster")[2])

    def assert_not_trusted(self, why):
        told = "leader_not_trusted leader=a problem="
        wait_until(lambda: told in self.nodes[1].error_text(), "the standby says so")
        self.assertIn(why, self.nodes[1].error_text())
        self.assertEqual(self.names(), [b"a"])

    def test_a_leader_whose_certificate_is_trusted_gets_reports(self):
        wait_until(lambda: self.names() == [b"a", b"b"], "the other node tells of itself")
        self.assertNotIn("leader_not_trusted", self.nodes[1].error_text())


class UnknownAuthority(Certificates):
    trusts = False

    def test_a_leader_whose_certificate_is_trusted_gets_reports(self):
        self.assert_not_trusted("unable to get local issuer certificate; see --ca")


class AnotherHost(Certificates):
    host = "IP:127.0.0.9,DNS:localhost"

    def test_a_leader_whose_certificate_is_trusted_gets_reports(self):
        self.assert_not_trusted("IP address mismatch")


class AnotherPassword(SharedLogTest):
    def test_the_leader_says_which_node_has_another_password(self):
        other = self.node("c")
        other.env = {"FAKTORY_PASSWORD": PASSWORD}
        other.start()
        text = "node_report_refused node=c reason="
        wait_until(lambda: text in self.nodes[0].error_text(), "the leader says so")
        shown = Web(self.nodes[0].web_address).read("/api/v1/cluster")["cluster"]
        self.assertNotIn("c", [each["node"] for each in shown["nodes"]])
        self.assertNotIn(PASSWORD, self.nodes[0].error_text())


class SentTakeover(SharedLogTest):
    def node(self, name):
        config = self.path("config.toml")
        if not self.node_flags:
            self.receiver = Receiver(self)
            self.node_flags = (f"--config={config}",)
            with open(config, "w", encoding="utf-8") as file:
                file.write(f'[[alert]]\nname = "a"\nurl = "{self.receiver.url()}"\n')
                file.write('on = ["takeover"]\n')
        return super().node(name)

    def texts(self):
        return [each["text"] for each in self.receiver.bodies("firing")]

    def test_the_node_that_leads_sends_that_and_the_standby_nothing(self):
        wait_until(lambda: self.texts() == ["a leads the log now"], "the first leader sends")
        self.nodes[0].kill()
        wait_until(lambda: len(self.texts()) == 2, "the next one sends")
        self.assertEqual(self.texts()[1], "b leads the log now")


if __name__ == "__main__":
    unittest.main()
