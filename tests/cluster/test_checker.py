"""The checker finds what is wrong in a history, and only that."""

import unittest

from checker import LEADER, judge
from history import MISSING, NOTHING, OK, UNKNOWN, Operation


def op(kind, begin, end, outcome=OK, connection=1, job="j", **more):
    more = {"job": job, "opened": begin, "node": "a", **more}
    return Operation(kind, begin, end, outcome, connection, **more)


def put(begin=0, outcome=OK):
    return op("put", begin, begin + 1, outcome, connection=9)


def take(begin, end, connection=1, **more):
    return op("take", begin, end, connection=connection, **{"hold": 100, **more})


def finish(begin, end, outcome=OK, connection=1):
    return op("finish", begin, end, outcome, connection)


class CheckerTest(unittest.TestCase):
    def found(self, *operations, takeovers=(), ends=()):
        return set(judge(operations, takeovers, ends).violations())

    def test_a_job_that_is_done(self):
        self.assertEqual(self.found(put(), take(2, 3), finish(4, 5)), set())

    def test_a_lost_job(self):
        self.assertEqual(self.found(put()), {"lost"})
        self.assertEqual(self.found(put(outcome=UNKNOWN)), set())
        self.assertEqual(self.found(put(), take(2, 3), finish(4, 5, UNKNOWN)), set())

    def test_a_job_that_nobody_put(self):
        self.assertEqual(self.found(take(2, 3), finish(4, 5)), {"invented"})

    def test_a_job_taken_after_it_was_finished(self):
        done = [put(), take(2, 3), finish(4, 5)]
        self.assertEqual(self.found(*done, take(6, 7, 2)), {"resurrected"})
        self.assertEqual(self.found(*done, take(4.5, 11, 2)), {"resurrected"})
        self.assertEqual(self.found(put(), take(2, 3), finish(4, 5, UNKNOWN), take(6, 7, 2)), set())

    def test_two_holders(self):
        both = [put(), take(2, 3), take(4, 5, 2)]
        self.assertEqual(self.found(*both, finish(6, 7)), {"double"})
        self.assertEqual(self.found(*both, finish(6, 7), takeovers=[3.5]), set())
        self.assertEqual(self.found(*both, finish(6, 7), takeovers=[1]), {"double"})

    def test_two_holders_of_one_leader_are_not_excused_by_a_takeover(self):
        first, done = take(2, 3), finish(6, 7)
        old = take(4, 5, 2, opened=1)
        self.assertEqual(self.found(put(), first, old, done, takeovers=[4.5]), {"double"})
        both = {"double", "stale"}
        self.assertEqual(self.found(put(), first, old, done, takeovers=[3.5]), both)
        new = take(3.4, 4, opened=3.2)
        later = take(4, 5, 2)
        self.assertEqual(self.found(put(), new, later, done, takeovers=[3]), {"double"})

    def test_a_hold_ends_with_the_node_that_passes_its_connection_on(self):
        both = [put(), take(2, 3), take(4, 5, 2, node="b"), finish(6, 7, UNKNOWN), finish(8, 9)]
        self.assertEqual(self.found(*both, ends=[(3.5, "a")]), set())
        self.assertEqual(self.found(*both, ends=[(3.5, "b")]), {"double"})
        self.assertEqual(self.found(*both, ends=[(1, "a")]), {"double"})
        self.assertEqual(self.found(*both, ends=[(5.5, "a")]), {"double"})

    def test_a_hold_ends_with_the_leader(self):
        both = [put(), take(2, 3), take(4, 5, 2, node="b"), finish(6, 7, UNKNOWN), finish(8, 9)]
        self.assertEqual(self.found(*both, ends=[(3.5, LEADER)]), set())
        self.assertEqual(self.found(*both, ends=[(1, LEADER)]), {"double"})
        lasting = [put(), take(2, 3, lasts=True), take(4, 5, 2, lasts=True), finish(6, 7)]
        self.assertEqual(self.found(*lasting, ends=[(3.5, LEADER)]), {"double"})

    def test_a_finish_after_the_time_of_its_hold_proves_nothing(self):
        again = take(80, 81, 2)
        over = [put(), take(2, 3, lasts=True, hold=60), finish(70, 71)]
        self.assertEqual(self.found(*over, again), set())
        self.assertEqual(self.found(*over[:2], finish(50, 51), again), {"resurrected"})
        self.assertEqual(self.found(put(), again), {"lost"})

    def test_two_holders_one_after_the_other(self):
        closed = op("close", 3.5, 3.5, job="")
        done = finish(6, 7, OK, 2)
        self.assertEqual(self.found(put(), take(2, 3), closed, take(4, 5, 2), done), set())
        over = [put(), take(2, 3, hold=2), take(4, 5, 2), finish(6, 7, OK, 2)]
        self.assertEqual(self.found(*over), set())
        back = op("give_back", 3.5, 4)
        self.assertEqual(self.found(put(), take(2, 3), back, take(3.6, 5, 2), done), set())

    def test_a_hold_that_lasts(self):
        closed = op("close", 3.5, 3.5, job="")
        first, second = take(2, 3, lasts=True), take(4, 5, 2, lasts=True)
        both = [put(), first, closed, second, finish(6, 7)]
        self.assertEqual(self.found(*both), {"double"})
        self.assertEqual(self.found(*both, takeovers=[3.7]), {"double"})
        self.assertEqual(self.found(*both, ends=[(3.7, "a")]), {"double"})
        over = take(2, 3, lasts=True, hold=2)
        self.assertEqual(self.found(put(), over, closed, second, finish(6, 7)), set())

    def test_a_hold_that_the_server_forgets(self):
        forgotten = [put(), take(2, 3), finish(4, 5, MISSING), take(6, 7, 2), finish(8, 9, OK, 2)]
        self.assertEqual(self.found(*forgotten), {"hold_lost"})
        self.assertEqual(self.found(*forgotten, takeovers=[3.5]), set())
        forgotten[1] = take(2, 3, lasts=True)
        self.assertEqual(self.found(*forgotten, takeovers=[3.5]), {"hold_lost"})

    def test_an_answer_of_a_leader_that_was_followed(self):
        late = Operation("take", 7, 8, NOTHING, connection=1, opened=1)
        self.assertEqual(self.found(late, takeovers=[5]), {"stale"})
        self.assertEqual(self.found(late, takeovers=[7.5]), set())

    def test_the_longest_gap_is_between_answers(self):
        verdict = judge([put(0), take(2, 3), finish(4, 9, UNKNOWN), finish(9, 10)], [])
        self.assertEqual(max(verdict.gaps), (7, 3))


if __name__ == "__main__":
    unittest.main()
