"""No server outlives the test program that started it, however that ends."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "support"))

import keeper  # noqa: E402

GONE_SECONDS_MAX = 20
PATHS = [os.path.join(TESTS, name) for name in ("support", "end_to_end", "differential", "interop")]
HEAD = f"import sys; sys.path[:0] = {PATHS!r}\n"
SLEEPER = """
import subprocess
from keeper import start_kept
"""


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="latin1") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def sleepers(argument):
    """Those that sleep for so long."""
    found = []
    for pid in keeper.running():
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                found += [pid] if file.read() == b"sleep\0" + argument + b"\0" else []
        except OSError:
            pass
    return found


class KeeperTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="millrace-test-")
        self.addCleanup(shutil.rmtree, self.directory)

    def victims(self, command, env=None):
        """A test program, and the ids that it prints before it waits."""
        program = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "DIRECTORY": self.directory, **(env or {})},
            text=True,
        )
        self.addCleanup(program.stdin.close)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        pids = [int(word) for word in program.stdout.readline().split()]
        self.assertTrue(pids and all(is_running(pid) for pid in pids), pids)
        return program, pids

    def assert_gone(self, pids):
        end = time.monotonic() + GONE_SECONDS_MAX
        while any(is_running(pid) for pid in pids):
            self.assertLess(time.monotonic(), end, "it still runs")
            time.sleep(0.02)

    def assert_ends_with(self, text):
        program, pids = self.victims([sys.executable, "-c", HEAD + text])
        program.kill()
        self.assert_gone(pids)

    def test_a_server_of_the_tests(self):
        self.assert_ends_with(
            "import os, program\n"
            "server = program.Server(os.environ['DIRECTORY'] + '/data').start()\n"
            "print(server.process.pid, flush=True); input()"
        )

    @unittest.skipIf(os.getuid() != 0, "needs root")
    def test_a_server_that_changes_its_user(self):
        os.chmod(self.directory, 0o777)
        self.assert_ends_with(
            "import os, program\n"
            "server = program.Server(os.environ['DIRECTORY'], ['--user=nobody']).start()\n"
            "print(server.process.pid, flush=True); input()"
        )

    def test_one_that_a_thread_started(self):
        self.assert_ends_with(
            SLEEPER + "import threading\n"
            "def run():\n"
            "    print(start_kept(['sleep', '600']).pid, flush=True)\n"
            "thread = threading.Thread(target=run); thread.start(); thread.join(); input()"
        )

    def test_those_that_are_just_being_started(self):
        program, pids = self.victims(
            [
                sys.executable,
                "-c",
                HEAD + SLEEPER + "import os, threading, time\n"
                "print(os.getpid(), flush=True)\n"
                "def run():\n"
                "    while True:\n"
                "        start_kept(['sleep', '600.25']); time.sleep(0.01)\n"
                "for _ in range(8): threading.Thread(target=run).start()",
            ]
        )
        time.sleep(0.7)
        program.kill()
        program.wait()
        end = time.monotonic() + GONE_SECONDS_MAX
        while sleepers(b"600.25"):
            self.assertLess(time.monotonic(), end, "it still runs")
            time.sleep(0.02)
        self.assertFalse(is_running(pids[0]))

    def test_what_it_has_started_too(self):
        self.assert_ends_with(
            SLEEPER + "command = ['sh', '-c', 'sleep 600 & echo $! $$; wait']\n"
            "process = start_kept(command, stdout=subprocess.PIPE, start_new_session=True)\n"
            "print(process.stdout.readline().decode(), end='', flush=True); input()"
        )

    def test_what_a_dead_one_has_started(self):
        self.assert_ends_with(
            SLEEPER + "command = ['sh', '-c', 'sleep 600 & echo $!; read line']\n"
            "process = start_kept(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,\n"
            "                     start_new_session=True)\n"
            "pid = process.stdout.readline().decode()\n"
            "import time; time.sleep(1); process.stdin.close(); process.wait()\n"
            "print(pid, end='', flush=True); input()"
        )

    @unittest.skipIf(shutil.which("node") is None, "needs Node")
    def test_a_server_of_the_browser_tests(self):
        script = os.path.join(self.directory, "run.mjs")
        with open(script, "w", encoding="utf-8") as file:
            file.write(
                f'import {{ Server }} from "{TESTS}/browser/server.js";\n'
                "const server = await Server.make();\n"
                "console.log(server.process.pid);\n"
                "process.stdin.resume();\n"
            )
        program, pids = self.victims(["node", script], {"TMPDIR": self.directory})
        program.kill()
        self.assert_gone(pids)

    def test_one_of_another_program_with_the_same_id_is_left_alone(self):
        other = subprocess.Popen(["sleep", "600"])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        keeper.end(other.pid, keeper.stat(other.pid)[0] - 1, is_leader=True)
        self.assertIsNone(other.poll())
        keeper.end(other.pid, keeper.stat(other.pid)[0], is_leader=False)
        self.assertEqual(other.wait(GONE_SECONDS_MAX), -signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
