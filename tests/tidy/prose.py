"""Measures the text of Markdown pages: `measure(paths)`, or `prose.py PAGE...`.

A word has a letter; code blocks and comments count nothing, and inline code is one word. Sentences
are those of paragraphs and list items, a line those outside of tables, code and links.
"""

import re
import statistics
import sys
from dataclasses import dataclass

FENCE = "```"
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
LINK = re.compile(r"!?\[([^]]*)\]\([^)]*\)")
CODE = re.compile(r"`[^`]+`")
WORD = re.compile(r"\S*[^\W\d_]\S*")
ITEM = re.compile(r"^\s*(?:[*-]|\d+\.) ")
# A full stop before a small letter is an abbreviation's, or a number's.
SENTENCE_END = re.compile(r"(?<=[.!?])[)*\"]*\s+(?=[*\"(]*[A-Z0-9`])")


@dataclass(frozen=True)
class Measure:
    words: int
    prose_words: int  # those of sentences
    median_sentence: float  # words
    longest_sentence: int  # words
    longest_line: int  # columns


def text_lines(page):
    """(number, line) of a page outside of code blocks and comments."""
    text = COMMENT.sub(lambda match: "\n" * match.group().count("\n"), page)
    is_code = False
    for number, line in enumerate(text.split("\n"), start=1):
        if line.lstrip().startswith(FENCE):
            is_code = not is_code
        elif not is_code:
            yield number, line


def is_prose(line):
    return bool(line.strip()) and not line.startswith(("|", "#", "    "))


def plain(line):
    """The line as it is read."""
    return CODE.sub("Code", LINK.sub(r"\1", line))


def words(text):
    return WORD.findall(plain(text))


def sentences(page):
    """Each sentence, as the number of its words."""
    blocks, is_open = [], False
    for _, line in text_lines(page):
        if not is_prose(line):
            is_open = False
            continue
        if ITEM.match(line) or not is_open:
            blocks.append("")
        blocks[-1] += " " + ITEM.sub("", line)
        is_open = True
    lengths = [len(words(each)) for block in blocks for each in SENTENCE_END.split(plain(block))]
    return [length for length in lengths if length > 0]


def median_sentence(page):
    return statistics.median(sentences(page) or [0])


def long_lines(page):
    """(number, columns) of lines of text. An address is as long as it is."""
    for number, line in text_lines(page):
        if not line.startswith("|"):
            yield number, len(LINK.sub(r"[\1]", line))


def measure(paths):
    """All pages together."""
    pages = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            pages.append(file.read())
    lengths = [length for page in pages for length in sentences(page)]
    columns = [length for page in pages for _, length in long_lines(page)]
    return Measure(
        sum(len(words(line)) for page in pages for _, line in text_lines(page)),
        sum(lengths),
        statistics.median(lengths or [0]),
        max(lengths or [0]),
        max(columns or [0]),
    )


if __name__ == "__main__":
    print(measure(sys.argv[1:]))
