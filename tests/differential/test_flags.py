"""The flags of beanstalkd: Debian's and Millrace's end with one status and say the same."""

import os
import re
import shutil
import subprocess
import unittest

PROGRAM = os.path.abspath(os.environ.get("MILLRACE", "build/release/millrace"))

# With a flag that ends the program, or something that cannot be.
COMMANDS = [
    ["-v"],
    ["-h"],
    ["-x"],
    ["-Vx"],
    ["-xV"],
    ["--help"],
    ["--"],
    ["foo"],
    ["-"],
    [""],
    ["-p"],
    ["-Vp"],
    ["-l"],
    ["-b"],
    ["-z", "abc"],
    ["-z5k"],
    ["-z", ""],
    ["-z", "5 ", "-v"],
    ["-z", " 5", "-v"],
    ["-z", "+5", "-v"],
    ["-z", "-1", "-v"],
    ["-z", "1073741824", "-v"],
    ["-z1073741825", "-v"],
    ["-z", "99999999999999999999999", "-v"],
    ["-s", "-1", "-v"],
    ["-s", "x"],
    ["-f", "x"],
    ["-f", "-1", "-v"],
    ["-c", "-v"],
    ["-nv"],
    ["-VFVcnh"],
    ["-vx"],
    ["-F", "-f0", "-u", "nobody", "-lx", "-p", "1", "-b", "/nowhere", "-v"],
    ["-l", "unix:/nowhere/socket"],
    ["-l", "192.0.2.1", "-p", "0"],
    ["-l", "127.0.0.1", "-p", "abc"],
    ["-l", "127.0.0.1", "-p", "0", "-b", "/nowhere"],
    ["-l", "127.0.0.1", "-p", "0", "-u", "nobody-of-that-name"],
]


def run(program, arguments):
    return subprocess.run(
        ["beanstalkd", *arguments],
        executable=program,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
    )


# Texts about the system differ: theirs name places in a source, ours addresses.
ABOUT_SYSTEM = re.compile(r"beanstalkd: (\w+\.c:\d+ |cannot |the beanstalk port: )")


def said(errors):
    """The lines about the arguments, and whether there are any about the system."""
    lines = [line for line in errors.splitlines() if line.startswith("beanstalkd: ")]
    arguments = [line for line in lines if not ABOUT_SYSTEM.match(line)]
    return arguments, len(arguments) < len(lines)


@unittest.skipUnless(shutil.which("beanstalkd"), "beanstalkd is not installed")
class FlagsTest(unittest.TestCase):
    def test_statuses_and_messages_are_the_same(self):
        for arguments in COMMANDS:
            with self.subTest(arguments):
                theirs, ours = run(shutil.which("beanstalkd"), arguments), run(PROGRAM, arguments)
                self.assertEqual(ours.returncode, theirs.returncode)
                self.assertEqual(said(ours.stderr), said(theirs.stderr))
                self.assertEqual("Use: " in ours.stderr, "Use: " in theirs.stderr)
                version = re.compile(r"\d+\.\d+")
                self.assertEqual(version.sub("V", ours.stdout), version.sub("V", theirs.stdout))


if __name__ == "__main__":
    unittest.main()
