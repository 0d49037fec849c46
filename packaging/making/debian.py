"""The Debian package, by debhelper, from the folder packaging/debian."""

import email.utils
import os
import shutil
import tempfile

from .build import ROOT, codename, output_of

MAINTAINER = "Millrace packages <packages@millrace.example>"


def maintainer():
    """As Debian's tools read it."""
    name, address = os.environ.get("DEBFULLNAME"), os.environ.get("DEBEMAIL")
    return f"{name} <{address}>" if name and address else MAINTAINER


def make(build, folder):
    """The path of the package."""
    name = f"millrace_{build.version}_{build.architecture}.deb"
    with tempfile.TemporaryDirectory(prefix="millrace-deb-") as scratch:
        stage = os.path.join(scratch, "millrace")
        write_stage(build, stage)
        # dpkg-buildpackage would do the same, and describe the machine in a file besides.
        environment = {
            **build.environment(),
            "DEB_BUILD_OPTIONS": "noautodbgsym nocheck",
            "DEB_RULES_REQUIRES_ROOT": "no",
        }
        output_of("debian/rules", "binary", cwd=stage, env=environment, umask=0o022)
        return shutil.move(os.path.join(scratch, name), os.path.join(folder, name))


def write_stage(build, stage):
    folder = os.path.join(stage, "debian")
    shutil.copytree(os.path.join(ROOT, "packaging", "debian"), folder)
    control = os.path.join(folder, "control")
    with open(control, encoding="utf-8") as file:
        text = file.read().replace("@MAINTAINER@", maintainer())
    with open(control, "w", encoding="utf-8") as file:
        file.write(text)
    with open(os.path.join(folder, "changelog"), "w", encoding="utf-8") as file:
        file.write(changelog(build))


def changelog(build):
    return (
        f"millrace ({build.version}) {codename()}; urgency=medium\n\n"
        f"  * Built from commit {build.commit}.\n"
        "  * /usr/share/doc/millrace/CHANGELOG.md has what has changed.\n\n"
        f" -- {maintainer()}  {email.utils.formatdate(build.epoch)}\n"
    )
