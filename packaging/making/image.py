"""The image for containers, by buildah from packaging/Containerfile. Nothing is pulled.

It is an archive of Docker's form, which Docker and Podman load: that of OCI has no place for the
health check.
"""

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import tarfile
import tempfile

from . import libraries, tarball
from .build import ROOT, MakingProblem, output_of

USER = 10001
DATA = "var/lib/millrace"
ZONES = "/usr/share/zoneinfo"
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
# Where Debian's OpenSSL looks.
CERTIFICATES_LINK = "/usr/lib/ssl/cert.pem"
OTHER_PACKAGES = ("ca-certificates", "tzdata")
ACCOUNTS = {
    "etc/passwd": f"root:x:0:0::/:/none\nmillrace:x:{USER}:{USER}::/{DATA}:/none\n",
    "etc/group": f"root:x:0:\nmillrace:x:{USER}:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}
# What buildah tells of the machine and the moment.
LEFT_OUT = ("container", "container_config", "docker_version")


def make(build, folder):
    """The path of the image's archive."""
    name = f"millrace-{build.version}-linux-{build.architecture}.image.tar"
    path = os.path.join(folder, name)
    with tempfile.TemporaryDirectory(prefix="millrace-image-") as scratch:
        root = os.path.join(scratch, "root")
        write_root(build, root)
        write_root_tar(root, os.path.join(scratch, "root.tar"))
        built = os.path.join(scratch, "built.tar")
        run_buildah(build, scratch, built)
        write_archive(build, built, path)
    return path


def write_root(build, root):
    tarball.write_tree(build, os.path.join(root, "opt", "millrace"))
    for path in libc_files(build.program):
        bring(root, path)
    shutil.copytree(
        ZONES, root + ZONES, symlinks=True, ignore=shutil.ignore_patterns("posix", "right")
    )
    bring(root, CERTIFICATES)
    os.makedirs(os.path.dirname(root + CERTIFICATES_LINK), exist_ok=True)
    os.symlink(CERTIFICATES, root + CERTIFICATES_LINK)
    for package in ("libc6", *OTHER_PACKAGES):
        bring(root, f"/usr/share/doc/{package}/copyright")
    for name, text in ACCOUNTS.items():
        with open(os.path.join(root, name), "w", encoding="ascii") as file:
            file.write(text)
    os.makedirs(os.path.join(root, DATA))


def libc_files(program):
    """The loader, and what the program and its libraries load from libc's package."""
    headers = output_of("readelf", "--program-headers", program)
    loaded = libraries.loaded_libraries(program)
    owners = libraries.owners(loaded.values())
    paths = {path for path in loaded.values() if path in owners and libraries.is_libc(owners[path])}
    return {re.search(r"interpreter: (\S+)\]", headers)[1], *paths}


def bring(root, path):
    if not os.path.exists(path):
        raise MakingProblem(f"there is no {path}")
    os.makedirs(os.path.dirname(root + path), exist_ok=True)
    shutil.copy(os.path.realpath(path), root + path)


def write_root_tar(root, path):
    def plain(entry):
        is_data = entry.name == DATA
        entry.uid = entry.gid = USER if is_data else 0
        entry.uname = entry.gname = ""
        entry.mtime = 0
        can_run = entry.isdir() or entry.mode & 0o100
        entry.mode = 0o700 if is_data else 0o755 if can_run else 0o644
        return entry

    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        for name in sorted(os.listdir(root)):
            tar.add(os.path.join(root, name), name, filter=plain)


def run_buildah(build, scratch, path):
    places = [f"--root={scratch}/storage", f"--runroot={scratch}/run"]
    buildah = ["buildah", "--storage-driver=vfs", *places]
    containerfile = os.path.join(ROOT, "packaging", "Containerfile")
    output_of(
        *buildah,
        "build",
        "--isolation=chroot",
        "--format=docker",
        f"--timestamp={build.epoch}",
        f"--file={containerfile}",
        "--tag=localhost/millrace",
        scratch,
    )
    output_of(*buildah, "push", "localhost/millrace", f"docker-archive:{path}")
    # Who is not root cannot delete the files of the image's user.
    output_of(*buildah, "rmi", "localhost/millrace")


def write_archive(build, built, path):
    """The layer of `built`, compressed, and its configuration, in which nothing tells of this
    machine."""
    with tarfile.open(built) as tar:
        (manifest,) = json.load(tar.extractfile("manifest.json"))
        configuration = json.load(tar.extractfile(manifest["Config"]))
        (layer,) = manifest["Layers"]
        packed = gzip.compress(tar.extractfile(layer).read(), tarball.GZIP_LEVEL, mtime=0)
    for name in LEFT_OUT:
        configuration.pop(name, None)
    configuration["config"].pop("Hostname", None)
    text = json.dumps(configuration).encode()
    name = hashlib.sha256(text).hexdigest() + ".json"
    tag = re.sub(r"[^\w.-]", "-", build.version)
    described = [{"Config": name, "RepoTags": [f"localhost/millrace:{tag}"], "Layers": [layer]}]
    with tarfile.open(path, mode="w", format=tarfile.GNU_FORMAT) as tar:
        add(tar, layer, packed, build.epoch)
        add(tar, name, text, build.epoch)
        add(tar, "manifest.json", json.dumps(described).encode(), build.epoch)


def add(tar, name, content, epoch):
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    entry.mtime = epoch
    tar.addfile(entry, io.BytesIO(content))
