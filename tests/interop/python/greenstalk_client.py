"""greenstalk, driven command by command."""

import os

import greenstalk
from driver import serve

HOST, PORT = os.environ["BEANSTALKD_URL"].rsplit(":", 1)
ADDRESS = PORT if HOST == "unix" else (HOST, int(PORT))


class Driven:
    def __init__(self):
        self.client = None
        self.reserved = {}
        self.connect()

    def connect(self):
        self.client = greenstalk.Client(ADDRESS, encoding=None)
        self.reserved = {}

    def put(self, tube, pri, delay, ttr, body):
        self.client.use(tube)
        job = self.client.put(
            bytes.fromhex(body), priority=int(pri), delay=int(delay), ttr=int(ttr)
        )
        return ["id", str(job)]

    def watch(self, tube):
        self.client.watch(tube)

    def ignore(self, tube):
        self.client.ignore(tube)

    def reserve(self, seconds):
        try:
            job = self.client.reserve(timeout=int(seconds))
        except greenstalk.TimedOutError:
            return ["none"]
        self.reserved[str(job.id)] = job
        return ["job", str(job.id), job.body.hex()]

    def delete(self, job):
        self.client.delete(int(job))

    def release(self, job, pri, delay):
        self.client.release(self.reserved[job], priority=int(pri), delay=int(delay))

    def bury(self, job, pri):
        self.client.bury(self.reserved[job], priority=int(pri))

    def touch(self, job):
        self.client.touch(self.reserved[job])

    def kick(self, tube, count):
        self.client.use(tube)
        self.client.kick(int(count))

    def pause(self, tube, seconds):
        self.client.pause_tube(tube, int(seconds))

    def stats(self):
        return stats_answer(self.client.stats())

    def stats_tube(self, tube):
        return stats_answer(self.client.stats_tube(tube))

    def stats_job(self, job):
        return stats_answer(self.client.stats_job(int(job)))

    def tubes(self):
        return ["tubes", *self.client.tubes()]


def stats_answer(stats):
    return ["stats", *(f"{name}={value}" for name, value in stats.items())]


driven = Driven()
serve(
    {
        name.replace("_", "-"): getattr(driven, name)
        for name in dir(driven)
        if callable(getattr(driven, name)) and not name.startswith("_")
    }
)
