"""Jobs of both protocols: clients that change them, and what each may be after a power cut.

One client changes a job, one change at a time, and notes of each where its answer ends in what the
client receives. How much the server had sent before a power cut then says which changes count. The
next one may have happened as well.
"""

import json
import os
import sys
from dataclasses import dataclass, field

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "end_to_end"))

import clients  # noqa: E402

FAR = 100_000  # s: nothing that waits comes due
FAR_TIME = "2099-01-01T00:00:00Z"
# Of a body one in so many is long: so that segments fill, and writes have many sectors.
LONG_BODIES = 3
PIPELINED_MAX = 8
# The refusals of a full disk or memory.
NO_ROOM = "OUT_OF_MEMORY"
NO_ROOM_OF_FAKTORY = "server is out of space"

GONE = ("gone",)


@dataclass(frozen=True)
class State:
    """What can be seen of a job after a restart; a connection has lost its reservations."""

    kinds: tuple  # any of ready, delayed, buried, reserved
    pri: int
    marks: tuple = ()  # texts that the body must have

    def takes(self, kind, pri, body):
        return kind in self.kinds and pri == self.pri and all(mark in body for mark in self.marks)


@dataclass
class Change:
    ports: int  # of the client's connection
    end: float  # the answer's end in what came over it; infinite: none came
    after: object  # State or GONE
    is_fetch: bool = False  # its answer tells of the job, and not of the reservation


@dataclass
class Job:
    tag: str  # in its body, or its jid
    queue: str
    body: bytes = b""  # of beanstalk: exactly this
    first: object = GONE  # before the first change
    changes: list = field(default_factory=list)
    id: int = 0  # when it is known
    retry: int = 25  # of a Faktory job, as it was pushed

    def may_be(self, told):
        """What it may be, given how many bytes each connection was sent."""
        states = [self.first] + [each.after for each in self.changes]
        count = 0
        for each in self.changes:
            if each.end > told.get(each.ports, 0):
                break
            count += 1
        first = count
        while first > 0 and self.changes[first - 1].is_fetch:
            first -= 1
        return states[first : count + 2]

    def is_id_told(self, told):
        return not self.changes or self.changes[0].end <= told.get(self.changes[0].ports, 0)

    def last(self):
        return self.changes[-1].after if self.changes else self.first


class Counted:
    """A client that knows how much of what it received it has understood."""

    received = 0

    def line(self):
        line = super().line()
        self.received += len(line.encode()) + 2
        return line

    def body(self, size):
        body = super().body(size)
        self.received += size + 2
        return body

    @property
    def ports(self):
        """As the recorder writes them: the server's, then 16 bits of the client's."""
        return self.socket.getpeername()[1] << 16 | self.socket.getsockname()[1]


class Beanstalk(Counted, clients.Beanstalk):
    pass


class Faktory(Counted, clients.Faktory):
    pass


