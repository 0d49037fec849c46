"""A copy of this system that can be changed and is forgotten: an overlay over its files, with
processes, mounts and a network of its own. It needs root and `unshare`. Run as a program, it
becomes that system and executes a command there: `sandbox.py FOLDER COMMAND...`.

FOLDER is brought along, as /brought.
"""

import ctypes
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

SET_FLAGS = 0x8914  # SIOCSIFFLAGS
UP_AND_RUNNING = 0x41
BIND = 4096 | 16384  # MS_BIND | MS_REC
PRIVATE = (1 << 18) | 16384  # MS_PRIVATE | MS_REC
SECONDS_MAX = 120


def why_not():
    """The reason why there is no sandbox here, or None."""
    if os.geteuid() != 0:
        return "needs root"
    if shutil.which("unshare") is None:
        return "needs unshare"
    with tempfile.TemporaryDirectory(prefix="millrace-test-") as folder:
        done = run(folder, ["true"])
    return None if done.returncode == 0 else f"no overlay in a namespace: {done.stderr.strip()}"


def run(folder, command):
    own = [sys.executable, os.path.abspath(__file__), folder, *command]
    return subprocess.run(
        ["unshare", "--mount", "--pid", "--net", "--ipc", "--fork", "--kill-child", *own],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
    )


def mount(source, target, kind=None, flags=0, options=None):
    libc = ctypes.CDLL(None, use_errno=True)
    texts = [text and text.encode() for text in (source, target, kind)]
    if libc.mount(*texts, flags, options and options.encode()) != 0:
        code = ctypes.get_errno()
        sys.exit(f"mount {kind or source} on {target}: {os.strerror(code)}")


def bring_up_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sh", b"lo", UP_AND_RUNNING))


def enter(folder):
    mount("none", "/", flags=PRIVATE)
    place = tempfile.mkdtemp(prefix="millrace-sandbox-", dir=folder)
    mount("tmpfs", place, "tmpfs")
    upper, work, root = (os.path.join(place, name) for name in ("upper", "work", "root"))
    for each in (upper, work, root):
        os.mkdir(each, 0o755)
    mount("overlay", root, "overlay", options=f"lowerdir=/,upperdir={upper},workdir={work}")
    mount("proc", f"{root}/proc", "proc")
    mount("/dev", f"{root}/dev", flags=BIND)
    # No service manager: the scripts of packages find none to talk to.
    mount("tmpfs", f"{root}/run", "tmpfs", options="mode=755")
    os.makedirs(f"{root}/brought", exist_ok=True)
    mount(folder, f"{root}/brought", flags=BIND)
    os.chroot(root)
    os.chdir("/")
    bring_up_loopback()


if __name__ == "__main__":
    enter(sys.argv[1])
    os.execvp(sys.argv[2], sys.argv[2:])
