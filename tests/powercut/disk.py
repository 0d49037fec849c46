"""What a disk may hold after a power cut: built from the notes of recorder.c.

What was synced is there. Of the rest, any may be: each sector of a file has some state that it was
in since its last sync, a file has one of its lengths since then, and of the changes of names some
have happened. Nothing else is assumed of a file system, but that a rename happens as a whole.
"""

import os
import struct
from dataclasses import dataclass, field

NOTE = struct.Struct("=cBHiqq")
SECTORS = (512, 4096)
ROOT, PARENT = ".", ".."


@dataclass(frozen=True)
class Note:
    kind: str
    flag: int
    handle: int
    a: int
    b: int
    name: str
    data: bytes = b""


def read_notes(path):
    """Of a process that was killed: the last note may be incomplete, and is left out."""
    with open(path, "rb") as file:
        text = file.read()
    notes, at = [], 0
    while at + NOTE.size <= len(text):
        kind, flag, name_bytes, handle, a, b = NOTE.unpack_from(text, at)
        at += NOTE.size
        name = text[at : at + name_bytes].decode()
        at += name_bytes
        data = b""
        if kind == b"W" and not flag:
            data = text[at : at + b]
            at += b
        if at > len(text):
            break
        notes.append(Note(kind.decode(), flag, handle, a, b, name, data))
    return notes


