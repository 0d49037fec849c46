"""What the web pages cost the clients of the job protocols.

Fills a server of its own (without a journal: the disk is not what is measured) with jobs of many
queues, a seventh of them dead, and prints

* for each request of the pages, how long it kept the broker's thread in one turn
  (`Server-Timing`), and
* how long a beanstalk client (put, reserve, delete) and a Faktory client (PUSH, FETCH, ACK) waited
  for each reply: alone, during pages and searches through all jobs, and while a seventh of all jobs
  is killed and then deleted.
"""

import itertools
import json
import multiprocessing
import re
import statistics
import time
import urllib.parse
import urllib.request

import arguments
import servers
from client import Client

REQUESTS = 500  # of each kind: of fewer than some hundred the p99 would be the longest
PAUSE_S = 0.0005  # of a bystander, between commands


def request(server, target, body=None):
    """The answer's JSON (or text) and the milliseconds of its longest turn of the broker."""
    url = f"http://127.0.0.1:{server.ports['web']}{target}"
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} if data else {}
    with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as answer:
        longest = re.search(r"turn;dur=([\d.]+)", answer.headers["Server-Timing"])
        text = answer.read()
    is_json = answer.headers["Content-Type"] == "application/json"
    return (json.loads(text) if is_json else text), float(longest.group(1))


def fill(server, count, queues):
    Client(server.ports["faktory"], "faktory").push_all(count, lambda number: {
        "jid": f"bench-{number:09d}",
        "jobtype": f"Type{number % 7}",
        "queue": f"queue-{number % queues}",
        "args": [number, "a word or two", {"user": number % 1000}],
    })


def run(server, operation):
    """Starts it, waits for its end, and tells what it changed and how long it took."""
    begin = time.perf_counter()
    progress, _ = request(server, "/api/v1/operations", operation)
    while progress["phase"] == "running":
        time.sleep(0.02)
        progress, _ = request(server, f"/api/v1/operations/{progress['id']}")
    return progress["changed"], time.perf_counter() - begin


def search(server, query, path="jobs/count"):
    """Slice by slice to the end; the milliseconds of each."""
    took, cursor = [], ""
    while cursor is not None:
        target = f"/api/v1/{path}?{query}&cursor={urllib.parse.quote(cursor)}"
        page, each = request(server, target)
        took.append(each)
        cursor = page["next"]
    return took


def list_queues(server, query):
    """Slice by slice to the end, as the page does; the milliseconds of each."""
    took, start = [], ""
    while start is not None:
        target = f"/api/v1/queues?{query}&limit=100&from={urllib.parse.quote(start)}"
        page, each = request(server, target)
        took.append(each)
        start = page["from"]
    return took


def repeat(go_through, *settings):
    """A list that has few slices, until there are enough of them."""
    took = []
    while len(took) < REQUESTS:
        took += go_through(*settings)
    return took


def row(name, took):
    took = sorted(took)
    middle = statistics.median(took)
    late = took[int(len(took) * 0.99)]
    print(f"{name:46} {len(took):6} {middle:9.3f} {late:9.3f} {took[-1]:9.3f}", flush=True)


def search_row(server, name, query):
    began = time.perf_counter()
    row(f"{name}, each slice", search(server, query))
    print(f"{'':46} {time.perf_counter() - began:.1f} s in all", flush=True)


def measure_pages(server):
    page, _ = request(server, "/api/v1/jobs?state=ready&limit=200")
    cursor = urllib.parse.quote(page["next"])
    targets = {
        "overview": "/api/v1/overview",
        "trend": "/api/v1/trend",
        "history": "/api/v1/history?days=180",
        "queue": "/api/v1/queues/queue-7",
        "jobs, first page of 50": "/api/v1/jobs?state=ready",
        "jobs, a later page of 200": f"/api/v1/jobs?state=ready&limit=200&cursor={cursor}",
        "jobs, the last ready ones": "/api/v1/jobs?state=ready&order=desc",
        "jobs, the last dead ones": "/api/v1/jobs?state=dead&order=desc",
        "job": f"/api/v1/jobs/{page['jobs'][0]['id']}",
        "workers": "/api/v1/workers",
        "connections": "/api/v1/connections",
        "server": "/api/v1/server",
        "metrics": "/metrics",
        "stats": "/stats",
        "health": "/health",
    }
    print(f"{'broker time in ms':46} {'count':>6} {'median':>9} {'p99':>9} {'most':>9}")
    for name, target in targets.items():
        row(name, [request(server, target)[1] for _ in range(REQUESTS)])
    for query in ("sort=name", "sort=ready&order=desc", "sort=oldest&order=desc"):
        row(f"queues, {query}, each slice", repeat(list_queues, server, query))
    row("errors, each slice", repeat(search, server, "", "errors"))
    search_row(server, "search by type", "state=ready&type=None")
    search_row(server, "search by text", "state=ready&text=nowhere")
    search_row(server, "search by jid", "state=ready&id=none")


