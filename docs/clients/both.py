# In a folder with this file alone:
#   python3 -m venv venv
#   venv/bin/pip install pyfaktory==0.2.11 greenstalk==2.1.1
#   venv/bin/python both.py
# It prints the job, which ends with `"args":["world"],"reserve_for":1800,"backtrace":5}`.
import greenstalk
from pyfaktory import Client, Job, Producer

with Client(role="producer") as client:  # FAKTORY_URL, or localhost:7419
    Producer(client=client).push(Job(jobtype="Greet", args=["world"], queue="mail"))

with greenstalk.Client(("127.0.0.1", 11300), watch="mail") as worker:
    job = worker.reserve(timeout=10)
    print(job.body)  # JSON
    worker.delete(job)
