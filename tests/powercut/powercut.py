#!/usr/bin/env python3
"""Power cuts of the real program: `./dev powercut --help`.

A server runs with recorder.c preloaded while clients change jobs over both protocols. From the
notes, images of the disk at moments of the run are built (disk.py), and a server must start on
each: with every change that was acknowledged, and without damage (checks.py). An image may be the
disk of the next run, so that recoveries are cut as well.
"""

import argparse
import contextlib
import os
import random as chance
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "end_to_end"))

import checks  # noqa: E402
import disk  # noqa: E402
import jobs  # noqa: E402
from checks import Expected, server_on  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(HERE))
DESCRIPTION = "Cuts the power of the real program, and checks what it finds on the disk."
KEPT = os.path.join(ROOT, "build", "powercut")
FLAGS = ["--segment-bytes=1048576", "--max-job-size=100000"]
# Little enough that most bodies stay on the disk, and that some jobs are refused.
MEMORY_FLAG = "--memory-limit=150000"
BEANSTALK_CLIENTS = 3
FAKTORY_CLIENTS = 2
CHANGES = 250  # of each client in one run
IMAGES = 24  # of one run
RUNS = 3  # one on an image of the other, until a seed is done
SYNC_US_MAX = 3000
PROBLEMS_SHOWN = 40
# After such a note a cut finds something half done.
TELLING = {"B", "E", "O", "R", "U", "S", "T", "A", "M"}


@contextlib.contextmanager
def filling(path, random, is_disk_small):
    """The disk is full now and then, while the file is there."""
    is_over = threading.Event()

    def fill():
        while not is_over.wait(random.uniform(0.05, 0.8)):
            with open(path, "w", encoding="utf-8"):
                is_over.wait(random.uniform(0.1, 1.5))
            os.unlink(path)

    thread = threading.Thread(target=fill)
    if is_disk_small:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        if is_disk_small:
            thread.join()


def build_recorder(directory):
    library = os.path.join(directory, "recorder.so")
    command = ["cc", "-O1", "-shared", "-fPIC", "-o", library, os.path.join(HERE, "recorder.c")]
    subprocess.run([*command, "-ldl", "-lpthread"], check=True)
    return library


