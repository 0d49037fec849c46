"""What the tables of the pages list is what there is: options, log events, metrics, tests."""

import csv
import os
import re
import subprocess
import tempfile
import unittest

from program import PROGRAM, ServerTest, environment

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(path, root=ROOT):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def rows(text, first_heading):
    """The first cells of the table that has this heading, unchanged."""
    table = re.search(rf"^\| {first_heading} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    return [line.split("|")[1] for line in table.group(1).splitlines()]


def logged_events():
    """The names in the sources, where something is logged."""
    names = set()
    for folder, _, files in os.walk(os.path.join(ROOT, "src")):
        for file in files:
            text = read(f"{folder}/{file}")
            if file.endswith(".cpp"):
                for call in re.findall(r"\b(?:event|routine)\(([^{;]*)", text):
                    names.update(re.findall(r'"([a-z_]+)"', call))
            # Of a ProblemPeriod.
            names.update(re.findall(r'\.(?:begun|over) = "([a-z_]+)"', text))
    return names


def shown_metrics():
    """The names of all metrics, as the sources have them."""
    names = set()
    for folder, _, files in os.walk(os.path.join(ROOT, "src/http")):
        for file in files:
            names.update(re.findall(r'"(millrace_[a-z_]+)"', read(os.path.join(folder, file))))
    return sorted(names)


class ManualTest(ServerTest):
    def test_every_option_is_in_the_table(self):
        done = subprocess.run(
            [PROGRAM, "serve", "--help"],
            capture_output=True,
            check=True,
            env=environment(),
            text=True,
        )
        options = set(re.findall(r"^  (--[a-z-]+)", done.stdout, re.MULTILINE))
        self.assertIn("--data", options)
        flags = re.findall(r"--[a-z-]+", "".join(rows(read("docs/operations/options.md"), "flag")))
        self.assertEqual(sorted(flags), sorted(options))

    def test_every_event_of_the_log_is_listed(self):
        cells = "".join(rows(read("docs/operations/monitoring.md"), "event"))
        listed = re.findall(r"`([a-z_]+)`", cells)
        self.assertIn("journal_failed", listed)
        self.assertEqual(sorted(listed), sorted(logged_events()))


    def test_every_metric_is_listed(self):
        page = read("docs/operations/monitoring.md")
        listed = set(re.findall(r"`([a-z_]+)(?:\{[a-z,]*\})?`", page))
        ends = tuple(name for name in listed if name.startswith("_"))
        missing = [n for n in shown_metrics() if n not in listed and not n.endswith(ends)]
        self.assertEqual(missing, [])


PROTOCOLS = ("beanstalk", "faktory")
COMPATIBILITY = ["docs/compatibility.md", *(f"docs/compatibility/{each}.md" for each in PROTOCOLS)]


def differences(page):
    """The subjects of the page's tables, as they are read."""
    tables = re.findall(r"^\| subject \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", read(page), re.MULTILINE)
    cells = [line.split(" | ")[0] for table in tables for line in table.splitlines()]
    subjects = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", cell).strip("| ") for cell in cells]
    return [(page, subject) for subject in subjects if subject]


class CompatibilityTest(unittest.TestCase):
    def setUp(self):
        with open(os.path.join(ROOT, "docs/compatibility/tests.csv"), newline="") as file:
            self.rows = list(csv.DictReader(file))

    def test_every_difference_has_its_tests_beside_the_page(self):
        shown = [difference for page in COMPATIBILITY for difference in differences(page)]
        listed = [(row["page"], row["subject"]) for row in self.rows]
        self.assertEqual([each for each in listed if each[0] in COMPATIBILITY], shown)

    def test_the_pages_and_tests_are_there(self):
        for row in self.rows:
            for path in [row["page"], *row["tests"].split()]:
                if not path.startswith(("docs/", "tests/")):
                    path = f"tests/transcripts/{path}.txt"
                with self.subTest(row["subject"], path=path):
                    self.assertTrue(os.path.exists(os.path.join(ROOT, path)))


INSTALLED = {"node_modules", "target", "vendor", "venv", ".venv"}


def pages():
    """The Markdown files that users and developers read, from the root."""
    found = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "bench/README.md"]
    for folder in ("docs", "tests/interop", "tests/transcripts"):
        for path, folders, names in os.walk(os.path.join(ROOT, folder)):
            # The pages of libraries that the interop tests have installed are not ours.
            folders[:] = [name for name in folders if name not in INSTALLED]
            found += [os.path.join(path, name) for name in names if name.endswith(".md")]
    return [os.path.relpath(os.path.join(ROOT, page), ROOT) for page in found]


def without_code(text):
    return re.sub(r"```.*?```|`[^`\n]*`", "code", text, flags=re.DOTALL)


def links(page, root=ROOT):
    """(path from the root, anchor or empty) of the links to our own files."""
    targets = re.findall(r"\]\(([^)\s]+)\)", without_code(read(page, root)))
    for target in targets:
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            folder = os.path.dirname(page)
            yield (os.path.normpath(os.path.join(folder, path)) if path else page), anchor


def anchors(page):
    """Those of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", without_code(read(page)), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


class PagesTest(unittest.TestCase):
    def test_every_link_leads_to_a_file_and_a_heading(self):
        for page in pages():
            for path, anchor in links(page):
                with self.subTest(page, link=f"{path}#{anchor}"):
                    self.assertTrue(os.path.exists(os.path.join(ROOT, path)))
                    if anchor:
                        self.assertIn(anchor, anchors(path))

    def test_links_of_installed_pages_lead_to_installed_files(self):
        build = os.path.dirname(os.path.abspath(PROGRAM))
        if not os.path.exists(os.path.join(build, "cmake_install.cmake")):
            self.skipTest("the program is not in its build folder")
        with tempfile.TemporaryDirectory(prefix="millrace-test-") as prefix:
            subprocess.run(
                ["cmake", "--install", build, "--component", "pages", "--prefix", prefix],
                capture_output=True,
                check=True,
            )
            root = os.path.join(prefix, "share/doc/millrace")
            found = [page for page in pages() if os.path.exists(os.path.join(root, page))]
            self.assertIn("README.md", found)
            self.assertIn("docs/api.md", found)
            self.assertEqual([page for page in found if page.startswith("docs/internals")], [])
            for page in found:
                for path, _ in links(page, root):
                    with self.subTest(page, link=path):
                        self.assertTrue(os.path.exists(os.path.join(root, path)))

    def test_every_file_that_a_page_names_is_there(self):
        for page in pages():
            for path in re.findall(r"`((?:src|tests|bench|docs|web)/[\w./-]+)`", read(page)):
                with self.subTest(page, path=path):
                    self.assertTrue(os.path.exists(os.path.join(ROOT, path)))

    def test_every_page_is_in_an_index(self):
        listed = {path for page in pages() if page.endswith("README.md") for path, _ in links(page)}
        docs = {page for page in pages() if page.startswith("docs/")}
        self.assertEqual(docs - listed, set())


if __name__ == "__main__":
    unittest.main()
