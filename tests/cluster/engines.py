"""Engines of a shared log, of several members each, for the nodes of a test."""

import contextlib
import glob
import os
import pwd
import re
import shutil
import signal
import subprocess
import time
import urllib.request

from network import start_kept

# The newest that is there.
POSTGRES = max(glob.glob("/usr/lib/postgresql/*/bin/"), default="/usr/lib/postgresql/bin/",
               key=lambda path: int(path.split("/")[4]))
PASSWORD = "pass-word-of-tests"
READY_SECONDS_MAX = 60
# In older ones, a member that was cut off while it led the stream may keep a message that the
# others do not have (seen in 2.9.10). Followers that read from it find that out, and never lead.
CUT_PROOF = (2, 10, 23)


def nats_program():
    return os.environ.get("NATS_SERVER") or shutil.which("nats-server") or "/usr/sbin/nats-server"


def nats_version():
    """For example (2, 9, 10)."""
    said = subprocess.run([nats_program(), "--version"], capture_output=True, check=True, text=True)
    return tuple(int(each) for each in re.findall(r"\d+", said.stdout)[:3])


def wait_for(condition, what, seconds=READY_SECONDS_MAX):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"not within {seconds} s: {what}")
        time.sleep(0.05)


class Member:
    """One server of an engine."""

    def __init__(self, host, folder):
        self.host = host
        self.folder = folder
        self.process = None

    def run(self, command, preexec_fn=None):
        with open(self.folder + ".log", "ab") as log:
            self.process = start_kept(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=preexec_fn
            )

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        if self.is_running():
            self.process.send_signal(number)

    def kill(self):
        self.signal(signal.SIGKILL)
        if self.process:
            self.process.wait()


class NatsMember(Member):
    def configure(self, members, syncs):
        os.makedirs(self.folder)
        is_alone = len(members) == 1
        sync = ", sync_interval: always" if syncs else ""
        places = (f"{each.host.address}:{each.host.port(6222)}" for each in members)
        routes = ",".join(f'"nats://{each}"' for each in places)
        at = self.host.address
        with open(self.folder + "/config", "w", encoding="ascii") as file:
            file.write(
                f"server_name: {self.host.name}\n"
                f'listen: "{at}:{self.host.port(4222)}"\n'
                f'http: "{at}:{self.host.port(8222)}"\n'
                f'jetstream {{ store_dir: "{self.folder}/store"{sync} }}\n'
                + is_alone * "# "
                + f'cluster {{ name: c, listen: "{at}:{self.host.port(6222)}", '
                f"routes: [{routes}] }}\n"
            )

    def start(self):
        self.run([nats_program(), "-c", self.folder + "/config"], self.host.enter)

    def is_well(self):
        """Has all that the others have."""
        url = f"http://{self.host.address}:{self.host.port(8222)}/healthz"
        try:
            with urllib.request.urlopen(url, timeout=1) as answer:
                return answer.status == 200
        except OSError:
            return False

    def wait_until_well(self):
        wait_for(self.is_well, f"{self.host.name} is well")


class Nats:
    """Three members. Those that can sync before they acknowledge do so."""

    name = "nats"

    def __init__(self, network, folder, size=3, syncs=True):
        version = nats_version()
        self.can_sync = syncs and version >= (2, 10)
        self.survives_cuts = version >= CUT_PROOF
        self.flags = () if self.can_sync else ("--allow-unsynced-log",)
        self.members = []
        for number in range(1, size + 1):
            host = network.host(f"n{number}")
            self.members.append(NatsMember(host, os.path.join(folder, host.name)))
        for member in self.members:
            member.configure(self.members, self.can_sync)

    def start(self):
        for member in self.members:
            member.start()
        for member in self.members:
            member.wait_until_well()

    def make_log(self, stream):
        """The first node of a log makes its stream."""

    def url(self, stream="jobs"):
        places = (f"{each.host.address}:{each.host.port(4222)}" for each in self.members)
        alone = "&replicas=1" if len(self.members) == 1 else ""
        synced = f"?synced=yes{alone}" if self.can_sync else ""
        return f"nats://{','.join(places)}/{stream}{synced}"

    def end(self):
        for member in self.members:
            member.kill()


