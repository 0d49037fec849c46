# In a folder with this file alone:
#   python3 -m venv venv
#   venv/bin/pip install pyfaktory==0.2.11
#   venv/bin/python unique.py
# It prints `refused: Job not unique`, then `syncing 7`, once.
from pyfaktory import Client, Consumer, Job, Producer
from pyfaktory.client import FaktroyWorkProtocolError


def sync(account):
    print("syncing", account, flush=True)


def push(producer, account):
    job = Job(jobtype="Sync", args=[account], custom={"unique_for": 600})
    try:
        producer.push(job)
    except FaktroyWorkProtocolError as error:
        print("refused:", str(error).rpartition("NOTUNIQUE ")[2], flush=True)


if __name__ == "__main__":
    with Client(role="producer") as client:  # FAKTORY_URL, or localhost:7419
        producer = Producer(client=client)
        push(producer, 7)
        push(producer, 7)

    with Client(role="consumer") as client:
        consumer = Consumer(client=client, queues=["default"], concurrency=1)
        consumer.register("Sync", sync)
        consumer.run()  # until Ctrl-C
