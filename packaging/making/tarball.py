"""The tarball for other distributions: the program with the libraries that it loads.

Debian has no static library of libsimdjson, libdate-tz, libcpp-httplib and libnats, nor of what
libpq loads. So the program cannot be one file. It looks for its libraries in the folder `lib` next
to its own, and takes nothing from the system but libc.
"""

import gzip
import os
import shutil
import tarfile
import tempfile

from . import libraries
from .build import ROOT, MakingProblem, output_of

DOC = "share/doc/millrace"
GZIP_LEVEL = 6


def make(build, folder):
    """The path of the tarball."""
    name = f"millrace-{build.version}-linux-{build.architecture}"
    path = os.path.join(folder, name + ".tar.gz")
    with tempfile.TemporaryDirectory(prefix="millrace-tarball-") as scratch:
        top = os.path.join(scratch, name)
        write_tree(build, top)
        write_tar(path, scratch, name, build.epoch)
    return path


def write_tree(build, top):
    portable = os.path.join(build.folder, "portable", "millrace")
    if not os.path.exists(portable):
        raise MakingProblem(f"there is no program {portable}: build millrace_portable")
    output_of("cmake", "--install", build.folder, "--prefix", top, env=build.environment())
    program = os.path.join(top, "bin", "millrace")
    output_of("strip", "--strip-unneeded", "-o", program, portable)
    for name in ("beanstalkd", "faktory"):
        link = os.path.join(top, "names", name)
        os.makedirs(os.path.dirname(link), exist_ok=True)
        os.symlink("../bin/millrace", link)
    # Its paths are those of the Debian package. It remains as an example.
    shutil.move(os.path.join(top, "lib", "systemd", "system"), os.path.join(top, DOC, "units"))
    shutil.rmtree(os.path.join(top, "lib"))
    shutil.copy(os.path.join(ROOT, "packaging", "debian", "millrace.toml"), top)
    bring_libraries(build, top)


def bring_libraries(build, top):
    loaded = libraries.loaded_libraries(build.program)
    owners = libraries.owners(loaded.values())
    os.mkdir(os.path.join(top, "lib"))
    for name, path in sorted(loaded.items()):
        if path not in owners:
            raise MakingProblem(f"no Debian package has {path}")
        if libraries.is_libc(owners[path]):
            continue
        shutil.copyfile(os.path.realpath(path), os.path.join(top, "lib", name))
        package = owners[path].name
        terms = os.path.join(top, DOC, "libraries", package)
        os.makedirs(terms, exist_ok=True)
        shutil.copyfile(f"/usr/share/doc/{package}/copyright", os.path.join(terms, "copyright"))


def write_tar(path, folder, name, epoch):
    """Sorted, owned by root, and as old as the sources."""

    def plain(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = epoch
        is_program = entry.isdir() or entry.name.startswith(f"{name}/bin/")
        entry.mode = 0o777 if entry.issym() else 0o755 if is_program else 0o644
        return entry

    with (
        open(path, "wb") as file,
        gzip.GzipFile("", "wb", GZIP_LEVEL, file, epoch) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar,
    ):
        tar.add(os.path.join(folder, name), name, filter=plain)
