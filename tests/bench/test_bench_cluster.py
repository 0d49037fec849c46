"""What bench/cluster makes of what it has seen, and what it refuses."""

import contextlib
import io
import json
import os
import sys
import unittest
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench", "cluster"))

import setting  # noqa: E402
import costs  # noqa: E402
import election  # noqa: E402
import measure  # noqa: E402
import takeovers  # noqa: E402
from goal import at_most  # noqa: E402
from test_bench import tell  # noqa: E402


class Gaps(unittest.TestCase):
    def test_the_longest_one_counts(self):
        self.assertEqual(takeovers.longest_gap([1, 2, 5, 6], since=1.5), 3)

    def test_one_that_ended_before_does_not_count(self):
        self.assertEqual(takeovers.longest_gap([1, 4, 5, 7], since=4.5), 2)

    def test_answers_of_several_clients_may_come_in_any_order(self):
        self.assertEqual(takeovers.longest_gap([5, 1, 6, 2], since=0), 3)

    def test_a_gap_that_began_before_counts_whole(self):
        self.assertEqual(takeovers.longest_gap([1, 9], since=5), 8)


class Percentiles(unittest.TestCase):
    def test_p99_of_few_is_the_longest(self):
        self.assertEqual(takeovers.percentile([3, 1, 2], 0.99), 3)
        self.assertEqual(takeovers.percentile(range(1, 51), 0.99), 50)

    def test_p50_is_one_of_the_values(self):
        self.assertEqual(takeovers.percentile([4, 1, 3, 2], 0.5), 2)
        self.assertEqual(takeovers.percentile([7], 0.5), 7)


class Elections(unittest.TestCase):
    def test_the_leader_of_a_stream_is_found(self):
        self.assertEqual(election.leader_of({"cluster": {"leader": "n2"}}), "n2")
        self.assertIsNone(election.leader_of({"cluster": {"name": "c"}}))
        self.assertIsNone(election.leader_of({"error": {"code": 503}}))

    def test_only_a_leader_refuses_an_append(self):
        error = {"code": 400, "err_code": 10071, "description": "wrong last sequence: 7"}
        self.assertTrue(election.is_refusal(json.dumps({"error": error}).encode()))
        self.assertFalse(election.is_refusal(b"NATS/1.0 503\r\n\r\n\r\n"))


class Followers(unittest.TestCase):
    def test_a_standby_that_heard_of_the_leader_follows(self):
        self.assertTrue(setting.follows({"role": "standby", "lag_seconds": 0.2}))

    def test_one_that_lags_or_starts_does_not(self):
        for told in ({}, {"role": "standby", "lag_seconds": None}, {"role": "serving"},
                     {"role": "standby", "lag_seconds": 1.5}, {"role": "replaying"}):
            self.assertFalse(setting.follows(told), told)


class Lines(unittest.TestCase):
    def test_a_line_has_its_goal_and_the_verdict(self):
        line = measure.Line("x", "**7 ms**", 7, at_most(10, 5), " ms")
        self.assertEqual(line.text(), "| x | **7 ms** | ≤ 10 ms | ≤ 5 ms | floor |")

    def test_one_that_explains_has_none(self):
        self.assertEqual(measure.Line("x", "7").text(), "| x | 7 | | | |")

    def test_takeovers_are_judged_by_their_p99(self):
        line = measure.spread_line("x", [1, 2, 30], at_most(10, 5))
        self.assertEqual(line.text(),
                         "| x, p99 of 3 | **30 ms**; p50 2 ms | ≤ 10 ms | ≤ 5 ms | **missed** |")

    def test_many_jobs_and_none_take_turns(self):
        done = []
        with contextlib.redirect_stderr(io.StringIO()):
            more = measure.alternate(2, "empty", "full",
                                     lambda each: done.append(each) or len(done))
        self.assertEqual(done, ["empty", "full", "full", "empty"])
        self.assertEqual(more, 0)

    def test_a_relayed_put_is_compared_with_a_direct_one(self):
        direct, relayed = object(), object()
        seconds = {direct: 1e-3, relayed: 1.5e-3}
        with mock.patch.object(costs, "put_seconds", side_effect=seconds.get):
            self.assertAlmostEqual(costs.relay_difference(direct, relayed), 500)


class Refused(unittest.TestCase):
    def check(self, expected, *arguments, **environment):
        status, said = tell("cluster/measure.py", *arguments, **environment)
        self.assertEqual((status, said.split(";")[0]), (2, "./dev bench cluster: " + expected))

    def test_a_part_that_there_is_not(self):
        self.check("no such part: nothing", "nothing")

    def test_an_earlier_program_that_is_none(self):
        self.check("--before names no program: /nowhere", "fetch", "--before=/nowhere")

    def test_an_engine_that_is_not_there(self):
        self.check("NATS_SERVER names no nats-server, and none is installed: ./dev setup", "relay",
                   NATS_SERVER="/nowhere")

    def test_a_table_that_would_not_be_whole(self):
        self.check("--write is for the whole table: leave times as it is by default",
                   "--write", "--times=5")


class Help(unittest.TestCase):
    def test_it_has_help_without_a_build(self):
        self.assertEqual(tell("cluster/measure.py", "--help"), (0, ""))


if __name__ == "__main__":
    unittest.main()
