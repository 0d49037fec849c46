"""The site of the documentation, as far as it can be checked without mkdocs: each page has a place,
and lists read by Python's Markdown are those that GitHub shows."""

import os
import sys
import unittest
from types import SimpleNamespace

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "packaging", "site"))

import hooks  # noqa: E402


def pages():
    """Of users, and of developers."""
    for folder, _, names in os.walk(os.path.join(ROOT, "docs")):
        for name in names:
            if name.endswith(".md"):
                yield os.path.relpath(os.path.join(folder, name), ROOT)


class Files(list):
    def documentation_pages(self):
        return [SimpleNamespace(src_uri=each) for each in self]


class Site(unittest.TestCase):
    def test_each_page_is_in_one_section(self):
        config = SimpleNamespace(nav=None)
        hooks.on_files(Files(pages()), config)
        placed = [page for section in config.nav for found in section.values() for page in found]
        self.assertEqual(sorted(set(placed)), sorted(placed))
        self.assertEqual(sorted(set(pages()) - set(placed)), [])
        for page in placed:
            self.assertTrue(os.path.exists(os.path.join(ROOT, page)), page)

    def test_guides_come_before_the_pages_of_features(self):
        config = SimpleNamespace(nav=None)
        hooks.on_files(Files(pages()), config)
        guides = next(section["Guides"] for section in config.nav if "Guides" in section)
        first = [page.startswith("docs/guides/") for page in guides]
        self.assertTrue(any(first))
        self.assertEqual(first, sorted(first, reverse=True))

    def test_what_belongs_to_an_item_is_indented_by_four(self):
        text = "1. One:\n\n   ```\n   a\n     b\n   ```\n\n* Two\n  lines\n\nNo item\n   3"
        wanted = "1. One:\n\n    ```\n    a\n      b\n    ```\n\n* Two\n    lines\n\nNo item\n   3"
        self.assertEqual(hooks.on_page_markdown(text), wanted)

    def test_only_the_language_of_code_is_left(self):
        self.assertEqual(hooks.on_page_markdown("```golden 1/a\n```"), "```golden\n```")


if __name__ == "__main__":
    unittest.main()