def random_body(random, tag):
    size = random.randint(5_000, 60_000) if random.randrange(LONG_BODIES) == 0 else 0
    size = size or random.randint(0, 900)
    return f"<{tag}>".encode() + random.randbytes((size + 1) // 2).hex().encode()[:size]


class Producer:
    """One client of one protocol, with a queue of its own, and all jobs in it."""

    def __init__(self, random, name, jobs):
        self.random = random
        self.queue = name
        self.jobs = jobs
        self.client = None
        self.changing = []

    def run(self, address, count):
        self.client = self.connect(address)
        try:
            while count > 0:
                count -= self.step()
        finally:
            self.client.close()

    def begin(self, job, after):
        """A change that was not answered yet."""
        job.changes.append(Change(self.client.ports, float("inf"), after))
        return job.changes[-1]

    def end(self, change):
        change.end = self.client.received

    def new_tag(self):
        return f"{self.queue}-{self.random.getrandbits(48):012x}"

    def pick(self):
        """A job that is there."""
        live = [job for job in self.jobs if job.last() != GONE]
        return self.random.choice(live) if live else None


class BeanstalkProducer(Producer):
    def connect(self, address):
        client = Beanstalk(address)
        assert client.command(f"use {self.queue}") == f"USING {self.queue}"
        assert client.command(f"watch {self.queue}") == "WATCHING 2"
        return client

    def step(self):
        """Puts or changes something; how many changes that were."""
        live = sum(job.last() != GONE for job in self.jobs)
        job = self.pick() if self.random.random() < live / (live + 10) else None
        if job is None:
            return self.put(self.random.choice((1, 1, self.random.randint(2, PIPELINED_MAX))))
        self.change(job)
        return 1

    def put(self, count):
        """So many, with one send."""
        begun = []
        text = b""
        for _ in range(count):
            tag = self.new_tag()
            job = Job(tag, self.queue, random_body(self.random, tag))
            pri = self.random.randrange(1000)
            delay = self.random.choice((0, 0, 0, FAR))
            text += b"put %d %d %d %d\r\n" % (pri, delay, FAR, len(job.body))
            text += job.body + b"\r\n"
            after = State(("delayed" if delay else "ready",), pri)
            self.jobs.append(job)
            begun.append((job, self.begin(job, after)))
        self.client.send(text)
        for job, change in begun:
            answer = self.client.line().split()
            if answer == [NO_ROOM]:
                change.after = GONE
            else:
                assert answer[0] == "INSERTED", answer
                job.id = int(answer[1])
            self.end(change)
        return count

    def say(self, job, after, command, answer):
        before = job.last()
        change = self.begin(job, after)
        got = self.client.command(command)
        if got == NO_ROOM:
            change.after = before
        else:
            assert got == answer, (command, got)
        self.end(change)

    def change(self, job):
        state = job.last()
        kind = state.kinds[0]
        what = self.random.random()
        if what < 0.45:
            return self.say(job, GONE, f"delete {job.id}", "DELETED")
        if kind in ("delayed", "buried"):
            after = State(("ready",), state.pri)
            return self.say(job, after, f"kick-job {job.id}", "KICKED")
        answer = self.client.command(f"reserve-job {job.id}").split()
        if answer == [NO_ROOM]:
            return None
        assert answer[0] == "RESERVED", answer
        assert self.client.body(int(answer[2])) == job.body
        pri = self.random.randrange(1000)
        if what < 0.55:
            self.say(job, State(("buried",), pri), f"bury {job.id} {pri}", "BURIED")
        elif what < 0.85:
            delay = self.random.choice((0, FAR))
            after = State(("delayed" if delay else "ready",), pri)
            self.say(job, after, f"release {job.id} {pri} {delay}", "RELEASED")
        else:
            self.say(job, GONE, f"delete {job.id}", "DELETED")


class FaktoryProducer(Producer):
    PRIORITY = 1024  # what stats-job says of a job with the usual priority

    def connect(self, address):
        return Faktory(address, wid=f"worker-{self.queue}")

    def state(self, *kinds, marks=()):
        return State(kinds, self.PRIORITY, marks)

    def step(self):
        what = self.random.random()
        live = [job for job in self.jobs if job.last() != GONE]
        held = [job for job in live if job.last().kinds[0] == "reserved"]
        ready = [job for job in live if job.last().kinds[0] == "ready"]
        if held and what < 0.45:
            self.finish(self.random.choice(held))
        elif ready and what < 0.7:
            self.fetch()
        else:
            self.push()
        return 1

    def push(self):
        jid = self.new_tag()
        payload = random_body(self.random, jid).decode()
        more = {"retry": self.random.choice((25, 25, 0, -1)), "reserve_for": 80_000}
        waits = self.random.random() < 0.2
        if waits:
            more["at"] = FAR_TIME
        marks = (f'"jid":"{jid}"'.encode(), json.dumps(payload).encode())
        job = Job(jid, self.queue, retry=more["retry"])
        self.jobs.append(job)
        change = self.begin(job, self.state("delayed" if waits else "ready", marks=marks))
        answer = self.client.push(jid, self.queue, [payload], **more)
        if NO_ROOM_OF_FAKTORY in answer:
            change.after = GONE
        else:
            assert answer == "+OK", answer
        self.end(change)

    def fetch(self):
        answer = self.client.command(f"FETCH {self.queue}")
        if answer and NO_ROOM_OF_FAKTORY in answer:
            return
        assert answer is not None, "a job that waits is not fetched"
        unit = json.loads(answer)
        job = next(job for job in self.jobs if job.tag == unit["jid"])
        assert job.last() != GONE, f"{job.tag} came back"
        change = self.begin(job, self.state("reserved", marks=job.last().marks))
        change.is_fetch = True
        self.end(change)

    def finish(self, job):
        before = job.last()
        marks = before.marks
        if self.random.random() < 0.6:
            change = self.begin(job, GONE)
            answer = self.client.ack(job.tag)
        else:
            failure = {"jid": job.tag, "errtype": "Cut", "message": f"of {job.tag}"}
            failed = (*marks, f'"message":"of {job.tag}"'.encode())
            after = {
                25: self.state("delayed", "ready", marks=failed),
                -1: self.state("buried", marks=failed),
                0: GONE,
            }[job.retry]
            change = self.begin(job, after)
            answer = self.client.command("FAIL " + json.dumps(failure))
        if NO_ROOM_OF_FAKTORY in answer:
            change.after = before
        else:
            assert answer == "+OK", (job.tag, answer)
        self.end(change)
