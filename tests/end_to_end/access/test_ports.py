"""Where each form of address listens, under each name: the table of docs/operations/options.md."""

import ctypes
import os
import re
import socket
import stat
import struct

from beanstalkd import DropinTest as Beanstalkd
from clients import Faktory
from program import PROGRAM, ServerTest, free_port
from test_manual import ROOT
from web import Web

LISTENS = "0A"
# What the cells of the table say, and where the kernel then lists the port.
PLACES = {
    "IPv6 and IPv4": "::",
    "IPv4": "0.0.0.0",
    "127.0.0.1": "127.0.0.1",
    "::1": "::1",
    "its first": "127.0.0.1",
}


def table():
    """Pairs of a form, without its quotes, and the cells of the three names."""
    with open(os.path.join(ROOT, "docs/operations/options.md"), encoding="utf-8") as file:
        text = file.read()
    found = re.search(r"^\| ADDR \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    lines = [line.strip("| ").split(" | ") for line in found.group(1).splitlines()]
    return [(form.strip("`"), cells) for forms, *cells in lines for form in forms.split(", ")]


def number_of(text):
    """An address as the kernel lists it: words of 32 bits in the byte order of the machine."""
    words = [int(text[at : at + 8], 16) for at in range(0, len(text), 8)]
    family = socket.AF_INET if len(words) == 1 else socket.AF_INET6
    return socket.inet_ntop(family, struct.pack(f"={len(words)}I", *words))


def listeners(port):
    """The addresses on which somebody listens at this port."""
    found = []
    for name in ("tcp", "tcp6"):
        with open(f"/proc/net/{name}", encoding="ascii") as file:
            rows = [line.split() for line in file.readlines()[1:]]
        for local, state in ((row[1], row[3]) for row in rows):
            address, number = local.split(":")
            if state == LISTENS and int(number, 16) == port:
                found.append(number_of(address))
    return found


def connects(host, port):
    try:
        socket.create_connection((host, port), timeout=5).close()
    except OSError:
        return False
    return True


def hide_ipv6():
    """In the child: the kernel answers as one without IPv6 does."""
    number, machine = {"x86_64": (41, 0xC000003E), "aarch64": (198, 0xC00000B7)}[os.uname().machine]
    load, equal, leave = 0x20, 0x15, 0x06
    allow, refuse = 0x7FFF0000, 0x00050000 | 97  # EAFNOSUPPORT
    code = [
        (load, 0, 0, 4),
        (equal, 0, 4, machine),
        (load, 0, 0, 0),
        (equal, 0, 2, number),
        (load, 0, 0, 16),  # the first argument
        (equal, 1, 0, int(socket.AF_INET6)),
        (leave, 0, 0, allow),
        (leave, 0, 0, refuse),
    ]
    words = b"".join(struct.pack("HBBI", *each) for each in code)
    filters = ctypes.create_string_buffer(words)
    program = struct.pack("HxxxxxxP", len(code), ctypes.addressof(filters))
    library = ctypes.CDLL(None, use_errno=True)
    no_new_rights, set_filter = 38, 22
    if library.prctl(no_new_rights, 1, 0, 0, 0) or library.prctl(set_filter, 2, program, 0, 0):
        os._exit(99)


class AddressTest(ServerTest):
    def setUp(self):
        super().setUp()
        for name in ("faktory", "beanstalkd"):
            os.symlink(os.path.abspath(PROGRAM), self.path(name))

    def millrace(self, address):
        return [
            *(PROGRAM, "serve", "--volatile", "--insecure", "--faktory=off"),
            *(f"--beanstalk={address}", "--web=off"),
        ]

    def faktory(self, address):
        return [
            *(self.path("faktory"), "-d", self.path("db"), "-c", self.path("none")),
            *("-b", address, "-w", ":0"),
        ]

    def beanstalkd(self, address):
        host, _, port = address.rpartition(":")
        if address.startswith("unix:"):
            return [self.path("beanstalkd"), "-V", "-l", address]
        return [self.path("beanstalkd"), "-V", "-l", host.strip("[]"), "-p", port]

    def places(self, arguments, port, hides_ipv6=False):
        server = self.server()
        server.arguments = lambda: arguments
        server.preexec_fn = hide_ipv6 if hides_ipv6 else None
        server.begin()
        # `ready`, or the line of the socket that beanstalkd prints.
        while (line := server.lines.get(timeout=60)) and not re.match("ready|bind", line):
            pass
        self.assertIsNotNone(line, f"{arguments}: {server.error_text()}")
        found = listeners(port) if port else [line.split()[-1]]
        self.answers = [host for host in ("127.0.0.1", "::1") if connects(host, port)]
        server.kill()
        return found

    def check(self, name, form, cell):
        port = free_port()
        path = self.path(f"{name}.sock")
        address = form.replace("PORT", str(port)).replace("PATH", path).replace("HOST", "localhost")
        arguments = getattr(self, name)(address)
        if cell == "refused":
            return self.assert_refused(arguments, "is not HOST:PORT|needs a host")
        if cell == "the file":
            self.places(arguments, None)
            return self.assertTrue(stat.S_ISSOCK(os.stat(path).st_mode))
        place = PLACES[cell]
        self.assertEqual(self.places(arguments, port), [place])
        by_v6 = place in ("::", "::1")
        by_v4 = place != "::1"
        self.assertEqual(self.answers, ["127.0.0.1"] * by_v4 + ["::1"] * by_v6)

    def test_each_row_of_the_table(self):
        rows = table()
        self.assertGreater(len(rows), 9)
        for form, cells in rows:
            for name, cell in zip(("millrace", "faktory", "beanstalkd"), cells, strict=True):
                if cell == "-":
                    continue
                with self.subTest(form=form, name=name):
                    self.check(name, form, cell.replace("`", ""))

    def test_all_ports_of_a_server_listen_so(self):
        ports = [free_port() for _ in range(3)]
        server = self.server("--volatile")
        server.arguments = lambda: [
            *(PROGRAM, "serve", "--insecure=beanstalk,faktory,web", "--volatile"),
            *(f"--{name}=:{port}" for name, port in zip(("beanstalk", "faktory", "web"), ports)),
        ]
        server.start()
        self.assertEqual(
            server.ports,
            [f"{n}: [::]:{p}" for n, p in zip(("beanstalk", "faktory", "web"), ports)],
        )
        for port in ports:
            self.assertEqual(listeners(port), ["::"])
            self.assertTrue(connects("127.0.0.1", port) and connects("::1", port))
        for host in ("127.0.0.1", "::1"):
            client = self.open(Faktory((host, ports[1])))
            client.send(b"FLUSH\r\n")
            self.assertEqual(client.line(), "+OK")
        changes = Web(("127.0.0.1", ports[2])).read("/api/v1/activity")["changes"]
        by_clients = [each["from"] for each in changes if each["protocol"] != "server"]
        self.assertEqual(sorted(by_clients), ["0000:0000:0000:0000::/64", "127.0.0.1"])

    def test_without_ipv6_it_is_ipv4(self):
        port = free_port()
        arguments = self.millrace(f":{port}")
        self.assertEqual(self.places(arguments, port, hides_ipv6=True), ["0.0.0.0"])
        self.assertEqual(self.places(self.faktory(f"0.0.0.0:{port}"), port, True), ["0.0.0.0"])

    def test_every_address_needs_a_password(self):
        for address in (":0", "*:0", "[::]:0", "0.0.0.0:0"):
            for port in ("beanstalk", "faktory", "web"):
                ports = {"beanstalk": "127.0.0.1:0", "faktory": "off", "web": "off", port: address}
                flags = [f"--{each}={where}" for each, where in ports.items()]
                self.assert_refused(
                    [PROGRAM, "serve", "--volatile", *flags], f"refusing to open the {port} port"
                )


class BeanstalkdTest(Beanstalkd):
    def test_without_a_host_it_listens_as_the_original_does(self):
        port = free_port()
        server = self.dropin("-p", str(port), address=("127.0.0.1", port))
        self.client(server)
        self.assertEqual(listeners(port), ["0.0.0.0"])
