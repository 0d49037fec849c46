"""Where the processes of a cluster run: each in a network namespace of its own, or all on loopback.

Namespaces need root and the programs `ip` and `sleep`. None of them has a name: a namespace is gone
when its processes are. So nothing is left behind, however a test ends.
"""

import ctypes
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))

from keeper import start_kept  # noqa: E402
from ports import free_port  # noqa: E402

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
PREFIX = "10.77.0."
# No network card has it: what is sent there arrives nowhere.
NOBODY = "02:00:00:00:00:ff"


def check(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def ip(script, namespace=None):
    """Lines of `ip -batch`. A line that begins with `-` may fail."""
    for line in script.strip().splitlines():
        subprocess.run(
            ["ip", *line.strip().lstrip("-").split()],
            check=not line.strip().startswith("-"),
            preexec_fn=(lambda: check(LIBC.setns(namespace, CLONE_NEWNET))) if namespace else None,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL if line.strip().startswith("-") else None,
        )


class Host:
    """A place for processes."""

    def __init__(self, name, address, namespace=None):
        self.name = name
        self.address = address
        self.namespace = namespace
        self.ports = {}

    def port(self, wanted):
        """A port for that purpose, named by its usual number."""
        if self.namespace is not None:
            return wanted
        if wanted not in self.ports:
            self.ports[wanted] = free_port()
        return self.ports[wanted]

    def enter(self):
        """In a process that is to run here, before it becomes its program."""
        if self.namespace is not None:
            check(LIBC.setns(self.namespace, CLONE_NEWNET))


class Loopback:
    """All processes share one address: nothing can be cut."""

    can_cut = False
    is_open = False  # to other machines, as far as a server can tell
    addresses = "127.0.0.1/32"

    def __init__(self):
        self.hosts = []

    def host(self, name):
        self.hosts.append(Host(name, "127.0.0.1"))
        return self.hosts[-1]

    def heal(self):
        pass

    def end(self):
        pass


class Namespaces:
    """A network of its own, with a bridge. The process that makes it moves into it, with the
    threads that it starts later."""

    can_cut = True
    is_open = True
    addresses = PREFIX + "0/24"

    def __init__(self):
        self.hosts = []
        self.holders = []
        self.cuts = set()
        self.before = os.open("/proc/self/ns/net", os.O_RDONLY)
        check(LIBC.unshare(CLONE_NEWNET))
        ip(
            f"""
            link set lo up
            link add middle type bridge
            addr add {PREFIX}1/24 dev middle
            link set middle up
            """
        )

    def host(self, name):
        number = len(self.hosts) + 10
        holder = start_kept(
            ["sleep", "infinity"], preexec_fn=lambda: check(LIBC.unshare(CLONE_NEWNET))
        )
        self.holders.append(holder)
        namespace = os.open(f"/proc/{holder.pid}/ns/net", os.O_RDONLY)
        ip(
            f"""
            link add to{number} type veth peer name eth0 netns {holder.pid}
            link set to{number} master middle up
            """
        )
        ip(
            f"""
            link set lo up
            addr add {PREFIX}{number}/24 dev eth0
            link set eth0 up
            """,
            namespace,
        )
        self.hosts.append(Host(name, f"{PREFIX}{number}", namespace))
        return self.hosts[-1]

    def cut(self, source, target):
        """What `source` sends to `target` is lost from now on, and nobody is told."""
        nowhere = f"lladdr {NOBODY} dev eth0 nud permanent"
        ip(f"neigh replace {target.address} {nowhere}", source.namespace)
        self.cuts.add((source, target))

    def cut_both(self, one, other):
        self.cut(one, other)
        self.cut(other, one)

    def heal(self):
        for source, target in self.cuts:
            ip(f"-neigh del {target.address} dev eth0", source.namespace)
        self.cuts.clear()

    def end(self):
        for holder in self.holders:
            holder.kill()
            holder.wait()
        for host in self.hosts:
            os.close(host.namespace)
        check(LIBC.setns(self.before, CLONE_NEWNET))
        os.close(self.before)


def open_network(report=print):
    """Namespaces where this machine allows them."""
    why = "root makes them" if os.geteuid() != 0 else None
    if why is None:
        try:
            return Namespaces()
        except (OSError, subprocess.CalledProcessError) as error:
            why = str(error)
    report(f"no network namespaces ({why}): nothing is cut, all processes are on loopback")
    return Loopback()
