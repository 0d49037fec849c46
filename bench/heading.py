"""The line above every table: when, what and where it was measured. Made before measuring, since it
tells how busy the machine was.
"""

import datetime
import os
import platform
import re
import subprocess
import tempfile

from arguments import ROOT

IN_MEMORY = ("tmpfs", "ramfs")


def output(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          cwd=ROOT)
    return done.stdout.strip()


def version(*command):
    return output(*command).splitlines()[0]


def has_changes():
    """What is measured, against its commit: the page itself may differ."""
    return output("git", "status", "--porcelain", "--", "src", "bench", "cmake", "CMakeLists.txt",
                  "CMakePresets.json") != ""


def commit():
    name = output("git", "rev-parse", "--short", "HEAD")
    return f"{name} with changes" if has_changes() else name


def cpu_model():
    with open("/proc/cpuinfo") as file:
        found = re.search(r"model name\s*: (.*)", file.read())
    return found.group(1) if found else platform.machine()


def journal_file_system():
    return output("df", "--output=fstype", tempfile.gettempdir()).splitlines()[-1]


def refuse_memory(parser):
    """For measurements of syncs."""
    if journal_file_system() in IN_MEMORY:
        parser.error(f"{tempfile.gettempdir()} is in memory, where a sync costs nothing: have "
                     "TMPDIR name a folder on a disk")


def heading(*settings, has_faktory=False):
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    parts = [str(datetime.date.today()),
             f"{cpu_model()}, {os.cpu_count()} cores, {memory:.0f} GiB",
             f"Linux {platform.release()}",
             f"load average before {os.getloadavg()[0]:.1f}",
             f"{version(os.environ['MILLRACE'], '--version')} ({commit()})",
             version("beanstalkd", "-v")]
    if has_faktory:
        parts.append(version(os.environ["FAKTORY_BIN"], "-v"))
    return "; ".join([*parts, f"journals on {journal_file_system()}", *settings]) + "."
