"""The programs of a language while they run: driven line by line, or watched."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))

from keeper import error_file, start_kept  # noqa: E402

ANSWER_SECONDS_MAX = 60
STOP_SECONDS_MAX = 60
ERROR_BYTES_MAX = 3000


class Process:
    """A started program whose lines are read as they come."""

    def __init__(self, command, folder, environment, stdin=subprocess.DEVNULL):
        self.errors = error_file()
        self.process = start_kept(
            command,
            cwd=folder,
            env={**os.environ, **environment},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        with self.process.stdout as output:
            for line in output:
                self.take(line.rstrip("\n"))
        self.take(None)

    def take(self, line):
        raise NotImplementedError

    def error_tail(self):
        """The program writes where this file's position is, so that stays as it is."""
        descriptor = self.errors.fileno()
        start = max(0, os.fstat(descriptor).st_size - ERROR_BYTES_MAX)
        return os.pread(descriptor, ERROR_BYTES_MAX, start).decode(errors="replace")

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def end(self):
        """Leaves nothing of it, nor of what it started."""
        self.kill()
        self.reader.join(5)
        self.errors.close()


class Driven(Process):
    """A program that answers each line with one."""

    answer_seconds_max = ANSWER_SECONDS_MAX

    def __init__(self, command, folder, environment):
        self.answers = queue.Queue()
        super().__init__(command, folder, environment, subprocess.PIPE)

    def take(self, line):
        self.answers.put(line)

    def ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the answer that is missing tells of it
        answer = self.answers.get(timeout=self.answer_seconds_max)
        assert answer is not None, f"it ended instead of answering: {self.error_tail()}"
        return answer

    def end(self):
        super().end()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()


class Background:
    """A function in a thread of its own. `check` raises what it raised, at once."""

    def __init__(self, function):
        self.error = None
        self.thread = threading.Thread(target=self.run, args=(function,), daemon=True)
        self.thread.start()

    def run(self, function):
        try:
            function()
        except Exception as error:
            self.error = error

    def check(self):
        if self.error:
            raise self.error

    def finish(self, seconds):
        self.thread.join(seconds)
        self.check()
        assert not self.thread.is_alive(), f"it goes on after {seconds} s"


class Refused(Exception):
    """The library raised; the text is the library's own."""


class Pusher(Driven):
    def push(self, work):
        """A job, or a list of them in bulk."""
        answer = self.ask(json.dumps(work, ensure_ascii=False))
        if answer != "ok":
            raise Refused(answer)

    def push_until_acknowledged(self, job, seconds=60):
        """The server may be away for a moment."""
        end = time.monotonic() + seconds
        while True:
            try:
                return self.push(job)
            except Refused:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)


class BeanstalkDriver(Driven):
    def do(self, *words):
        """The words of the answer."""
        command, *rest = words
        parts = [word.hex() if isinstance(word, bytes) else str(word) for word in rest]
        name, *values = self.ask("\t".join([command, *parts])).split("\t")
        if name.startswith("error"):
            raise Refused(name)
        return [name, *values]

    def put(self, body, tube="default", pri=100, delay=0, ttr=60):
        return self.do("put", tube, pri, delay, ttr, body)[1]

    def reserve(self, seconds=0):
        """(id, body), or None."""
        answer = self.do("reserve", seconds)
        return None if answer == ["none"] else (answer[1], bytes.fromhex(answer[2]))

    def stats(self, command, *words):
        """Some libraries call `current-jobs-ready` `current_jobs_ready`."""
        pairs = (pair.split("=", 1) for pair in self.do(command, *words)[1:])
        return {name.replace("_", "-"): value for name, value in pairs}


class Watched(Process):
    """A program whose lines are given to a function, and None when it has ended."""

    def __init__(self, take, *start_arguments):
        self.take = take
        super().__init__(*start_arguments)


class Worker:
    """A worker under supervision: one that ends without having been told to is started again, as
    any supervisor does. `runs` are the jobs that its handlers had."""

    def __init__(self, *start_arguments):
        self.start_arguments = start_arguments
        self.runs = []
        self.log = []
        self.restarts = 0
        self.is_told_to_end = False
        self.lock = threading.Lock()  # of what follows, and of the decision to start again
        self.program = Watched(self.take, *start_arguments)

    @property
    def pid(self):
        return self.program.process.pid

    def take(self, line):
        if line is None:
            self.start_again()
        elif line.startswith("{"):
            self.runs.append(json.loads(line))
        else:
            self.log.append(line)

    def start_again(self):
        time.sleep(0.5)
        with self.lock:
            if not self.is_told_to_end:
                self.restarts += 1
                self.program = Watched(self.take, *self.start_arguments)

    def expect_end(self):
        """From now on its end is no reason to start it again."""
        with self.lock:
            self.is_told_to_end = True

    def kill(self):
        """As the system does that is out of memory."""
        self.expect_end()
        self.program.kill()

    def runs_of(self, jid, jobtype=None):
        return [
            run
            for run in list(self.runs)
            if run.get("jid") == jid and jobtype in (None, run["jobtype"])
        ]

    def error_tail(self):
        return self.program.error_tail()

    def said(self):
        """What it told of itself, not of its jobs."""
        return "\n".join(self.log) + self.error_tail()

    def terminate(self):
        """As a supervisor ends it; returns how long it took."""
        self.expect_end()
        self.program.process.send_signal(signal.SIGTERM)
        return self.wait_for_end()

    def wait_for_end(self):
        began = time.monotonic()
        self.program.process.wait(STOP_SECONDS_MAX)
        self.program.reader.join(10)
        return time.monotonic() - began

    def end(self):
        self.expect_end()
        self.program.end()
