"""What all commands that measure share: how options are read, and the programs that they need."""

import argparse
import math
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAMS = {"millrace": "millrace", "load": "bench/load", "least": "bench/least",
            "instructions": "bench/instructions"}


class Parser(argparse.ArgumentParser):
    """`doc` begins with a paragraph that says what is measured. What is wrong is said in a line."""

    def __init__(self, command, doc, **more):
        paragraph = " ".join(doc.split("\n\n")[0].split())
        super().__init__(f"./dev bench {command}".strip(), description=paragraph, **more)

    def error(self, message):
        print(f"{self.prog}: {message}; --help tells more", file=sys.stderr)
        sys.exit(2)


def positive(text):
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def positive_float(text):
    if not 0 < (number := float(text)) < math.inf:
        raise argparse.ArgumentTypeError("must be more than 0")
    return number


def build(*names):
    """Builds the programs, and installs what measuring needs; but one that the environment names
    (MILLRACE for millrace) is taken as it is."""
    for variable in map(str.upper, names):
        if variable in os.environ and not shutil.which(os.environ[variable]):
            print(f"./dev bench: {variable} names no program: {os.environ[variable]}",
                  file=sys.stderr)
            sys.exit(2)
    missing = [name for name in names if name.upper() not in os.environ]
    if not missing:
        return
    done = subprocess.run([os.path.join(ROOT, "dev"), "bench_programs", *missing])
    if done.returncode != 0:
        sys.exit(done.returncode)
    for name in missing:
        os.environ[name.upper()] = os.path.join(ROOT, "build", "release", PROGRAMS[name])
