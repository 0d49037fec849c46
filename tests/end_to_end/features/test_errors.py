"""What people say of errors, and the ends of the real program."""

import subprocess
import unittest

from clients import Faktory
from program import PROGRAM, ServerTest, environment, free_port
from web import Web


class ErrorsTest(ServerTest):
    def fail_job(self, server, jid, message):
        worker = self.open(Faktory(server.faktory_address, wid="worker-1"))
        worker.push(jid, args=[1])
        worker.fetch()
        worker.command(f'FAIL {{"jid":"{jid}","errtype":"E","message":"{message}"}}')

    def errors(self, query=""):
        return Web(self.address).read("/api/v1/errors" + query)["groups"]

    def test_mutes_and_notes_survive_a_kill(self):
        server = self.server()
        self.address = server.web_address = ("127.0.0.1", free_port())
        server.start()
        self.fail_job(server, "job-late", "late after 3 s")
        self.fail_job(server, "job-refused", "refused")
        [late] = self.errors("?match=late")
        path = f"/api/v1/errors/{late['group']}"
        web = Web(server.web_address)
        self.assertEqual(web.post(f"{path}/mute", {"jobs": 2})[0], 200)
        self.assertEqual(web.post(f"{path}/note", {"text": "Ask the network team."})[0], 200)
        server.kill()
        server.start()
        [muted] = self.errors("?muted=only")
        self.assertEqual(muted["muted"], {"until": None, "below_jobs": 2})
        self.assertEqual(muted["note"]["text"], "Ask the network team.")
        listed = subprocess.run(
            [PROGRAM, "errors", f"--url=http://127.0.0.1:{self.address[1]}"],
            stdout=subprocess.PIPE, env=environment({"COLUMNS": "80"}), text=True, check=True,
        )
        self.assertIn("[muted below 2 jobs] late after # s", listed.stdout)
        # It is known when the job failed, not when the server was started.
        self.assertEqual(muted["last_at"], late["last_at"])
        self.fail_job(server, "job-late-2", "late after 44 s")
        self.assertEqual(self.errors("?muted=only"), [])
        worker = self.open(Faktory(server.faktory_address, wid="worker-2"))
        worker.command("FLUSH")
        server.restart()
        [kept] = self.errors()
        self.assertEqual((kept["jobs"], kept["note"]["text"]), (0, "Ask the network team."))


if __name__ == "__main__":
    unittest.main()
