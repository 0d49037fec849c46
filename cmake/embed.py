"""Writes what a browser gets of web/ and docs/ into a C++ source:
`embed.py ESBUILD CMARK WEB DOCS OUT`. See src/http/kit/assets.hpp."""

import hashlib
import os
import re
import subprocess
import sys
import tempfile

from help_pages import help_of

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


# What pages name. The other scripts are bundled into app.js.
BUNDLES = ["app.js", "login.js", "style.css", "theme.js"]


def files_of(folder):
    """Contents by path from the folder, with slashes."""
    paths = []
    for place, _, names in os.walk(folder):
        paths += [os.path.relpath(os.path.join(place, name), folder) for name in names]
    return {path.replace(os.sep, "/"): contents_of(folder, path) for path in paths}


def bundled(esbuild, web, names):
    """Scripts and styles without what only people read. Names stay, for errors."""
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([esbuild, *names, "--bundle", "--format=esm", "--minify-syntax",
                        "--minify-whitespace", "--charset=utf8", "--log-level=warning",
                        f"--outdir={out}"], cwd=web, check=True)
        return files_of(out)


def assets_of(esbuild, web):
    files = {path: data for path, data in files_of(web).items()
             if not path.endswith((".js", ".css"))}
    files |= bundled(esbuild, web, BUNDLES)
    # A browser keeps a file under its address, which changes with the file.
    files["index.html"] = re.sub(
        r'"assets/([^"]+)"',
        lambda found: f'"assets/{found[1]}?v={version_of(files[found[1]])}"',
        files["index.html"].decode()).encode()
    return files


def version_of(data):
    return hashlib.sha256(data).hexdigest()[:16]


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
    esbuild, cmark, web, docs, out = sys.argv[1:]
    files = assets_of(esbuild, web) | help_of(cmark, docs)
    files |= {"help/help.css": bundled(esbuild, web, ["help.css"])["help.css"]}
    arrays, rows = [], []
    # In the order in which C++ compares them.
    for number, (path, data) in enumerate(sorted(files.items())):
        arrays.append(array_of(number, data))
        rows.append(
            f'    Asset{{"{path}", {{kFile{number}, {len(data)}}}, "{version_of(data)}"}},'
        )
    table = f"\nconst std::array<Asset, {len(rows)}> kAssets = {{\n" + "\n".join(rows) + "\n};\n"
    with open(out, "w", encoding="ascii") as file:
        file.write(HEAD + "\n" + "\n".join(arrays) + table + TAIL)


if __name__ == "__main__":
    main()
