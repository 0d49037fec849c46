"""What somebody sees who tries Millrace for the first time: runs the commands of the page
docs/first-session.md one after the other and prints them with their output, as a terminal shows
them. In a network of its own, so that all ports are the usual ones.

    MILLRACE=build/release/millrace python3 tests/end_to_end/terminal/newcomer.py

writes the session of the page anew."""

import os
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from program import PROGRAM, environment, start_kept  # noqa: E402

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/first-session.md")
SESSION = re.compile(r"(?s)(```console\n)(.*?)(```\n)")
IN_A_NETWORK = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
SECONDS_MAX = 60
START = "millrace serve --data jobs &"
CRASH = "kill -9 $!"
STOP = "kill $!"


def commands(session):
    return [line[2:] for line in session.splitlines() if line.startswith("$ ")]


def can_have_a_network():
    return subprocess.run([*IN_A_NETWORK, "true"], capture_output=True, check=False).returncode == 0


class Terminal:
    """Runs commands in a directory of its own, in which `millrace` is the program under test."""

    def __init__(self, directory):
        self.directory = directory
        self.server = None
        os.mkdir(os.path.join(directory, "bin"))
        os.symlink(os.path.abspath(PROGRAM), os.path.join(directory, "bin/millrace"))
        path = os.path.join(directory, "bin") + ":" + os.environ["PATH"]
        self.env = environment({"PATH": path, "NO_COLOR": "1"})

    def run(self, command):
        """What the command prints."""
        if command == START:
            return self.start()
        if command in (CRASH, STOP):
            return self.end(signal.SIGKILL if command == CRASH else signal.SIGTERM)
        done = subprocess.run(["sh", "-c", command], cwd=self.directory, env=self.env, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=SECONDS_MAX, check=False)
        return done.stdout

    def start(self):
        self.server = start_kept(["millrace", "serve", "--data", "jobs"], cwd=self.directory,
                                 env=self.env, text=True, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        lines = []
        while not lines or lines[-1] != "ready\n":
            lines.append(self.server.stdout.readline())
            assert lines[-1], "the server has ended"
        return "".join(lines)

    def end(self, number):
        self.server.send_signal(number)
        self.server.wait(SECONDS_MAX)
        self.server.stdout.close()
        self.server = None
        return ""


def record(session):
    """The session with what its commands print now."""
    with tempfile.TemporaryDirectory() as directory:
        terminal = Terminal(directory)
        try:
            return "".join(f"$ {each}\n{terminal.run(each)}" for each in commands(session))
        finally:
            if terminal.server:
                terminal.end(signal.SIGKILL)


def session_of(page):
    return SESSION.search(page).group(2)


def main():
    if os.environ.get("MILLRACE_NEWCOMER") != "inside":
        os.environ["MILLRACE_NEWCOMER"] = "inside"
        os.execvp(IN_A_NETWORK[0], [*IN_A_NETWORK, sys.executable, *sys.argv])
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    session = record(session_of(page))
    if "--print" in sys.argv:
        print(session, end="")
        return
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(SESSION.sub(lambda found: found[1] + session + found[3], page))


if __name__ == "__main__":
    main()
