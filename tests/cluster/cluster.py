"""Clients of three nodes keep working while nodes, engine and network fail. At the end a checker
judges what the clients saw.

    cluster.py --engine nats --failovers 100 --seed 7

The seed decides which faults come, and when. What the processes make of them does not follow from
it.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict

from checker import judge
from engines import Nats, Postgres
from faults import Faults
from history import OK, History
from libraries import Libraries
from network import open_network
from nodes import Cluster
from traffic import Drainer, Traffic

ENGINES = {"nats": Nats, "postgres": Postgres}
CALM_SECONDS = (0.3, 1.5)  # between two faults
DRAIN_SECONDS_MAX = 120
SERVICE_SECONDS_MAX = 60


class Run:
    """One cluster from its start to the verdict."""

    def __init__(self, engine, seed, report=print):
        self.seed = seed
        self.random = random.Random(f"faults-{seed}")
        self.report = report
        self.folder = tempfile.mkdtemp(prefix="millrace-cluster-")
        network = open_network(report)
        self.cluster = Cluster(network, ENGINES[engine](network, self.folder), self.folder)
        self.history = History()
        self.faults = Faults(self.cluster, self.random, self.note)
        self.crashes = []
        self.began = time.time()
        self.has_failed = True
        self.keeps = False

    def note(self, line):
        self.report(f"{time.time() - self.began:7.1f} s  {line}")

    def failovers(self):
        """So far."""
        return len(self.cluster.takeovers()) - 1

    def revive(self):
        """No node ends by itself. One that did is noted, and started again."""
        for name, status, words in self.cluster.revive():
            self.crashes.append(f"node {name} had ended with status {status}: {words}")
            self.note(self.crashes[-1])

    def wait_for_service(self):
        """Until a client is answered that asked after now."""
        since, end = time.time(), time.monotonic() + SERVICE_SECONDS_MAX
        while time.monotonic() < end:
            latest = [each for each in self.history.operations[-20:] if each.kind == "put"]
            if any(each.begin > since and each.outcome == OK for each in latest):
                return
            time.sleep(0.02)
        raise AssertionError(f"no client is answered for {SERVICE_SECONDS_MAX} s")

    def play(self, plan):
        """Does the faults that `plan` names, one after the other. Answers the verdict."""
        try:
            self.cluster.start()
            traffic = Traffic(self.cluster, self.history, self.seed)
            libraries = Libraries(self.cluster, self.history, self.seed)
            self.note(libraries.text())
            traffic.start()
            libraries.start()
            self.wait_for_service()
            self.note(f"seed {self.seed}: three nodes on {self.cluster.engine.name}")
            for name in plan:
                time.sleep(self.random.uniform(*CALM_SECONDS))
                self.revive()
                self.faults.do(name)
                self.wait_for_service()
            libraries.stop()
            traffic.stop()
            Drainer(self.cluster, self.history, DRAIN_SECONDS_MAX).drain()
            moments = [each[0] for each in self.cluster.takeovers()]
            verdict = judge(self.history.operations, moments, self.cluster.ends())
            self.revive()
            verdict.failovers = self.failovers()
            surprises = traffic.surprises() + libraries.surprises() + self.crashes
            self.summarize(verdict, surprises)
            self.has_failed = bool(verdict.violations() or surprises)
            return verdict, surprises
        finally:
            self.end()

    def summarize(self, verdict, surprises):
        counts = Counter(name for _, name in self.faults.done)
        shown = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
        self.note(f"{verdict.failovers} failovers; {counts.total()} faults: {shown}")
        self.note(verdict.text())
        for name, seconds in sorted(self.gap_of_faults(verdict).items()):
            self.note(f"longest gap of {name}: {seconds:.2f} s")
        for kind, found in verdict.violations().items():
            for each in found[:5]:
                self.note(f"{kind}: {each}")
        for each in surprises[:5]:
            self.note(f"unexpected: {each}")

    def gap_of_faults(self, verdict):
        """The longest gap that began in the last moment before each kind of fault, or after."""
        longest = {}
        for seconds, since in verdict.gaps:
            begun = [name for begin, name in self.faults.done if begin - 0.5 < since]
            if begun:
                longest[begun[-1]] = max(longest.get(begun[-1], 0), seconds)
        return longest

    def end(self):
        """What a run that failed leaves is kept, to be looked at."""
        self.cluster.end()
        if not self.has_failed and not self.keeps:
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        with open(os.path.join(self.folder, "history.jsonl"), "w", encoding="utf-8") as file:
            for each in self.history.operations:
                file.write(json.dumps(asdict(each)) + "\n")
        moments = [each[0] for each in self.cluster.takeovers()]
        with open(os.path.join(self.folder, "moments.json"), "w", encoding="utf-8") as file:
            json.dump({"takeovers": moments, "ends": self.cluster.ends()}, file)
        self.note(f"logs and history are in {self.folder}")


def endless(run, failovers, minutes):
    """Faults in an order that follows from the seed, until there were so many failovers."""
    end = time.monotonic() + minutes * 60
    names = run.faults.names()
    while run.failovers() < failovers and time.monotonic() < end:
        yield run.random.choice(names)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--engine", choices=sorted(ENGINES), default="nats")
    parser.add_argument("--failovers", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--faults", help="only these, separated by commas, each once")
    parser.add_argument("--keep", action="store_true", help="keep logs and history")
    options = parser.parse_args()
    run = Run(options.engine, options.seed)
    run.keeps = options.keep
    plan = options.faults.split(",") if options.faults else None
    verdict, surprises = run.play(plan or endless(run, options.failovers, options.minutes))
    failed = len(verdict.violations()) + bool(surprises)
    print(f"{int(not failed)} passed, {int(bool(failed))} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
