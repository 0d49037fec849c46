"""The Debian package: what is in it, what lintian says of it, and its life on a machine."""

import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import sandbox
from packing import HERE, content, json_of, make, said, why_not


class Deb(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        reason = why_not()
        if reason:
            raise unittest.SkipTest(reason)
        folder = tempfile.TemporaryDirectory(prefix="millrace-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.files = make(os.path.join(folder.name, "made"), "--only=deb")
        cls.deb = next(path for path in cls.files if path.endswith(".deb"))

    def field(self, name):
        return said("dpkg-deb", "--field", self.deb, name).strip()

    def listed(self):
        lines = said("dpkg-deb", "--contents", self.deb).splitlines()
        return {line.split(maxsplit=5)[5].removeprefix("."): line.split() for line in lines}

    def test_two_runs_give_the_same_bytes(self):
        again = make(os.path.join(self.folder, "again"), "--only=deb")
        self.assertEqual(len(again), 3)
        for one, other in zip(self.files, again):
            self.assertEqual(os.path.basename(one), os.path.basename(other))
            self.assertEqual(content(one), content(other), one)

    def test_all_files_are_as_old_as_the_sources(self):
        """Not as old as the checkout, which differs from one machine to the next."""
        times = {tuple(words[3:5]) for words in self.listed().values()}
        self.assertEqual(len(times), 1, times)

    def test_lintian_finds_nothing(self):
        if shutil.which("lintian") is None:
            self.skipTest("lintian is missing")
        done = subprocess.run(
            ["lintian", "--allow-root", "--fail-on=error,warning", self.deb],
            capture_output=True,
            text=True,
        )
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_names_of_other_servers_are_not_in_the_path(self):
        listed = self.listed()
        self.assertIn("/usr/bin/millrace", listed)
        for path in listed:
            self.assertNotRegex(path, r"bin/(beanstalkd|faktory)")
        self.assertIn("/usr/lib/millrace/beanstalkd -> ../../bin/millrace", listed)
        for path, (mode, owner, *_) in listed.items():
            self.assertEqual(owner, "root/root", path)
            self.assertNotRegex(mode, r"^-.*[sS]|^[-d]....w|^[-d].......w", path)

    def test_dependencies_are_of_debian_12(self):
        depends = self.field("Depends")
        libraries = ("libssl3", "libnats3.4", "libncursesw6", "libpq5", "libhiredis0.14",
                     "libsimdjson14")
        for name in (*libraries, "adduser", "tzdata"):
            self.assertIn(name, depends)
        kept = said("dpkg-deb", "--info", self.deb, "conffiles")
        self.assertEqual(kept, "/etc/millrace/millrace.toml\n")

    def test_bill_names_what_it_depends_on(self):
        bill = json_of(self.deb + ".spdx.json")
        named = {each["SPDXID"]: each for each in bill["packages"]}
        kinds = {}
        for each in bill["relationships"]:
            name = named.get(each["relatedSpdxElement"], {}).get("name")
            kinds.setdefault(each["relationshipType"], set()).add(name)
        depends = set(re.findall(r"(?:^|, )(lib[^ ,]+)", self.field("Depends")))
        self.assertLessEqual(depends, kinds["DEPENDS_ON"])
        self.assertLessEqual({"nlohmann-json3-dev", "libcli11-dev"}, kinds["STATIC_LINK"])
        self.assertEqual(named["SPDXRef-millrace"]["versionInfo"], self.field("Version"))
        for each in bill["packages"][1:]:
            self.assertIn(each["versionInfo"], each["externalRefs"][0]["referenceLocator"])

    def test_links_of_pages_hold(self):
        where = os.path.join(self.folder, "unpacked")
        said("dpkg-deb", "--extract", self.deb, where)
        top = os.path.join(where, "usr/share/doc/millrace")
        for page in glob.glob(f"{top}/docs/operations/*.md") + [f"{top}/README.md"]:
            for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", content(page).decode()):
                path = os.path.join(os.path.dirname(page), link)
                self.assertTrue(os.path.lexists(path), f"{page}: {link}")

    def test_pages_for_developers_are_left_out(self):
        listed = self.listed()
        self.assertIn("/usr/share/doc/millrace/docs/README.md", listed)
        for each in ("internals", "tests.csv", "CONTRIBUTING"):
            self.assertEqual([path for path in listed if each in path], [])

    def newer(self):
        """The same package with a higher version."""
        tree = os.path.join(self.folder, "tree")
        said("dpkg-deb", "--raw-extract", self.deb, tree)
        control = os.path.join(tree, "DEBIAN", "control")
        text = content(control).decode()
        with open(control, "w", encoding="utf-8") as file:
            file.write(re.sub(r"^Version: (.*)$", r"Version: \1+1", text, flags=re.MULTILINE))
        path = os.path.join(self.folder, "newer.deb")
        said("dpkg-deb", "--root-owner-group", "--build", "-Znone", tree, path)
        return path

    def test_install_put_upgrade_remove_purge(self):
        reason = sandbox.why_not()
        if reason:
            self.skipTest(f"no sandbox: {reason}")
        brought = os.path.join(self.folder, "brought")
        os.mkdir(brought)
        for path in (self.deb, self.newer()):
            shutil.copy(path, brought)
        for name in ("life.py", "manager.py"):
            shutil.copy(os.path.join(HERE, name), brought)
        debs = [f"/brought/{os.path.basename(self.deb)}", "/brought/newer.deb"]
        done = sandbox.run(brought, ["python3", "/brought/life.py", *debs])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"[1-9]\d* jobs were put during the upgrade")


if __name__ == "__main__":
    unittest.main()
