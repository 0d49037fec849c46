"""The life of the package on a machine, played inside a sandbox: install, start, put jobs, upgrade
while a client works, remove, purge. `life.py OLD.deb NEW.deb`; it ends at the first surprise."""

import glob
import os
import pwd
import shutil
import socket
import stat
import subprocess
import sys
import threading
import urllib.request

from manager import Manager, read_unit

CONFIG = "/etc/millrace/millrace.toml"
DATA = "/var/lib/millrace"
BACKUP = "/var/lib/millrace-backup"
BEANSTALK = ("127.0.0.1", 11300)
FAKTORY = ("127.0.0.1", 7419)
ENABLED = "/etc/systemd/system/multi-user.target.wants/millrace.service"
OWN_LINE = "# a line of the administrator\n"
SECONDS_MAX = 60
CHECKED_MAX = 200
MAN_INDEX = "/var/lib/man-db/auto-update"


def run(*command):
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def version_of(package):
    return run("dpkg-deb", "--field", package, "Version").strip()


def installed_version():
    return run("dpkg-query", "-W", "-f=${Version}", "millrace")


def talk(address, text):
    """What the server answers to text whose last command ends the connection."""
    with socket.create_connection(address, timeout=SECONDS_MAX) as connection:
        connection.sendall(text)
        with connection.makefile("rb") as answers:
            return answers.read()


def put(body):
    answer = talk(BEANSTALK, b"put 0 0 60 %d\r\n%s\r\nquit\r\n" % (len(body), body))
    return int(answer.split()[1]) if answer.startswith(b"INSERTED ") else None


def peek(number):
    return talk(BEANSTALK, b"peek %d\r\nquit\r\n" % number)


class Client(threading.Thread):
    """Puts one job after the other, each over a connection of its own. A server that ends closes
    some; that is told apart from a connection that was refused."""

    def __init__(self):
        super().__init__()
        self.has_to_end = threading.Event()
        self.has_put = threading.Event()
        self.numbers = []
        self.refused = []

    def run(self):
        while not self.has_to_end.is_set():
            try:
                number = put(b"during the upgrade")
            except ConnectionRefusedError as refused:
                self.refused.append(refused)
            except OSError:
                continue
            else:
                if number is not None:
                    self.numbers.append(number)
                    self.has_put.set()

    def wait_for_a_job(self):
        self.has_put.clear()
        assert self.has_put.wait(SECONDS_MAX), "no job was put"


def install(package):
    run("dpkg", "--install", package)
    assert installed_version() == version_of(package)
    user = pwd.getpwnam("millrace")
    assert user.pw_dir == DATA and user.pw_shell.endswith("nologin"), user
    assert os.path.islink(ENABLED), "the service is not enabled"
    assert not glob.glob("/etc/systemd/system/sockets.target.wants/millrace*")
    assert run("/usr/bin/millrace", "--version").startswith("millrace ")
    assert "SYNOPSIS" in run("man", "--encoding=ascii", "millrace")
    for name in ("beanstalkd", "faktory"):
        assert os.path.samefile(f"/usr/lib/millrace/{name}", "/usr/bin/millrace")


def verify_units(service):
    """They run nothing that a small system lacks. systemd, where it is at hand, reads them without
    a complaint."""
    for name in ("ExecStart", "ExecReload"):
        assert service[name].split()[0] in ("/usr/bin/millrace", "/bin/sh"), service[name]
    if shutil.which("systemd-analyze") is not None:
        units = sorted(glob.glob("/lib/systemd/system/millrace*"))
        assert len(units) == 5, units
        assert run("systemd-analyze", "verify", "--man=no", *units) == ""


def serve(manager):
    for name in ("millrace-beanstalk.socket", "millrace-faktory.socket"):
        manager.open_socket(name)
    manager.start()
    first = put(b"the first job")
    assert first == 1, first
    assert b"+HI" in talk(FAKTORY, b'HELLO {"v":2}\r\nEND\r\n')
    with urllib.request.urlopen("http://127.0.0.1:7420/health", timeout=SECONDS_MAX) as answer:
        assert answer.status == 200
    state = os.stat(DATA)
    assert stat.S_IMODE(state.st_mode) == 0o700 and state.st_uid == pwd.getpwnam("millrace").pw_uid


def back_up():
    """As the timer would have it done, twice, while the server runs."""
    user = pwd.getpwnam("millrace")
    os.mkdir(BACKUP, 0o700)
    os.chown(BACKUP, user.pw_uid, user.pw_gid)
    unit = read_unit("millrace-backup.service")
    assert glob.glob(unit["ConditionPathExistsGlob"]), "it would not run"
    command = unit["ExecStart"].split()
    as_user = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    for _ in range(2):
        report = run(*as_user, *command)
    assert "can be restored: any time from" in report, report
    assert "millrace-backup.timer" not in run("find", "/etc/systemd")
    restored = run("/usr/bin/millrace", "restore", BACKUP, "--to", "/tmp/restored")
    assert " 1 ready," in restored, restored


def upgrade(manager, package):
    with open(CONFIG, "a", encoding="ascii") as config:
        config.write(OWN_LINE)
    client = Client()
    client.start()
    try:
        client.wait_for_a_job()
        run("dpkg", "--install", package)
        # What the package asks systemd for after an upgrade.
        manager.stop()
        manager.start()
        client.wait_for_a_job()
    finally:
        client.has_to_end.set()
        client.join()
    assert installed_version() == version_of(package)
    assert not client.refused, client.refused
    assert b"the first job" in peek(1)
    for number in client.numbers[:CHECKED_MAX] + client.numbers[-CHECKED_MAX:]:
        assert peek(number).startswith(b"FOUND "), number
    with open(CONFIG, encoding="ascii") as config:
        assert config.read().endswith(OWN_LINE)
    return len(client.numbers)


def remove(manager):
    manager.stop()
    run("dpkg", "--remove", "millrace")
    assert not os.path.exists("/usr/bin/millrace")
    assert os.path.exists(CONFIG) and os.listdir(DATA)


def come_back(manager, package):
    run("dpkg", "--install", package)
    manager.start()
    assert b"the first job" in peek(1)
    manager.stop()
    with open("/etc/millrace/password", "w", encoding="ascii") as password:
        password.write("not of the package\n")


def purge():
    run("dpkg", "--purge", "millrace")
    assert not os.path.exists(DATA)
    assert os.listdir("/etc/millrace") == ["password"], os.listdir("/etc/millrace")
    left = [
        path
        for folder in ("/etc", "/usr", "/lib/systemd", "/var/lib")
        for path in run("find", folder, "-iname", "*millrace*").split()
    ]
    assert left == ["/etc/millrace", BACKUP], left
    assert os.path.exists(f"{BACKUP}/manifest")
    pwd.getpwnam("millrace")


def live(old, new):
    # To index all manual pages of this system takes most of the time, and tells nothing.
    if os.path.exists(MAN_INDEX):
        os.remove(MAN_INDEX)
    install(old)
    manager = Manager()
    verify_units(manager.service)
    serve(manager)
    back_up()
    count = upgrade(manager, new)
    remove(manager)
    come_back(manager, new)
    purge()
    print(f"{count} jobs were put during the upgrade")


if __name__ == "__main__":
    live(*sys.argv[1:])
