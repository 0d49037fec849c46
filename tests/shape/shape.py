"""The shape of the tree in numbers: how large, how wide, how well explained. `./dev shape` runs it.

    shape.py               this working tree
    shape.py REV           a revision of git
    shape.py BEFORE AFTER  two revisions, in two columns; `.` is this working tree

It needs nothing built. The times of the gate are those that `./dev test`, `verify` and `check`
noted for that revision in build/times.json, a line for each run.
"""

import argparse
import glob
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "tidy"))

import classes  # noqa: E402
import prose  # noqa: E402
import tidy  # noqa: E402

TOP = 5
SMALL = 60  # lines
LISTS = os.path.join(HERE, "lists.toml")
TIMES = os.path.join(ROOT, "build", "times.json")
NO_LIST = "no list fits"
CHECKS = ("CHECK", "DCHECK")


# --- the sources ---


def sources(root):
    """Every C++ source and header of src."""
    paths = glob.glob("src/**/*.[ch]pp", root_dir=root, recursive=True)
    for path in sorted(paths):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            yield tidy.Source(path, file.read())


def largest_folders(paths):
    """(files, folder), the largest first."""
    counts = Counter(os.path.dirname(path) for path in paths)
    return sorted(((count, folder) for folder, count in counts.items()), reverse=True)


def folder_sizes(files):
    """{folder of src: (lines, files)}, the largest first."""
    sizes = {}
    for file in files:
        folder = file.folder or "src"
        lines, count = sizes.get(folder, (0, 0))
        sizes[folder] = (lines + len(file.lines), count + 1)
    return dict(sorted(sizes.items(), key=lambda item: -item[1][0]))


def all_classes(files):
    return [found for file in files for found in classes.classes("\n".join(file.code))]


def widest(found):
    """(public methods, name), the widest first."""
    return sorted(((each.public_methods, each.name) for each in found), reverse=True)


def fullest(found):
    """(data members, name) of those that do something: plain data is as long as it is."""
    return sorted(((each.members, each.name) for each in found if each.methods > 0), reverse=True)


def count_checks(files, name):
    code = "\n".join(line for file in files for line in file.code if not re.match(r"\s*#", line))
    return len(re.findall(rf"\b{name}\(", code))


def comment_share(files):
    """Of all lines of .cpp files, those with a comment."""
    cpp = [file for file in files if file.path.endswith(".cpp")]
    comments = sum(bool(line.strip()) for file in cpp for line in file.comments)
    return comments / max(sum(len(file.lines) for file in cpp), 1)


def tested_by_name(root, files):
    """(.cpp files that have a test of their name in tests, all .cpp files)."""
    tests = glob.glob("tests/**/*_test.cpp", root_dir=root, recursive=True)
    tested = {(path.split("/")[1], os.path.basename(path)) for path in tests}
    cpp = [file.path for file in files if file.path.endswith(".cpp")]
    has_test = [
        path
        for path in cpp
        if (path.split("/")[1], os.path.basename(path)[: -len(".cpp")] + "_test.cpp") in tested
    ]
    return len(has_test), len(cpp)


# --- lists of places ---


def is_there(root, pattern, *texts):
    """True when a file that matches the pattern contains one of the texts."""
    for path in glob.glob(pattern, root_dir=root, recursive=True):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            content = file.read()
        if any(text in content for text in texts):
            return True
    return False


def missing_places(root, places):
    return [place for place in places if not is_there(root, *place)]


def count_list(root, lists):
    """How long the first list is that fits the tree; else what the nearest one lacks."""
    lacking = []
    for each in lists:
        missing = missing_places(root, each["places"])
        if not missing:
            return str(len(each["places"]))
        lacking.append((len(missing), missing[0]))
    count, (pattern, text, *_) = min(lacking)
    return f"{NO_LIST}: {count} places lack, first {pattern}: {text}"


def read_lists(path=LISTS):
    """The lists of each title, in the order of the file."""
    with open(path, "rb") as file:
        titles = {}
        for each in tomllib.load(file)["list"]:
            titles.setdefault(each["title"], []).append(each)
    return titles


# --- pages and times ---


def pages(root):
    found = glob.glob("docs/**/*.md", root_dir=root, recursive=True)
    found += [name for name in ("README.md", "CONTRIBUTING.md") if os.path.exists(f"{root}/{name}")]
    return [os.path.join(root, path) for path in sorted(found)]


def gate_times(revision, path=TIMES):
    """How long each gate took when it last ran on the revision, and its steps: {verb: text}."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        runs = [json.loads(line) for line in file]
    return {run["verb"]: gate_text(run) for run in runs if run["revision"] == revision}


def gate_text(run):
    steps = [" ".join(step.split()) for step in run["steps"]]
    return ", ".join([f"{run['seconds']} s", *(step for step in steps if step[:3] != "0 s")])


# --- the report ---


def top(rows):
    return ", ".join(f"{name} {count}" for count, name in rows[:TOP])


def report(root, revision):
    """(title, text) rows of one tree."""
    files = list(sources(root))
    found = all_classes(files)
    tested, testable = tested_by_name(root, files)
    text = prose.measure(pages(root))
    times = gate_times(revision)
    yield "lines of src, median of a file", line_counts(files)
    yield "lines (files) of its folders", ", ".join(
        f"{folder} {lines} ({count})" for folder, (lines, count) in folder_sizes(files).items())
    yield f"files below {SMALL} lines", str(sum(len(file.lines) < SMALL for file in files))
    yield "files in the largest folders", top(largest_folders([file.path for file in files]))
    yield "folders that include each other", str(len(list(tidy.folder_pairs(files))))
    yield "public methods of the widest classes", top(widest(found))
    yield "data members of the largest classes", top(fullest(found))
    for title, lists in read_lists().items():
        yield title, count_list(root, lists)
    for name in CHECKS:
        yield f"{name}s in src", str(count_checks(files, name))
    yield "lines with a comment, of .cpp files", f"{comment_share(files):.1%}"
    yield "sources with a test of the same name", f"{tested} of {testable}"
    yield "words of README, CONTRIBUTING and docs", str(text.words)
    yield "median sentence there, in words", f"{text.median_sentence:g}"
    for verb in ("test", "verify", "check"):
        yield f"./dev {verb}", times.get(verb, "not timed here")


def line_counts(files):
    lengths = [len(file.lines) for file in files]
    return f"{sum(lengths)}, {statistics.median(lengths or [0]):g}"


def git(*arguments):
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE
    ).stdout


def report_of(name):
    """The rows of a revision of git, or of the working tree (`.`)."""
    revision = git("rev-parse", "HEAD" if name == "." else f"{name}^{{commit}}").decode().strip()
    if name == ".":
        return dict(report(ROOT, revision))
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(git("archive", revision))) as archive:
            archive.extractall(folder)
        return dict(report(folder, revision))


def table(names, columns):
    """As Markdown, a row for each number."""
    rows = [["", *names], ["---"] * (len(names) + 1)]
    rows += [[title, *(column[title] for column in columns)] for title in columns[0]]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main():
    parser = argparse.ArgumentParser(prog="./dev shape", description="the shape of the tree")
    parser.add_argument("revisions", nargs="*", default=["."], metavar="REV",
                        help="revisions of git, each a column; . is the working tree")
    names = parser.parse_args().revisions
    try:
        columns = [report_of(name) for name in names]
    except subprocess.CalledProcessError:
        sys.exit(f"./dev shape: no such revision among {', '.join(names)}")
    print(table(names, columns))
    sys.exit(any(text.startswith(NO_LIST) for text in columns[-1].values()))


if __name__ == "__main__":
    main()
