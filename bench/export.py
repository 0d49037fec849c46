"""How long `millrace export` takes: jobs of a stopped server, half of them put and half of them
pushed, go to a beanstalkd, to the beanstalk port and the Faktory port of another Millrace, and to
an official Faktory where FAKTORY_BIN names it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time

import arguments
import heading
import servers
from client import Client

JOBS = 200_000
BODY = b"x" * 200
AT_ONCE = 1000


def fill(data, jobs):
    """A data directory with so many jobs."""
    ports = ("beanstalk", "faktory")
    with servers.millrace("--sync=off", "--data", data, protocol=ports[0],
                          others=ports[1:]) as server:
        client = Client(server.ports["beanstalk"])
        put = b"put 0 0 60 %d\r\n%s\r\n" % (len(BODY), BODY)
        puts = jobs // 2
        for begin in range(0, puts, AT_ONCE):
            count = min(AT_ONCE, puts - begin)
            client.say(put * count)
            for _ in range(count):
                client.line()
        client.close()
        client = Client(server.ports["faktory"], "faktory")
        client.push_all(jobs - puts, lambda number: {
            "jid": f"job-{number:08}", "jobtype": "Sync", "args": [number, "x" * 100]})
        client.close()


def beanstalk_url(server):
    return f"beanstalk://127.0.0.1:{server.port}"


def faktory_url(server):
    return f"tcp://127.0.0.1:{server.port}"


def targets():
    """(what it is called, how it is started, its URL)"""
    # All have the same jid or body, and none is to be taken for one that was sent twice.
    flags = ("--push-once=off",)
    yield "beanstalkd", servers.beanstalkd, beanstalk_url
    yield "beanstalkd -b", lambda: servers.beanstalkd(binlog=True), beanstalk_url
    yield "Millrace, beanstalk", lambda: servers.millrace(*flags), beanstalk_url
    yield ("Millrace, Faktory", lambda: servers.millrace(*flags, protocol="faktory"), faktory_url)
    if servers.has_official_faktory():
        yield "Faktory", servers.official_faktory, faktory_url


def export(data, url):
    """Seconds, and those of the processor."""
    command = [os.environ["MILLRACE"], "export", data, "--to", url]
    begin = time.monotonic()
    used = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    now = os.times()
    seconds = time.monotonic() - begin
    processor = (now.children_user + now.children_system
                 - used.children_user - used.children_system)
    os.remove(os.path.join(data, "export"))
    return seconds, processor


def main():
    parser = arguments.Parser("export", __doc__)
    parser.add_argument("--jobs", type=arguments.positive, default=JOBS, help=f"default: {JOBS}")
    options = parser.parse_args()
    arguments.build("millrace")
    folder = tempfile.mkdtemp(prefix="millrace-bench-")
    data = os.path.join(folder, "data")
    try:
        print(heading.heading("targets as they ship"), "", sep="\n")
        fill(data, options.jobs)
        print("| to | jobs | s | jobs/s | CPU each, µs |", "|---|---|---|---|---|", sep="\n")
        for name, start, url in targets():
            with start() as server:
                seconds, processor = export(data, url(server))
            print(f"| {name} | {options.jobs:,} | {seconds:.1f} | {options.jobs / seconds:,.0f} | "
                  f"{processor / options.jobs * 1e6:.1f} |")
            sys.stdout.flush()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
