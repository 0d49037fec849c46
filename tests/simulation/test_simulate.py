"""A run of the simulation names its first seed at once, and the seed of a world that it dies in; a
long one tells how far it is."""

import os
import signal
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))

from keeper import start_kept  # noqa: E402

SIMULATE = os.environ["SIMULATE"]


def start(*arguments):
    return start_kept(
        [SIMULATE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


class SeedTest(unittest.TestCase):
    def test_the_first_seed_is_drawn_and_told(self):
        runs = [start("--recoveries", "1").communicate(timeout=60)[0] for _ in range(2)]
        first = [run.splitlines()[0] for run in runs]
        self.assertRegex(first[0], r"^first seed \d+$")
        self.assertNotEqual(first[0], first[1])

    def test_it_can_be_given(self):
        out, _ = start("--recoveries", "1", "--first-seed", "12").communicate(timeout=60)
        self.assertEqual(out.splitlines()[0], "first seed 12")

    def test_who_dies_names_the_world(self):
        for death in (signal.SIGABRT, signal.SIGSEGV):
            with self.subTest(death.name):
                process = start("--recoveries", "1000000", "--first-seed", "5")
                self.assertEqual(process.stdout.readline(), "first seed 5\n")
                process.send_signal(death)
                _, errors = process.communicate(timeout=60)
                self.assertRegex(errors, r"in the world of seed \d+; .* --seed \d+")
                self.assertNotEqual(process.returncode, 0)

    def test_a_long_run_tells_how_far_it_is(self):
        for flags in ([], ["--failover"]):
            # Worlds that are known: what a drawn one shows is for another test.
            long = ["--minutes", "5", "--first-seed", "1", *flags]
            with self.subTest(flags), start(*long) as process:
                told = process.stderr.readline()
                process.kill()
                self.assertRegex(told, r"^seed \d+: \d+ worlds, \d+ operations, \d+ recoveries so")


if __name__ == "__main__":
    unittest.main()
