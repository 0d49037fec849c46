"""Signatures by GnuPG with the key that GPG_KEY names, where it is set."""

import os

from .build import output_of


def key():
    return os.environ.get("GPG_KEY")


def gpg(*words):
    return output_of("gpg", "--batch", "--yes", "--armor", *words)


def sign(path, signature, form):
    gpg("--local-user", key(), "--output", signature, form, path)


def public_key():
    return gpg("--export", key())
