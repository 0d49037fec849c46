"""What clients of a cluster saw: one operation after the other, with times."""

import threading
import time
from dataclasses import dataclass

OK = "ok"
NOTHING = "nothing"  # a take found no job
MISSING = "missing"  # the server does not know such a job, or it is not the client's
UNKNOWN = "unknown"  # the connection broke before the answer


@dataclass(frozen=True)
class Operation:
    kind: str  # put, take, finish, give_back, close
    begin: float  # the moment, in seconds
    end: float
    outcome: str
    connection: int
    opened: float = 0.0  # when the connection was
    job: str = ""
    hold: float = 0.0  # of a take: for how many seconds the server promises the job
    lasts: bool = False  # of a take: the promise outlives the connection
    node: str = ""  # the one that the client has connected to


class History:
    def __init__(self):
        self.lock = threading.Lock()
        self.operations = []
        self.connections = 0
        self.backlog = 0  # jobs put and not finished, as far as clients know

    def add(self, operation):
        with self.lock:
            self.operations.append(operation)
            if operation.outcome == OK:
                self.backlog += {"put": 1, "finish": -1}.get(operation.kind, 0)

    def next_connection(self):
        with self.lock:
            self.connections += 1
            return self.connections


def now():
    return time.time()
