"""Reads the sources and says where they leave the project's rules.

Each rule is a function from a `Source` to problems, (line number, text). `RULES` lists them all;
`test_tidy.py` shows each a snippet that it must catch. Run alone, it checks the whole tree.
"""

import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field

import prose

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

FILE_LINES_ADVISED = {"src": 700, "web": 700, "tests": 800}
FUNCTION_LINES_MAX = 70
# The main loop can be read on one screen.
SHORT_FUNCTIONS = {"src/server/turn/turn.cpp": 30}
FOLDER_FILES_ADVISED = 25
COLUMNS_MAX = 100
PAGE_COLUMNS_MAX = 120
SENTENCE_WORDS_MAX = 16  # the median of a page

# Which folders of src a folder may include, besides itself.
FOLDERS = {
    "base": set(),
    "access": {"base"},
    "core": {"base"},
    "cron": {"base", "core/model"},
    "journal": {"base", "core"},
    "beanstalk": {"base", "access", "core"},
    "faktory": {"base", "access", "core"},
    "http": {"base", "access", "core"},
    "engines": {"base", "core", "journal"},
    "client": {"base"},
    "cli": {"base", "http/kit", "client"},
    "server": {"base", "access", "core", "journal", "beanstalk", "faktory", "http", "engines", "cron", "cli", "client"},
    "tools": {"base", "access", "core", "journal", "beanstalk", "faktory", "http", "engines", "cron", "cli", "client", "server"},
}

# Library headers that a folder must not see. Server may see all.
SOCKETS = r"(sys/socket|sys/un|netinet|arpa|sys/epoll|poll)\b"
FILES = r"(unistd|fcntl|sys/stat|sys/file|filesystem|fstream)\b"
THREADS = r"(thread|mutex|condition_variable|future)\b"
JSON = r"(nlohmann|simdjson)\b"
CRYPTO = r"openssl\b"
LIBRARIES_BANNED = {
    "base": [SOCKETS, FILES, THREADS, r"nlohmann\b", CRYPTO, r"CLI\b", r"date/"],
    "access": [SOCKETS, FILES, THREADS, JSON, CRYPTO, r"CLI\b"],
    "core": [SOCKETS, FILES, THREADS, JSON, CRYPTO, r"xxh", r"CLI\b", r"date/"],
    # It reads the system's zone files.
    "cron": [SOCKETS, FILES.replace("|fstream", ""), THREADS, JSON, CRYPTO, r"CLI\b"],
    "journal": [SOCKETS, JSON, CRYPTO, r"CLI\b"],
    "beanstalk": [SOCKETS, FILES, THREADS, JSON, CRYPTO, r"CLI\b"],
    "faktory": [SOCKETS, FILES, THREADS, r"CLI\b"],
    "http": [SOCKETS, FILES, THREADS, CRYPTO, r"CLI\b"],
    "engines": [r"simdjson\b", CRYPTO, r"CLI\b"],
    "client": [FILES.replace("unistd|", ""), THREADS, JSON, r"CLI\b"],
    # `top` obeys keys while it waits for an answer.
    "cli": [SOCKETS, THREADS.replace("|future", ""), CRYPTO, r"simdjson\b"],
    "server": [],
    "tools": [],
}

CLOCKS = (
    r"\b(steady|system|high_resolution|utc)_clock::now\b|\b(gettimeofday|clock_gettime)\b"
    r"|(?<![\w.>])(std::)?time\((nullptr|NULL|0|&)"
)
CHANCE = r"(?<![\w.>:])(std::)?s?rand\(|\brandom_device\b|\bgetrandom\b|\bRAND_bytes\b"
PRINTS = r"(?<![\w.>])(std::)?(f|v|vf)?printf\(|\bstd::(cout|cerr|clog)\b|(?<![\w.>])(std::)?f?puts\("
SLEEPS = r"\b(sleep_for|sleep_until|usleep|nanosleep)\b|(?<![\w.>])sleep\("


