"""Ends the servers of a test program that was killed and so could not end them itself.

`start_kept` starts them. A second process, the keeper, reads their ids, and when its input ends,
the test program is gone, however it ended. So it also works for servers that change their user,
for which the kernel forgets PR_SET_PDEATHSIG, for those that a thread has started, and for what a
server has started in its own process group.

Run alone it is the keeper: each line of its input is `keep PID`.
"""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import threading

LOCK = threading.Lock()
KEEPERS = {}  # the input of each, by the process that asked: a fork has none yet


def error_file():
    """For what a program says on stderr. Each write goes to the end: the program shares the place
    in the file with whoever reads it here, and reading moves that."""
    errors = tempfile.TemporaryFile("a+")
    # Temporary files are opened without the flag, whatever the mode says.
    flags = fcntl.fcntl(errors, fcntl.F_GETFL)
    fcntl.fcntl(errors, fcntl.F_SETFL, flags | os.O_APPEND)
    return errors


def start_kept(command, preexec_fn=None, **more):
    """A subprocess.Popen that will not outlive this process.

    It says so itself, before it becomes its program: until then it holds the keeper's input, so
    there is no moment at which its starter can die and leave it behind."""
    keeper = input_of_keeper()

    def prepare():
        # When the keeper has ended, the servers run on as if nobody had asked.
        with contextlib.suppress(BrokenPipeError):
            os.write(keeper, b"keep %d\n" % os.getpid())
        if preexec_fn:
            preexec_fn()

    return subprocess.Popen(command, preexec_fn=prepare, **more)


def input_of_keeper():
    with LOCK:
        if os.getpid() not in KEEPERS:
            KEEPERS[os.getpid()] = start_keeper()
        return KEEPERS[os.getpid()]


def start_keeper():
    """Answers its input. Nobody closes that: it ends with this process."""
    keeper = subprocess.Popen(
        [sys.executable, "-S", "-E", os.path.abspath(__file__)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Ctrl-C ends the test program, not this one.
        start_new_session=True,
    )
    # It ends after us, so nobody waits for it.
    keeper.returncode = 0
    with keeper.stdin as stdin:
        return os.dup(stdin.fileno())


def stat(pid):
    """(when it was started, its process group), or None when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="latin1") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return int(fields[19]), int(fields[2])


def running():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def end(pid, started, is_leader):
    """Kills the process, and its group when it has one of its own. One that ended may have left
    children in the group; then no other process can have been given its id."""
    now = stat(pid)
    if now is not None and now[0] != started:
        return
    victims = [pid] if now else []
    if is_leader:
        victims += [each for each in running() if (stat(each) or (0, 0))[1] == pid]
    for victim in victims:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(victim, signal.SIGKILL)


def main():
    kept = {}
    for line in sys.stdin.buffer:
        pid = int(line.split()[1])
        now = stat(pid)
        if now is not None:
            kept[pid] = (now[0], now[1] == pid)
    for pid, (started, is_leader) in kept.items():
        end(pid, started, is_leader)


if __name__ == "__main__":
    main()
