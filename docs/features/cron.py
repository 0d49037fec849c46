# In a folder with this file alone:
#   python3 -m venv venv
#   venv/bin/pip install pyfaktory==0.2.11
#   venv/bin/python cron.py
# It prints `sweeping` every five seconds, and a report in the night.
from pyfaktory import Client, Consumer


def sweep():
    print("sweeping", flush=True)


def report(what, options):
    print("reporting", what, "as", options["format"], flush=True)


if __name__ == "__main__":
    with Client(role="consumer") as client:  # FAKTORY_URL, or localhost:7419
        consumer = Consumer(client=client, queues=["default", "low"], concurrency=1)
        consumer.register("Sweep", sweep)
        consumer.register("Report", report)
        consumer.run()  # until Ctrl-C
