"""A build folder whose program is packed: where things are, and what they are called."""

import os
import re
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class MakingProblem(Exception):
    """What the caller has to mend."""


def output_of(*command, **options):
    """What a command prints. That it fails is a problem, with its last words."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip().split("\n")
        raise MakingProblem("\n".join([f"{command[0]} failed:", *said[-20:]]))
    return done.stdout


def codename():
    """Of the release of Debian that it is made on, such as bookworm."""
    with open("/etc/os-release", encoding="utf-8") as file:
        found = re.search(r"^VERSION_CODENAME=(\w+)$", file.read(), re.MULTILINE)
    return found[1] if found else "unstable"


def source_date_epoch():
    """The time in all that is made, in seconds since 1970: given, or that of the commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is not None:
        return int(given)
    if not os.path.exists(os.path.join(ROOT, ".git")):
        raise MakingProblem("SOURCE_DATE_EPOCH must be set where there is no git checkout")
    return int(output_of("git", "-C", ROOT, "log", "-1", "--format=%ct"))


class Build:
    """`folder` has the program. `version` is that of the packages; None: a snapshot, which is
    older than the release of that number and newer than earlier commits."""

    def __init__(self, folder, version=None):
        self.folder = os.path.abspath(folder)
        self.program = os.path.join(self.folder, "millrace")
        if not os.access(self.program, os.X_OK):
            raise MakingProblem(f"there is no program {self.program}")
        self.epoch = source_date_epoch()
        self.architecture = output_of("dpkg", "--print-architecture").strip()
        self.commit, snapshot = self.told()
        self.version = version or snapshot
        if not re.fullmatch(r"\d[0-9A-Za-z.+~]*", self.version):
            raise MakingProblem(f"not a version: {self.version}")

    def told(self):
        """The commit that the program tells, and the version made of it."""
        text = output_of(self.program, "--version")
        found = re.match(r"millrace (\S+)\ncommit: (\S+)\n", text)
        if not found:
            raise MakingProblem(f"{self.program} --version says something else:\n{text}")
        number, commit = found.groups()
        date = time.strftime("%Y%m%d%H%M%S", time.gmtime(self.epoch))
        short = commit[:12] + ("dirty" if commit.endswith("-dirty") else "")
        return commit, f"{number}~{date}.{short}"

    def environment(self):
        """For programs that make packages: nothing of the machine gets in."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return {
            **kept,
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "SOURCE_DATE_EPOCH": str(self.epoch),
            "MILLRACE_BUILD": self.folder,
        }
