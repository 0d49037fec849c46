"""The checker finds what is wrong in a history, and only that."""

import unittest

from checker import judge
from history import MISSING, NOTHING, OK, UNKNOWN, Operation


def op(kind, begin, end, outcome=OK, connection=1, job="j", **more):
    return Operation(kind, begin, end, outcome, connection, job=job, opened=begin, **more)


def put(begin=0, outcome=OK):
    return op("put", begin, begin + 1, outcome, connection=9)


def take(begin, end, connection=1, hold=100, lasts=False):
    return op("take", begin, end, connection=connection, hold=hold, lasts=lasts)


def finish(begin, end, outcome=OK, connection=1):
    return op("finish", begin, end, outcome, connection)


class CheckerTest(unittest.TestCase):
    def found(self, *operations, takeovers=()):
        return set(judge(operations, takeovers).violations())

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
        self.assertEqual(self.found(put(), first, closed, second, finish(6, 7)), {"double"})
        verdict = judge([put(), first, closed, second, finish(6, 7)], [3.7])
        self.assertEqual((verdict.violations(), verdict.twice_in_takeover), ({}, 1))
        late = take(40, 41, 2, lasts=True)
        self.assertEqual(self.found(put(), first, late, finish(42, 43), takeovers=[39]), {"double"})

    def test_a_hold_that_the_server_forgets(self):
        forgotten = [put(), take(2, 3), finish(4, 5, MISSING), take(6, 7, 2), finish(8, 9, OK, 2)]
        self.assertEqual(self.found(*forgotten), {"hold_lost"})
        self.assertEqual(self.found(*forgotten, takeovers=[3.5]), set())

    def test_an_answer_of_a_leader_that_was_followed(self):
        late = Operation("take", 7, 8, NOTHING, connection=1, opened=1)
        self.assertEqual(self.found(late, takeovers=[5]), {"stale"})
        self.assertEqual(self.found(late, takeovers=[7.5]), set())

    def test_the_longest_gap_is_between_answers(self):
        verdict = judge([put(0), take(2, 3), finish(4, 9, UNKNOWN), finish(9, 10)], [])
        self.assertEqual(max(verdict.gaps), (7, 3))


if __name__ == "__main__":
    unittest.main()
