"""The programs of a language while they run: driven line by line, or watched."""

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time

ANSWER_SECONDS_MAX = 60
STOP_SECONDS_MAX = 60


class Process:
    """A started program whose lines are read as they come."""

    def __init__(self, command, folder, environment, stdin=subprocess.DEVNULL):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
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
        self.errors.seek(0)
        return self.errors.read()[-3000:]

    def end(self):
        """Leaves nothing of it, nor of what it started."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.reader.join(5)
        self.errors.close()


class Driven(Process):
    """A program that answers each line with one."""

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
        answer = self.answers.get(timeout=ANSWER_SECONDS_MAX)
        assert answer is not None, f"it ended instead of answering: {self.error_tail()}"
        return answer


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


class Worker(Process):
    """A worker under supervision: one that ends without having been told to is started again, as
    any supervisor does. `runs` are the jobs that its handlers had."""

    def __init__(self, command, folder, environment):
        self.start_arguments = (command, folder, environment)
        self.runs = []
        self.restarts = 0
        self.is_told_to_end = False
        super().__init__(*self.start_arguments)

    def take(self, line):
        if line is not None:
            # Other lines are what the library tells of itself.
            if line.startswith("{"):
                self.runs.append(json.loads(line))
        elif not self.is_told_to_end:
            self.process.wait()
            time.sleep(0.5)
            self.start_again()

    def start_again(self):
        if self.is_told_to_end:
            return
        self.restarts += 1
        super().__init__(*self.start_arguments)

    def runs_of(self, jid, jobtype=None):
        return [
            run
            for run in list(self.runs)
            if run.get("jid") == jid and jobtype in (None, run["jobtype"])
        ]

    def terminate(self):
        """As a supervisor ends it; returns how long it took."""
        self.is_told_to_end = True
        self.process.send_signal(signal.SIGTERM)
        return self.wait_for_end()

    def wait_for_end(self):
        began = time.monotonic()
        self.process.wait(STOP_SECONDS_MAX)
        self.reader.join(10)
        return time.monotonic() - began

    def end(self):
        self.is_told_to_end = True
        super().end()
