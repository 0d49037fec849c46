"""Space under endless change: the same jobs are released, buried, kicked, failed and retried for
--minutes, and the journal's segments are weighed every second beside what the jobs need.
./dev bench churn [--minutes N]

Fails when they ever take more than twice what is needed and four segments.
"""

import argparse
import json
import os
import re
import time
import urllib.request

import servers
from bystander import Client, load

SEGMENT = 4 << 20
JOBS = 20_000
BATCH = 100


def journal_bytes(folder):
    """Of the segments; the spare files for a full disk are always there."""
    total = 0
    for name in os.listdir(folder):
        if not name.endswith(".log"):
            continue
        try:
            total += os.path.getsize(os.path.join(folder, name))
        except FileNotFoundError:  # cleaned meanwhile
            pass
    return total


def live_bytes(web_port):
    with urllib.request.urlopen(f"http://127.0.0.1:{web_port}/metrics") as answer:
        text = answer.read().decode()
    return float(re.search(r"^millrace_journal_live_bytes ([\d.e+]+)", text, re.M).group(1))


def churn_put_jobs(client):
    """Releases some, buries some, and kicks those."""
    ids = []
    for _ in range(BATCH):
        line = client.ask("reserve-with-timeout 0")
        if not line.startswith("RESERVED"):
            break
        ids.append(line.split()[1])
        client.file.readline()
    for i, job in enumerate(ids):
        client.ask(f"bury {job} 0" if i % 2 else f"release {job} 0 0")
    client.ask(f"kick {BATCH}")
    return len(ids)


def churn_pushed_jobs(client):
    """Fails some, and has them retried, those too that died of it."""
    failed = 0
    for _ in range(BATCH // 4):
        if client.ask("FETCH q0") == "$-1":
            break
        jid = json.loads(client.file.readline())["jid"]
        fail = {"jid": jid, "errtype": "Error", "message": "again", "backtrace": ["a", "b"]}
        client.ask("FAIL " + json.dumps(fail))
        failed += 1
    for state in ("retries", "dead"):
        client.ask(f'MUTATE {{"cmd":"requeue","target":"{state}","filter":{{}}}}')
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    minutes = parser.parse_args().minutes
    faktory_port, web_port = servers.free_port(), servers.free_port()
    flags = ["--sync", "off", "--segment-bytes", str(SEGMENT), "--faktory",
             f"127.0.0.1:{faktory_port}", "--web", f"127.0.0.1:{web_port}"]
    with servers.millrace(*flags) as server:
        load(server.port, work="put", depth=50, operations=JOBS, body_bytes=500)
        load(faktory_port, work="push", depth=50, operations=JOBS // 4, body_bytes=500)
        putter = Client(server.port)
        putter.ask("watch q0")
        putter.ask("ignore default")
        worker = Client(faktory_port, 'HELLO {"v":2}')
        end = time.monotonic() + minutes * 60
        changes, worst, largest, next_look = 0, 0, 0, 0
        while time.monotonic() < end:
            changes += 2 * churn_put_jobs(putter) + 3 * churn_pushed_jobs(worker)
            if time.monotonic() < next_look:
                continue
            next_look = time.monotonic() + 1
            total = journal_bytes(os.path.join(server.folder, "data"))
            live = live_bytes(web_port)
            largest = max(largest, total)
            worst = max(worst, total / (2 * live + 4 * SEGMENT))
            if worst > 1:
                raise SystemExit(f"{total} bytes of journal for {live} that are needed")
        print(f"{changes:,} changes of {JOBS + JOBS // 4:,} jobs in {minutes:g} minutes: "
              f"{live / 1e6:.1f} MB needed, never more than {largest / 1e6:.1f} MB of segments, "
              f"{worst:.0%} of what is allowed")


if __name__ == "__main__":
    main()
