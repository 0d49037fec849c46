"""What must be true of a server that starts on an image of a power cut."""

import json
import os
import re
import subprocess
from dataclasses import asdict, dataclass

from clients import Gone
from jobs import GONE, Beanstalk, Faktory, State
from program import PROGRAM, Server, environment

# Nobody looks into it but the check itself.
PROBE = "probe"
ASKED_AT_ONCE = 200
CHECK_SECONDS_MAX = 60


@dataclass(frozen=True)
class Expected:
    """Of one job: its states that are possible."""

    tag: str
    queue: str
    id: int  # 0: nobody was told
    body: str  # of beanstalk; of a job of Faktory it is empty, and the states have marks
    states: tuple

    @staticmethod
    def of(job, told):
        job_id = job.id if job.is_id_told(told) else 0
        return Expected(job.tag, job.queue, job_id, job.body.decode(), tuple(job.may_be(told)))

    def problem(self, seen):
        if seen is None:
            return None if GONE in self.states else f"{self.tag} (job {self.id}) is lost"
        if self.id and seen.id != self.id:
            return f"{self.tag} was job {self.id} and is job {seen.id}"
        if self.body and seen.body != self.body.encode():
            return f"{self.tag} (job {seen.id}) has another body"
        if seen.queue != self.queue:
            return f"{self.tag} (job {seen.id}) is in {seen.queue}, not {self.queue}"
        if any(each != GONE and each.takes(seen.kind, seen.pri, seen.body) for each in self.states):
            return None
        if self.states == (GONE,):
            return f"{self.tag} (job {seen.id}) came back"
        wanted = " or ".join(map(str, self.states))
        return f"{self.tag} (job {seen.id}) is {seen.kind}, priority {seen.pri}, not {wanted}"


def dump(expected, path):
    """For a repetition."""
    rows = []
    for each in expected:
        states = [None if state == GONE else state for state in each.states]
        row = asdict(each)
        row["states"] = [
            state and [state.kinds, state.pri, [mark.decode() for mark in state.marks]]
            for state in states
        ]
        rows.append(row)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(rows, file)


def read_expected(path):
    with open(path, encoding="utf-8") as file:
        rows = json.load(file)

    def state(row):
        if row is None:
            return GONE
        return State(tuple(row[0]), row[1], tuple(mark.encode() for mark in row[2]))

    return [Expected(**{**row, "states": tuple(map(state, row["states"]))}) for row in rows]


@dataclass(frozen=True)
class Seen:
    id: int
    queue: str
    kind: str
    pri: int
    body: bytes

    @property
    def is_retrying(self):
        return self.kind == "delayed" and b'"failure"' in self.body

    @property
    def tag(self):
        found = re.search(rb'^<([^>]*)>|"jid":"([^"]*)"', self.body)
        return (found.group(1) or found.group(2)).decode() if found else f"job {self.id}"


def jobs_below(client, end):
    """All jobs with a smaller id, over beanstalk."""
    seen = []
    for first in range(1, end, ASKED_AT_ONCE):
        ids = range(first, min(end, first + ASKED_AT_ONCE))
        client.send(b"".join(b"peek %d\r\nstats-job %d\r\n" % (each, each) for each in ids))
        for each in ids:
            peeked = client.line().split()
            body = client.body(int(peeked[2])) if peeked[0] == "FOUND" else None
            told = client.line().split()
            if body is None:
                continue
            lines = client.body(int(told[1])).decode().splitlines()
            stats = dict(line.split(": ", 1) for line in lines if ": " in line)
            queue = stats["tube"].strip('"')
            seen.append(Seen(each, queue, stats["state"], int(stats["pri"]), body))
    return seen


def next_id(client):
    client.command(f"use {PROBE}")
    job = client.put(b"")
    assert client.delete(job) == "DELETED"
    return job


def faktory_problems(address, seen):
    """What Faktory clients are told of the same jobs. Retries may come due meanwhile."""
    client = Faktory(address, wid="checker")
    try:
        sizes = client.info()["faktory"]["queues"]
        for queue in {each.queue for each in seen}:
            ready = {each.tag for each in seen if each.queue == queue and each.kind == "ready"}
            due = {each.tag for each in seen if each.queue == queue and each.is_retrying}
            size = sizes.get(queue, 0)
            if not len(ready) <= size <= len(ready) + len(due):
                yield f"INFO says {size} jobs in {queue}, not {len(ready)}"
            if not ready or not queue.startswith("faktory"):
                continue
            unit = client.fetch(queue)
            if unit is None or unit["jid"] not in ready | due:
                yield f"a FETCH of {queue} brings {unit}"
            elif client.ack(unit["jid"]) != "+OK":
                yield f"{unit['jid']} cannot be acknowledged"
    finally:
        client.close()


def problems(server, expected):
    """Starts the server on its directory, and answers ([problem], [seen job])."""
    checked = subprocess.run(
        [PROGRAM, "check", server.data],
        capture_output=True,
        env=environment(),
        text=True,
        timeout=CHECK_SECONDS_MAX,
    )
    if os.path.isdir(server.data) and checked.returncode == 4:
        return [f"check says: {checked.stderr.strip()}"], []
    try:
        server.start()
    except AssertionError as error:
        return [str(error)], []
    found = []
    try:
        client = Beanstalk(server.beanstalk_address)
        end = next_id(client)
        seen = jobs_below(client, end)
        by_tag = {each.tag: each for each in seen}
        if len(by_tag) < len(seen):
            found.append("a job is there twice")
        for each in expected:
            problem = each.problem(by_tag.pop(each.tag, None))
            found += [problem] if problem else []
            if each.id >= end:
                found.append(f"the id {each.id} was given before, and is given again")
        found += [f"nobody made {tag}" for tag in by_tag]
        client.close()
        found += faktory_problems(server.faktory_address, seen)
    except (Gone, AssertionError) as error:
        return [*found, f"while it was asked: {error!r}; it said: {server.error_text()}"], []
    return found, seen


def server_on(directory, flags):
    return Server(os.path.join(directory, "data"), flags)
