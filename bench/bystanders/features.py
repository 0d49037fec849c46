"""What clients of unique, expiring, batch and tracked jobs do to a server while others wait."""

import datetime
import json
import time

BATCHES = 10_000
# As long as a unique job's arguments can be, but for the quotes.
UNIQUE_ARGS_BYTES = 120_000
BUSY_S = 3
AHEAD = 100


def at_time(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat()


class Features:
    """The part of a World (bystander.py) that needs a Faktory port. Each event: what is prepared,
    and what happens."""

    def push_featured(self, queue, custom_of):
        """A million jobs; `custom_of` is asked once for a thousand of them."""
        self.turns += 1
        turn, customs = self.turns, {}

        def job_of(number):
            group = number // 1000
            if group not in customs:
                customs[group] = custom_of()
            return {"jid": f"{queue}-{turn}-{number:07}", "jobtype": "Featured", "queue": queue,
                    "args": [turn, number], "custom": customs[group]}

        self.faktory().push_all(self.million, job_of)

    def prepare_end(self, seconds_a_million=60):
        """The second in which all of them are to end."""
        self.end = time.time() + 10 + seconds_a_million * self.million / 1_000_000

    def wait_for_end(self):
        if time.time() > self.end:
            raise RuntimeError("the end had come before all jobs were there")
        time.sleep(self.end - time.time() - 1)

    def prepare_locks(self):
        self.prepare_end()
        self.push_featured("locked", lambda: {"unique_for": self.end - time.time()})
        self.wait_for_end()

    def prepare_expiry(self):
        self.prepare_end()
        self.push_featured("expiring", lambda: {"expires_at": at_time(self.end)})
        self.wait_for_end()

    def end_of_time(self):
        time.sleep(4)

    def bid_of(self, client, **members):
        callback = {"jobtype": "Callback", "args": [], "queue": "callbacks"}
        client.ask("BATCH NEW " + json.dumps({"success": callback, **members}))
        return client.line()

    def prepare_members(self):
        bid = self.bid_of(self.faktory())
        self.push_featured("members", lambda: {"bid": bid, "unique_for": 3600, "track": 1})

    def remove_members(self):
        self.faktory().demand("QUEUE REMOVE members", "+OK")

    def prepare_batches(self):
        client = self.faktory()
        self.bids = [self.bid_of(client) for _ in range(BATCHES)]

    def commit_batches(self):
        client = self.faktory()
        for first in range(0, BATCHES, 1000):
            bids = self.bids[first:first + 1000]
            client.say("".join(f"BATCH COMMIT {bid}\r\n" for bid in bids).encode())
            if any(client.line() != "+OK" for _ in bids):
                raise RuntimeError("a batch was not committed")

    def push_long_unique(self):
        """The jobs are the same: all but the first are refused, after their arguments were read."""
        args = json.dumps(["x" * UNIQUE_ARGS_BYTES])
        job = ('{"jid":"long-unique","jobtype":"Long","queue":"long","custom":{"unique_for":60},'
               f'"args":{args}}}')
        self.repeat(f"PUSH {job}\r\n", ahead=4)

    def set_track(self):
        self.repeat('TRACK SET {"jid":"busy-track","percent":5,"desc":"on its way"}\r\n', AHEAD)

    def repeat(self, line, ahead):
        """One line again and again, for some seconds, so many ahead of their replies."""
        client = self.faktory()
        end = time.monotonic() + BUSY_S
        while time.monotonic() < end:
            client.say(line.encode() * ahead)
            for _ in range(ahead):
                client.line()
