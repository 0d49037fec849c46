"""The users' pages in docs/ as HTML, which the server shows at /help. Used by embed.py."""

import html
import os
import posixpath
import re
import subprocess

# Only developers need these, and they have the sources.
LEFT_OUT = "internals"
INDEX = "README.md"
# Screenshots would be larger than all else, and show what is next to them anyway.
PICTURES = ".svg"

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title} · Millrace help</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="{root}assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="{root}assets/style.css">
<link rel="stylesheet" href="{root}help/help.css">
</head>
<body>
<header><nav aria-label="Help">
<a href="{root}">Millrace</a> <a href="{root}help/">Help</a>
</nav></header>
<main>
{content}</main>
</body>
</html>
"""

HEADING = re.compile(r"<h([1-6])>(.*?)</h\1>", re.DOTALL)
LINK = re.compile(r'<a href="([^"]*)"[^>]*>(.*?)</a>', re.DOTALL)
PICTURE = re.compile(r'<img src="([^"]*)" alt="([^"]*)"[^>]*/>')


def help_of(cmark, docs):
    """Contents by path among the assets: `help/index.html`, `help/operations/options.html`."""
    names = sorted(names_in(docs))
    files = {}
    for name in names:
        with open(os.path.join(docs, name), "rb") as file:
            files[f"help/{name}"] = file.read()
    for name in filter(is_page, names):
        made = subprocess.run([cmark, "--extension", "table", "--extension", "autolink"],
                              input=files.pop(f"help/{name}"), stdout=subprocess.PIPE, check=True)
        files[f"help/{address_of(name) or 'index'}.html"] = page_of(
            name, made.stdout.decode(), set(names)).encode()
    return files


def names_in(docs):
    """From there, with slashes."""
    for folder, folders, names in os.walk(docs):
        folders[:] = [each for each in folders if each != LEFT_OUT]
        for name in names:
            if name.endswith((".md", PICTURES)):
                yield os.path.relpath(os.path.join(folder, name), docs).replace(os.sep, "/")


def is_page(name):
    return name.endswith(".md")


def address_of(name):
    """Below /help/."""
    return "" if name == INDEX else name.removesuffix(".md")


def page_of(name, content, names):
    here = posixpath.dirname(name)
    root = "../" * (1 + address_of(name).count("/"))

    def lead(found):
        """What is not in the program is shown as text."""
        target, text = found.groups()
        if re.match(r"[a-z]+:", target):
            return f'<a href="{target}">{text}</a>'
        path, mark, anchor = target.partition("#")
        aim = posixpath.normpath(posixpath.join(here, path)) if path else name
        if aim not in names:
            return text
        to = "" if aim == name and mark else f"{root}help/{address_of(aim)}"
        return f'<a href="{to}{mark}{anchor}">{text}</a>'

    def show(found):
        target, text = found.groups()
        aim = posixpath.normpath(posixpath.join(here, target))
        return f'<img src="{root}help/{aim}" alt="{text}">' if aim in names else f"<em>{text}</em>"

    title = html.escape(plain(HEADING.search(content)[2]))
    content = LINK.sub(lead, PICTURE.sub(show, with_anchors(content)))
    # The heading of a column must have words.
    content = content.replace("<th></th>", "<td></td>")
    return PAGE.format(title=title, root=root, content=content)


def plain(content):
    return html.unescape(re.sub(r"<[^>]*>", "", content))


def with_anchors(content):
    """Headings get the anchors that GitHub gives them."""
    taken = {}

    def mark(found):
        level, text = found.groups()
        anchor = re.sub(r"[^\w -]", "", plain(text).lower()).replace(" ", "-")
        number = taken[anchor] = taken.get(anchor, -1) + 1
        return f'<h{level} id="{anchor}{f"-{number}" if number else ""}">{text}</h{level}>'

    return HEADING.sub(mark, content)
