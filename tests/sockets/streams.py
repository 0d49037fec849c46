"""What hostile clients send: conversations of both protocols and HTTP, mutated, from a seed."""

import glob
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)

SENT = re.compile(r"^[a-z]?> (.*)$", re.MULTILINE)
# What transcripts have besides plain text.
REPEATED = re.compile(r"\{([^{}*]*)\*(\d+)\}")
ESCAPED = re.compile(r"\\(x[0-9a-f]{2}|.)")
ESCAPES = {"r": "\r", "n": "\n", "t": "\t", "0": "\0"}
REPEATED_MAX = 70_000

NUMBERS = (b"0", b"1", b"-1", b"255", b"65535", b"65536", b"2147483648", b"4294967295")
NUMBERS += (b"4294967296", b"9223372036854775807", b"18446744073709551615", b"1" * 40, b"1e400")
PIECES = (b"\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b"\xff", b"\xc3\x28", b'"', b"{", b"}", b"[")
PIECES += (b"]", b"\\u0000", b"\\ud800", b"*", b"\r\n\r\n", b"a" * 300, b"[" * 2000)

# What clients send for the name of a batch that the server has told. As long as the real ones.
BID = b"b-" + 14 * b"?"
NAMED = re.compile(rb"\$[A-Z]\w*")

BEANSTALK = (
    b"put 1 0 60 5\r\nhello\r\n",
    b"put 0 1 1 0\r\n\r\n",
    b"reserve-with-timeout 0\r\n",
    b"reserve-with-timeout 1\r\n",
    b"reserve\r\n",
    b"reserve-job 3\r\n",
    b"delete 2\r\n",
    b"release 1 0 0\r\n",
    b"bury 1 5\r\n",
    b"touch 1\r\n",
    b"kick 10\r\n",
    b"kick-job 1\r\n",
    b"peek 1\r\n",
    b"peek-ready\r\npeek-delayed\r\npeek-buried\r\n",
    b"use tube-1\r\nwatch tube-1\r\nignore default\r\n",
    b"stats\r\n",
    b"stats-tube default\r\nstats-job 1\r\n",
    b"list-tubes\r\nlist-tube-used\r\nlist-tubes-watched\r\n",
    b"pause-tube tube-1 1\r\n",
    b"quit\r\n",
)
FAKTORY = (
    b'HELLO {"v":2,"wid":"fuzz-1","hostname":"h","pid":3,"labels":["a"]}\r\n',
    b'HELLO {"v":2}\r\n',
    b'PUSH {"jid":"abcdefgh1","jobtype":"T","queue":"fuzz","args":[1,"x",{"a":null}]}\r\n',
    b'PUSH {"jid":"abcdefgh2","jobtype":"T","args":[],"retry":0,"at":"2099-01-01T00:00:00Z"}\r\n',
    b'PUSHB [{"jid":"abcdefgh3","jobtype":"T","args":[]},{"jid":"x"}]\r\n',
    b"FETCH fuzz default\r\n",
    b'ACK {"jid":"abcdefgh1"}\r\n',
    b'FAIL {"jid":"abcdefgh1","errtype":"E","message":"m","backtrace":["a","b"]}\r\n',
    b'BEAT {"wid":"fuzz-1","rss_kb":5}\r\n',
    b'BEAT {"wid":"fuzz-1","rss_kb":5,"current_state":"quiet"}\r\n',
    b"INFO\r\n",
    b"FLUSH\r\n",
    b"QUEUE PAUSE *\r\nQUEUE RESUME *\r\n",
    b"QUEUE REMOVE fuzz\r\nQUEUE LATENCY fuzz\r\n",
    b'MUTATE {"cmd":"requeue","target":"retries","filter":{"jids":["abcdefgh1"]}}\r\n',
    b'MUTATE {"cmd":"kill","target":"scheduled","filter":{"regexp":"*a*"}}\r\n',
    b'BATCH NEW {"description":"b","success":{"jobtype":"T","args":[]}}\r\n',
    b'BATCH NEW {"parent_bid":"%s","complete":{"jobtype":"T","queue":"fuzz"}}\r\n' % BID,
    b'BATCH NEW {"success":{"jobtype":"T","custom":{"track":1}},"death":{"jobtype":"T"}}\r\n',
    b"BATCH OPEN %s\r\n" % BID,
    b"BATCH COMMIT %s\r\n" % BID,
    b"BATCH STATUS %s\r\n" % BID,
    b'PUSH {"jid":"abcdefgh4","jobtype":"T","args":[],"custom":{"bid":"%s"}}\r\n' % BID,
    b'PUSH {"jid":"abcdefgh1","jobtype":"T","args":[1,{"a":1.0}],"custom":{"unique_for":"0.5",'
    b'"unique_until":"start","unique_conflict":"jid","track":1}}\r\n',
    b'PUSHB [{"jid":"abcdefgh5","jobtype":"T","args":[],"custom":{"expires_in":1,"track":1}},'
    b'{"jid":"abcdefgh6","jobtype":"T","args":[],"custom":{"unique_for":9,"bid":"%s"}}]\r\n' % BID,
    b'TRACK GET abcdefgh1\r\nTRACK SET {"jid":"abcdefgh1","percent":5}\r\n',
    b'TRACK SET {"jid":"abcdefgh1","desc":"d","reserve_until":"2099-01-01T00:00:00Z"}\r\n',
    b"END\r\n",
)
HOST = b"Host: localhost\r\n"
TARGETS = ("", "api/v1/overview", "api/v1/jobs?state=any&id=a&limit=5", "api/v1/queues", "metrics")
TARGETS += ("api/v1/queues/default", "api/v1/jobs/1", "api/v1/jobs/1/body", "api/v1/errors")
TARGETS += ("api/v1/workers", "api/v1/server", "stats", "health", "api/v1/history?minutes=5")
HTTP = tuple(b"GET /%s HTTP/1.1\r\n%s\r\n" % (each.encode(), HOST) for each in TARGETS) + (
    b"POST /api/v1/jobs HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
    b"Content-Length: 29\r\n\r\n" + b'{"jobtype":"T","args":[1,2]}\n',
    b"POST /api/v1/jobs/change HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
    b"Content-Length: 34\r\n\r\n" + b'{"action":"delete","ids":[1,2,3]}\n',
    b"POST /api/v1/jobs/1/retry HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
    b"2\r\n{}\r\n0\r\n\r\n",
    b"HEAD / HTTP/1.0\r\n\r\n",
)


def unescaped(text):
    """A line of a transcript as it is sent."""
    text = REPEATED.sub(lambda found: found[1] * min(int(found[2]), REPEATED_MAX), text)

    def character(found):
        code = found[1]
        return chr(int(code[1:], 16)) if code[0] == "x" and code[1:] else ESCAPES.get(code, code)

    is_open = text.endswith("\\")
    text = ESCAPED.sub(character, text[:-1] if is_open else text)
    return text.encode("latin1") + (b"" if is_open else b"\r\n")


def conversations(protocol):
    """What the clients of each transcript send."""
    found = []
    for path in sorted(glob.glob(os.path.join(TESTS, "transcripts", protocol, "*.txt"))):
        with open(path, encoding="latin1") as file:
            sent = b"".join(map(unescaped, SENT.findall(file.read())))
            found.append(NAMED.sub(BID, sent) if protocol == "faktory" else sent)
    return [each for each in found if each]


class Streams:
    """Draws what a connection sends to one of the ports `beanstalk`, `faktory`, `web`."""

    def __init__(self):
        self.real = {each: conversations(each) for each in ("beanstalk", "faktory")}
        self.commands = {"beanstalk": BEANSTALK, "faktory": FAKTORY, "web": HTTP}

    def draw(self, random, port):
        # Seldom the words of another protocol.
        kind = port if random.random() < 0.95 else random.choice(list(self.commands))
        if kind in self.real and random.random() < 0.4:
            stream = random.choice(self.real[kind])
        else:
            count = random.choice((1, 3, 10, 40))
            stream = b"".join(random.choice(self.commands[kind]) for _ in range(count))
        if kind == "faktory" and random.random() < 0.8:
            stream = FAKTORY[0] + stream
        if random.random() < 0.1:
            stream *= random.randint(2, 50)
        for _ in range(random.choice((0, 0, 1, 1, 2, 5, 20))):
            stream = mutated(random, stream)
        return stream


def mutated(random, stream):
    """With one difference."""
    if not stream:
        return random.choice(PIECES)
    at = random.randrange(len(stream))
    end = min(len(stream), at + random.choice((1, 2, 8, 64, 1000)))
    what = random.randrange(6)
    if what == 0:
        return stream[:at] + bytes([stream[at] ^ 1 << random.randrange(8)]) + stream[at + 1 :]
    if what == 1:
        return stream[:at] + stream[end:]
    if what == 2:
        return stream[:end] + stream[at:]
    if what == 3:
        return stream[:at] + random.choice(PIECES) + stream[at:]
    if what == 4:
        return stream[:at] + random.randbytes(random.choice((1, 4, 100))) + stream[end:]
    numbers = list(re.finditer(rb"\d+", stream))
    if not numbers:
        return stream
    found = random.choice(numbers)
    return stream[: found.start()] + random.choice(NUMBERS) + stream[found.end() :]
