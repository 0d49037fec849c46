"""Writes the files of web/ into a C++ source: `embed.py WEB OUT`. See src/http/assets.hpp."""

import os
import re
import sys

HEAD = """// Written by cmake/embed.py.
#include <array>

#include "http/kit/assets.hpp"

namespace millrace::http {
namespace {
"""

TAIL = """
}  // namespace

std::span<const Asset> assets() {
  return kAssets;
}

}  // namespace millrace::http
"""

LINE_BYTES = 24


def files_of(folder):
    """Paths from the folder with slashes, in the order in which C++ compares them."""
    paths = []
    for place, _, names in os.walk(folder):
        paths += [os.path.relpath(os.path.join(place, name), folder) for name in names]
    return sorted(path.replace(os.sep, "/") for path in paths)


# Around these a style needs none; no text in ours has one of them.
CSS_SPACE = re.compile(rb"\s?([{};,]|(?<=[a-z]):)\s?")
# Without a comment in it, which would go on too.
GOES_ON = re.compile(rb"^((?:(?!//).)*[\[({,])\n", re.MULTILINE)
BEFORE_END = re.compile(rb"^((?:(?!//).)*?),?\n(?=[\])}])", re.MULTILINE)
# Nor do these operators of a script, except in pages with programs and settings to paste.
JS_SPACE = re.compile(rb" (=>|[!=]==|=|&&|\|\||\?\?) ")
TO_PASTE = {"copies", "cron", "cron_entry", "first_run", "throttles"}
COMMENT = re.compile(rb"//.*|/\*.*\*/")


def without_comments(lines):
    """Lines that are a comment, or of one over several lines, are empty."""
    is_inside = False
    for line in lines:
        is_comment = is_inside or line.startswith(b"/*") or COMMENT.fullmatch(line)
        is_inside = is_comment and not line.startswith(b"//") and not line.endswith(b"*/")
        yield b"" if is_comment else line


def for_machines(path, data):
    """Our scripts and styles lose the white space at the beginnings of their lines, a tenth of all,
    the lines that are empty or a comment, and the ends of lines that go on or come before a closing
    bracket, with the comma there; no text in them goes over several lines."""
    if path.startswith("vendor/") or not path.endswith((".js", ".css")):
        return data
    lines = [line.strip() for line in data.split(b"\n")]
    text = b"\n".join(line for line in without_comments(lines) if line)
    text = GOES_ON.sub(rb"\1", BEFORE_END.sub(rb"\1", text))
    if path.endswith(".css"):
        return CSS_SPACE.sub(rb"\1", text).replace(b";}", b"}")
    return text if os.path.basename(path)[:-3] in TO_PASTE else JS_SPACE.sub(rb"\1", text)


def array_of(number, data):
    lines = [data[at : at + LINE_BYTES] for at in range(0, len(data), LINE_BYTES)]
    body = "\n".join("  " + ",".join(str(byte) for byte in line) + "," for line in lines)
    return f"constexpr unsigned char kFile{number}[] = {{\n{body}\n  0}};\n"


def main():
    web, out = sys.argv[1:]
    arrays, rows = [], []
    for number, path in enumerate(files_of(web)):
        with open(os.path.join(web, path), "rb") as file:
            data = for_machines(path, file.read())
        arrays.append(array_of(number, data))
        rows.append(
            f'    Asset{{"{path}", {{reinterpret_cast<const char*>(kFile{number}), {len(data)}}}}},'
        )
    table = f"\nconst std::array<Asset, {len(rows)}> kAssets = {{\n" + "\n".join(rows) + "\n};\n"
    with open(out, "w", encoding="ascii") as file:
        file.write(HEAD + "\n" + "\n".join(arrays) + table + TAIL)


if __name__ == "__main__":
    main()
