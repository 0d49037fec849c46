#!/usr/bin/env python3
"""Makes what users install from a build folder: the Debian package, the tarball for other
distributions, the image for containers, a bill of materials for each, and their checksums.
`./dev package` runs it.

The bytes follow from the build folder, the version and SOURCE_DATE_EPOCH alone, but for those of
signatures. GPG_KEY: the key that signs.
"""

import argparse
import hashlib
import os
import sys

from making import apt, bill, debian, image, signing, tarball
from making.build import Build, MakingProblem

SUMS = "SHA256SUMS"
KINDS = {"deb": debian, "tarball": tarball, "image": image}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default="build/package", help="the build folder")
    parser.add_argument("--into", default="build/packages", help="where the packages go")
    parser.add_argument(
        "--version", help="of the packages; default: that of the program, its date and commit"
    )
    parser.add_argument("--only", choices=list(KINDS), help="make one of them")
    parser.add_argument(
        "--apt", action="store_true", help="make an apt repository of the Debian package, too"
    )
    wanted = parser.parse_args()
    if wanted.apt and wanted.only not in (None, "deb"):
        parser.error("--apt needs the Debian package")
    return wanted


def write_sums(folder, paths):
    own = os.path.join(folder, SUMS)
    with open(own, "w", encoding="ascii") as sums:
        for path in sorted(paths):
            with open(path, "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
            sums.write(f"{digest}  {os.path.basename(path)}\n")
    if signing.key():
        signing.sign(own, own + ".asc", "--detach-sign")


def make(wanted):
    build = Build(wanted.build, wanted.version)
    os.makedirs(wanted.into, exist_ok=True)
    made = []
    for name, kind in KINDS.items():
        if wanted.only in (None, name):
            made.append(kind.make(build, wanted.into))
            made.append(bill.make(build, made[-1]))
    write_sums(wanted.into, made)
    if wanted.apt:
        apt.make(build, wanted.into, made[0])
    for path in made:
        print(f"{os.path.getsize(path):>10}  {path}")


if __name__ == "__main__":
    try:
        make(arguments())
    except MakingProblem as problem:
        sys.exit(f"make_packages: {problem}")