@dataclass(frozen=True)
class Ban:
    """A call that only the files matching `allowed` may make; elsewhere `why` is the problem."""

    pattern: str
    allowed: str
    why: str


# The journal's writer thread times the syncs of `interval:MS`, draws the salts of segments, and says
# why when it ends the process.
WRITER = r"src/journal/file_journal\.cpp"
TOOLS = r"(tests|bench)/"

BANS = [
    Ban(CLOCKS, rf"src/(server|tools|engines)/|{WRITER}|{TOOLS}", "only server and tools read a clock"),
    Ban(CHANCE, rf"src/(server|tools)/|{WRITER}|{TOOLS}", "only server and tools draw random numbers"),
    Ban(r"\bgetenv\b", rf"src/server/options/(config|serve_command)\.|{TOOLS}", "only options/config reads the environment"),
    Ban(
        PRINTS,
        rf"src/main\.|src/server/(process/logging|serve)\.|src/cli/console\.|src/base/check\.hpp|{WRITER}|{TOOLS}",
        "prints go through process/logging",
    ),
    Ban(SLEEPS, r"$^", "nothing sleeps: time is given"),
]


@dataclass
class Source:
    """One file: its path from the root, its lines, and for C++ the lines split in two: code (comments
    and the insides of strings blanked out) and comments (all else blanked out)."""

    path: str
    text: str
    lines: list = field(init=False)
    code: list = field(init=False)
    comments: list = field(init=False)

    def __post_init__(self):
        self.lines = self.text.split("\n")
        if self.text.endswith("\n"):
            self.lines.pop()
        if self.is_cpp:
            code, comments = split_comments(self.text)
            self.code, self.comments = code.split("\n"), comments.split("\n")
        else:
            self.code = self.comments = self.lines

    @property
    def is_cpp(self):
        return self.path.endswith((".cpp", ".hpp"))

    @property
    def folder(self):
        """`core` for src/core/..., else None."""
        parts = self.path.split("/")
        return parts[1] if parts[0] == "src" and len(parts) > 2 else None


TOKENS = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)'
    r'|(?P<raw>R"(?P<delimiter>[^(\s]*)\(.*?\)(?P=delimiter)")'
    r'|(?P<string>"(?:\\.|[^"\\\n])*")'
    r"|(?P<digits>\b\d[\w']*)"
    r"|(?P<char>'(?:\\.|[^'\\\n])+')",
    re.DOTALL,
)


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def split_comments(text):
    """(code, comments) of a C++ file, both with the line breaks of the original."""
    code, comments, position = [], [], 0
    for match in TOKENS.finditer(text):
        before = text[position : match.start()]
        token = match.group()
        is_comment = match.lastgroup == "comment"
        is_include = re.search(r"#include\s*$", before) is not None
        keep = match.lastgroup == "digits" or is_include
        code += [before, token if keep and not is_comment else blank(token)]
        comments += [blank(before), token if is_comment else blank(token)]
        position = match.end()
    code.append(text[position:])
    comments.append(blank(text[position:]))
    return "".join(code), "".join(comments)


def numbered(lines):
    return enumerate(lines, start=1)


# --- the rules ---


def folder_directions(source):
    """core <- beanstalk, faktory, http, journal <- engines <- server <- tools; protocols never include each other."""
    if source.folder not in FOLDERS:
        return
    allowed = FOLDERS[source.folder] | {source.folder}
    for number, line in numbered(source.code):
        match = re.match(r'\s*#include\s*"([^"]+)"', line)
        parts = match.group(1).split("/") if match else []
        if len(parts) == 1:
            yield number, f'write includes from src: "{source.folder}/{parts[0]}"'
        elif parts and not {parts[0], "/".join(parts[:2])} & allowed:
            yield number, f"{source.folder} must not include {'/'.join(parts[:-1])}"


