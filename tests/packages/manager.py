"""What systemd does for the units of the package, as far as a test needs it: it opens the ports of
the socket units, and starts the service as its user with them."""

import fcntl
import os
import pwd
import shlex
import signal
import socket
import subprocess

UNITS = "/lib/systemd/system"
NOTICES = "/run/notices"
START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 60
FIRST_DESCRIPTOR = 3
HIGH_DESCRIPTOR = 100


def read_unit(name):
    """The settings of a unit. Of those that come twice the last one."""
    settings = {}
    with open(os.path.join(UNITS, name), encoding="utf-8") as file:
        for line in file:
            key, equals, value = line.strip().partition("=")
            if equals and not key.startswith("#"):
                settings[key] = value
    return settings


class Manager:
    def __init__(self):
        self.service = read_unit("millrace.service")
        self.sockets = []  # (name, socket)
        self.process = None
        self.notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notices.bind(NOTICES)
        os.chmod(NOTICES, 0o777)

    def open_socket(self, unit):
        settings = read_unit(unit)
        assert settings["Service"] == "millrace.service", settings
        host, port = settings["ListenStream"].rsplit(":", 1)
        opened = socket.create_server((host, int(port)), backlog=int(settings["Backlog"]))
        # Out of the way of the descriptors that the program gets.
        high = fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR)
        opened.close()
        self.sockets.append((settings["FileDescriptorName"], socket.socket(fileno=high)))

    def start(self):
        """Returns when the server tells that it is ready, as a unit of the type `notify` does."""
        assert self.service["Type"] == "notify", self.service
        user = pwd.getpwnam(self.service["User"])
        state = os.path.join("/var/lib", self.service["StateDirectory"])
        os.makedirs(state, exist_ok=True)
        os.chmod(state, int(self.service["StateDirectoryMode"], 8))
        os.chown(state, user.pw_uid, user.pw_gid)
        self.process = subprocess.Popen(
            ["bash", "-c", self.command()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={"PATH": "/usr/bin:/bin", "NOTIFY_SOCKET": NOTICES},
            pass_fds=[each.fileno() for _, each in self.sockets],
            user=user.pw_uid,
            group=user.pw_gid,
            extra_groups=[],
        )
        self.notices.settimeout(START_SECONDS_MAX)
        said = self.notices.recv(100)
        # Of the process before, and of a loop that runs.
        while said in (b"STOPPING=1", b"WATCHDOG=1"):
            said = self.notices.recv(100)
        assert said == b"READY=1", said

    def command(self):
        """Puts the sockets where the program looks: from 3 on. The shell knows the number of its
        own process, which becomes the program's."""
        names = ":".join(name for name, _ in self.sockets)
        places = " ".join(
            f"{FIRST_DESCRIPTOR + place}<&{each.fileno()} {each.fileno()}<&-"
            for place, (_, each) in enumerate(self.sockets)
        )
        variables = f"LISTEN_PID=$$ LISTEN_FDS={len(self.sockets)} LISTEN_FDNAMES={names}"
        program = shlex.join(shlex.split(self.service["ExecStart"]))
        return f"exec {places}; {variables} exec {program}"

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(STOP_SECONDS_MAX)
        assert status == 0, status
