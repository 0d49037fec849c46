"""The manual at /help: each of its links leads somewhere, and so do those of the web UI to it."""

import os
import posixpath
import re
import unittest
from html.parser import HTMLParser

from program import ServerTest, free_port
from web import Web

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BASE = "/help/"
PAGES_MIN = 40
PASSWORD = {"FAKTORY_PASSWORD": "very-secret"}


class Page(HTMLParser):
    """What a page leads to, its anchors, and its elements."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.tags = [], set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.tags.add(tag)
        self.links += [named[name] for name in ("href", "src") if name in named]
        if "id" in named:
            self.anchors.add(named["id"])


def links_of_scripts():
    """Where web/ leads in the manual."""
    with open(os.path.join(ROOT, "web", "help.js"), encoding="utf-8") as file:
        table = re.search(r"const PAGES = \{(.*?)\};", file.read(), re.DOTALL)[1]
    return [BASE + target for target in re.findall(r': "(.*)",', table)]


class HelpTest(ServerTest):
    def setUp(self):
        super().setUp()
        server = self.server(env=PASSWORD)
        server.web_address = ("127.0.0.1", free_port())
        server.start()
        self.web = Web(server.web_address)
        self.pages = {}

    def page(self, address):
        """Asked for without a password. None: it is no page."""
        if address not in self.pages:
            status, headers, body = self.web.get(address)
            self.assertEqual(status, 200, address)
            is_page = headers["Content-Type"].startswith("text/html")
            self.pages[address] = Page(body.decode()) if is_page else None
        return self.pages[address]

    def test_every_link_leads_to_a_page_and_a_heading(self):
        to_read, read = [BASE], set()
        while to_read:
            here = to_read.pop()
            read.add(here)
            for link in self.page(here).links:
                if re.match("[a-z]+:", link):
                    continue
                path, _, anchor = link.partition("#")
                slash = "/" if path.endswith("/") else ""
                there = posixpath.normpath(posixpath.join(posixpath.dirname(here), path)) + slash
                there = there.replace("//", "/") if path else here
                if there == "/":
                    continue
                with self.subTest(here, link=link):
                    found = self.page(there)
                    if anchor:
                        self.assertIn(anchor, found.anchors)
                if found and there not in read:
                    to_read.append(there)
        self.assertGreater(len(read), PAGES_MIN)
        self.assertFalse({"script", "style", "form"} & set().union(*[
            page.tags for page in self.pages.values() if page]))

    def test_every_link_of_the_web_ui_leads_to_a_heading(self):
        links = links_of_scripts()
        self.assertGreater(len(links), 10)
        for link in links:
            with self.subTest(link):
                path, _, anchor = link.partition("#")
                self.assertIn(anchor, self.page(path).anchors | {""})

    def test_every_page_for_users_is_there(self):
        docs = os.path.join(ROOT, "docs")
        for folder, folders, names in os.walk(docs):
            folders[:] = [name for name in folders if name != "internals"]
            for name in names:
                if name.endswith(".md") and name != "README.md":
                    path = os.path.relpath(os.path.join(folder, name), docs)
                    self.page(BASE + path.removesuffix(".md"))

    def test_a_page_that_is_not_there_is_404_and_only_the_manual_is_open(self):
        self.assertEqual(self.web.get("/help/nothing")[0], 404)
        self.assertEqual(self.web.get("/help/internals/architecture")[0], 404)
        self.assertEqual(self.web.get("/helpers")[0], 401)
        self.assertEqual(self.web.post("/help/")[0], 401)

    def test_the_policy_allows_no_script(self):
        _, headers, _ = self.web.get(BASE)
        self.assertTrue(headers["Content-Security-Policy"].startswith("default-src 'none'; style"))
        self.assertNotIn("script-src", headers["Content-Security-Policy"])


if __name__ == "__main__":
    unittest.main()
