"""A Redis for tests, and a client that is as thin as they need it."""

import os
import shutil
import socket
import subprocess
import time

from program import START_SECONDS_MAX, STOP_SECONDS_MAX, start_kept

REDIS_SERVER = shutil.which("redis-server")


class RedisClient:
    """Bytes in, bytes out."""

    def __init__(self, address):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(family)
        try:
            self.socket.connect(address)
        except OSError:
            self.socket.close()
            raise
        self.input = self.socket.makefile("rb")

    def close(self):
        self.input.close()
        self.socket.close()

    def command(self, *words):
        return self.commands([words])[0]

    def commands(self, commands):
        """The answers to commands that are sent together."""
        sent = []
        for words in commands:
            sent.append(b"*%d\r\n" % len(words))
            for word in words:
                data = word if isinstance(word, bytes) else str(word).encode()
                sent.append(b"$%d\r\n%s\r\n" % (len(data), data))
        self.socket.sendall(b"".join(sent))
        return [self.answer() for _ in commands]

    def answer(self):
        line = self.input.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("Redis is gone")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise ValueError(rest.decode())
        if kind == b"*":
            return [self.answer() for _ in range(int(rest))]
        if kind == b"$":
            return None if rest == b"-1" else self.input.read(int(rest) + 2)[:-2]
        return int(rest) if kind == b":" else rest


class RedisServer:
    """Serves what `directory`/faktory.rdb has, on a socket in that directory, or on a port."""

    def __init__(self, directory, *flags, port=0, socket="test.sock"):
        self.socket = os.path.join(directory, socket)
        self.address = ("127.0.0.1", port) if port else self.socket
        command = [REDIS_SERVER, "--port", str(port), "--bind", "127.0.0.1", "--unixsocket",
                   self.socket, "--save", "", "--dir", directory, "--dbfilename", "faktory.rdb"]
        self.process = start_kept([*command, *flags], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL)

    def client(self):
        """As soon as all was loaded."""
        end = time.monotonic() + START_SECONDS_MAX
        while True:
            try:
                client = RedisClient(self.address)
            except OSError:
                assert time.monotonic() < end and self.process.poll() is None
                time.sleep(0.01)
                continue
            try:
                client.command("PING")
                return client
            except ValueError as error:
                client.close()
                if "LOADING" not in str(error):
                    raise
                time.sleep(0.01)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(STOP_SECONDS_MAX)
