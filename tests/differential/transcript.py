"""Transcripts (tests/transcripts/README.md), read as the C++ runner reads them."""

import re
from dataclasses import dataclass, field

UNIT_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
ESCAPES = {"r": b"\r", "n": b"\n", "t": b"\t", "0": b"\0", "\\": b"\\", "*": b"*"}
TOKEN = re.compile(
    r"\{(?P<unit>[^{}*]*)\*(?P<count>\d+)\}|\\x(?P<hex>[0-9a-f]{2})|\\(?P<escape>.)"
    r"|(?P<end>\\$)|(?P<star>\*$)|(?P<plain>.)",
    re.DOTALL,
)


class Unlike:
    """What a comment above an expectation says of beanstalkd: it does something else there."""

    ALWAYS = "# Unlike beanstalkd"
    SOMETIMES = "# Unlike beanstalkd, sometimes:"


GIVEN_CLOCK_ONLY = "# By a given clock only"


@dataclass
class Expected:
    """A line: its very bytes, or a regular expression that finds something in it."""

    text: object
    is_regex: bool = False
    is_in_order: bool = False

    def matches(self, line):
        if self.is_regex:
            return re.search(self.text, line.decode("latin1")) is not None
        return line == self.text


@dataclass
class Step:
    kind: str  # send, line, body, nothing, closed, open, close, half-close, advance, wall, drain
    number: int
    connection: str = "a"
    data: bytes = b""
    expected: Expected = None
    body: list = field(default_factory=list)
    seconds: float = 0.0
    unlike: str = None


@dataclass
class Transcript:
    name: str
    options: dict
    steps: list
    needs_given_clock: bool = False

    def seconds(self):
        return sum(step.seconds for step in self.steps)

    def unlike(self):
        """The first step at which beanstalkd is said to do something else, or None."""
        return next((step for step in self.steps if step.unlike), None)


def unescape(text):
    """(bytes, whether a backslash is at the end, whether a star does)."""
    data, ends_in_backslash, ends_in_star = b"", False, False
    for token in TOKEN.finditer(text):
        if token["unit"] is not None:
            data += unescape(token["unit"])[0] * int(token["count"])
        elif token["hex"]:
            data += bytes([int(token["hex"], 16)])
        elif token["escape"]:
            data += ESCAPES[token["escape"]]
        elif token["end"]:
            ends_in_backslash = True
        else:
            ends_in_star = token["star"] is not None
            data += token.group().encode("latin1")
    return data, ends_in_backslash, ends_in_star


def expected_line(text):
    """(Expected, whether it announces a body)."""
    if text.startswith("~"):
        return Expected(text[2:], is_regex=True), False
    data, _, has_body = unescape(text[1:])
    return Expected(data[:-1] if has_body else data), has_body


def parse_step(number, line, newline):
    """`newline` ends what is sent, unless a backslash is there."""
    if line.startswith("@ wall "):
        return Step("wall", number)  # for given clocks only
    if line.startswith("@ "):
        count, unit = re.fullmatch(r"@ \+(\d+)(\w+)", line).groups()
        return Step("advance", number, seconds=int(count) * UNIT_SECONDS[unit])
    connection = "a"
    if line[0].islower():
        connection, line = line[0], line[1:]
    if line.startswith("! "):
        return Step(line[2:], number, connection)
    if line.startswith(">"):
        data, is_open, _ = unescape(line[2:])
        return Step("send", number, connection, data if is_open else data + newline)
    if line in ("<.", "<!"):
        return Step("nothing" if line == "<." else "closed", number, connection)
    expected, has_body = expected_line(line[1:])
    return Step("body" if has_body else "line", number, connection, expected=expected)


def parse_body_line(line):
    line = line.lstrip("abcdefghijklmnopqrstuvwxyz")
    if line[2:3] == "~":
        expected = Expected(line[4:], is_regex=True)
    else:
        data, _, _ = unescape(line[3:])
        expected = Expected(data)
    expected.is_in_order = line[1] == "|"
    return expected


def read_transcript(path, name):
    transcript, unlike = Transcript(name, {}, []), None
    with open(path, encoding="latin1") as file:
        lines = file.read().split("\n")
    for number, line in enumerate(lines, start=1):
        if line.startswith(GIVEN_CLOCK_ONLY):
            transcript.needs_given_clock = True
        elif line.startswith(Unlike.ALWAYS):
            unlike = line
        elif line.startswith("! option "):
            key, value = line[len("! option ") :].split("=", 1)
            transcript.options[key] = value
        elif re.match(r"[a-z]?<[+|]", line):
            transcript.steps[-1].body.append(parse_body_line(line))
        elif line and not line.startswith("#"):
            newline = b"\n" if transcript.options.get("newline") == "lf" else b"\r\n"
            step = parse_step(number, line, newline)
            if step.kind not in ("send", "advance", "wall", "open"):
                step.unlike, unlike = unlike, None
            transcript.steps.append(step)
    return transcript
