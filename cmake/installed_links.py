"""Makes plain text of the links of installed pages to files that are not installed, such as those
for people who change the program: `installed_links.py FOLDER`."""

import glob
import os
import re
import sys


def without_dead_links(text, folder):
    def checked(found):
        target = found.group(2)
        is_ours = not re.match(r"[a-z]+:", target)
        is_dead = is_ours and not os.path.lexists(os.path.join(folder, target))
        return found.group(1) if is_dead else found.group(0)

    return re.sub(r"\[([^\]]*)\]\(([^)\s#]+)(?:#[^)\s]*)?\)", checked, text)


def main():
    for path in glob.glob(os.path.join(sys.argv[1], "**", "*.md"), recursive=True):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        plain = without_dead_links(text, os.path.dirname(path))
        if plain != text:
            with open(path, "w", encoding="utf-8") as file:
                file.write(plain)


if __name__ == "__main__":
    main()