def library_directions(source):
    """Core knows no socket, file, thread or JSON; protocols know no socket; journal knows no JSON."""
    for number, line in numbered(source.code):
        match = re.match(r"\s*#include\s*<([^>]+)>", line)
        for banned in LIBRARIES_BANNED.get(source.folder, []):
            if match and re.match(banned, match.group(1)):
                yield number, f"{source.folder} must not include <{match.group(1)}>"


def banned_calls(source):
    if not source.is_cpp:
        return
    for ban in BANS:
        if re.match(ban.allowed, source.path):
            continue
        for number, line in numbered(source.code):
            if re.search(ban.pattern, line):
                yield number, ban.why


def shared_ownership(source):
    """A shared_ptr in src says on the line above (or on its own) why sharing is right."""
    if not source.is_cpp or source.folder is None:
        return
    for number, line in numbered(source.code):
        if not re.search(r"\bshared_ptr<|\bmake_shared<|\benable_shared_from_this\b", line):
            continue
        above = source.comments[number - 2] if number > 1 else ""
        if not (above + source.comments[number - 1]).strip():
            yield number, "shared ownership needs a comment on the line above that says why"


def function_length(source):
    """Counts the lines of each body whose head, back to the previous statement, has parentheses."""
    if not source.is_cpp or not source.path.startswith("src/"):
        return
    code = "\n".join("" if line.startswith("#") else line for line in source.code)
    opened, head = [], 0
    limit = SHORT_FUNCTIONS.get(source.path, FUNCTION_LINES_MAX)
    for match in re.finditer(r"[{};]", code):
        position = match.start()
        if match.group() == "{":
            opened.append((head, code[head:position]))
        elif match.group() == "}" and opened:
            start, text = opened.pop()
            start += len(text) - len(text.lstrip())
            length = code.count("\n", start, position) + 1
            if length > limit and is_function_head(text):
                line = code.count("\n", 0, start) + 1
                yield line, f"a function of {length} lines; {limit} at most"
        head = position + 1


def is_function_head(text):
    return "(" in text and not re.match(r"\s*(namespace|class|struct|enum|union|extern)\b", text)


def line_length(source):
    if source.path.endswith(".md"):
        return
    for number, line in numbered(source.lines):
        if len(line) > COLUMNS_MAX:
            yield number, f"{len(line)} columns; {COLUMNS_MAX} at most"


def page_text(source):
    """Pages have short lines (but for tables, code and links) and short sentences."""
    if not source.path.endswith(".md"):
        return
    for number, columns in prose.long_lines(source.text):
        if columns > PAGE_COLUMNS_MAX:
            yield number, f"{columns} columns of text; {PAGE_COLUMNS_MAX} at most"
    median = prose.median_sentence(source.text)
    if median > SENTENCE_WORDS_MAX:
        yield 1, f"a median sentence of {median:g} words; {SENTENCE_WORDS_MAX} at most"


def tabs_and_trailing_space(source):
    for number, line in numbered(source.lines):
        if line != line.rstrip() or "\t" in line:
            yield number, "a tab or trailing space"


def include_guard(source):
    if source.path.endswith(".hpp"):
        code = [line for line in source.code if line.strip()]
        if not code or code[0] != "#pragma once":
            yield 1, "a header begins with #pragma once"


def stray_words(source):
    """Words that do not belong: unfinished work without a condition, places of one machine."""
    words = [
        (r"\bFIXME\b|\bXXX\b|\bHACK\b", "fix it, or write it down in docs"),
        (r"\bTODO\b(?!\([^)]+\):)", "a TODO names the condition that ends it: TODO(condition): ..."),
        (r"(?<![\w.~])/(work|root|home)/\w", "a path of one machine"),
    ]
    if source.path.endswith(".md"):
        words = words[2:]  # prose may speak about the others
    for number, line in numbered(source.lines):
        for pattern, why in words:
            if re.search(pattern, line):
                yield number, why


# Names that told nobody what they are, and the word that is used instead.
OPAQUE_NAMES = {
    "last_words": "crash message",
    "take_on": "set_admission",
    "take_back": "change",
    "introduce": "join",
    "Surroundings": "Parts",
    "spend": "mark_used",
    "holds_others": "is_compacting_only",
    "House": "InMemoryServer",
    "Host": "RunningServer",
    "Desk": "WebFixture",
}


