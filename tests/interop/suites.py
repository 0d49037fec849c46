"""Test suites that libraries bring along, case by case. Some cases pass without a server, by
skipping what needs one; so those that really talked to the server are counted."""

import json
import os
import tempfile

from servers import PROGRAM, serving


def run_suite(suite):
    """All cases on one server; the note says how many there were."""
    language = suite.language
    with serving(config=suite.config) as server, tempfile.TemporaryDirectory() as directory:
        environment = {**server.environment(), **suite.environment}
        environment["FAKTORY_PROGRAM"] = named_faktory(directory)
        cases = language.shell(suite.list, environment).split()
        live, failures, reports = [], [], []
        for case in cases:
            before = commands(server)
            try:
                said = language.shell(suite.run.replace("{case}", case), environment)
            except AssertionError as error:
                failures.append(f"{case}: {error}")
                continue
            reports.append(said)
            has_own = suite.own_server and suite.own_server in said
            if has_own or commands(server) > before:
                live.append(case)
    assert not failures, "\n".join(failures)
    assert len(live) == suite.live, f"{suite.live} cases should talk to the server: {live}"
    if not suite.mocha:
        return f"{len(cases)} cases, {len(live)} talked to the server"
    return f"{len(live)} files talked to the server: {checked_mocha(reports, suite.mocha)}"


def checked_mocha(reports, expected):
    """What mocha's JSON reporter says of the cases in all files."""
    results = [json.loads(report[report.index("{\n") :]) for report in reports]
    failed = [case for result in results for case in result["failures"]]
    assert not failed, "\n".join(f"{case['fullTitle']}: {case['err']}" for case in failed)
    counts = {name: sum(result["stats"][name] for result in results) for name in expected}
    assert counts == expected, f"{expected} expected: {counts}"
    return ", ".join(f"{count} {outcome}" for outcome, count in counts.items())


def named_faktory(directory):
    """The program under the name by which it takes the official server's command line."""
    link = os.path.join(directory, "faktory")
    os.symlink(os.path.abspath(PROGRAM), link)
    return link


def commands(server):
    """How many commands clients sent, apart from those that ask for this."""
    client = server.beanstalk()
    try:
        stats = client.stats()
    finally:
        client.close()
    beanstalk = sum(
        int(value)
        for name, value in stats.items()
        if name.startswith("cmd-") and name != "cmd-stats"
    )
    return beanstalk + server.info()["server"]["command_count"]
