"""Libraries that change what the machine is like for one program."""

import mmap
import os
import struct
import subprocess


def preloaded(name, library):
    """Builds it from `name`.c, for LD_PRELOAD."""
    source = os.path.join(os.path.dirname(__file__), name + ".c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    return library


class Countdown:
    """How often the library `name` lets something happen to the servers that have this `env`."""

    def __init__(self, test, name):
        path = test.path(name)
        with open(path, "wb") as file:
            file.write(bytes(8))
        with open(path, "r+b") as file:
            self.number = mmap.mmap(file.fileno(), 8)
        test.addCleanup(self.number.close)
        self.env = {"LD_PRELOAD": preloaded(name, path + ".so"), "COUNTDOWN": path}

    def let(self, number):
        """So many from now on, the last of which fails; 0: none does. Answers what was left."""
        before = self.left()
        self.number[:] = struct.pack("q", number)
        return before

    def left(self):
        """Of those; 0: one has failed."""
        return struct.unpack("q", self.number[:])[0]
