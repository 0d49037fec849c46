"""Judges a history of a cluster that was drained at its end. Knows nothing of the server's code.

Each job is a register: it is put, taken any number of times, and finished.

* A put that was acknowledged is finished at the end, or somebody tried to.
* A finish that was acknowledged is final: nobody takes the job later. A Faktory worker whose time
  was over is told so too, and that proves nothing.
* Nobody takes a job while another client surely holds it. A client surely holds it from the answer
  of its take until it gives it back, finishes it, or its time is over.
* A hold of a connection also ends with that connection. A connection is over when its client closes
  it, when the node ends that the client is connected to or that leads, and in a takeover. A standby
  closes those that it relays when it hears of a new leader, maybe a second later. A leader
  that is told to end closes one connection after the other, and what one held may go to the next.
  The client may learn of that later, when it asks for something. So the moment is taken from what
  was done to the node, and not from the client.
* A takeover excuses a second take only if the first one was asked of the leader of before, and the
  second one over a connection that was opened after it.
* A hold that outlasts connections outlasts takeovers too.
* A connection that was opened before a takeover gets no answer after it.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from history import MISSING, OK, UNKNOWN

LEADER = "leader"

CLOCK_SLACK = 0.05  # s
ANSWER_SLACK = 5.0  # s, for an answer that is on its way or waits for a busy client to read it
GAP_MIN = 0.1  # s


@dataclass
class Verdict:
    failovers: int = 0  # the caller counts them
    jobs: int = 0
    finished: int = 0
    unknown: int = 0  # operations without an answer
    answers: int = 0
    lost: list = field(default_factory=list)
    resurrected: list = field(default_factory=list)
    double: list = field(default_factory=list)
    invented: list = field(default_factory=list)
    hold_lost: list = field(default_factory=list)
    stale: list = field(default_factory=list)
    twice_in_takeover: int = 0
    gaps: list = field(default_factory=list)  # (seconds, since when) without any answer

    def violations(self):
        kinds = ("lost", "resurrected", "double", "invented", "hold_lost", "stale")
        return {kind: found for kind in kinds if (found := getattr(self, kind))}

    def text(self):
        return (
            f"{self.jobs} jobs, {self.finished} finished, {self.answers} answers, "
            f"{self.unknown} unknown; {len(self.lost)} lost, {len(self.resurrected)} resurrected, "
            f"{len(self.double)} double holds, {len(self.invented)} invented, "
            f"{len(self.hold_lost)} holds lost, {len(self.stale)} stale answers; "
            f"{self.twice_in_takeover} taken twice in a takeover; "
            f"longest gap {self.longest_gap():.2f} s"
        )

    def longest_gap(self):
        return max(self.gaps, default=(0, 0))[0]


class Checker:
    def __init__(self, operations, takeovers, ends):
        """`takeovers`: the moments at which a node began to lead. `ends`: (moment, node) of each
        time that a node was told to end, or was killed; `LEADER` where that one led."""
        self.takeovers = sorted(takeovers)
        self.ends = sorted(ends)
        self.verdict = Verdict()
        self.of_job = defaultdict(list)
        self.closes = {}
        self.operations = operations
        for each in operations:
            if each.kind == "close":
                self.closes[each.connection] = each.begin
            elif each.job:
                self.of_job[each.job].append(each)

    def judge(self):
        for job, operations in self.of_job.items():
            self.judge_job(job, sorted(operations, key=lambda each: each.end))
        self.judge_answers()
        return self.verdict

    def judge_job(self, job, operations):
        verdict = self.verdict
        puts = [each for each in operations if each.kind == "put"]
        takes = [each for each in operations if each.kind == "take"]
        finishes = [each for each in operations if each.kind == "finish"]
        verdict.jobs += 1
        done = [each for each in finishes if each.outcome == OK]
        verdict.finished += bool(done)
        if not puts and takes:
            verdict.invented.append(takes[0])
        is_acknowledged = any(each.outcome == OK for each in puts)
        if is_acknowledged and not any(each.outcome in (OK, UNKNOWN) for each in finishes):
            verdict.lost.append(puts[0])
        proven = [each for each in done if self.is_in_time(each, takes)]
        if proven:
            end = min(each.end for each in proven)
            verdict.resurrected += [
                each for each in takes if each.begin > end or each.end > end + ANSWER_SLACK
            ]
        for index, first in enumerate(takes):
            leaves = self.leaves(first, operations)
            for second in takes[index + 1 :]:
                self.judge_pair(first, second, leaves)
            self.judge_hold(first, leaves, operations)

    @staticmethod
    def is_in_time(finish, takes):
        """Whether the last one that took the job before still had it."""
        before = [each for each in takes if each.end <= finish.begin and each.lasts]
        return not before or finish.end < before[-1].begin + before[-1].hold - CLOCK_SLACK

    def leaves(self, take, operations):
        """Until when the client surely holds the job, as far as it and time can end that."""
        moments = [take.begin + take.hold - CLOCK_SLACK]
        if not take.lasts:
            nodes = (take.node, LEADER)
            moments += [end for end, node in self.ends if node in nodes and end > take.opened]
            moments += [self.closes[take.connection]] if take.connection in self.closes else []
        # A hold that lasts may be ended from another connection.
        moments += [
            each.begin
            for each in operations
            if each.kind in ("finish", "give_back")
            and each.end > take.end
            and (take.lasts or each.connection == take.connection)
        ]
        return min(moments)

    def judge_pair(self, first, second, leaves):
        if not first.end < second.end < leaves:
            return
        if first.end > second.begin + second.hold - CLOCK_SLACK:
            return  # the second one's answer took so long that its time was over
        if first.lasts or not self.has_takeover_between(first, second):
            self.verdict.double.append((first, second))
        else:
            self.verdict.twice_in_takeover += 1

    def has_takeover_between(self, first, second):
        return any(
            max(first.opened, first.begin - CLOCK_SLACK) < moment <= second.opened + CLOCK_SLACK
            for moment in self.takeovers
        )

    def judge_hold(self, take, leaves, operations):
        """What surely is held can be finished."""
        for each in operations:
            if each.kind not in ("finish", "give_back") or each.outcome != MISSING:
                continue
            if each.begin != leaves or each.end > take.begin + take.hold - CLOCK_SLACK:
                continue
            is_taken_over = any(
                take.begin - CLOCK_SLACK < moment <= each.end for moment in self.takeovers
            )
            if take.lasts or not is_taken_over:
                self.verdict.hold_lost.append((take, each))

    def judge_answers(self):
        verdict = self.verdict
        last = None
        for each in sorted(self.operations, key=lambda each: each.end):
            if each.kind == "close":
                continue
            if each.outcome == UNKNOWN:
                verdict.unknown += 1
                continue
            verdict.answers += 1
            if last is not None and each.end - last > GAP_MIN:
                verdict.gaps.append((each.end - last, last))
            last = each.end
            if any(self.is_stale(each, moment) for moment in self.takeovers):
                verdict.stale.append(each)

    @staticmethod
    def is_stale(answered, takeover):
        """Asked of the leader of before, when or long after another one began."""
        is_asked_late = answered.begin > takeover + CLOCK_SLACK
        is_late = is_asked_late or answered.end > takeover + ANSWER_SLACK
        return answered.opened < takeover and is_late


def judge(operations, takeovers, ends=()):
    return Checker(operations, takeovers, ends).judge()
