"""The package `faktory`: `push` or `work`."""

import json
import os
import sys

import faktory
from faktory import Worker
from handlers import HANDLERS


def push():
    client = None
    for line in sys.stdin:
        try:
            if client is None:
                client = faktory.get_client()
                client.connect()
            job = json.loads(line)
            pushed = client.queue(job.pop("jobtype"), **job)
            print("ok" if pushed else "error not pushed", flush=True)
        except Exception as error:
            client = None
            print(f"error {type(error).__name__} {error}", flush=True)


def work():
    worker = Worker(
        queues=os.environ["INTEROP_QUEUES"].split(","),
        concurrency=int(os.environ["INTEROP_CONCURRENCY"]),
        labels=["interop", "tried"],
    )
    worker.send_heartbeat_every = 5
    for jobtype, handler in HANDLERS.items():
        worker.register(jobtype, handler, bind=True)
    worker.run()


{"push": push, "work": work}[sys.argv[1]]()
