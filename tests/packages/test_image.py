"""The image for containers: it is built, unpacked, and run as a container engine would."""

import os
import shutil
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "end_to_end"))

import sandbox  # noqa: E402
from container import Container, Image  # noqa: E402
from packing import content, json_of, make, said, why_not  # noqa: E402
from program import wait_until  # noqa: E402

BYTES_MAX = 40_000_000
# As docs/operations/packages.md says.
CHOSEN = {
    "FAKTORY_PASSWORD": "secret",
    "MILLRACE_PASSWORD": "secret",
    "MILLRACE_INSECURE": "beanstalk",
}
UNREACHABLE_LOG = "nats://127.0.0.1:1/jobs"
CRON = """[[cron]]
schedule = "0 3 * * *"
timezone = "Asia/Kathmandu"
job = { type = "A" }
"""


class BuiltImage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        reason = why_not() or (None if shutil.which("buildah") else "missing: buildah")
        if reason:
            raise unittest.SkipTest(reason)
        folder = tempfile.TemporaryDirectory(prefix="millrace-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.files = make(os.path.join(folder.name, "made"), "--only=image")
        cls.path = next(path for path in cls.files if path.endswith(".image.tar"))
        cls.image = Image(cls.path, folder.name)


class Content(BuiltImage):
    def test_two_runs_give_the_same_bytes(self):
        again = make(os.path.join(self.folder, "again"), "--only=image")
        self.assertEqual(len(again), 3)
        for one, other in zip(self.files, again):
            self.assertEqual(os.path.basename(one), os.path.basename(other))
            self.assertEqual(content(one), content(other), one)

    def test_it_is_small(self):
        self.assertLess(os.path.getsize(self.path), BYTES_MAX)

    def test_a_reader_of_docker_archives_takes_it(self):
        folder = os.path.join(self.folder, "pulled")
        buildah = ["buildah", "--storage-driver=vfs", f"--root={folder}", f"--runroot={folder}-run"]
        said(*buildah, "pull", "--quiet", f"docker-archive:{self.path}")
        names = said(*buildah, "images", "--format={{.Name}}:{{.Tag}}").split()
        self.assertEqual(names, self.image.manifest["RepoTags"])

    def test_ports_volume_and_user_fit(self):
        config = self.image.config
        variables = dict(each.split("=", 1) for each in config["Env"])
        ports = [variables[f"MILLRACE_{name}"] for name in ("BEANSTALK", "FAKTORY", "WEB")]
        self.assertEqual({f"{port[1:]}/tcp" for port in ports}, set(config["ExposedPorts"]))
        self.assertEqual(list(config["Volumes"]), [variables["MILLRACE_DATA"]])
        self.assertEqual(config["StopSignal"], "SIGTERM")
        volume = os.stat(self.image.root + variables["MILLRACE_DATA"])
        self.assertEqual(f"{volume.st_uid}:{volume.st_gid}", config["User"])
        self.assertEqual(volume.st_mode & 0o777, 0o700)

    def test_certificates_are_where_its_openssl_looks(self):
        library = content(os.path.join(self.image.root, "opt/millrace/lib/libcrypto.so.3"))
        self.assertIn(b'OPENSSLDIR: "/usr/lib/ssl"', library)
        link = os.readlink(os.path.join(self.image.root, "usr/lib/ssl/cert.pem"))
        self.assertIn(b"BEGIN CERTIFICATE", content(self.image.root + link))

    def test_all_else_is_roots_and_nothing_gains_rights(self):
        for folder, folders, files in os.walk(self.image.root):
            for path in (os.path.join(folder, name) for name in folders + files):
                state = os.lstat(path)
                if path != self.image.root + self.image.place:
                    self.assertEqual((state.st_uid, state.st_gid), (0, 0), path)
                if not os.path.islink(path):
                    self.assertEqual(state.st_mode & 0o6022, 0, path)

    def test_bill_names_what_is_in_it(self):
        bill = json_of(self.path + ".spdx.json")
        packages = {each["SPDXID"]: each["name"] for each in bill["packages"]}
        contained = {
            packages[each["relatedSpdxElement"]]
            for each in bill["relationships"]
            if each["relationshipType"] == "CONTAINS"
        }
        self.assertLessEqual({"ca-certificates", "libc6", "libssl3", "tzdata"}, contained)


class Life(BuiltImage):
    """Each with a read-only root, the image's user, and a network, processes and mounts of its
    own."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        reason = sandbox.why_not()
        if reason:
            raise unittest.SkipTest(f"no sandbox: {reason}")

    def container(self, **variables):
        volume = self.image.new_volume(tempfile.mkdtemp(dir=self.folder) + "/volume")
        container = Container(self.image, volume, {**CHOSEN, **variables})
        self.addCleanup(container.end)
        return container

    def assert_refused(self, container, text):
        container.start()
        self.assertGreater(container.wait(), 0)
        self.assertRegex(container.error_text(), text)

    def test_a_job_survives_a_kill(self):
        container = self.container()
        container.start()
        ports = ["beanstalk: [::]:11300\n", "faktory: [::]:7419\n", "web: [::]:7420\n"]
        self.assertEqual(container.lines_until_ready(), ports)
        pushed = container.execute("millrace", "push", "Greet", '["world"]')
        self.assertEqual(pushed.returncode, 0, pushed.stderr)
        container.signal("SIGKILL")
        container.start()
        container.lines_until_ready()
        listed = container.execute("millrace", "ls", "ready")
        self.assertIn("Greet", listed.stdout, listed.stderr)
        self.assertEqual(container.signal("SIGTERM"), 0)

    def test_it_is_healthy_when_it_serves(self):
        container = self.container()
        container.start()
        container.lines_until_ready()
        self.assertTrue(container.is_healthy())

    def test_it_is_not_healthy_before_it_reaches_its_log(self):
        container = self.container(MILLRACE_LOG=UNREACHABLE_LOG, MILLRACE_NODE="a")
        container.start()
        wait_until(lambda: container.execute("millrace", "health").returncode == 1, "no health")
        self.assertFalse(container.is_healthy())

    def test_only_the_volume_can_be_written(self):
        container = self.container(MILLRACE_DATA="/data")
        self.assert_refused(container, "/data: Read-only file system")

    def test_it_knows_time_zones(self):
        container = self.container()
        config = os.path.join(container.volume, "millrace.toml")
        with open(config, "w", encoding="ascii") as file:
            file.write(CRON)
        os.chown(config, *os.stat(container.volume)[4:6])
        container.start("serve", f"--config={self.image.place}/millrace.toml")
        container.lines_until_ready()
        listed = container.execute("millrace", "cron")
        self.assertIn("T03:00:00+05:45", listed.stdout, listed.stderr)

    def test_beanstalk_needs_the_word_insecure(self):
        container = self.container(MILLRACE_INSECURE="")
        self.assert_refused(container, "insecure")


if __name__ == "__main__":
    unittest.main()
