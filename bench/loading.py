"""The load (`load.cpp`) as a process of its own. `settings` are its options."""

import json
import os
import signal
import subprocess
import time

import servers

CONNECTING_S = 0.5


def start_load(port, **settings):
    command = [os.environ["LOAD"], f"--port={port}"]
    command += [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                            preexec_fn=servers.end_with_parent)


def finish_load(process):
    """Its report."""
    text, _ = process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"the load failed: {' '.join(process.args)}")
    return json.loads(text)


def load(port, **settings):
    return finish_load(start_load(port, **settings))
