"""The languages: what each folder's `interop.toml` says, whether its tools are here, installing."""

import glob
import os
import shutil
import subprocess
import tomllib
from dataclasses import dataclass, field

from programs import BeanstalkDriver, Pusher, Worker

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, "build", "interop")
INSTALL_SECONDS_MAX = 900


@dataclass(frozen=True)
class Library:
    """A client library of one protocol, and how its program is started."""

    language: "Language"
    name: str
    version: str
    command: list
    # Cases that it has nothing for, and why.
    lacks: dict = field(default_factory=dict)
    # What only few have: ways to the server, and to hold up their heartbeat.
    offers: list = field(default_factory=list)
    # All that it takes part in, if it has too little for the others.
    cases: list = field(default_factory=list)
    # Where no package registry has it: what `git fetch` gets, into {build}/NAME.
    repository: str = ""
    commit: str = ""
    # How many bits of an integer it sends, and gives to a handler, as they are.
    integer_bits: int = 70
    # What a worker calls its machine, if that is not its name.
    hostname: str = ""
    # Whether it reads a job without `reserve_for`.
    reads_all_jobs: bool = True
    # Whether it fails a job that it has no handler for; else its worker ends.
    fails_unknown_jobs: bool = True
    # Whether its worker sends BEAT while it has a connection open. Only then its silence tells.
    beats: bool = True
    # Whether its worker goes on when the server was away for a moment.
    survives_restart: bool = False
    # What it can put and reserve: `any` bytes, only `text`, or anything but a line end (`line`).
    bodies: str = "any"
    # Whether a worker that is told to end waits for the jobs that run.
    finishes_jobs: bool = True

    @property
    def number(self):
        """The version without where it is from, and without what Debian adds to it."""
        return self.version.partition(",")[0]

    @property
    def is_here(self):
        return self.name not in self.language.unreachable

    def takes_part_in(self, case):
        return not self.cases or case in self.cases + self.offers

    def start(self, kind, server, *arguments, **environment):
        return kind(
            [*self.command, *arguments],
            self.language.folder,
            {**server.environment(), **environment},
        )

    def pusher(self, server):
        return self.start(Pusher, server, "push")

    def worker(self, server, queues, concurrency=2):
        return self.start(
            Worker,
            server,
            "work",
            INTEROP_QUEUES=",".join(queues),
            INTEROP_CONCURRENCY=str(concurrency),
        )

    def driver(self, server):
        return self.start(BeanstalkDriver, server)


@dataclass(frozen=True)
class Suite:
    """A test suite that a library brings along."""

    language: "Language"
    name: str
    version: str
    # A shell command that prints the names of its cases, and one that runs a case.
    list: str
    run: str
    # How many cases must talk to the server; others would pass without one.
    live: int
    environment: dict = field(default_factory=dict)
    # Where a case is a file of mocha's, reported in JSON: how many its cases are, by outcome.
    mocha: dict = field(default_factory=dict)
    # What a case prints that starts a server of its own.
    own_server: str = ""
    # The text of the server's config file.
    config: str = ""


@dataclass(frozen=True)
class Examples:
    """Files of docs/clients in this language."""

    language: "Language"
    files: list = field(default_factory=list)
    # Beside what the server gives to each program.
    environment: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """What `git fetch` gets into {build}/NAME, where no package registry has it."""

    name: str
    repository: str
    commit: str
    # Run there, in the language's folder.
    install: str = "true"


@dataclass(frozen=True)
class Guide:
    """A page of docs/guides, whose application is in this language."""

    language: "Language"
    name: str
    # Another page than NAME.md, and the heading of its part.
    page: str = ""
    section: str = ""
    # A folder with what the framework's generator writes, in place of the page's first commands.
    # Their packages are Debian's, or made of a source.
    skeleton: str = ""
    # The name of a source that it needs.
    source: str = ""
    # Where its packages are: added in front of what is there.
    paths: dict = field(default_factory=dict)
    # The worker's exit status after SIGTERM.
    status: int = 0

    @property
    def file(self):
        return f"{self.page or self.name}.md"

    def environment_of(self, known):
        own = dict(zip(self.paths, self.language.filled(self.paths.values())))
        return {name: f"{path}:{known[name]}" if name in known else path
                for name, path in own.items()}