def put_cycle(client, _):
    """One command after the other; yields before each, and after the last."""
    for command in ("put 0 0 60 1\r\nx", "reserve"):
        yield
        reply = client.ask(command)
    client.line()
    yield
    client.ask(f"delete {reply.split()[1]}")
    yield


def push_cycle(client, number):
    jid = f"bystander{number}"
    for command in (
        f'PUSH {{"jid":"{jid}","jobtype":"Some","queue":"bystander-f","args":[]}}',
        "FETCH bystander-f",
        f'ACK {{"jid":"{jid}"}}',
    ):
        yield
        if client.ask(command).startswith("$"):
            client.line()
    yield


CYCLES = {"beanstalk": put_cycle, "faktory": push_cycle}


def stand_by(server, protocol, is_over, waits):
    """Commands of a client, one after the other, and how long each took. A process of its own,
    since Python's threads wait for one another."""
    client = Client(server.ports[protocol], protocol)
    if protocol == "beanstalk":
        for line in ("use bystander", "watch bystander", "ignore default"):
            client.ask(line)
    found = []
    for number in itertools.count():
        if is_over.is_set():
            break
        cycle = CYCLES[protocol](client, number)
        next(cycle)
        began = time.perf_counter()
        for _ in cycle:
            found.append((time.perf_counter() - began) * 1000)
            time.sleep(PAUSE_S)
            began = time.perf_counter()
    waits.put(found)


def measure_during(server, name, work):
    """Does the work while a client of each protocol runs; prints how long they waited."""
    is_over = multiprocessing.Event()
    waits = {protocol: multiprocessing.Queue() for protocol in CYCLES}
    processes = [
        multiprocessing.Process(target=stand_by, args=(server, protocol, is_over, waits[protocol]))
        for protocol in CYCLES
    ]
    for process in processes:
        process.start()
    try:
        time.sleep(0.3)
        told = work()
        is_over.set()
        for protocol, found in waits.items():
            row(f"{name}, {protocol}", found.get())
    finally:  # before their server ends
        for process in processes:
            process.terminate()
            process.join()
    return told


def ask_all_pages(server):
    for _ in range(20):
        for target in ("overview", "jobs?limit=200", "jobs?state=dead&order=desc", "workers"):
            request(server, f"/api/v1/{target}")
        list_queues(server, "sort=oldest&order=desc")
        request(server, "/metrics")


def measure_bystanders(server):
    title = "a bystander waits for a reply, in ms"
    print(f"\n{title:46} {'count':>6} {'median':>9} {'p99':>9} {'most':>9}")
    measure_during(server, "alone", lambda: time.sleep(5))
    measure_during(server, "during pages", lambda: ask_all_pages(server))
    measure_during(server, "during a search by type", lambda: search(server, "type=None"))
    measure_during(server, "during a search by text", lambda: search(server, "text=nowhere"))
    measure_during(server, "during a search by jid", lambda: search(server, "id=none"))
    kill = {"action": "kill", "states": ["ready"], "type": "Type0"}
    killed, took = measure_during(server, "during the kill of a seventh", lambda: run(server, kill))
    delete = {"action": "delete", "states": ["dead"], "type": "Type0"}
    deleted, took_too = measure_during(server, "during their deletion", lambda: run(server, delete))
    print(f"\nkilled {killed:,} in {took:.1f} s, deleted {deleted:,} in {took_too:.1f} s")


def main():
    parser = arguments.Parser("web", __doc__)
    parser.add_argument("--jobs", type=arguments.positive, default=1_000_000,
                        help="default: 1000000")
    parser.add_argument("--queues", type=arguments.positive, default=40, help="default: 40")
    options = parser.parse_args()
    arguments.build("millrace")
    with servers.millrace("--volatile", protocol="beanstalk", others=("faktory", "web")) as server:
        fill(server, options.jobs, options.queues)
        run(server, {"action": "kill", "states": ["ready"], "type": "Type6"})
        measure_pages(server)
        measure_bystanders(server)


if __name__ == "__main__":
    main()
