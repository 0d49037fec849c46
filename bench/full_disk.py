"""What a client waits on a full disk while another churns.

A file system in memory of that size is filled with jobs, nearly all of which are needed. Then one
client reserves, buries and kicks jobs, 300 at a time and as fast as it can, so that the whole log
is cleaned again and again; another one deletes a job at a time, and its waits are shown. Mounting
needs root.
"""

import os
import subprocess
import tempfile
import threading
import time

import arguments
import servers
from client import Client

BODY = "b" * 1000
PUT = f"put 100 0 600 {len(BODY)}\r\n{BODY}\r\n".encode()
AT_ONCE = 300
DELETE_EACH = 7  # the ids that the other client does not meet at once


class Disk:
    """As long as it is open: a file system of that size, mounted at `path`."""

    def __init__(self, gigabytes):
        self.path = tempfile.mkdtemp(prefix="millrace-disk-")
        mount = ["mount", "-t", "tmpfs", "-o", f"size={int(gigabytes * 2**30)}", "tmpfs"]
        subprocess.run([*mount, self.path], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", self.path], check=True)
        os.rmdir(self.path)


def tell_all(client, commands):
    """The first words of the replies; bodies are skipped."""
    client.say(b"".join(commands))
    replies = []
    for _ in commands:
        words = client.line().split()
        if words[0] == "RESERVED":
            client.file.read(int(words[2]) + 2)
        replies.append(words)
    return replies


def fill(client):
    jobs = 0
    while True:
        inserted = [words[0] == "INSERTED" for words in tell_all(client, [PUT] * AT_ONCE)]
        jobs += sum(inserted)
        if not all(inserted):
            return jobs


def churn(client):
    reserves = [b"reserve-with-timeout 0\r\n"] * AT_ONCE
    taken = [words[1] for words in tell_all(client, reserves) if words[0] == "RESERVED"]
    tell_all(client, [f"bury {job} 100\r\n".encode() for job in taken])
    client.ask("kick 100000")
    return len(taken)


def delete_jobs(port, is_over, waits):
    client = Client(port)
    job = 1
    while not (is_over.is_set() and waits):
        begin = time.monotonic()
        client.ask(f"delete {job}")
        waits.append(time.monotonic() - begin)
        job += DELETE_EACH
        time.sleep(0.002)


def main():
    parser = arguments.Parser("full-disk", __doc__)
    parser.add_argument("--gigabytes", type=arguments.positive_float, default=3,
                        help="of the disk; default: 3")
    parser.add_argument("--seconds", type=arguments.positive_float, default=60,
                        help="default: 60")
    options = parser.parse_args()
    arguments.build("millrace")
    with Disk(options.gigabytes) as disk:
        with servers.millrace("--data", disk.path + "/data", others=("web",)) as server:
            client = Client(server.port)
            print(f"full with {fill(client):,} jobs of {len(BODY)} bytes")
            is_over, waits = threading.Event(), []
            bystander = threading.Thread(target=delete_jobs, args=(server.port, is_over, waits))
            bystander.start()
            changes, end = 0, time.monotonic() + options.seconds
            try:
                while time.monotonic() < end:
                    changes += churn(client)
            finally:  # before its server ends
                is_over.set()
                bystander.join()
            needed, log = (server.metric(f"millrace_journal_{each}")
                           for each in ("live_bytes", "bytes"))
    waits.sort()
    print(f"{needed / log:.0%} of the log needed; "
          f"{changes / options.seconds:,.0f} jobs a second reserved, buried and kicked; "
          f"{len(waits):,} deletes meanwhile took {waits[len(waits) // 2] * 1e3:.1f} ms (median), "
          f"{waits[len(waits) * 99 // 100] * 1e3:.1f} ms (99 %), {waits[-1] * 1e3:.1f} ms at most")


if __name__ == "__main__":
    main()
