"""The whole table: the rows, size, bystander and many, one after the other. See bench/README.md for
how long it takes and how much memory it needs.
"""

import os
import subprocess
import sys

import arguments
import results
import servers
from goal import GOAL_JOBS

WRONG_OPTIONS = 2


def run(command):
    """Its status. A signal to us stops it too, and it has the time to clean up."""
    process = subprocess.Popen(command, preexec_fn=servers.end_with_parent)
    try:
        return process.wait()
    except BaseException:
        process.terminate()
        process.wait()
        raise


def main():
    parser = arguments.Parser("all", __doc__)
    parser.add_argument("--jobs", type=arguments.positive, default=GOAL_JOBS,
                        help=f"of size and bystander; default: {GOAL_JOBS}")
    options = results.read_options(parser)
    jobs = ["--jobs", str(options.jobs)]
    write = ["--write"] if options.write else []
    here = os.path.dirname(os.path.abspath(__file__))
    failed = []
    for name, settings in (("run", []), ("size", jobs), ("bystander", jobs), ("many", [])):
        print(f"== {name}", file=sys.stderr)
        command = [sys.executable, os.path.join(here, f"{name}.py"), *settings, *write]
        status = run(command)
        if status == WRONG_OPTIONS:
            sys.exit(WRONG_OPTIONS)
        if status != 0:
            failed.append(name)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
