"""The jobs that a worker of either library can do. They run in processes of their own."""

import json
import sys
import time


def say(jobtype, jid, args):
    sys.stdout.write(json.dumps({"jobtype": jobtype, "jid": jid, "args": args}) + "\n")
    sys.stdout.flush()


def record(jid, *args):
    say("Record", jid, args)


def beanstalk(jid, *args):
    say("beanstalk", jid, args)


def fail(jid, *args):
    say("Fail", jid, args)
    raise RuntimeError("no luck")


def slow(jid, *args):
    say("Slow", jid, args)
    time.sleep(args[0])
    say("Slept", jid, args)


HANDLERS = {"Record": record, "beanstalk": beanstalk, "Fail": fail, "Slow": slow}
