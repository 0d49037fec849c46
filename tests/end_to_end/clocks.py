"""A wall clock that a test sets. It is the clock of one process alone."""

import os
import time

from preloaded import preloaded
from program import ServerTest


class ClockTest(ServerTest):
    """A test whose server's wall clock is ahead of the machine's by as much as it says."""

    def setUp(self):
        super().setUp()
        library = preloaded("wall_clock", self.path("wall_clock.so"))
        self.shift_file = self.path("shift")
        self.set_ahead(0)
        self.clock_env = {"LD_PRELOAD": library, "SHIFT_FILE": self.shift_file}

    def set_ahead(self, seconds):
        """Sets the server's wall clock so far ahead of the machine's."""
        with open(self.shift_file + ".new", "w", encoding="ascii") as file:
            file.write(f"{seconds}\n")
        os.replace(self.shift_file + ".new", self.shift_file)

    def set_clock(self, seconds_since_1970):
        """Sets it to that time, or up to a second later."""
        self.set_ahead(seconds_since_1970 - int(time.time()))
