"""`millrace bench`: it measures, and leaves nothing."""

import os
import unittest

from terminal.test_cli import REFUSED, CliTest

ROWS = ["put", "put", "reserve and delete", "PUSH", "FETCH and ACK"]


class BenchTest(CliTest):
    url = ""

    def test_it_measures_and_leaves_nothing(self):
        flags = ("--seconds=1", "--connections=4", self.directory)
        document = self.json("bench", *flags)
        self.assertEqual([row["what"] for row in document["rows"]], ROWS)
        for row in document["rows"]:
            self.assertGreater(row["per_second"], 0)
            self.assertGreaterEqual(row["p99_ms"], row["median_ms"])
        self.assertGreater(document["sync_median_ms"], 0)
        self.assertEqual(os.listdir(self.directory), [])

    def test_a_directory_that_cannot_be_used(self):
        self.assertIn("/nowhere", self.refusal("bench", "/nowhere", status=REFUSED))


if __name__ == "__main__":
    unittest.main()
