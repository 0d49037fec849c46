# In a folder with this file alone:
#   python3 -m venv venv
#   venv/bin/pip install pyfaktory==0.2.11
#   venv/bin/python throttles.py
# It prints `end 0` to `end 9`, and no more than two of them run at a time.
import time

from pyfaktory import Client, Consumer, Job, Producer


def say(line):
    # In one write: each job runs in a process of its own.
    print(line + "\n", end="", flush=True)


def greet(number):
    say(f"begin {number}")
    time.sleep(1)
    say(f"end {number}")


if __name__ == "__main__":
    with Client(role="producer") as client:  # FAKTORY_URL, or localhost:7419
        for number in range(10):
            Producer(client=client).push(Job(jobtype="Greet", args=[number], queue="greetings"))

    with Client(role="consumer") as client:
        consumer = Consumer(client=client, queues=["greetings"], concurrency=10)
        consumer.register("Greet", greet)
        consumer.run()  # until Ctrl-C
