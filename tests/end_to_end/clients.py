"""The two protocols, as thin as tests need them. Calls raise `Gone` when the server is gone."""

import hashlib
import json
import socket


class Gone(Exception):
    """The connection ended before the reply was there."""


class Client:
    def __init__(self, address, timeout=30):
        try:
            if isinstance(address, str):
                self.socket = socket.socket(socket.AF_UNIX)
            else:
                is_ipv6 = ":" in address[0]
                self.socket = socket.socket(socket.AF_INET6 if is_ipv6 else socket.AF_INET)
            self.socket.settimeout(timeout)
            self.socket.connect(address)
        except OSError as error:
            self.socket.close()
            raise Gone(str(error)) from error
        self.input = self.socket.makefile("rb")

    def close(self):
        self.input.close()
        self.socket.close()

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise Gone(str(error)) from error

    def line(self):
        """The next line of the server, without its end."""
        try:
            line = self.input.readline()
        except OSError as error:
            raise Gone(str(error)) from error
        if not line.endswith(b"\r\n"):
            raise Gone(f"the stream ended with {line!r}")
        return line[:-2].decode()

    def body(self, size):
        try:
            body = self.input.read(size + 2)
        except OSError as error:
            raise Gone(str(error)) from error
        if len(body) != size + 2:
            raise Gone("the stream ended inside a body")
        return body[:-2]

    def is_closed_by_server(self):
        """Whether the next thing from the server is the end of the stream."""
        try:
            return self.input.read(1) == b""
        except ConnectionError:
            return True


class Beanstalk(Client):
    def command(self, line):
        self.send(line.encode() + b"\r\n")
        return self.line()

    def put(self, body, pri=0, delay=0, ttr=60):
        """The id, or the refusal as a string."""
        self.send(f"put {pri} {delay} {ttr} {len(body)}\r\n".encode() + body + b"\r\n")
        reply = self.line()
        return int(reply.split()[1]) if reply.startswith("INSERTED ") else reply

    def reserve(self, timeout=0):
        """(id, body), or None when nothing came."""
        reply = self.command(f"reserve-with-timeout {timeout}").split()
        return (int(reply[1]), self.body(int(reply[2]))) if reply[0] == "RESERVED" else None

    def delete(self, job):
        return self.command(f"delete {job}")

    def stats(self, command="stats"):
        """The YAML map of a stats command, values as text."""
        reply = self.command(command).split()
        if reply[0] != "OK":
            return None
        lines = self.body(int(reply[1])).decode().splitlines()
        return dict(line.split(": ", 1) for line in lines if ": " in line)


class Faktory(Client):
    def __init__(self, address, wid=None, password=None, timeout=30):
        super().__init__(address, timeout)
        self.greeting = json.loads(self.line().split(" ", 1)[1])
        hello = {"v": 2}
        if wid:
            hello.update(wid=wid, hostname="test", pid=1, labels=[])
        if password is not None:
            hello["pwdhash"] = self.password_hash(password)
        self.hello_reply = self.command("HELLO " + json.dumps(hello))

    def password_hash(self, password):
        digest = (password + self.greeting.get("s", "")).encode()
        for _ in range(self.greeting.get("i", 1)):
            digest = hashlib.sha256(digest).digest()
        return digest.hex()

    def command(self, line):
        """A simple reply as it came, a bulk reply as its text, the null reply as None."""
        self.send(line.encode() + b"\r\n")
        reply = self.line()
        if not reply.startswith("$"):
            return reply
        return None if reply == "$-1" else self.body(int(reply[1:])).decode()

    def push(self, jid, queue="default", args=(), **more):
        job = {"jid": jid, "jobtype": "Test", "queue": queue, "args": list(args), **more}
        return self.command("PUSH " + json.dumps(job))

    def fetch(self, *queues):
        """The work unit, or None after about two seconds without one."""
        reply = self.command("FETCH " + " ".join(queues or ["default"]))
        return json.loads(reply) if reply is not None else None

    def ack(self, jid):
        return self.command("ACK " + json.dumps({"jid": jid}))

    def info(self):
        return json.loads(self.command("INFO"))