@dataclass(frozen=True)
class FirstRun:
    """The program in this language that the web UI shows on a new server."""

    language: "Language"
    name: str
    # Files of the language's folder that it needs next to it.
    files: list = field(default_factory=list)
    # Where it finds the library: added to the environment of this program.
    paths: dict = field(default_factory=dict)
    # It does the test job that the page pushes; else a job of its own.
    is_pushed: bool = True

    @property
    def environment(self):
        own = dict(zip(self.paths, self.language.filled(self.paths.values())))
        for name in own.keys() & os.environ.keys():
            own[name] += f":{os.environ[name]}"
        return own

    def prepared(self, folder):
        for name in self.files:
            shutil.copy(os.path.join(self.language.folder, name), folder)
        return folder


class Language:
    def __init__(self, name):
        self.name = name
        self.folder = os.path.join(HERE, name)
        self.build = os.path.join(BUILD, name)
        with open(os.path.join(self.folder, "interop.toml"), "rb") as file:
            self.said = tomllib.load(file)
        # Libraries whose repository could not be reached, and what git said.
        self.unreachable = {}
        self.faktory = self.libraries("faktory")
        self.beanstalk = self.libraries("beanstalk")
        self.examples = Examples(self, **self.said.get("examples", {}))
        self.sources = [Source(name, **said) for name, said in self.said.get("source", {}).items()]
        self.guides = [
            Guide(self, name, **said) for name, said in self.said.get("guide", {}).items()
        ]
        first = self.said.get("first_run")
        self.first_run = FirstRun(self, **first) if first else None
        self.suites = [
            Suite(self, name, **said) for name, said in self.said.get("suite", {}).items()
        ]

    def libraries(self, protocol):
        return [self.library(name, said) for name, said in self.said.get(protocol, {}).items()]

    def library(self, name, said):
        return Library(self, name, **{**said, "command": self.filled(said["command"])})

    def filled(self, words):
        return [
            word.replace("{build}", self.build).replace("{folder}", self.folder) for word in words
        ]

    def missing(self):
        """What it needs and is not here: programs of PATH, Debian packages."""
        absent = [tool for tool in self.said["needs"] if shutil.which(tool) is None]
        return absent + self.missing_packages()

    def missing_packages(self):
        return [name for name in self.said.get("packages", []) if not is_installed(name)]

    def install(self):
        """By its own package manager; what is there already is not fetched again. A note."""
        os.makedirs(self.build, exist_ok=True)
        for line in self.said.get("install", []):
            self.shell(line)
        libraries = self.faktory + self.beanstalk
        for library in libraries:
            if library.repository:
                self.fetch(library)
        for source in self.sources:
            self.fetch(source)
            if source.name not in self.unreachable:
                self.shell(source.install)
        here = [library for library in libraries if library.is_here]
        return ", ".join(f"{library.name} {library.version}" for library in here)

    def fetch(self, library):
        """Its source, which the commit's hash vouches for."""
        place = f"'{{build}}/{library.name}'"
        git = f"git -C {place} -c http.lowSpeedLimit=1 -c http.lowSpeedTime=30"
        try:
            self.shell(f"""
                git init --quiet {place}
                {git} cat-file -e {library.commit} 2>/dev/null ||
                  {git} fetch --quiet --depth 1 {library.repository} {library.commit}
            """, {"GIT_TERMINAL_PROMPT": "0"})
        except AssertionError as error:
            self.unreachable[library.name] = str(error).strip().rpartition("\n")[2]
            return
        self.shell(f"{git} checkout --quiet --force {library.commit}")

    def shell(self, line, environment=None):
        """Runs a command in the folder; what it prints. Raises when it fails."""
        done = subprocess.run(
            self.filled([line])[0],
            shell=True,
            cwd=self.folder,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=INSTALL_SECONDS_MAX,
        )
        assert done.returncode == 0, f"{line.strip()}\n{done.stdout[-4000:]}"
        return done.stdout


def is_installed(package):
    asked = subprocess.run(
        ["dpkg-query", "-W", "-f=${db:Status-Status}", package], capture_output=True, text=True
    )
    return asked.stdout == "installed"


def all_languages():
    files = glob.glob(os.path.join(HERE, "*", "interop.toml"))
    return [Language(os.path.basename(os.path.dirname(file))) for file in sorted(files)]
