"""Runs an image as a container engine does: its layers as a root that cannot be written, its volume
over it, processes, mounts and a network of its own, its user, no capabilities. It needs root and
`unshare`. Run as a program, it becomes the container: `container.py ROOT VOLUME PLACE USER
COMMAND...`.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))

import sandbox  # noqa: E402
from keeper import error_file, start_kept  # noqa: E402
from packing import content, json_of, said  # noqa: E402
from program import wait_until  # noqa: E402

READ_ONLY = 1 | 32 | 4096  # MS_RDONLY | MS_REMOUNT | MS_BIND
NO_NEW_PRIVILEGES = 38  # PR_SET_NO_NEW_PRIVS
DEVICES = ("null", "zero", "full", "random", "urandom")
NAMESPACES = ["--mount", "--pid", "--net", "--ipc", "--uts"]
UNSHARE, NSENTER = shutil.which("unshare"), shutil.which("nsenter")
SECONDS_MAX = 60


class Image:
    """An archive of Docker's form, unpacked into `folder`."""

    def __init__(self, archive, folder):
        parts, self.root = os.path.join(folder, "parts"), os.path.join(folder, "root")
        unpack(archive, parts)
        (self.manifest,) = json_of(os.path.join(parts, "manifest.json"))
        self.config = json_of(os.path.join(parts, self.manifest["Config"]))["config"]
        for name in self.manifest["Layers"]:
            unpack(os.path.join(parts, name), self.root)
        (self.place,) = self.config["Volumes"]

    def new_volume(self, path):
        """As an engine makes one: with the owner and the mode that its place has in the image."""
        there = os.stat(self.root + self.place)
        os.mkdir(path)
        os.chown(path, there.st_uid, there.st_gid)
        os.chmod(path, there.st_mode)
        return path


def unpack(archive, folder):
    os.makedirs(folder, exist_ok=True)
    said("tar", "--numeric-owner", "--preserve-permissions", "-xf", archive, "-C", folder)


class Container:
    def __init__(self, image, volume, variables):
        self.image = image
        self.volume = volume
        given = dict(each.split("=", 1) for each in image.config["Env"])
        self.variables = {**given, **variables}
        self.process = None
        self.errors = error_file()

    def start(self, *words):
        """Its usual command, or another of the program."""
        config = self.image.config
        own = [sys.executable, os.path.abspath(__file__), self.image.root, self.volume]
        command = [*config["Entrypoint"], *(words or config["Cmd"])]
        self.process = start_kept(
            [UNSHARE, *NAMESPACES, "--fork", "--kill-child"]
            + [*own, self.image.place, config["User"], *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=self.variables,
            text=True,
        )

    def lines_until_ready(self):
        lines = []
        for line in self.process.stdout:
            if line == "ready\n":
                return lines
            lines.append(line)
        raise AssertionError(f"it ended before it was ready: {self.error_text()}")

    def error_text(self):
        self.errors.seek(0)
        return self.errors.read()

    def number(self):
        """Of its first process, as this machine sees it."""
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        wait_until(lambda: content(path) or self.process.poll(), "a process in the container")
        return int(content(path))

    def signal(self, name):
        os.kill(self.number(), signal.Signals[name])
        return self.wait()

    def wait(self):
        """Returns the status with which it ends."""
        with self.process:
            return self.process.wait(SECONDS_MAX)

    def end(self):
        """Leaves nothing behind, whatever state it is in."""
        if self.process.poll() is None:
            self.signal("SIGKILL")
        self.errors.close()

    def execute(self, *words):
        """In the running container, as its user."""
        user, group = self.image.config["User"].split(":")
        enter = [NSENTER, f"--target={self.number()}", *NAMESPACES, "--root", "--wd"]
        return subprocess.run(
            [*enter, f"--setuid={user}", f"--setgid={group}", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=self.variables,
            text=True,
            timeout=SECONDS_MAX,
        )

    def is_healthy(self):
        kind, *words = self.image.config["Healthcheck"]["Test"]
        assert kind == "CMD", kind
        return self.execute(*words).returncode == 0


def prepare(root, volume, place):
    """The mounts of a container, in namespaces of its own."""
    for name in ("proc", "dev"):
        os.makedirs(f"{root}/{name}", exist_ok=True)
    sandbox.mount("none", "/", flags=sandbox.PRIVATE)
    sandbox.mount(root, root, flags=sandbox.BIND)
    sandbox.mount("none", root, flags=READ_ONLY)
    sandbox.mount("proc", f"{root}/proc", "proc")
    sandbox.mount("tmpfs", f"{root}/dev", "tmpfs", options="mode=755")
    for name in DEVICES:
        open(f"{root}/dev/{name}", "wb").close()
        sandbox.mount(f"/dev/{name}", f"{root}/dev/{name}", flags=sandbox.BIND)
    sandbox.mount(volume, root + place, flags=sandbox.BIND)
    sandbox.bring_up_loopback()


def become(root, user):
    """Another user, without the capabilities of root and without a way to them."""
    number, group = map(int, user.split(":"))
    libc = ctypes.CDLL(None, use_errno=True)
    os.chroot(root)
    os.chdir("/")
    os.setgroups([])
    os.setgid(group)
    os.setuid(number)
    libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)


if __name__ == "__main__":
    root_of_image, volume_outside, place_of_volume, user_of_image, *command = sys.argv[1:]
    prepare(root_of_image, volume_outside, place_of_volume)
    become(root_of_image, user_of_image)
    os.execvpe(command[0], command, os.environ)
