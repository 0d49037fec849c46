"""An apt repository of the Debian package: one folder for each release of Debian, as `deb URL ./`
reads it."""

import email.utils
import gzip
import hashlib
import os
import shutil

from . import signing
from .build import codename, output_of

KEY = "millrace.asc"


def make(build, folder, deb):
    """Next to the package. It is signed if GPG_KEY is set."""
    top = os.path.join(folder, "apt")
    place = os.path.join(top, codename())
    os.makedirs(place)
    shutil.copy(deb, place)
    packages = output_of("dpkg-scanpackages", "--multiversion", ".", cwd=place).encode()
    write(os.path.join(place, "Packages"), packages)
    write(os.path.join(place, "Packages.gz"), gzip.compress(packages, mtime=build.epoch))
    release = os.path.join(place, "Release")
    write(release, release_text(build, place, ("Packages", "Packages.gz")).encode())
    if signing.key():
        signing.sign(release, os.path.join(place, "InRelease"), "--clear-sign")
        signing.sign(release, release + ".gpg", "--detach-sign")
        write(os.path.join(top, KEY), signing.public_key().encode())


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)


def release_text(build, place, names):
    lines = [
        "Origin: Millrace",
        "Label: Millrace",
        f"Suite: {codename()}",
        f"Codename: {codename()}",
        f"Architectures: {build.architecture}",
        f"Date: {email.utils.formatdate(build.epoch, usegmt=True)}",
        "SHA256:",
    ]
    for name in names:
        with open(os.path.join(place, name), "rb") as file:
            content = file.read()
        lines.append(f" {hashlib.sha256(content).hexdigest()} {len(content)} {name}")
    return "\n".join(lines) + "\n"
