"""Threads that a server cannot start."""

import mmap
import struct

from preloaded import preloaded


class Threads:
    """Of the servers that have its `env`. `test` is the ServerTest."""

    def __init__(self, test):
        path = test.path("threads")
        with open(path, "wb") as file:
            file.write(bytes(8))
        with open(path, "r+b") as file:
            self.number = mmap.mmap(file.fileno(), 8)
        test.addCleanup(self.number.close)
        library = preloaded("failing_thread", test.path("threads.so"))
        self.env = {"LD_PRELOAD": library, "THREADS": path}

    def let(self, number):
        """So many from now on, the last of which fails; 0: none does; -1: all do."""
        self.number[:] = struct.pack("q", number)

    def left(self):
        """Of those; 0: one has failed."""
        return struct.unpack("q", self.number[:])[0]
