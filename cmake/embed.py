"""Writes the files of web/ into a C++ source: `embed.py ESBUILD WEB OUT`. See
src/http/kit/assets.hpp."""

import os
import subprocess
import sys
import tempfile

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

LINE_BYTES = 64


def files_of(folder):
    """Paths from the folder with slashes, in the order in which C++ compares them."""
    paths = []
    for place, _, names in os.walk(folder):
        paths += [os.path.relpath(os.path.join(place, name), folder) for name in names]
    return sorted(path.replace(os.sep, "/") for path in paths)


def minified(esbuild, web, paths):
    """The scripts and styles of ours without what only people read, by path."""
    ours = [path for path in paths
            if path.endswith((".js", ".css")) and not path.startswith("vendor/")]
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([esbuild, *ours, "--minify", "--charset=utf8", "--log-level=warning",
                        "--outbase=.", f"--outdir={out}"], cwd=web, check=True)
        return {path: contents_of(out, path) for path in ours}


def contents_of(folder, path):
    with open(os.path.join(folder, path), "rb") as file:
        return file.read()


def array_of(number, data):
    lines = [data[at : at + LINE_BYTES] for at in range(0, len(data), LINE_BYTES)]
    # A text takes a compiler a tenth of the time that a list of numbers does.
    body = "\n".join('  "' + "".join(map(escaped, line)) + '"' for line in lines) or '  ""'
    return f"constexpr char kFile{number}[] =\n{body};\n"


def escaped(byte):
    is_plain = 0x20 <= byte < 0x7F and byte not in b'"\\?'
    return chr(byte) if is_plain else f"\\{byte:03o}"


def main():
    esbuild, web, out = sys.argv[1:]
    arrays, rows = [], []
    paths = files_of(web)
    small = minified(esbuild, web, paths)
    for number, path in enumerate(paths):
        data = small.get(path) or contents_of(web, path)
        arrays.append(array_of(number, data))
        rows.append(
            f'    Asset{{"{path}", {{kFile{number}, {len(data)}}}}},'
        )
    table = f"\nconst std::array<Asset, {len(rows)}> kAssets = {{\n" + "\n".join(rows) + "\n};\n"
    with open(out, "w", encoding="ascii") as file:
        file.write(HEAD + "\n" + "\n".join(arrays) + table + TAIL)


if __name__ == "__main__":
    main()
