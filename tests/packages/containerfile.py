"""Reads packaging/Containerfile."""

import json
import re


def instructions(path):
    """As (name, rest), without comments, each on one line."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"^#.*\n", "", file.read(), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [tuple(line.split(maxsplit=1)) for line in lines if line.strip()]


def all_of(path, name):
    return [rest for each, rest in instructions(path) if each == name]


def variables(path):
    return dict(word.split("=", 1) for word in " ".join(all_of(path, "ENV")).split())


def health_command(path):
    (check,) = all_of(path, "HEALTHCHECK")
    return json.loads(check[check.index("CMD") + 3 :])
