"""The session in docs/first-session.md is what the program prints."""

import os
import re
import subprocess
import sys
import unittest

from terminal.newcomer import PAGE, can_have_a_network, session_of

# What `stats` says where the disk has little room, as that of this machine may.
LITTLE_ROOM = "Only N % of the journal's disk is free"
ALL_IS_WELL = "All is well: N queues, N jobs running, N waiting."

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "newcomer.py")


def without_what_differs(session):
    """Times, jids, sizes and places change from run to run, and with them the width of columns."""
    text = re.sub(r"[0-9-]{10}T[0-9:.]+Z", "TIME", session)
    text = re.sub(r"[0-9a-f]{16,}", "JID", text)
    text = re.sub(r"\d[\d.,:]*( ?(ms|s|m|h|B|[KMG]i?B))?\b", "N", text)
    text = re.sub(r"[ \t]+", " ", text)
    text = text.replace(f"health {LITTLE_ROOM}.", f"health {ALL_IS_WELL}")
    return text.replace(f"notice {LITTLE_ROOM}\n", "")


class NewcomerTest(unittest.TestCase):
    @unittest.skipUnless(can_have_a_network(), "no network of its own can be made here")
    def test_the_page_shows_what_is_printed(self):
        self.maxDiff = None
        with open(PAGE, encoding="utf-8") as file:
            told = session_of(file.read())
        done = subprocess.run([sys.executable, SCRIPT, "--print"], stdout=subprocess.PIPE,
                              text=True, timeout=120, check=True)
        self.assertEqual(without_what_differs(done.stdout), without_what_differs(told))


if __name__ == "__main__":
    unittest.main()
