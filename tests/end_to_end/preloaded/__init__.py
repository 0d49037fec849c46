"""Libraries that change what the machine is like for one program."""

import os
import subprocess


def preloaded(name, library):
    """Builds it from `name`.c, for LD_PRELOAD."""
    source = os.path.join(os.path.dirname(__file__), name + ".c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    return library
