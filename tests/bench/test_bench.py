"""What bench/ measures with, in Python: the files that are written, and what is refused."""

import argparse
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BENCH = os.path.join(ROOT, "bench")
sys.path.insert(0, BENCH)

import arguments  # noqa: E402
import bystander  # noqa: E402
import chart  # noqa: E402
import goal  # noqa: E402
import lateness  # noqa: E402
import results  # noqa: E402
import run  # noqa: E402
import rows  # noqa: E402
import servers  # noqa: E402
import witness  # noqa: E402


def tell(script, *options, **environment):
    """(exit status, stderr). MILLRACE is named so that nothing is built."""
    variables = {"PATH": os.environ["PATH"], "MILLRACE": "/nowhere", "LOAD": "/nowhere",
                 "LEAST": "/nowhere", **environment}
    done = subprocess.run([sys.executable, os.path.join(BENCH, script), *options], env=variables,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stderr


TEXT = """2026-11-29; `--volatile`; a line that is
broken.

| work | servers | ratio |
|---|---|---|
| put, 1,000 connections | `millrace` / `beanstalkd` | **1,234.5** (1,230 to 1,240) |

### put, 1,000 connections

| server | a second |
|---|---|
| millrace | 1,234 |
| beanstalkd |  |
"""


class Results(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        patch = mock.patch.object(results, "FOLDER", self.folder)
        patch.start()
        self.addCleanup(patch.stop)

    def test_tables_are_written_as_csv(self):
        results.write("bench", TEXT)
        self.assertEqual(results.lines("bench"), [
            "# ./dev bench --write",
            "# 2026-11-29; --volatile; a line that is broken.",
            "work,servers,ratio",
            '"put, 1,000 connections",millrace / beanstalkd,1234.5 (1230 to 1240)',
        ])
        self.assertEqual(results.lines("bench-servers")[2:], [
            "work,server,a second",
            '"put, 1,000 connections",millrace,1234',
            '"put, 1,000 connections",beanstalkd,',
        ])
        self.assertEqual(sorted(os.listdir(self.folder)), ["bench-servers.csv", "bench.csv"])

    def test_a_file_is_read(self):
        results.write("size", TEXT.split("###")[0])
        self.assertEqual(results.about("size"), "2026-11-29; --volatile; a line that is broken.")
        self.assertEqual(results.rows("size"), [
            {"work": "put, 1,000 connections", "servers": "millrace / beanstalkd",
             "ratio": "1234.5 (1230 to 1240)"}])


class Measured(unittest.TestCase):
    """What is in docs/internals/performance."""

    def page(self):
        with open(f"{results.FOLDER}.md", encoding="utf-8") as file:
            return file.read()

    def test_the_chart_is_that_of_the_data(self):
        with open(chart.CHART, encoding="utf-8") as file:
            self.assertEqual(file.read(), chart.draw(), "run bench/chart.py")

    def test_the_chart_has_all_rows_that_are_drawn(self):
        self.assertEqual(len(chart.figures()), 7)

    def test_the_page_links_to_every_file(self):
        linked = re.findall(r"\(performance/([\w-]+)\.csv\)", self.page())
        files = [name for name in os.listdir(results.FOLDER) if name.endswith(".csv")]
        self.assertEqual(sorted(linked), sorted(name.removesuffix(".csv") for name in files))
        for name in linked:
            self.assertTrue(all(None not in {*row, *row.values()} for row in results.rows(name)))

    def test_the_page_names_every_goal_that_was_missed(self):
        page = self.page().replace("`", "")
        for name in ("bench", "size", "bystander", "many", "cluster", "features", "timers"):
            for title, *_, verdict in map(dict.values, results.rows(name)):
                if verdict == "missed":
                    self.assertTrue(f"| {title} |" in page, title)


class Refused(unittest.TestCase):
    def check(self, expected, *arguments, **environment):
        status, said = tell(*arguments, **environment)
        self.assertEqual(status, 2)
        self.assertEqual(said.splitlines()[-1].split(";")[0], expected)

    def test_a_table_that_would_not_be_whole(self):
        usual = "--write is for the whole table: leave {} as it is by default"
        self.check("./dev bench: " + usual.format("row"), "run.py", "put-cpu", "--write")
        self.check("./dev bench: " + usual.format("rounds"), "run.py", "--rounds=1", "--write")
        for name in ("size", "bystander"):
            self.check(f"./dev bench {name}: " + usual.format("jobs"), f"{name}.py",
                       "--jobs=20000", "--write")

    def test_rows_that_cannot_be_measured(self):
        self.check("./dev bench: no such row or command: nothing", "run.py", "nothing")
        self.check("./dev bench: fwp-cycle needs FAKTORY_BIN to name the official Faktory",
                   "run.py", "fwp-cycle")
        self.check("./dev bench: FAKTORY_BIN names no program: /nowhere", "run.py",
                   FAKTORY_BIN="/nowhere")

    def test_variables_that_name_no_program(self):
        program = sys.executable
        for variable in ("MILLRACE", "LOAD", "LEAST"):
            programs = {"MILLRACE": program, "LOAD": program, "LEAST": program}
            self.check(f"./dev bench: {variable} names no program: /nowhere", "run.py", "put-cpu",
                       **{**programs, variable: "/nowhere"})
        self.check("./dev bench: INSTRUCTIONS names no program: /nowhere", "instructions.py",
                   INSTRUCTIONS="/nowhere")

    def test_times_and_sizes_that_are_none(self):
        for script, option in (("churn", "minutes"), ("full_disk", "seconds"),
                               ("full_disk", "gigabytes"), ("lateness", "seconds")):
            self.check(f"./dev bench {script.replace('_', '-')}: argument --{option}: "
                       "must be more than 0", f"{script}.py", f"--{option}", "0")
        for text in ("-1", "nan", "inf"):
            with self.assertRaises(argparse.ArgumentTypeError):
                arguments.positive_float(text)
        self.assertEqual(arguments.positive_float("0.5"), 0.5)

    def test_a_server_that_is_not_there(self):
        for address in ("foo", "foo:", ":7419", "foo:bar", "foo:65536"):
            with self.assertRaises(argparse.ArgumentTypeError):
                lateness.host_and_port(address)
        self.check("./dev bench lateness: argument address: must be HOST:PORT, not foo",
                   "lateness.py", "foo")
        address = f"127.0.0.1:{servers.free_port()}"
        self.check(f"./dev bench lateness: no server at {address}: Connection refused",
                   "lateness.py", address)

    def test_no_rounds(self):
        self.check("./dev bench: argument --rounds: must be 1 or more", "run.py", "--rounds", "0")


class Help(unittest.TestCase):
    def test_every_command_has_help_without_a_build(self):
        for name in ("run", "everything", "size", "bystander", "many", "churn", "full_disk",
                     "web_pages", "lateness", "long_lines", "floods", "instructions", "export",
                     "features/memory", "features/timers"):
            status, said = tell(f"{name}.py", "--help")
            self.assertEqual((status, said), (0, ""), name)


class Goals(unittest.TestCase):
    def test_verdicts(self):
        self.assertEqual([goal.at_most(10, 5).verdict(each) for each in (5, 6, 11)],
                         ["aim", "floor", "**missed**"])
        self.assertEqual([goal.at_least(2, 5).verdict(each) for each in (5, 4, 1)],
                         ["aim", "floor", "**missed**"])

    def test_a_third_digit_near_a_limit(self):
        row = rows.ROWS[0]  # at most 0.75
        self.assertEqual(run.show_ratio(row, 0.7512, [0.7, 0.8]), "**0.751** (0.70 to 0.80)")
        self.assertEqual(run.show_ratio(row, 0.7012, [0.7]), "**0.70**")


class Waits(unittest.TestCase):
    def test_what_the_machine_did_does_not_count_where_there_is_else(self):
        ours, machine = bystander.Wait(4, 1, 0.5), bystander.Wait(30, 2, 29)
        waits = bystander.Waits([machine, ours, ours])
        self.assertEqual((waits.times(), waits.show()),
                         ("2 of 3", "30.0 | 4.0 (4.0) | 1.00 | 0.5"))
        waits = bystander.Waits([machine, machine])
        self.assertEqual((waits.times(), waits.show()),
                         ("0 of 2", "30.0 | 30.0 (30.0) | 2.00 | 29.0"))

    def test_where_fewer_than_half_count_all_are_judged(self):
        ours, machine = bystander.Wait(4, 1, 0.5), bystander.Wait(30, 2, 29)
        self.assertIn("| aim", bystander.Waits([ours, machine], has_goal=True).goal())
        self.assertIn("missed", bystander.Waits([ours, machine, machine], has_goal=True).goal())
        self.assertEqual(bystander.Waits([ours]).goal(), "| |")

    def test_a_digit_more_near_a_limit(self):
        self.assertEqual([bystander.show_ms(each) for each in (9.8, 10.02)], ["9.8", "10.02"])

    def measure(self, stills, asked, **event):
        """How often it is done, when the machine stands still for so long each time."""
        waits = [bystander.Wait(1, 1, still) for still in stills]
        world = mock.Mock(jobs=10)
        with mock.patch.object(bystander, "measure_once", side_effect=waits) as once:
            bystander.measure_event(world, bystander.Event("x", None, None, **event), asked)
        return once.call_count

    def test_an_event_is_done_again_where_the_machine_stood_still(self):
        self.assertEqual(self.measure([0, 0, 0, 0], 2), 2)
        self.assertEqual(self.measure([9, 0, 0, 0], 2), 3)
        self.assertEqual(self.measure([9, 9, 9, 9], 2), 4)
        self.assertEqual(self.measure([9, 9, 9, 9], 2, times=3), 3)

    def test_parts_are_all_done_however_long_they_take(self):
        with mock.patch.object(bystander, "MINUTE_S", -1):
            self.assertEqual(self.measure([0, 0, 0], 2), 1)
            self.assertEqual(self.measure([0, 0, 0], 2, times=3), 3)

    def test_without_a_witness_all_count(self):
        unknown = bystander.Wait(30, 2, None)
        waits = bystander.Waits([unknown])
        self.assertEqual((waits.times(), waits.show()), ("1", "30.0 | 30.0 (30.0) | 2.00 | "))

    def test_the_witness_tells_where_it_may_watch(self):
        with witness.Witness() as watching:
            pass
        if watching.longest_ms is not None:
            self.assertGreaterEqual(watching.longest_ms, 0)
        with mock.patch.object(os, "sched_setscheduler", side_effect=PermissionError):
            with witness.Witness() as watching:
                pass
        self.assertIsNone(watching.longest_ms)


class Metric(unittest.TestCase):
    def test_it_is_found_by_its_whole_name(self):
        text = b"# HELP journal_bytes Its size.\njournal_bytes_max 7\njournal_bytes 2.5e+09\n"
        server = mock.Mock(ports={"web": 1})
        with mock.patch.object(servers.urllib.request, "urlopen", return_value=io.BytesIO(text)):
            self.assertEqual(servers.Server.metric(server, "journal_bytes"), 2.5e9)


class Stopped(unittest.TestCase):
    def test_a_server_that_does_not_serve_is_stopped(self):
        folder = tempfile.mkdtemp()
        with mock.patch.object(servers, "PATIENCE_S", 0.1):
            with self.assertRaisesRegex(RuntimeError, "sleep does not serve"):
                servers.Server(["sleep", "600"], {"beanstalk": servers.free_port()}, folder)
        self.assertFalse(os.path.exists(folder))

    def test_a_server_that_ends_at_once_is_said_and_its_folder_removed(self):
        folder = tempfile.mkdtemp()
        with self.assertRaisesRegex(RuntimeError, "false does not serve"):
            servers.Server(["false"], {"beanstalk": servers.free_port()}, folder)
        self.assertFalse(os.path.exists(folder))

    def test_what_went_wrong_beside_a_killed_server_is_what_is_said(self):
        folder = tempfile.mkdtemp()
        with mock.patch.object(servers.Server, "wait_for_port"):
            with self.assertRaisesRegex(RuntimeError, "the load failed"):
                with servers.Server(["sleep", "600"], {"beanstalk": 0}, folder) as server:
                    server.process.kill()
                    server.process.wait()
                    raise RuntimeError("the load failed")
        self.assertFalse(os.path.exists(folder))

    def test_a_server_does_not_outlive_who_started_it(self):
        text = (f"import sys; sys.path.insert(0, {BENCH!r}); import servers, subprocess; "
                "server = subprocess.Popen(['sleep', '600'], preexec_fn=servers.end_with_parent, "
                "stdout=subprocess.DEVNULL); print(server.pid, flush=True); input()")
        parent = subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        server = int(parent.stdout.readline())
        parent.kill()
        parent.communicate()
        for _ in range(100):
            if not is_running(server):
                return
            subprocess.run(["sleep", "0.05"])
        self.fail("it still runs")


def is_running(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    unittest.main()
