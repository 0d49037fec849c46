"""What came of the cases: told as they end, and the tables."""

import threading
import time
import traceback
from dataclasses import dataclass
from typing import NamedTuple

MARKS = {"passed": "ok", "installed": "ok", "failed": "FAIL", "absent": "-"}


class Case(NamedTuple):
    language: str
    protocol: str
    client: str
    name: str

    def __str__(self):
        return f"{self.language}/{self.client}/{self.name}"


@dataclass(frozen=True)
class Result:
    case: Case
    # `absent`: the library has nothing for it, or the peer is not here. `installed` proves nothing.
    outcome: str
    seconds: float = 0.0
    note: str = ""


def spaced(cells, names):
    """The cells in columns that have room for their name and for every mark."""
    wide = max(map(len, MARKS.values()))
    return " ".join(f"{cell:<{max(len(name), wide)}}" for cell, name in zip(cells, names)).rstrip()


class Results:
    def __init__(self):
        self.all = []
        self.skipped = []
        self.lock = threading.Lock()

    def add(self, case, outcome, seconds=0.0, note=""):
        with self.lock:
            self.all.append(Result(case, outcome, seconds, note))
            last_line = note.strip().rpartition("\n")[2]
            print(f"{MARKS[outcome]:<5}{seconds:6.1f} s  {case}  {last_line}", flush=True)

    def run(self, case, call, passed="passed"):
        """Adds what comes of the call, which returns a note or raises; whether it returned."""
        began = time.monotonic()
        try:
            note, outcome = call() or "", passed
        except Exception:
            note, outcome = traceback.format_exc(), "failed"
        self.add(case, outcome, time.monotonic() - began, note)
        return outcome == passed

    def skip(self, language, missing):
        with self.lock:
            self.skipped.append((language, missing))

    def of(self, outcome):
        return [result for result in self.all if result.outcome == outcome]

    def table(self, protocol, names):
        """A row for each client of a protocol, a column for each case. Nothing if none was run."""
        marks = {result.case: MARKS[result.outcome] for result in self.all}
        clients = sorted({case[:3] for case in marks if case.protocol == protocol})
        titles = [f"{language} {client}" for language, _, client in clients]
        width = max([len(protocol), *map(len, titles)])
        rows = [(protocol, names)]
        for title, client in zip(titles, clients):
            rows.append((title, [marks.get(Case(*client, name), "") for name in names]))
        lines = [f"{title:<{width}}  {spaced(cells, names)}" for title, cells in rows]
        return "\n" + "\n".join(lines) + "\n" if clients else ""

    def summary(self):
        """Who was left out, what failed, and the counts as the last line."""
        absent, failed = self.of("absent"), self.of("failed")
        lines = [f"skipped {name}: needs {', '.join(needs)}" for name, needs in self.skipped]
        lines += [f"not to be had: {result.case}: {result.note}" for result in absent]
        lines += [f"FAILED {result.case}\n{result.note}" for result in failed]
        lines.append(f"{len(self.skipped)} languages skipped, {len(absent)} cases not to be had")
        lines.append(f"{len(self.of('passed'))} passed, {len(failed)} failed")
        return "\n".join(lines)
