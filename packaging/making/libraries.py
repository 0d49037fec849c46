"""What Debian's packages bring into a program: the libraries it loads, the headers it compiled."""

import os
import re
import subprocess
from dataclasses import dataclass

from .build import output_of


@dataclass(frozen=True, order=True)
class Package:
    """An installed Debian package."""

    name: str
    version: str
    architecture: str


def loaded_libraries(program):
    """The file of each shared library that the loader finds for a program, by its name."""
    found = re.findall(r"^\s*(\S+) => (/\S+)", output_of("ldd", program), re.MULTILINE)
    return dict(found)


def owners(paths):
    """The package of each path, where one has it."""
    # Debian 12 knows files by the path without /usr, or with it; the loader says one of them.
    asked = {}
    for path in paths:
        real = os.path.realpath(path)
        for each in (path, real, real.removeprefix("/usr")):
            asked[each] = path
    done = subprocess.run(["dpkg-query", "-S", *asked], capture_output=True, text=True)
    named = {}
    for line in done.stdout.splitlines():
        names, _, path = line.partition(": ")
        if path in asked:
            named[asked[path]] = names.split(",")[0]
    facts = installed(set(named.values()))
    return {path: facts[name] for path, name in named.items()}


def installed(names):
    if not names:
        return {}
    form = "${binary:Package}\t${Package}\t${Version}\t${Architecture}\n"
    lines = output_of("dpkg-query", "-W", f"-f={form}", *sorted(names)).splitlines()
    packages = {}
    for line in lines:
        full, name, version, architecture = line.split("\t")
        packages[full] = packages[name] = Package(name, version, architecture)
        packages[f"{name}:{architecture}"] = packages[name]
    return packages


def is_libc(package):
    """What each Linux of the GNU kind has: the loader, libc, libm and libresolv."""
    return package.name == "libc6"


def compiled_headers(folder):
    """The headers outside the sources from which the program was compiled, as ninja noted them."""
    headers = set()
    is_ours = False
    for line in output_of("ninja", "-C", folder, "-t", "deps").splitlines():
        if not line.startswith(" "):
            is_ours = line.startswith("CMakeFiles/millrace")
        elif is_ours and line.strip().startswith("/usr/"):
            headers.add(os.path.normpath(line.strip()))
    return headers


def glibc_needed(paths):
    """The oldest glibc that has all symbols which these files name, as (2, 36)."""
    versions = set()
    for path in paths:
        text = output_of("objdump", "-p", path)
        versions |= {(int(a), int(b)) for a, b in re.findall(r"GLIBC_(\d+)\.(\d+)", text)}
    return max(versions)
