"""How long a NATS stream is without a leader, as a client sees it that is no node: it sends the
stream conditional appends that expect a sequence which never is. A leader refuses each, and stores
nothing. Where there is no leader, nobody answers, or the server says so.

It speaks the protocol of NATS itself: PUB, HPUB, SUB and the messages that come.
"""

import contextlib
import json
import socket
import threading
import time

INBOX = "_INBOX.bench"
NEVER = 1 << 52
ASKED_EVERY_S = 0.005
ANSWER_S_MAX = 5
NO_RESPONDERS = b" 503"


def leader_of(info):
    """The name of the server that leads, of an answer about a stream."""
    return info.get("cluster", {}).get("leader")


def is_refusal(payload):
    """Whether a leader answered the append."""
    return b"wrong last sequence" in payload


class Asker:
    """A connection to one server of the engine."""

    def __init__(self, member):
        self.socket = socket.create_connection((member.host.address, member.host.port(4222)))
        self.file = self.socket.makefile("rwb")
        self.file.readline()  # INFO
        options = json.dumps({"verbose": False, "headers": True, "no_responders": True})
        self.say(f"CONNECT {options}\r\nSUB {INBOX} 1\r\n".encode())

    def close(self):
        with contextlib.suppress(OSError):
            self.file.close()
        self.socket.close()

    def say(self, data):
        self.file.write(data)
        self.file.flush()

    def message(self):
        """The headers and payload of the next message."""
        while True:
            words = self.file.readline().split()
            if not words:
                raise ConnectionError("a server of the engine has closed the connection")
            if words[0] == b"PING":
                self.say(b"PONG\r\n")
            elif words[0] in (b"MSG", b"HMSG"):
                return self.file.read(int(words[-1]) + 2)

    def leader(self, stream):
        """None where there is none."""
        self.socket.settimeout(ANSWER_S_MAX)
        self.say(f"PUB $JS.API.STREAM.INFO.{stream} {INBOX} 0\r\n\r\n".encode())
        answer = self.message()
        return None if NO_RESPONDERS in answer[:20] else leader_of(json.loads(answer))

    def append_in_vain(self, stream):
        """Whether a leader of the stream refused it."""
        head = f"NATS/1.0\r\nNats-Expected-Last-Sequence: {NEVER}\r\n\r\n".encode()
        line = f"HPUB millrace.{stream} {INBOX} {len(head)} {len(head)}\r\n"
        self.say(line.encode() + head + b"\r\n")
        return is_refusal(self.message())


class Election(threading.Thread):
    """Watches from its start until the stream is led again. `seconds` is how long that took."""

    def __init__(self, member, stream):
        super().__init__(daemon=True)
        self.member = member
        self.stream = stream
        self.seconds = None

    def run(self):
        began = time.monotonic()
        while not self.is_over():
            time.sleep(ASKED_EVERY_S)
        self.seconds = time.monotonic() - began

    def is_over(self):
        """A question that nobody answers is asked again, on a connection without old answers."""
        with contextlib.suppress(OSError), contextlib.closing(Asker(self.member)) as asker:
            asker.socket.settimeout(10 * ASKED_EVERY_S)
            return asker.append_in_vain(self.stream)
        return False
