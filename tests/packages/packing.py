"""How tests make packages of the program under test."""

import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "end_to_end"))

from program import PROGRAM  # noqa: E402

NEEDED = ("dpkg-deb", "dh", "make", "cmake", "ninja", "strip")
MAKE = os.path.join(ROOT, "packaging", "make_packages.py")


def why_not():
    """The reason why packages cannot be made here, or None."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    return f"missing: {', '.join(missing)}" if missing else None


def said(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{command}\n{done.stdout}{done.stderr}")
    return done.stdout


def make(into, *flags):
    """The paths of all that was made, sorted."""
    build = os.path.dirname(os.path.abspath(PROGRAM))
    said(sys.executable, MAKE, "--build", build, "--into", into, *flags)
    return sorted(os.path.join(into, name) for name in os.listdir(into))


def content(path):
    with open(path, "rb") as file:
        return file.read()


def json_of(path):
    return json.loads(content(path))
