"""An engine and three nodes on this machine, to play with: `play.py [--postgres]`. Ctrl-C stops
all."""

import argparse
import shutil
import signal
import sys
import tempfile
import time

from engines import Nats, Postgres
from network import Loopback
from nodes import Cluster

TRY = """
Try:
  printf 'put 0 0 60 5\\r\\nhello\\r\\n' | nc -q1 {beanstalk}
  open http://{web}/ in a browser
  kill -9 the node that leads: another one leads after about a second
  kill -TERM it: another one leads at once
  remove its data directory, and start it again with the same command
Ctrl-C stops all and removes {folder}
"""


def text_of(address, between=":"):
    return f"{address[0]}{between}{address[1]}"


def show(cluster):
    print(f"the log: {cluster.engine.url()}", flush=True)
    for node in cluster.nodes:
        ports = ", ".join(f"{name} {text_of(getattr(node, name))}" for name in NAMES)
        print(f"node {node.host.name}, process {node.process.pid}: {ports}, log {node.log}")
        print("  " + " ".join(node.arguments()))
    leader = cluster.leader()
    example = {"beanstalk": text_of(leader.beanstalk, " "), "web": text_of(leader.web)}
    print(TRY.format(folder=cluster.folder, **example), flush=True)


NAMES = ("beanstalk", "faktory", "web")


def watch(cluster):
    """Says who leads, until Ctrl-C."""
    seen = 0
    while True:
        takeovers = cluster.takeovers()
        for _, epoch, node in takeovers[seen:]:
            print(f"node {node.host.name} leads, epoch {epoch}", flush=True)
        seen = len(takeovers)
        time.sleep(0.2)


def main():
    parser = argparse.ArgumentParser(prog="./dev cluster", description=__doc__)
    parser.add_argument("--postgres", action="store_true", help="keep the log in PostgreSQL")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    folder = tempfile.mkdtemp(prefix="millrace-cluster-")
    network = Loopback()
    engine = (Postgres if options.postgres else Nats)(network, folder)
    cluster = Cluster(network, engine, folder)
    try:
        cluster.start()
        show(cluster)
        watch(cluster)
    except KeyboardInterrupt:
        pass
    finally:
        cluster.end()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