class World:
    """All that follows from one seed, but for the moments at which threads run."""

    def __init__(self, seed, directory, lose=None, kept=KEPT):
        self.seed = seed
        self.directory = directory
        self.kept = kept
        self.lose = lose
        self.random = chance.Random(seed)
        self.recorder = build_recorder(directory)
        self.flags = list(FLAGS)
        if self.random.random() < 0.3:
            self.flags.append(MEMORY_FLAG)
        self.is_disk_small = self.random.random() < 0.3
        self.jobs = {name: [] for name in self.producer_names()}
        self.base = None
        self.images = 0

    @staticmethod
    def producer_names():
        names = [f"beanstalk-{i}" for i in range(BEANSTALK_CLIENTS)]
        return names + [f"faktory-{i}" for i in range(FAKTORY_CLIENTS)]

    def path(self, name):
        return os.path.join(self.directory, name)

    def record(self):
        """The notes of a run on the image `base`."""
        place = self.path("run")
        shutil.rmtree(place, ignore_errors=True)
        os.mkdir(place)
        log = os.path.join(place, "notes")
        server = server_on(place, self.flags)
        disk.store(self.base, server.data)
        server.env = {
            "LD_PRELOAD": self.recorder,
            "RECORDER_DATA": server.data,
            "RECORDER_LOG": log,
            "RECORDER_SYNC_US": str(self.random.randrange(SYNC_US_MAX)),
            "RECORDER_LOSE": self.lose or "",
            "RECORDER_FULL": os.path.join(place, "full"),
        }
        try:
            server.start()
            with filling(os.path.join(place, "full"), self.random, self.is_disk_small):
                self.work(server)
            if self.random.random() < 0.5:
                server.kill()
            else:
                server.terminate()
        finally:
            server.end()
        return disk.read_notes(log)

    def work(self, server):
        """Clients of both protocols at the same time."""
        failures = []

        def run(producer, address):
            try:
                producer.run(address, CHANGES)
            except Exception:
                failures.append(traceback.format_exc())

        threads = []
        for name, own in self.jobs.items():
            is_faktory = name.startswith("faktory")
            kind = jobs.FaktoryProducer if is_faktory else jobs.BeanstalkProducer
            producer = kind(chance.Random(self.random.getrandbits(64)), name, own)
            address = server.faktory_address if is_faktory else server.beanstalk_address
            threads.append(threading.Thread(target=run, args=(producer, address)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise AssertionError(f"the work failed: {failures[0]}; it said: {server.error_text()}")

    def moments(self, notes):
        """Where to cut: anywhere, but mostly where something is half done."""
        telling = [i + 1 for i, note in enumerate(notes) if note.kind in TELLING - {"S", "B", "E"}]
        after = [i + 1 for i, note in enumerate(notes) if note.kind in TELLING]
        picked = [self.random.choice(telling) for _ in range(IMAGES // 3)]
        picked += [self.random.choice(after) for _ in range(IMAGES // 3)]
        picked += [self.random.randint(0, len(notes)) for _ in range(IMAGES - len(picked))]
        return sorted(picked)

    def all_jobs(self):
        return [job for own in self.jobs.values() for job in own]

    def run_once(self, is_over=lambda: False):
        """One run and its images; answers the problems of the first image that has some."""
        notes = self.record()
        played = disk.Disk(self.base)
        next_base = self.random.randrange(IMAGES)
        following = None
        for number, moment in enumerate(self.moments(notes)):
            if is_over():
                return []
            while played.place < moment:
                played.play(notes[played.place])
            luck = disk.Luck.draw(self.random)
            names = disk.image(played, luck, self.random)
            expected = [Expected.of(job, played.told) for job in self.all_jobs()]
            found, seen = self.check(names, expected)
            self.images += 1
            if found:
                what = f"note {moment} of {len(notes)}, {luck}"
                return [self.keep(names, expected, what), *found]
            if number == next_base:
                following = (names, dict(played.told), seen)
        self.go_on(*following)
        return []

    def check(self, names, expected):
        place = self.path("image")
        shutil.rmtree(place, ignore_errors=True)
        os.mkdir(place)
        server = server_on(place, self.flags)
        disk.store(names, server.data)
        try:
            found, seen = checks.problems(server, expected)
            if not found and self.random.random() < 0.2:
                server.kill()
                try:
                    server.start()
                except AssertionError as error:
                    found = [f"at the second start: {error}"]
            return found, seen
        finally:
            server.end()

    def go_on(self, names, told, seen):
        """The image is the disk of the next run. What was seen of a job is what it is."""
        by_tag = {each.tag: each for each in seen}
        self.base = names
        for own in self.jobs.values():
            for job in own:
                found = by_tag.get(job.tag)
                taken = [
                    state
                    for state in job.may_be(told)
                    if (found is None) == (state == jobs.GONE)
                    and (found is None or state.takes(found.kind, found.pri, found.body))
                ]
                told_id = job.id if job.is_id_told(told) else 0
                job.first = taken[-1]
                job.id = found.id if found else told_id
                job.changes = []

    def keep(self, names, expected, what):
        """Keeps the image; answers how to see it again."""
        place = os.path.join(self.kept, f"{self.seed}-{self.images}")
        shutil.rmtree(place, ignore_errors=True)
        os.makedirs(place)
        disk.store(names, os.path.join(place, "data"))
        checks.dump(expected, os.path.join(place, "expected.json"))
        with open(os.path.join(place, "flags"), "w", encoding="utf-8") as file:
            file.write("\n".join(self.flags))
        return f"the image is kept; again with: ./dev powercut --image {place}"


def again(place):
    """Checks an image that was kept; answers the problems."""
    with open(os.path.join(place, "flags"), encoding="utf-8") as file:
        flags = file.read().split()
    with tempfile.TemporaryDirectory(prefix="millrace-powercut-") as directory:
        server = server_on(directory, flags)
        disk.store(disk.load(os.path.join(place, "data")), server.data)
        try:
            expected = checks.read_expected(os.path.join(place, "expected.json"))
            return checks.problems(server, expected)[0]
        finally:
            server.end()


def show(found):
    for line in found[:PROBLEMS_SHOWN]:
        print(f"    {line}")
    if len(found) > PROBLEMS_SHOWN:
        print(f"    and {len(found) - PROBLEMS_SHOWN} more")


def run_once(world, is_over):
    """A run that cannot be played to its end is a failure as well: the server may have ended."""
    try:
        return world.run_once(is_over)
    except Exception:
        return traceback.format_exc().splitlines()


def live(seed, is_over):
    """One world; answers (images, whether it failed)."""
    with tempfile.TemporaryDirectory(prefix="millrace-powercut-") as directory:
        world = World(seed, directory)
        found = []
        for _ in range(RUNS):
            if not found and not is_over():
                found = run_once(world, is_over)
        print(f"{'FAILED' if found else 'ok'} seed {seed}: {world.images} images", flush=True)
        show(found)
        return world.images, bool(found)


def live_for(seconds, seed):
    """Worlds from that seed on until the time is over; answers (images, failures)."""
    end = time.monotonic() + seconds
    images = failures = 0
    while time.monotonic() < end:
        more, has_failed = live(seed, lambda: time.monotonic() > end)
        images += more
        failures += has_failed
        seed += 1
    return images, failures


def main():
    parser = argparse.ArgumentParser(prog="./dev powercut", description=DESCRIPTION)
    for unit in ("seconds", "minutes", "hours"):
        parser.add_argument(f"--{unit}", type=float, default=0, help="new worlds for that long")
    told = "one world; its clients run at other moments each time"
    parser.add_argument("--seed", type=int, help=told)
    parser.add_argument("--first-seed", type=int, help="worlds from this on; the default is drawn")
    parser.add_argument("--image", help="check an image that was kept")
    arguments = parser.parse_args()
    if arguments.image:
        found = again(arguments.image)
        show(found)
        sys.exit(1 if found else 0)
    if arguments.seed is not None:
        images, failures = live(arguments.seed, lambda: False)
    else:
        first = arguments.first_seed
        first = chance.SystemRandom().randrange(1 << 32) if first is None else first
        print(f"first seed {first}", flush=True)
        seconds = arguments.seconds + 60 * (arguments.minutes + 60 * arguments.hours) or 60
        images, failures = live_for(seconds, first)
    print(f"{images - failures} passed, {failures} failed")
    sys.exit(1 if failures or not images else 0)


if __name__ == "__main__":
    main()
