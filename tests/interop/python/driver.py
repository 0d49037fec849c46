"""Reads commands, has each done, answers. What a handler raises is the answer `error TEXT`."""

import sys


def serve(handlers):
    """`handlers`: from a command to a function that is given its words and returns the answer's."""
    for line in sys.stdin:
        command, *words = line.rstrip("\n").split("\t")
        try:
            answer = handlers[command](*words) or ["ok"]
        except Exception as error:  # whatever the library raises is what its user would see
            answer = [f"error {type(error).__name__} {error}".replace("\n", " ")]
        print("\t".join(answer), flush=True)
