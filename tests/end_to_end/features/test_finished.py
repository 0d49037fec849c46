"""Finished jobs and the ends of the real program."""

import unittest

from clients import Beanstalk, Faktory
from program import ServerTest, free_port
from web import Web

FLAG = "--keep-finished-durable"


class FinishedJobsTest(ServerTest):
    def start(self, *flags):
        server = self.server(*flags)
        server.web_address = ("127.0.0.1", free_port())
        server.start()
        return server

    def end_jobs(self, server):
        """One that is done, one that was dropped, and one that was deleted: their rows."""
        worker = self.open(Faktory(server.faktory_address, wid="worker-1"))
        worker.push("job-done", args=[1])
        worker.push("job-dropped", args=[1], retry=0)
        for _ in range(2):
            jid = worker.fetch()["jid"]
            if jid == "job-done":
                worker.ack(jid)
            else:
                worker.command('FAIL {"jid":"job-dropped","errtype":"E","message":"m"}')
        client = self.open(Beanstalk(server.beanstalk_address))
        client.delete(client.put(b"x"))
        jobs = self.finished(server)
        self.assertEqual([job["outcome"] for job in jobs], ["deleted", "dropped", "done"])
        return jobs

    def finished(self, server):
        # The host of a worker is known while it is connected.
        jobs = Web(server.web_address).read("/api/v1/finished")["jobs"]
        return [{**each, "hostname": None, "pid": None} for each in jobs]

    def test_they_survive_a_kill(self):
        server = self.start(FLAG)
        jobs = self.end_jobs(server)
        server.kill()
        server.start()
        self.assertEqual(self.finished(server), jobs)
        web = Web(server.web_address)
        done = jobs[2]
        self.assertEqual((done["wid"], done["jid"]), ("worker-1", "job-done"))
        self.assertEqual(web.read("/api/v1/jids/job-done")["finished"], [done])
        detail = {**done, "attempts": [], "args": None, "cron": None, "last_change": None}
        self.assertEqual(web.read(f"/api/v1/finished/{done['id']}"), detail)
        dropped = web.read(f"/api/v1/finished/{jobs[1]['id']}")
        self.assertEqual([each["error"]["message"] for each in dropped["attempts"]], ["m"])
        self.assertEqual(dropped["args"], "[1]")
        self.assertTrue(web.read("/api/v1/finished")["limits"]["is_durable"])
        more = self.end_jobs_again(server)
        self.assertEqual(self.finished(server), more + jobs)
        server.flags.append("--keep-finished=2")
        server.restart()
        self.assertEqual(self.finished(server), (more + jobs)[:2])

    def end_jobs_again(self, server):
        client = self.open(Beanstalk(server.beanstalk_address))
        client.delete(client.put(b"y"))
        return self.finished(server)[:1]

    def test_without_the_option_a_restart_forgets_them(self):
        server = self.start(FLAG)
        self.end_jobs(server)
        server.flags.remove(FLAG)
        server.restart()
        self.assertEqual(self.finished(server), [])
        self.end_jobs(server)
        server.kill()
        server.start()
        self.assertEqual(self.finished(server), [])
        self.assertEqual(Web(server.web_address).read("/api/v1/jids/job-done")["finished"], [])


if __name__ == "__main__":
    unittest.main()
