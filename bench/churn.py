"""Space under endless change: the same jobs are released, buried, kicked, failed and retried for
--minutes, and the journal's segments are compared every second with what the jobs need.

Fails when they ever take more than twice what is needed and four segments.
"""

import json
import time

import arguments
import servers
from client import Client
from loading import load

SEGMENT = 4 << 20
JOBS = 20_000
BATCH = 100


def churn_put_jobs(client):
    """Releases some, buries some, and kicks those."""
    ids = []
    for _ in range(BATCH):
        line = client.ask("reserve-with-timeout 0")
        if not line.startswith("RESERVED"):
            break
        ids.append(line.split()[1])
        client.line()
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
        jid = json.loads(client.line())["jid"]
        fail = {"jid": jid, "errtype": "Error", "message": "again", "backtrace": ["a", "b"]}
        client.ask("FAIL " + json.dumps(fail))
        failed += 1
    for state in ("retries", "dead"):
        client.ask(f'MUTATE {{"cmd":"requeue","target":"{state}","filter":{{}}}}')
    return failed


def main():
    parser = arguments.Parser("churn", __doc__)
    parser.add_argument("--minutes", type=arguments.positive_float, default=60, help="default: 60")
    minutes = parser.parse_args().minutes
    arguments.build("millrace", "load")
    with servers.millrace("--sync", "off", "--segment-bytes", str(SEGMENT),
                          others=("faktory", "web")) as server:
        load(server.port, work="put", depth=50, operations=JOBS, body_bytes=500)
        load(server.ports["faktory"], work="push", depth=50, operations=JOBS // 4, body_bytes=500)
        putter = Client(server.port)
        putter.ask("watch q0")
        putter.ask("ignore default")
        worker = Client(server.ports["faktory"], "faktory")
        end = time.monotonic() + minutes * 60
        changes, worst, largest, next_look = 0, 0, 0, 0
        while largest == 0 or time.monotonic() < end:
            changes += 2 * churn_put_jobs(putter) + 3 * churn_pushed_jobs(worker)
            if time.monotonic() < next_look:
                continue
            next_look = time.monotonic() + 1
            total = server.journal_bytes()
            live = server.metric("millrace_journal_live_bytes")
            largest = max(largest, total)
            worst = max(worst, total / (2 * live + 4 * SEGMENT))
            if worst > 1:
                raise SystemExit(f"{total} bytes of journal for {live} that are needed")
        print(f"{changes:,} changes of {JOBS + JOBS // 4:,} jobs in {minutes:g} minutes: "
              f"{live / 1e6:.1f} MB needed, never more than {largest / 1e6:.1f} MB of segments, "
              f"{worst:.0%} of what is allowed")


if __name__ == "__main__":
    main()
