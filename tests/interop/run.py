"""Real client libraries of many languages against the real server.

    MILLRACE=build/release/millrace python3 tests/interop/run.py [LANGUAGE...] [--case NAME...]

Prints a line for each case as it ends, the table, and then `N passed, N failed`. A language whose
tools are absent is skipped and said; with CI in the environment that is a failure, and so is it
when nothing was run.
"""

import argparse
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

sys.dont_write_bytecode = True

import beanstalk_cases  # noqa: E402
import faktory_cases  # noqa: E402
from across_cases import (
    beanstalk_from_faktory,
    faktory_from_beanstalk,
    faktory_from_faktory,
)  # noqa: E402
from examples import check_complete, run_example  # noqa: E402
from guides import check_guides, run_guide  # noqa: E402
from first_run import check_all_run, run_first  # noqa: E402
from languages import all_languages  # noqa: E402
from migration import MIGRATIONS  # noqa: E402
from results import Case, Results  # noqa: E402
from suites import run_suite  # noqa: E402

# The cases mostly wait.
AT_A_TIME = 10
# Where the server's timeout of silent workers matters.
SILENT = {
    "Faktory": ("lost", "long", "long-restart", "blocked", "blocked-restart"),
    "beanstalk": ("long",),
}
LONG = (*SILENT["Faktory"], "killed", "suite", "example", "restart", "upgrade", "retry", "quiet",
        "password")
STREAMS = ("restart", "upgrade")
TABLES = {
    "Faktory": [*faktory_cases.CASES, *faktory_cases.OFFERED, "across", "others"],
    "beanstalk": [*beanstalk_cases.CASES, *beanstalk_cases.OFFERED, "across"],
    "suites": ["suite"],
    "examples": ["example"],
    "migration": ["same"],
}


def arguments():
    parser = argparse.ArgumentParser(description="real client libraries against Millrace")
    parser.add_argument("language", nargs="*", help="all that have a folder here if none is given")
    parser.add_argument("--case", action="append", help="only this case; may be repeated")
    parser.add_argument("--client", action="append", help="only this library; may be repeated")
    parser.add_argument("--packages", action="store_true", help="list Debian packages that miss")
    parser.add_argument("--jobs", type=int, default=300, help="how many a case with a restart has")
    parser.add_argument("--worker-timeout", type=int, default=5,
                        help="the server's, in the cases of silent workers: at least 5 s")
    return parser.parse_args()


def chosen_languages(options):
    languages = all_languages()
    clients = {
        library.name for each in languages for library in each.faktory + each.beanstalk
    }
    cases = {*TABLES["Faktory"], *TABLES["beanstalk"]}
    must_exist("language", options.language, {each.name for each in languages})
    must_exist("client", options.client or [], clients)
    must_exist("case", options.case or [], cases)
    return [each for each in languages if not options.language or each.name in options.language]


def must_exist(kind, names, known):
    unknown = sorted(set(names) - known)
    if unknown:
        sys.exit(f"no such {kind}: {', '.join(unknown)}; there are {', '.join(sorted(known))}")


def is_ci():
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def installed(languages, results):
    """Those that can be run, installed."""
    ready = []
    for language in languages:
        case = Case(language.name, "", language.name, "install")
        missing = language.missing()
        if missing and not is_ci():
            results.skip(language.name, missing)
        elif missing:
            note = f"in CI nothing is skipped: needs {', '.join(missing)}"
            results.add(case, "failed", note=note)
        elif results.run(case, language.install, passed="installed"):
            ready.append(language)
    return ready


@dataclass(frozen=True)
class Task:
    """A case, what runs it, and why it cannot be run, if so."""

    case: Case
    run: object
    absent: str = ""