class PostgresMember(Member):
    """A server that refuses to run as root."""

    def __init__(self, host, folder):
        super().__init__(host, folder)
        self.user = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
        os.makedirs(folder)
        if self.user:
            os.chown(folder, self.user.pw_uid, self.user.pw_gid)
        self.data = os.path.join(folder, "data")
        self.password_file = os.path.join(folder, "password")

    def prepare(self):
        self.host.enter()
        if self.user:
            os.setgroups([])
            os.setgid(self.user.pw_gid)
            os.setuid(self.user.pw_uid)

    def call(self, *command):
        done = subprocess.run(
            [POSTGRES + command[0], *command[1:]],
            preexec_fn=self.prepare,
            cwd=self.folder,
            env={**os.environ, "PGPASSWORD": PASSWORD},
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{command[0]}: {done.stderr}")
        return done.stdout

    def create(self, addresses):
        with open(self.password_file, "w", encoding="ascii") as file:
            file.write(PASSWORD + "\n")
        os.chmod(self.password_file, 0o644)
        more = ["--pwfile", self.password_file, "--no-sync", "--no-locale", "-E", "UTF8"]
        self.call("initdb", "-D", self.data, "-U", "tester", "-A", "scram-sha-256", *more)
        with open(self.data + "/pg_hba.conf", "a", encoding="ascii") as file:
            for what in ("all", "replication"):
                file.write(f"host {what} all {addresses} scram-sha-256\n")
        with open(self.data + "/postgresql.conf", "a", encoding="ascii") as file:
            file.write("shared_buffers = '32MB'\nsynchronous_standby_names = '*'\n")
            file.write("wal_keep_size = '256MB'\nunix_socket_directories = ''\n")
            file.write("wal_retrieve_retry_interval = '500ms'\n")

    def copy(self, primary):
        """Becomes the standby of that one, which runs."""
        shutil.rmtree(self.data, ignore_errors=True)
        at = ["-h", primary.host.address, "-p", str(primary.host.port(5432)), "-U", "tester"]
        self.call("pg_basebackup", "-D", self.data, "-R", "-c", "fast", "--no-sync", *at)

    def start(self):
        at = ["-h", self.host.address, "-p", str(self.host.port(5432))]
        self.run([POSTGRES + "postgres", "-D", self.data, *at], self.prepare)
        ready = [POSTGRES + "pg_isready", "-q", *at]
        wait_for(lambda: subprocess.run(ready, check=False).returncode == 0, self.host.name)

    def promote(self):
        self.call("pg_ctl", "promote", "-D", self.data)


class Postgres:
    """A primary, and a standby that has every commit before it is reported."""

    name = "postgres"

    def __init__(self, network, folder):
        os.chmod(folder, 0o755)
        self.addresses = network.addresses
        self.primary, self.standby = (
            PostgresMember(network.host(name), os.path.join(folder, name)) for name in ("p1", "p2")
        )
        self.hosts = [self.primary.host, self.standby.host]
        password = os.path.join(folder, "password")
        with open(password, "w", encoding="ascii") as file:
            os.chmod(password, 0o600)
            file.write(PASSWORD + "\n")
        self.flags = (f"--log-password-file={password}",)

    @property
    def members(self):
        return [self.primary, self.standby]

    def start(self):
        self.primary.create(self.addresses)
        self.primary.start()
        self.add_standby()
        self.make_log("jobs")

    def add_standby(self):
        self.standby.copy(self.primary)
        self.standby.start()

    def fail_over(self):
        """The primary is lost, and the standby goes on alone: nothing is reported as committed
        until it has a standby of its own."""
        self.primary.kill()
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary

    def make_log(self, database):
        at = ["-h", self.primary.host.address, "-p", str(self.primary.host.port(5432))]
        self.primary.call("createdb", *at, "-U", "tester", database)

    def url(self, database="jobs"):
        places = (f"{each.address}:{each.port(5432)}" for each in self.hosts)
        # Its network is the test's own, and the password is never sent itself (SCRAM).
        return "postgresql://tester@" + ",".join(places) + "/" + database + "?sslmode=disable"

    def end(self):
        for member in self.members:
            member.signal(signal.SIGCONT)
            member.signal(signal.SIGQUIT)
        for member in self.members:
            with contextlib.suppress(subprocess.TimeoutExpired):
                if member.process:
                    member.process.wait(10)
            member.kill()
