"""How late the server does what is due at a time: runs of cron entries, and the removal of expired
jobs, both at once.

Each cron entry runs every second, so its jobs were due at the second in which they were enqueued.
The expiring jobs are tracked: TRACK GET then tells when each was removed.
"""

import json
import os
import random
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import arguments  # noqa: E402
import heading  # noqa: E402
import results  # noqa: E402
import servers  # noqa: E402
from client import BATCH, Client  # noqa: E402
from goal import at_most  # noqa: E402
from lateness import seconds_of, timestamp  # noqa: E402

LATENESS_MS = at_most(50, 10)
JOBS = 100_000
ENTRIES = 100
SECONDS = 30
LEAD_S = 5

ENTRY = """
[[cron]]
name = "entry-{number}"
schedule = "@every 1s"
[cron.job]
type = "Tick"
queue = "ticks"
"""


def push_expiring(client, options):
    """When each of them expires."""
    begin = time.time() + LEAD_S + options.jobs / 20_000
    ends = [begin + random.random() * options.seconds for _ in range(options.jobs)]
    client.push_all(options.jobs, lambda number: {
        "jid": f"expiring-{number}", "jobtype": "Late", "queue": "nobody", "args": [],
        "custom": {"track": 1, "expires_at": timestamp(ends[number])}})
    if time.time() > begin:
        raise RuntimeError("pushing took longer than the lead")
    return ends


def bulk(client):
    """The next reply, of one line."""
    client.line()
    return json.loads(client.line())


def lateness_of_expiry(client, ends):
    """In seconds, of each job."""
    found = []
    for first in range(0, len(ends), BATCH):
        numbers = range(first, min(first + BATCH, len(ends)))
        client.say("".join(f"TRACK GET expiring-{number}\r\n" for number in numbers).encode())
        for number in numbers:
            track = bulk(client)
            if track["state"] != "dead":
                raise RuntimeError(f"job {number} is {track['state']}")
            found.append(seconds_of(track["updated_at"]) - ends[number])
    return found


def lateness_of_cron(client, options):
    """The same of each run. Those of the first second are left out: then the server starts."""
    client.ask("INFO")
    count = json.loads(client.line())["faktory"]["queues"].get("ticks", 0)
    if count < options.entries * options.seconds:
        raise RuntimeError(f"only {count} runs of cron entries")
    found = []
    for number in range(count):
        client.say(b"FETCH ticks\r\n")
        enqueued = seconds_of(bulk(client)["enqueued_at"])
        if number >= options.entries:
            found.append(enqueued % 1)
    return found


def row(what, lateness):
    lateness.sort()
    count = len(lateness)
    p50, p99, longest = (1000 * lateness[place] for place in
                         (count // 2, count * 99 // 100, count - 1))
    return (f"| {what} | {p50:.2f} | {p99:.2f} | {longest:.1f} "
            f"| {LATENESS_MS.columns(p99, ' ms')} |")


def main():
    parser = arguments.Parser("timers", __doc__)
    parser.add_argument("--jobs", type=arguments.positive, default=JOBS,
                        help=f"that expire; default: {JOBS}")
    parser.add_argument("--entries", type=arguments.positive, default=ENTRIES,
                        help=f"of cron; default: {ENTRIES}")
    parser.add_argument("--seconds", type=arguments.positive, default=SECONDS,
                        help=f"within which all of it is due; default: {SECONDS}")
    options = results.read_options(parser)
    arguments.build("millrace")
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as folder:
        config = os.path.join(folder, "cron.toml")
        with open(config, "w") as file:
            file.writelines(ENTRY.format(number=number) for number in range(options.entries))
        with servers.millrace("--config", config, protocol="faktory") as server:
            client = Client(server.port, "faktory")
            ends = push_expiring(client, options)
            time.sleep(max(ends) - time.time() + 1)
            expiry = lateness_of_expiry(client, ends)
            cron = lateness_of_cron(client, options)
            client.close()
    text = "\n".join([
        heading.heading("`--sync always`"), "",
        "| how late | p50, ms | p99, ms | longest, ms | floor | aim | verdict |",
        "|---|---|---|---|---|---|---|",
        row(f"{len(cron):,} runs of {options.entries:,} cron entries", cron),
        row(f"removal of {options.jobs:,} expired jobs within {options.seconds} s", expiry)])
    print(text)
    if options.write:
        results.write("timers", text)


if __name__ == "__main__":
    main()
