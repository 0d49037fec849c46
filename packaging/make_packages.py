#!/usr/bin/env python3
"""Makes what users install from a build folder: the Debian package, the tarball for other
distributions, a bill of materials for each, and their checksums. `./dev package` runs it.

The bytes follow from the build folder, the version and SOURCE_DATE_EPOCH alone.
"""

import argparse
import hashlib
import os
import sys

from making import bill, debian, tarball
from making.build import Build, MakingProblem

SUMS = "SHA256SUMS"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default="build/package", help="the build folder")
    parser.add_argument("--into", default="build/packages", help="where the packages go")
    parser.add_argument(
        "--version", help="of the packages; default: that of the program, its date and commit"
    )
    parser.add_argument("--only", choices=["deb", "tarball"], help="make one of them")
    return parser.parse_args()


def write_sums(folder, paths):
    with open(os.path.join(folder, SUMS), "w", encoding="ascii") as sums:
        for path in sorted(paths):
            with open(path, "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
            sums.write(f"{digest}  {os.path.basename(path)}\n")


def make(wanted):
    build = Build(wanted.build, wanted.version)
    os.makedirs(wanted.into, exist_ok=True)
    made = []
    if wanted.only != "tarball":
        made.append(debian.make(build, wanted.into))
        made.append(bill.make(build, made[-1]))
    if wanted.only != "deb":
        made.append(tarball.make(build, wanted.into))
        made.append(bill.make(build, made[-1]))
    write_sums(wanted.into, made)
    for path in made:
        print(f"{os.path.getsize(path):>10}  {path}")


if __name__ == "__main__":
    try:
        make(arguments())
    except MakingProblem as problem:
        sys.exit(f"make_packages: {problem}")
