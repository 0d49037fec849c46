"""Plays a transcript over real sockets and by the real clock."""

import os
import signal
import socket
import time

EXPECTED_SECONDS_MAX = 5
# A clock move that ends just before something is due ends this much earlier: commands take time
# too. The next move makes up for it.
EARLY_SECONDS = 0.05
# A move that ends when something is due ends a little later.
LATE_SECONDS = 0.01


class Difference(Exception):
    """Where the server did something else than the transcript says."""

    def __init__(self, step, expected, got):
        super().__init__(f"line {step.number}: expected {expected}, got {shorten(got)}")
        self.step = step


def shorten(got):
    text = repr(got)
    return text if len(text) <= 200 else text[:200] + "..."


class Connection:
    def __init__(self, address):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(family)
        self.socket.settimeout(EXPECTED_SECONDS_MAX)
        self.socket.connect(address)
        self.received = b""
        self.has_ended = False

    def receive(self, seconds):
        """True when something came within that time."""
        self.socket.settimeout(seconds)
        try:
            data = self.socket.recv(1 << 20)
        except (TimeoutError, BlockingIOError):
            return False
        except ConnectionError:
            data = b""
        self.has_ended = not data
        self.received += data
        return bool(data)

    def receive_until(self, is_there):
        end = time.monotonic() + EXPECTED_SECONDS_MAX
        while not is_there() and not self.has_ended and time.monotonic() < end:
            self.receive(max(0.001, end - time.monotonic()))
        return is_there()

    def line(self):
        if not self.receive_until(lambda: b"\r\n" in self.received):
            return None
        line, self.received = self.received.split(b"\r\n", 1)
        return line

    def body(self, size):
        if not self.receive_until(lambda: len(self.received) >= size + 2):
            return None
        body, self.received = self.received[: size + 2], self.received[size + 2 :]
        return body[:-2] if body.endswith(b"\r\n") else None


class Player:
    """`server` has an `address`, `settle` (waits until it is at rest), `drain`, and `translate`
    (what bodies are to be read as)."""

    def __init__(self, transcript, server):
        self.transcript = transcript
        self.server = server
        self.connections = {}
        self.unsent = (None, b"")
        self.owed_seconds = 0.0
        self.step = None

    def play(self):
        """The first difference, or None."""
        try:
            for self.step in self.transcript.steps:
                self.perform(self.step)
            self.flush()
            for name in list(self.connections):
                self.nothing(name)
        except Difference as difference:
            return difference
        finally:
            for connection in self.connections.values():
                connection.socket.close()
        return None

    def perform(self, step):
        if step.kind != "send" or step.connection != self.unsent[0]:
            self.flush()
        if step.kind == "advance":
            self.advance(step.seconds)
        elif step.kind == "drain":
            self.server.drain()
        else:
            self.open(step.connection)
            getattr(self, step.kind.replace("-", "_"))(step.connection)

    def open(self, name):
        if name not in self.connections:
            self.connections[name] = Connection(self.server.address)
            self.server.settle()

    def send(self, name):
        self.unsent = (name, self.unsent[1] + self.step.data)

    def flush(self):
        name, data = self.unsent
        if data:
            try:
                self.connections[name].socket.settimeout(EXPECTED_SECONDS_MAX)
                self.connections[name].socket.sendall(data)
            except OSError:
                pass  # What the server answered before it closed says why.
        self.unsent = (None, b"")

    def close(self, name):
        self.connections.pop(name).socket.close()
        self.server.settle()

    def half_close(self, name):
        self.connections[name].socket.shutdown(socket.SHUT_WR)
        self.server.settle()

    def advance(self, seconds):
        self.server.settle()
        whole = seconds + self.owed_seconds
        is_early = 0.5 < seconds % 1 or seconds % 1 >= 0.05 and seconds > 1
        self.owed_seconds = EARLY_SECONDS if is_early else 0.0
        time.sleep(max(0.0, whole - self.owed_seconds + (0.0 if is_early else LATE_SECONDS)))

    def line(self, name):
        line = self.connections[name].line()
        if line is None or not self.step.expected.matches(line):
            self.differ(name, self.step.expected.text, line)

    def body(self, name):
        prefix = self.step.expected.text
        line = self.connections[name].line()
        if line is None or not line.startswith(prefix) or not line[len(prefix) :].isdigit():
            self.differ(name, prefix, line)
        body = self.connections[name].body(int(line[len(prefix) :]))
        if body is None:
            self.differ(name, "a body", None)
        self.check_body(name, self.server.translate(body))

    def check_body(self, name, body):
        lines = body.removesuffix(b"\n").split(b"\n")
        in_order = [expected for expected in self.step.body if expected.is_in_order]
        if in_order and len(in_order) != len(lines):
            self.differ(name, f"{len(in_order)} lines", body)
        for expected, line in zip(in_order, lines):
            if not expected.matches(line):
                self.differ(name, expected.text, line)
        for expected in self.step.body:
            if not expected.is_in_order and not any(map(expected.matches, lines)):
                self.differ(name, expected.text, body)

    def nothing(self, name):
        self.server.settle()
        connection = self.connections[name]
        while not connection.has_ended and connection.receive(0.0):
            pass
        if connection.received:
            self.differ(name, "nothing more", connection.received)

    def closed(self, name):
        connection = self.connections[name]
        connection.receive_until(lambda: connection.has_ended or bool(connection.received))
        self.nothing(name)
        if not connection.has_ended:
            self.differ(name, "the end", None)

    def differ(self, name, expected, got):
        if got is None:
            got = self.connections[name].received or "nothing"
        raise Difference(self.step, f"{name}: {shorten(expected)}", got)


class Process:
    """A server process under test: what a player needs of it."""

    def __init__(self, process, address, translate=lambda body: body):
        self.process = process
        self.address = address
        self.translate = translate

    def drain(self):
        self.process.send_signal(signal.SIGUSR1)
        self.settle()

    def settle(self):
        """Returns when the process has had nothing to do for a moment."""
        quiet = 0
        end = time.monotonic() + EXPECTED_SECONDS_MAX
        while quiet < 3 and time.monotonic() < end:
            time.sleep(0.003)
            quiet = quiet + 1 if self.is_asleep() else 0

    def is_asleep(self):
        tasks = f"/proc/{self.process.pid}/task"
        return all(state_of(f"{tasks}/{task}/stat") == "S" for task in os.listdir(tasks))


def state_of(path):
    with open(path, encoding="latin1") as file:
        return file.read().rsplit(")", 1)[1].split()[0]
