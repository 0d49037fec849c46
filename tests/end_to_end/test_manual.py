"""The options and log events that docs/operations lists are those of the program."""

import os
import re
import subprocess
import unittest

from program import PROGRAM, ServerTest, environment

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def rows(text, first_heading):
    """The first cells of the table that has this heading, as they stand."""
    table = re.search(rf"^\| {first_heading} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    return [line.split("|")[1] for line in table.group(1).splitlines()]


def logged_events():
    """The names in the sources, where something is logged."""
    names = set()
    for folder, _, files in os.walk(os.path.join(ROOT, "src")):
        for file in files:
            if file.endswith(".cpp"):
                for call in re.findall(r"\b(?:event|routine)\(([^{;]*)", read(f"{folder}/{file}")):
                    names.update(re.findall(r'"([a-z_]+)"', call))
    return names


class ManualTest(ServerTest):
    def test_every_option_is_in_the_table(self):
        done = subprocess.run(
            [PROGRAM, "serve", "--help"],
            capture_output=True,
            check=True,
            env=environment(),
            text=True,
        )
        options = set(re.findall(r"^ +(--[a-z-]+)", done.stdout, re.MULTILINE))
        self.assertIn("--data", options)
        flags = re.findall(r"--[a-z-]+", "".join(rows(read("docs/operations/options.md"), "flag")))
        self.assertEqual(sorted(flags), sorted(options))

    def test_every_event_of_the_log_is_listed(self):
        cells = "".join(rows(read("docs/operations.md"), "event"))
        listed = re.findall(r"`([a-z_]+)`", cells)
        self.assertIn("journal_failed", listed)
        self.assertEqual(sorted(listed), sorted(logged_events()))


if __name__ == "__main__":
    unittest.main()