@dataclass
class File:
    """`durable` is on the disk. `pending` are the changes since, as (place in the notes, note)."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list = field(default_factory=list)

    def sync(self, until):
        """What was done before `until` is on the disk."""
        while self.pending and self.pending[0][0] < until:
            change(self.durable, self.pending.pop(0)[1])


def change(contents, note):
    if note.kind == "T":
        del contents[note.a :]
        contents.extend(bytes(note.a - len(contents)))
        return
    end = note.a + note.b
    contents.extend(bytes(max(0, end - len(contents))))
    if note.kind == "W":
        contents[note.a : end] = note.data or bytes(note.b)


def length_after(length, note):
    return note.a if note.kind == "T" else max(length, note.a + note.b)


def apply_naming(names, note):
    """Carries out a change of names, as far as it is possible without those before it."""
    if note.kind == "U":
        names.pop(note.name, None)
    elif note.kind == "O":
        names[note.name] = note.file
    else:
        old, new = note.name.split("/")
        if note.file is names.get(old):
            names[new] = note.file
            if note.kind == "R":
                del names[old]


@dataclass(frozen=True)
class Naming:
    """A change of names, and the file that it is about."""

    kind: str
    name: str
    file: File


class Disk:
    """The data directory while the notes are played, and how many bytes each client was told."""

    def __init__(self, base=None):
        """`base`: the contents of the directory before, by name; None: it is not there."""
        self.names = {name: File(bytearray(data)) for name, data in (base or {}).items()}
        self.durable_names = dict(self.names)
        self.pending_names = []
        self.is_made = self.is_kept = base is not None
        self.handles = {}
        self.syncs = {}
        self.told = {}
        self.place = 0

    def play(self, note):
        self.place += 1
        getattr(self, f"play_{note.kind}")(note)

    def play_M(self, note):
        assert note.name == ROOT, note
        self.is_made = True

    def play_O(self, note):
        if note.name in (ROOT, PARENT):
            self.handles[note.handle] = note.name
            return
        if note.flag:
            self.name_changes("O", note.name, File())
        self.handles[note.handle] = self.names[note.name]

    def play_W(self, note):
        self.handles[note.handle].pending.append((self.place, note))

    play_T = play_A = play_W

    def play_B(self, note):
        self.syncs[note.a] = self.place

    def play_E(self, note):
        until = self.syncs.pop(note.a)
        what = self.handles[note.handle]
        if what == PARENT:
            self.is_kept = self.is_made
        elif what == ROOT:
            while self.pending_names and self.pending_names[0][0] < until:
                apply_naming(self.durable_names, self.pending_names.pop(0)[1])
        else:
            what.sync(until)

    def play_U(self, note):
        self.name_changes("U", note.name, None)

    def play_R(self, note):
        self.name_changes(note.kind, note.name, self.names[note.name.split("/")[0]])

    play_L = play_R

    def play_S(self, note):
        self.told[note.a] = self.told.get(note.a, 0) + note.b

    def name_changes(self, kind, name, file):
        naming = Naming(kind, name, file)
        apply_naming(self.names, naming)
        self.pending_names.append((self.place, naming))


@dataclass(frozen=True)
class Luck:
    """How a power cut treats what was not synced."""

    sector: int
    data: str  # none, all, until (a moment), any (each sector for itself)
    names: str  # none, all, until, any

    @staticmethod
    def draw(random):
        data = random.choice(("none", "all", "until", "any", "any", "any"))
        names = random.choice(("none", "all", "until", "until", "any"))
        return Luck(random.choice(SECTORS), data, names)


def chosen(pending, how, moment, random):
    """The changes of names that happened."""
    if how in ("none", "all"):
        return [each for _, each in pending if how == "all"]
    if how == "until":
        return [each for place, each in pending if place <= moment]
    return [each for _, each in pending if random.random() < 0.5]


def image(disk, luck, random):
    """The contents of the directory after a power cut now, by name; None: it is not there."""
    if not disk.is_kept and (not disk.is_made or random.random() < 0.5):
        return None
    places = [place for place, _ in disk.pending_names]
    places += [place for file in disk.names.values() for place, _ in file.pending]
    moment = random.choice(places) if places else 0
    names = dict(disk.durable_names)
    for naming in chosen(disk.pending_names, luck.names, moment, random):
        apply_naming(names, naming)
    return {name: contents(file, luck, moment, random) for name, file in names.items()}


def contents(file, luck, moment, random):
    """Of one file. A sector is written as a whole, so one that a later change is in also has all
    earlier ones."""
    if not file.pending or luck.data == "none":
        return bytes(file.durable)
    if luck.data == "all":
        happened = [note for _, note in file.pending]
    else:
        happened = [note for place, note in file.pending if place <= moment]
    if luck.data != "any":
        result = bytearray(file.durable)
        for note in happened:
            change(result, note)
        return bytes(result)
    lengths = [len(file.durable)]
    for _, note in file.pending:
        lengths.append(length_after(lengths[-1], note))
    result = bytearray(max(lengths))
    result[: len(file.durable)] = file.durable
    odds = random.choice((0.1, 0.5, 0.9))
    for sector, notes in touched(file.pending, max(lengths), luck.sector).items():
        count = random.randint(0, len(notes)) if len(notes) > 1 else random.random() < odds
        for note in notes[:count]:
            change_sector(result, sector * luck.sector, luck.sector, note)
    length = random.choice(lengths)
    del result[length:]
    return bytes(result)


def touched(pending, length, size):
    """The changes of each sector's bytes."""
    sectors = {}
    for _, note in pending:
        if note.kind == "A":
            continue
        end = length if note.kind == "T" else note.a + note.b
        for sector in range(note.a // size, (end + size - 1) // size):
            sectors.setdefault(sector, []).append(note)
    return sectors


def change_sector(result, begin, size, note):
    first = max(begin, note.a)
    last = min(begin + size, len(result))
    if note.kind == "W":
        last = min(last, note.a + note.b)
    if first < last:
        piece = note.data[first - note.a : last - note.a] if note.kind == "W" else b""
        result[first:last] = piece or bytes(last - first)


def store(names, path):
    """Makes the directory of an image. Zeros at the end take no room."""
    if names is None:
        return
    os.mkdir(path, 0o700)
    for name, data in names.items():
        with open(os.path.join(path, name), "wb") as file:
            file.write(data.rstrip(b"\0"))
            file.truncate(len(data))


def load(path):
    """The contents of a directory, or None."""
    if not os.path.isdir(path):
        return None
    names = {}
    for name in os.listdir(path):
        with open(os.path.join(path, name), "rb") as file:
            names[name] = file.read()
    return names
