"""How long many connections that bring no work hold up everybody else.

attack.py says what is measured. On the web port the witness asks for /health over a connection of
its own each time, as a probe does, and what it waits is compared.
"""

import ctypes
import os
import socket
import ssl
import subprocess
import tempfile
import time

import arguments
import attack
import heading
import servers
from attack import Event
from goal import at_most

LONGEST_MS = at_most(10, 5)
HEALTH_MS = at_most(200, 50)
FLOOD_S = 5
LINGERING = (200, 300, 1_000)
SSL_KEY_UPDATE_REQUESTED = 1
HEALTH = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


def make_certificate(folder):
    certificate, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost", "-days", "1",
                    "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return ["--tls-cert", certificate, "--tls-key", key]


class KeyUpdates:
    """Connections that send nothing else. One that is closed is opened again.

    Python's ssl cannot ask for new keys, so the library is called itself.
    """

    def __init__(self):
        self.library = ctypes.CDLL("libssl.so.3")
        for name in ("TLS_client_method", "SSL_CTX_new", "SSL_new"):
            getattr(self.library, name).restype = ctypes.c_void_p
        self.context = ctypes.c_void_p(self.library.SSL_CTX_new(
            ctypes.c_void_p(self.library.TLS_client_method())))

    def flood(self, port, end):
        while time.monotonic() < end:
            plain = socket.create_connection(("127.0.0.1", port))
            stream = ctypes.c_void_p(self.library.SSL_new(self.context))
            self.library.SSL_set_fd(stream, plain.fileno())
            if self.library.SSL_connect(stream) == 1:
                self.send(stream, end)
            self.library.SSL_free(stream)
            plain.close()

    def send(self, stream, end):
        while time.monotonic() < end:
            for _ in range(100):
                self.library.SSL_key_update(stream, SSL_KEY_UPDATE_REQUESTED)
                if self.library.SSL_do_handshake(stream) != 1:
                    return


def key_updates(connections):
    def flood(server):
        end = time.monotonic() + FLOOD_S
        children = [os.fork() for _ in range(connections)]
        for child in children:
            if child == 0:
                try:
                    servers.end_with_parent()
                    KeyUpdates().flood(server.port, end)
                finally:  # whatever happened: the server is not this process's to stop
                    os._exit(0)
        for child in children:
            os.waitpid(child, 0)

    return flood


def encrypted_peeks(server):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return attack.Peeks(server, context.wrap_socket)


class Probes:
    def __init__(self, server):
        self.address = ("127.0.0.1", server.ports["web"])

    def ask(self):
        probe = socket.create_connection(self.address)
        probe.sendall(HEALTH)
        if not probe.recv(1000).startswith(b"HTTP/1.1 200"):
            raise RuntimeError("the probe was not answered")
        probe.close()

    def close(self):
        pass


def linger(connections):
    """They send half a request and stay, also those that the server has refused."""

    def flood(server):
        address = ("127.0.0.1", server.ports["web"])
        lingering = [half_a_request(address) for _ in range(connections)]
        end = time.monotonic() + FLOOD_S
        while time.monotonic() < end:
            time.sleep(0.05)
            for place, one in enumerate(lingering):
                if is_closed(one):
                    one.close()
                    lingering[place] = half_a_request(address)

    return flood


def half_a_request(address):
    one = socket.create_connection(address)
    one.sendall(b"GET / HTTP/1.1\r\n")
    one.setblocking(False)
    return one


def is_closed(one):
    try:
        # What was answered is left there.
        return one.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


FLOODS = [
    Event(f"{connections} nothing but KeyUpdates", key_updates(count), witness=encrypted_peeks)
    for count, connections in (
        (1, "1 TLS connection sends"), (3, "3 TLS connections send"), (8, "8 TLS connections send"))
]
PROBED = [
    Event(title, flood, witness=Probes, is_own_compared=False)
    for title, flood in (
        ("nothing, and `/health` is asked for", lambda server: time.sleep(1)),
        *((f"{count:,} web connections send half a request and stay, and `/health` is asked for",
           linger(count)) for count in LINGERING))
]


def main():
    parser = arguments.Parser("floods", __doc__)
    parser.add_argument("--times", type=arguments.positive, default=3, help="of each; default: 3")
    options = parser.parse_args()
    arguments.build("millrace")
    servers.raise_descriptor_limit(2 * max(LINGERING))
    lines = [heading.heading("`--volatile`", f"{options.times} times each"), "", *attack.HEAD]
    with tempfile.TemporaryDirectory() as folder:
        flags = ["--volatile", *make_certificate(folder)]
        for event in FLOODS:
            lines.append(attack.measure(event, options.times, lambda: servers.millrace(*flags),
                                        LONGEST_MS))
    for event in PROBED:
        lines.append(attack.measure(event, options.times,
                                    lambda: servers.millrace("--volatile", others=("web",)),
                                    HEALTH_MS))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
