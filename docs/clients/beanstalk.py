# pip install greenstalk && python3 beanstalk.py
import greenstalk

with greenstalk.Client(("127.0.0.1", 11300), use="mail", watch="mail") as client:
    client.put("world")

    job = client.reserve(timeout=10)
    print(f"hello {job.body}")
    client.delete(job)
