"""A client of either protocol, for what the load cannot say."""

import json
import socket

BATCH = 1000


class Client:
    """One connection. A Faktory one is greeted already."""

    def __init__(self, port, protocol="beanstalk", host="127.0.0.1"):
        self.socket = socket.create_connection((host, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rwb")
        if protocol == "faktory":
            self.file.readline()
            self.demand('HELLO {"v":2}', "+OK")

    def say(self, data):
        self.file.write(data)
        self.file.flush()

    def line(self):
        return self.file.readline().decode().strip()

    def ask(self, text):
        self.say(text.encode() + b"\r\n")
        return self.line()

    def demand(self, text, reply):
        """What did not happen is no measurement."""
        if (heard := self.ask(text)) != reply:
            raise RuntimeError(f"{text}: {heard}, not {reply}")

    def close(self):
        self.file.close()
        self.socket.close()

    # Of the beanstalk protocol.

    def ready_jobs(self, tube):
        size = int(self.ask(f"stats-tube {tube}").split()[1])
        text = self.file.read(size + 2).decode()
        return int(text.split("current-jobs-ready: ")[1].split()[0])

    def delete(self, numbers):
        for first in range(0, len(numbers), BATCH):
            batch = numbers[first:first + BATCH]
            self.say(b"".join(b"delete %d\r\n" % number for number in batch))
            for number in batch:
                if self.line() != "DELETED":
                    raise RuntimeError(f"job {number} was not there")

    def fill_tubes(self, prefix, count):
        """One job in each."""
        for first in range(0, count, BATCH):
            tubes = range(first, min(first + BATCH, count))
            self.say(b"".join(b"use %s%d\r\nput 0 0 60 1\r\nx\r\n" % (prefix.encode(), tube)
                              for tube in tubes))
            for _ in tubes:
                self.line()
                if not self.line().startswith("INSERTED"):
                    raise RuntimeError("a job was not taken")

    # Of the Faktory protocol.

    def push_all(self, count, job_of):
        """So many jobs: `job_of` makes that of a number."""
        for first in range(0, count, BATCH):
            jobs = [job_of(number) for number in range(first, min(first + BATCH, count))]
            self.ask("PUSHB " + json.dumps(jobs, separators=(",", ":")))
            if (failed := self.line()) != "{}":
                raise RuntimeError(f"jobs were not taken: {failed[:200]}")

    def add_batches(self, count, batch_of):
        """The same for open batches. Answers how long all are as JSON."""
        length = 0
        for first in range(0, count, BATCH):
            texts = [json.dumps(batch_of(number))
                     for number in range(first, min(first + BATCH, count))]
            self.say("".join(f"BATCH NEW {text}\r\n" for text in texts).encode())
            for text in texts:
                length += len(text)
                if not self.line().startswith("$"):
                    raise RuntimeError("a batch was not taken")
                self.line()
        return length