def opaque_names(source):
    if not source.is_cpp:
        return
    for number, line in numbered(source.code):
        for name in re.findall(r"\w+", line):
            if name in OPAQUE_NAMES:
                yield number, f"{name} is called {OPAQUE_NAMES[name]} here"


RULES = [
    folder_directions,
    library_directions,
    banned_calls,
    shared_ownership,
    function_length,
    line_length,
    page_text,
    tabs_and_trailing_space,
    include_guard,
    stray_words,
    opaque_names,
]


def inner_folder(path):
    """`core/state` of `src/core/state/store.cpp`, and of an include of it."""
    return "/".join(os.path.dirname(path.removeprefix("src/")).split("/")[:2])


def include_arrows(sources):
    """{(folder, folder that it includes from): a source that does}"""
    arrows = {}
    for source in sources:
        if not source.is_cpp or source.folder not in FOLDERS:
            continue
        for line in source.lines:
            match = re.match(r'\s*#include\s*"([^"]+/[^"]+)"', line)
            if match:
                arrow = (inner_folder(source.path), inner_folder(match.group(1)))
                arrows.setdefault(arrow, source.path)
    return arrows


def folder_pairs(sources):
    """Two folders that include each other are one folder, or have an arrow that leads upward."""
    arrows = include_arrows(sources)
    pairs = {(a, b) for a, b in arrows if a < b and (b, a) in arrows}
    for a, b in sorted(pairs):
        yield f"{arrows[a, b]}: {a} and {b} include each other: so does {arrows[b, a]}"


def advice(sources):
    """What may hide several ideas. It does not fail."""
    counts = Counter(os.path.dirname(source.path) for source in sources if source.is_cpp)
    for folder, count in sorted(counts.items()):
        if count > FOLDER_FILES_ADVISED:
            yield f"{folder} has {count} files"
    for source in sources:
        limit = FILE_LINES_ADVISED.get(source.path.split("/")[0])
        if limit and len(source.lines) > limit:
            yield f"{source.path} has {len(source.lines)} lines"


def check(source):
    """All problems of one file, as `path:line: text`."""
    return [
        f"{source.path}:{number}: {text}" for rule in RULES for number, text in rule(source)
    ]


SUFFIXES = (
    ".cpp",
    ".hpp",
    ".py",
    ".rb",
    ".js",
    ".php",
    ".rs",
    ".java",
    ".cmake",
    ".md",
    "CMakeLists.txt",
)
SKIPPED = {"build", "node_modules", ".git", "__pycache__", "millrace-data", "corpus", "vendor"}
# The rules' own examples of what they catch.
EXEMPT = {"tests/tidy/tidy.py", "tests/tidy/test_tidy.py"}


def walk(root):
    for folder, _, names in os.walk(root):
        yield from (os.path.relpath(os.path.join(folder, name), root) for name in names)


def files(root):
    """Those that git does not ignore; all, where there is no repository."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=False, text=True)
    paths = set(listed.stdout.split("\0")) if listed.returncode == 0 else walk(root)
    return sorted(path for path in paths if os.path.isfile(os.path.join(root, path)))


def tree(root=ROOT):
    """Every source file under `root` that the rules speak about."""
    for path in files(root):
        if SKIPPED.intersection(path.split("/")) or path in EXEMPT:
            continue
        if path.endswith(SUFFIXES) or path == "dev":
            with open(os.path.join(root, path), encoding="utf-8") as file:
                yield Source(path, file.read())


def problems(sources):
    """All of the whole tree."""
    found = [problem for source in sources for problem in check(source)]
    return found + list(folder_pairs(sources))


def main():
    sources = list(tree())
    found = problems(sources)
    for problem in found:
        print(problem)
    for text in advice(sources):
        print(f"advice: {text}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
