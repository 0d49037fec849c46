# In a folder with this file alone:
#   python3 -m venv venv
#   venv/bin/pip install pyfaktory==0.2.11
#   venv/bin/python expiring.py
# It prints `hello in time`, and not `hello too late`.
import time

from pyfaktory import Client, Consumer, Job, Producer


def greet(word):
    print("hello", word, flush=True)


if __name__ == "__main__":
    with Client(role="producer") as client:  # FAKTORY_URL, or localhost:7419
        producer = Producer(client=client)
        producer.push(Job(jobtype="Greet", args=["too late"], custom={"expires_in": 1}))
        producer.push(Job(jobtype="Greet", args=["in time"], custom={"expires_in": 600}))
    time.sleep(2)

    with Client(role="consumer") as client:
        consumer = Consumer(client=client, queues=["default"], concurrency=1)
        consumer.register("Greet", greet)
        consumer.run()  # until Ctrl-C
