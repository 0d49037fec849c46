"""The apt repository: a system that is told of it installs the package, and refuses one that was
changed."""

import os
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

import sandbox
from packing import content, make, said, why_not

TOOLS = ("dpkg-scanpackages", "gpg")
# As docs/operations/packages.md says. Only this repository is asked. To index all manual pages
# takes most of the time, and tells nothing.
PREPARE = """
rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/* /var/lib/man-db/auto-update
cp -r /brought/apt /srv
install -D -m 644 /srv/apt/millrace.asc /etc/apt/keyrings/millrace.asc
. /etc/os-release
options=signed-by=/etc/apt/keyrings/millrace.asc
list() {
  echo "deb [$options] file:/srv/apt/$VERSION_CODENAME ./" > /etc/apt/sources.list.d/millrace.list
}
export DEBIAN_FRONTEND=noninteractive
list
"""
INSTALL = """
apt-get update
apt-get install -y --no-install-recommends millrace
millrace --version
"""
CHANGE = """
sed -i 's/^Priority: .*/Priority: required/' /srv/apt/*/Packages
gzip -kf /srv/apt/*/Packages
apt-get update && exit 1
echo refused
"""
UNSIGNED = """
rm /srv/apt/*/InRelease /srv/apt/*/Release.gpg
apt-get update && exit 1
options=trusted=yes
list
apt-get update
apt-get install -y --no-install-recommends millrace
"""


class Apt(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        missing = [name for name in TOOLS if shutil.which(name) is None]
        reason = why_not() or (f"missing: {', '.join(missing)}" if missing else None)
        if reason:
            raise unittest.SkipTest(reason)
        folder = tempfile.TemporaryDirectory(prefix="millrace-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.keys = os.path.join(folder.name, "keys")
        os.mkdir(cls.keys, 0o700)
        chosen = mock.patch.dict(os.environ, {"GNUPGHOME": cls.keys, "GPG_KEY": "a@example.com"})
        chosen.start()
        cls.addClassCleanup(chosen.stop)
        said("gpg", "--batch", "--passphrase=", "--quick-generate-key", "a@example.com", "ed25519")
        cls.addClassCleanup(subprocess.run, ["gpgconf", "--kill", "gpg-agent"])
        cls.made = os.path.join(folder.name, "made")
        make(cls.made, "--only=deb", "--apt")

    def in_sandbox(self, script):
        reason = sandbox.why_not()
        if reason:
            self.skipTest(f"no sandbox: {reason}")
        done = sandbox.run(self.made, ["sh", "-ec", PREPARE + script])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_the_package_is_installed_from_it(self):
        self.assertRegex(self.in_sandbox(INSTALL), r"(?m)^millrace \d+\.\d+\.\d+$")

    def test_one_that_was_changed_is_refused(self):
        self.assertTrue(self.in_sandbox(CHANGE).endswith("refused\n"))

    def test_one_without_a_signature_must_be_trusted(self):
        self.in_sandbox(UNSIGNED)

    def test_checksums_are_signed(self):
        sums = os.path.join(self.made, "SHA256SUMS")
        self.assertIn(b".deb\n", content(sums))
        said("gpg", "--batch", "--verify", sums + ".asc", sums)


if __name__ == "__main__":
    unittest.main()
