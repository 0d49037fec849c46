"""Ports for servers under test."""

import random
import socket
import threading

# Below the ports that the system gives to clients (from 32,768): until the server takes its port,
# and while it is away for a restart, no client may be given it, nor connect to itself. None is
# given twice, here or in another process that runs tests at the same time: each is claimed by a
# name that the system frees when the process ends. Those from 30,000 are tests/browser/server.js's.
PORTS = iter(random.sample(range(16000, 30000), 14000))
PORTS_LOCK = threading.Lock()


def claim(port):
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0millrace-test-port-{port}")
    except OSError:
        name.close()
        return False
    name.detach()
    return True


def free_port():
    while True:
        with PORTS_LOCK:
            port = next(PORTS)
        if not claim(port):
            continue
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
