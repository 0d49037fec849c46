"""The tarball for other distributions: its program needs libc and nothing else of the system."""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "end_to_end"))
sys.path.insert(0, os.path.join(ROOT, "packaging"))

import sandbox  # noqa: E402
from clients import Beanstalk  # noqa: E402
from making import libraries  # noqa: E402
from packing import content, json_of, make, why_not  # noqa: E402
from program import environment  # noqa: E402

LIBC = {"libc.so.6", "libm.so.6", "libresolv.so.2"}
LOADER = "/lib64/ld-linux-x86-64.so.2"
# The loader asks /proc where the program is.
ENTER = 'root=$1; shift; mount --rbind /proc "$root/proc" && exec chroot "$root" "$@"'
SERVE = ["/opt/bin/millrace", "serve", "--volatile", "--sync=off", "--beanstalk=127.0.0.1:0"]
SERVE += ["--faktory=off", "--web=off"]


class Tarball(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        reason = why_not()
        if reason:
            raise unittest.SkipTest(reason)
        folder = tempfile.TemporaryDirectory(prefix="millrace-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.files = make(os.path.join(folder.name, "made"), "--only=tarball")
        cls.path = next(path for path in cls.files if path.endswith(".tar.gz"))
        with tarfile.open(cls.path) as tar:
            cls.members = tar.getmembers()
            tar.extractall(folder.name)
        cls.top = os.path.join(folder.name, cls.members[0].name)
        cls.program = os.path.join(cls.top, "bin", "millrace")

    def test_two_runs_give_the_same_bytes(self):
        again = make(os.path.join(self.folder, "again"), "--only=tarball")
        self.assertEqual(len(again), 3)
        for one, other in zip(self.files, again):
            self.assertEqual(content(one), content(other), one)

    def test_entries_are_roots_and_stay_inside(self):
        for each in self.members:
            self.assertEqual((each.uid, each.gid), (0, 0))
            self.assertTrue(each.name.startswith(self.members[0].name))
            self.assertFalse(each.issym() and each.linkname.startswith("/"), each.name)

    def test_it_loads_its_own_libraries(self):
        loaded = libraries.loaded_libraries(self.program)
        others = {name for name, path in loaded.items() if not path.startswith(self.top)}
        self.assertEqual(others - LIBC, set())
        self.assertIn("libsimdjson.so.14", loaded)

    def test_it_serves_where_there_is_only_libc(self):
        """In a root with the loader, libc, /proc and the unpacked tarball."""
        reason = sandbox.why_not()
        if reason:
            self.skipTest(f"no sandbox: {reason}")
        root = os.path.join(self.folder, "root")
        shutil.copytree(self.top, os.path.join(root, "opt"), symlinks=True)
        os.mkdir(os.path.join(root, "proc"))
        loaded = libraries.loaded_libraries(self.program)
        for name in LIBC & set(loaded):
            self.bring(root, loaded[name])
        self.bring(root, LOADER)
        server = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", ENTER, "sh", root, *SERVE],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(),
            text=True,
        )
        with server:
            lines = list(iter(server.stdout.readline, "ready\n"))
            port = int(lines[0].rsplit(":", 1)[1])
            client = Beanstalk(("127.0.0.1", port))
            self.assertEqual(client.put(b"a"), 1)
            client.close()
            server.terminate()
        self.assertEqual(server.returncode, 0)

    def bring(self, root, path):
        target = root + path
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(os.path.realpath(path), target)

    def test_the_page_names_the_libc_that_it_needs(self):
        folder = os.path.join(self.top, "lib")
        paths = [os.path.join(folder, name) for name in os.listdir(folder)]
        major, minor = libraries.glibc_needed([self.program, *paths])
        page = content(os.path.join(ROOT, "docs", "operations", "packages.md")).decode()
        self.assertIn(f"glibc {major}.{minor} or newer", page)

    def test_terms_of_the_libraries_are_in_it(self):
        terms = os.listdir(os.path.join(self.top, "share/doc/millrace/libraries"))
        self.assertIn("libssl3", terms)
        self.assertNotIn("libc6", terms)

    def test_bill_names_what_is_in_it(self):
        bill = json_of(self.path + ".spdx.json")
        packages = {each["SPDXID"]: each["name"] for each in bill["packages"]}
        contained = {
            packages[each["relatedSpdxElement"]]
            for each in bill["relationships"]
            if each["relationshipType"] == "CONTAINS"
        }
        terms = os.listdir(os.path.join(self.top, "share/doc/millrace/libraries"))
        self.assertEqual(contained, set(terms))


if __name__ == "__main__":
    unittest.main()
