"""pyfaktory: `push` or `work`."""

import json
import os
import sys

from handlers import HANDLERS
from pyfaktory import Client, Consumer, Job, Producer


class Pusher:
    def __init__(self):
        self.client = None

    def producer(self):
        if self.client is None:
            client = Client(role="producer")
            client.connect()
            self.client = client
        return Producer(client=self.client)

    def push(self, line):
        """The error, or None."""
        work = json.loads(line)
        try:
            if isinstance(work, dict):
                self.producer().push(Job(**work))
                return None
            refused = self.producer().push_bulk([Job(**job) for job in work])
            return json.dumps(refused) if refused else None
        except Exception as error:
            self.client = None
            return f"{type(error).__name__} {error}"


def push():
    pusher = Pusher()
    for line in sys.stdin:
        error = pusher.push(line)
        print(f"error {error}" if error else "ok", flush=True)


def work():
    with Client(role="consumer", beat_period=5, labels=["interop", "tried"]) as client:
        consumer = Consumer(
            client=client,
            queues=os.environ["INTEROP_QUEUES"].split(","),
            priority="strict",
            concurrency=int(os.environ["INTEROP_CONCURRENCY"]),
        )
        for jobtype, handler in HANDLERS.items():
            consumer.register(jobtype, handler, bind=True)
        consumer.run()


{"push": push, "work": work}[sys.argv[1]]()
