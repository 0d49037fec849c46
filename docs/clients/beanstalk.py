# In a folder with this file alone:
#   python3 -m venv venv
#   venv/bin/pip install greenstalk==2.1.1
#   venv/bin/python beanstalk.py
import greenstalk

with greenstalk.Client(("127.0.0.1", 11300), use="mail", watch="mail") as client:
    client.put("world")

    job = client.reserve(timeout=10)
    print(f"hello {job.body}")
    client.delete(job)
