"""What `millrace --version` says, and where the build gets the commit from."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "end_to_end"))

from program import PROGRAM, environment  # noqa: E402

SCRIPT = """include(cmake/commit.cmake)
millrace_commit(commit)
message(STATUS "commit ${commit}")
"""


class Version(unittest.TestCase):
    def test_version_tells_commit_and_features(self):
        done = subprocess.run(
            [PROGRAM, "--version"], capture_output=True, check=True, env=environment(), text=True
        )
        self.assertRegex(
            done.stdout,
            r"\Amillrace \d+\.\d+\.\d+\n"
            r"commit: ([0-9a-f]{40}(-dirty)?|unknown)\n"
            r"features: TLS, NATS, PostgreSQL\n\Z",
        )


class Commit(unittest.TestCase):
    """Sources of two files, as a checkout, as a tarball and as neither."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="millrace-test-")
        self.addCleanup(folder.cleanup)
        self.checkout = os.path.join(folder.name, "checkout")
        self.unpacked = os.path.join(folder.name, "unpacked")
        os.makedirs(os.path.join(self.checkout, "cmake"))
        os.mkdir(self.unpacked)
        for name in ("cmake/commit.cmake", "cmake/commit.txt", ".gitattributes"):
            shutil.copy(os.path.join(ROOT, name), os.path.join(self.checkout, name))

    def git(self, *arguments):
        done = subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
            cwd=self.checkout,
            capture_output=True,
            check=True,
        )
        return done.stdout

    def commit_everything(self):
        self.git("init", "-q")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "a")
        return self.git("rev-parse", "HEAD").decode().strip()

    def told(self, folder):
        script = os.path.join(folder, "say.cmake")
        with open(script, "w", encoding="ascii") as file:
            file.write(SCRIPT)
        done = subprocess.run(
            ["cmake", "-P", "say.cmake"], cwd=folder, capture_output=True, check=True, text=True
        )
        os.remove(script)
        return done.stdout.strip().removeprefix("-- commit ")

    def test_a_checkout_asks_git(self):
        commit = self.commit_everything()
        self.assertEqual(self.told(self.checkout), commit)
        with open(os.path.join(self.checkout, "cmake", "commit.cmake"), "a") as file:
            file.write("# changed\n")
        self.assertEqual(self.told(self.checkout), commit + "-dirty")

    def test_a_tarball_of_git_has_it_in_a_file(self):
        commit = self.commit_everything()
        archive = self.git("archive", "--format=tar", "HEAD")
        subprocess.run(["tar", "-x"], cwd=self.unpacked, input=archive, check=True)
        self.assertEqual(self.told(self.unpacked), commit)

    def test_other_sources_do_not_know_it(self):
        self.assertEqual(self.told(self.checkout), "unknown")


if __name__ == "__main__":
    unittest.main()
