# In a folder with this file alone:
#   python3 -m venv venv
#   venv/bin/pip install pyfaktory==0.2.11
#   venv/bin/python faktory.py
from pyfaktory import Client, Consumer, Job, Producer


def greet(name):
    print(f"hello {name}", flush=True)


if __name__ == "__main__":
    with Client(role="producer") as client:  # FAKTORY_URL, or localhost:7419
        Producer(client=client).push(Job(jobtype="Greet", args=["world"]))

    with Client(role="consumer") as client:
        consumer = Consumer(client=client, queues=["default"], concurrency=1)
        consumer.register("Greet", greet)
        consumer.run()  # until Ctrl-C