def of_libraries(languages, options):
    """Everything that libraries are asked; across only where there is one of each protocol."""
    faktory = [library for language in languages for library in language.faktory]
    beanstalk = [library for language in languages for library in language.beanstalk]
    pushers = [each for each in faktory if each.is_here and each.takes_part_in("across")]
    putters = [each for each in beanstalk if each.is_here and "across" not in each.lacks]
    for library in faktory:
        across = {"across": partial(faktory_from_beanstalk, others=putters)} if putters else {}
        across["others"] = partial(faktory_from_faktory, others=pushers)
        offered = {name: faktory_cases.OFFERED[name] for name in library.offers}
        cases = {**faktory_cases.CASES, **offered, **across}
        yield from of_library(library, "Faktory", cases, options)
    for library in beanstalk:
        across = {"across": partial(beanstalk_from_faktory, others=pushers)} if pushers else {}
        offered = {name: beanstalk_cases.OFFERED[name] for name in library.offers}
        cases = {**beanstalk_cases.CASES, **offered, **across}
        yield from of_library(library, "beanstalk", cases, options)


def of_library(library, protocol, cases, options):
    for name, run in cases.items():
        if options.case and name not in options.case:
            continue
        if options.client and library.name not in options.client:
            continue
        if not library.takes_part_in(name):
            continue
        more = {"jobs": options.jobs} if name in STREAMS else {}
        if name in SILENT[protocol]:
            more["timeout"] = options.worker_timeout
        case = Case(library.language.name, protocol, library.name, name)
        yield Task(case, partial(run, library, **more), why_absent(library, name))


def why_absent(library, name):
    if library.is_here:
        return library.lacks.get(name, "")
    return f"{library.repository} cannot be reached: {library.language.unreachable[library.name]}"


def needs_node():
    """Node reads the programs out of the page's script."""
    return "" if shutil.which("node") else "needs node"


def of_languages(languages):
    """The suites that libraries carry, the examples, and moving from a peer."""
    names = [language.name for language in languages]
    for language in languages:
        for suite in language.suites:
            case = Case(language.name, "suites", suite.name, "suite")
            yield Task(case, partial(run_suite, suite))
        for name in language.examples.files:
            case = Case(language.name, "examples", name, "example")
            yield Task(case, partial(run_example, language, name))
        for guide in language.guides:
            case = Case(language.name, "examples", f"guide {guide.name}", "example")
            missing = language.unreachable.get(guide.source, "")
            yield Task(case, partial(run_guide, guide), missing)
        if language.first_run:
            case = Case(language.name, "examples", "first run", "example")
            yield Task(case, partial(run_first, language), needs_node())
    yield Task(Case("all", "examples", "first run", "example"),
               partial(check_all_run, all_languages()), needs_node())
    yield Task(Case("all", "examples", "guides", "example"), partial(check_guides, all_languages()))
    all_examples = partial(check_complete, all_languages())
    yield Task(Case("all", "examples", "docs", "example"), all_examples)
    for migration in MIGRATIONS:
        if migration.language in names:
            case = Case(migration.language, "migration", f"from {migration.peer}", "same")
            yield Task(case, migration.run, migration.absent)


def run_task(results, task):
    if task.absent:
        results.add(task.case, "absent", note=task.absent)
    else:
        results.run(task.case, task.run)


def main():
    options = arguments()
    asked_for = chosen_languages(options)
    if options.packages:
        print("\n".join(name for language in asked_for for name in language.missing_packages()))
        return 0
    results = Results()
    languages = installed(asked_for, results)
    tasks = list(of_libraries(languages, options))
    if not options.case and not options.client:
        tasks += of_languages(languages)
    # The longest first, so that the others run meanwhile.
    tasks.sort(key=lambda task: task.case.name not in LONG)
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        for done in [pool.submit(run_task, results, task) for task in tasks]:
            done.result()
    for protocol, names in TABLES.items():
        print(results.table(protocol, names), end="")
    print("\n" + results.summary())
    return 1 if results.of("failed") or not results.of("passed") else 0


if __name__ == "__main__":
    sys.exit(main())
