"""Limits of queues in the real program: both protocols, crashes, SIGHUP, and wrong config files."""

import signal
import threading
import time
import urllib.request

from clients import Beanstalk, Faktory
from program import PROGRAM, ServerTest, free_port, wait_until
from web import Web

LIMIT_OF_2 = "mail = { concurrency = 2, timeout = 60 }"


class ThrottleTest(ServerTest):
    def start(self, *lines):
        self.config = self.path("config.toml")
        self.write(*lines)
        server = self.server(f"--config={self.config}")
        server.web_address = ("127.0.0.1", free_port())
        return server.start()

    def write(self, *lines):
        with open(self.config, "w", encoding="utf-8") as file:
            file.write("\n".join(["[throttles]", *lines, ""]))

    def reload(self, server, event, *lines):
        """Returns the log's lines on it."""
        self.write(*lines)
        before = len(server.error_text())
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: event in server.error_text()[before:], event)
        return server.error_text()[before:]

    def faktory(self, server, wid=None):
        return self.open(Faktory(server.faktory_address, wid))

    def beanstalk(self, server, tube="mail"):
        client = self.open(Beanstalk(server.beanstalk_address))
        client.command(f"use {tube}")
        client.command(f"watch {tube}")
        return client

    def push(self, client, count, queue="mail"):
        for number in range(count):
            self.assertEqual(client.push(f"{queue}-{number:08}", queue), "+OK")

    def store_reservations(self, client):
        """FETCH does not wait until they are on the disk. A PUSH does, and comes after them."""
        self.push(client, 1, "after")

    def test_a_full_queue_waits_and_the_next_one_is_asked(self):
        server = self.start(LIMIT_OF_2)
        client = self.faktory(server)
        self.push(client, 3)
        self.push(client, 1, "other")
        self.assertEqual(client.fetch("mail")["jid"], "mail-00000000")
        self.assertEqual(client.fetch("mail")["jid"], "mail-00000001")
        begin = time.monotonic()
        self.assertIsNone(client.fetch("mail"))
        self.assertGreater(time.monotonic() - begin, 1.9)
        self.assertEqual(client.fetch("mail", "other")["jid"], "other-00000000")

    def test_a_client_with_a_connection_for_each_command_has_no_more_slots(self):
        server = self.start(LIMIT_OF_2)
        self.push(self.faktory(server), 4)

        def ask(wid, line):
            client = Faktory(server.faktory_address, wid)
            reply = client.command(line)
            client.close()
            return reply

        for number in range(2):
            self.assertIn(f"mail-{number:08}", str(ask(f"php-{number}", "FETCH mail")))
        for number in range(4):
            self.assertNotIn("mail-", str(ask(f"php-{number}", "FETCH mail")))
        server.kill()
        server.start()
        self.assertNotIn("mail-", str(ask("php-3", "FETCH mail")))
        self.assertEqual(ask("php-0", 'ACK {"jid":"mail-00000000"}'), "+OK")
        self.assertIn("mail-00000002", str(ask("php-3", "FETCH mail")))

    def test_a_client_that_waits_has_the_next_job_at_once(self):
        server = self.start("mail = { concurrency = 1, timeout = 60 }")
        worker, waiting = self.faktory(server, "a"), self.faktory(server, "b")
        self.push(worker, 2)
        self.assertEqual(worker.fetch("mail")["jid"], "mail-00000000")
        waiting.send(b"FETCH mail\r\n")
        time.sleep(0.1)
        begin = time.monotonic()
        self.assertEqual(worker.ack("mail-00000000"), "+OK")
        self.assertRegex(waiting.line(), r"^\$\d+$")
        self.assertLess(time.monotonic() - begin, 1)

    def test_the_slots_of_a_lost_worker_are_free_when_its_jobs_return(self):
        server = self.start("mail = { concurrency = 1, timeout = 60 }")
        server.flags.append("--worker-timeout=5")
        server.restart()
        gone, here = self.faktory(server, "gone"), self.faktory(server, "here")
        self.push(here, 2)
        self.assertEqual(gone.command('BEAT {"wid":"gone"}'), "+OK")
        self.assertEqual(gone.fetch("mail")["jid"], "mail-00000000")
        gone.close()
        self.assertIsNone(here.fetch("mail"))
        wait_until(lambda: here.fetch("mail") is not None, "a job for the free slot")

    def test_beanstalk_clients_wait_and_time_out_and_reserve_a_job_by_its_id(self):
        server = self.start(LIMIT_OF_2)
        client, waiting = self.beanstalk(server), self.beanstalk(server)
        ids = [client.put(b"job") for _ in range(4)]
        self.assertEqual(client.reserve()[0], ids[0])
        self.assertEqual(client.reserve()[0], ids[1])
        self.assertEqual(client.command("reserve-with-timeout 0"), "TIMED_OUT")
        self.assertEqual(client.command(f"reserve-job {ids[3]}"), f"RESERVED {ids[3]} 3")
        client.body(3)
        waiting.send(b"reserve\r\n")
        # Three are reserved: the first that ends makes no room.
        self.assertEqual(client.delete(ids[3]), "DELETED")
        self.assertEqual(client.delete(ids[0]), "DELETED")
        self.assertEqual(waiting.line(), f"RESERVED {ids[2]} 3")

    def test_after_a_crash_the_jobs_of_workers_count_and_those_of_connections_do_not(self):
        server = self.start(LIMIT_OF_2, "tube = { concurrency = 2, timeout = 60 }")
        worker, tube = self.faktory(server, "w"), self.beanstalk(server, "tube")
        self.push(worker, 3)
        for _ in range(3):
            tube.put(b"job")
        self.assertIsNotNone(worker.fetch("mail"))
        self.assertIsNotNone(worker.fetch("mail"))
        self.assertEqual([tube.reserve()[0] for _ in range(2)], [4, 5])
        self.store_reservations(worker)
        server.restart()
        worker, tube = self.faktory(server, "w"), self.beanstalk(server, "tube")
        self.assertIsNone(worker.fetch("mail"))
        self.assertEqual([tube.reserve()[0] for _ in range(2)], [4, 5])
        self.assertIsNone(tube.reserve())
        self.assertEqual(worker.ack("mail-00000000"), "+OK")
        self.assertEqual(worker.fetch("mail")["jid"], "mail-00000002")

    def test_many_consumers_never_run_more_and_leave_no_slot_idle(self):
        server = self.start("mail = { concurrency = 3, timeout = 60 }")
        count, seconds = 300, 0.02
        self.push(self.faktory(server), count)
        lock, running, most, done = threading.Lock(), 0, 0, 0

        def consume(number):
            nonlocal running, most, done
            client = Faktory(server.faktory_address, f"worker-{number}")
            while done < count:
                job = client.fetch("mail")
                if job is None:
                    continue
                with lock:
                    running += 1
                    most = max(most, running)
                time.sleep(seconds)
                with lock:
                    running -= 1
                    done += 1
                client.ack(job["jid"])
            client.close()

        begin = time.monotonic()
        threads = [threading.Thread(target=consume, args=(number,)) for number in range(64)]
        for thread in threads:
            thread.start()
        wait_until(lambda: done == count, "all jobs have run")
        took = time.monotonic() - begin
        for thread in threads:
            thread.join()
        self.assertEqual(most, 3)
        # Where consumers had to ask again, each job would wait for a second on average.
        self.assertLess(took, 5 * count * seconds / 3)

    def test_a_lower_limit_lets_running_jobs_finish_and_a_dropped_one_limits_no_more(self):
        server = self.start("mail = { concurrency = 4, timeout = 60 }")
        client = self.faktory(server, "w")
        self.push(client, 9)
        for _ in range(4):
            self.assertIsNotNone(client.fetch("mail"))
        self.reload(server, "reloaded", LIMIT_OF_2)
        for number in range(2):
            self.assertEqual(client.ack(f"mail-{number:08}"), "+OK")
            self.assertIsNone(client.fetch("mail"))
        self.assertEqual(client.ack("mail-00000002"), "+OK")
        self.assertEqual(client.fetch("mail")["jid"], "mail-00000004")
        client.send(b"FETCH mail\r\n")
        self.reload(server, "reloaded")
        client.body(int(client.line()[1:]))
        self.assertIsNotNone(client.fetch("mail"))

    def test_a_wrong_file_is_refused_and_the_limits_in_force_stay(self):
        server = self.start(LIMIT_OF_2)
        log = self.reload(server, "reload_failed", "mail = { concurrency = 0, timeout = 60 }")
        self.assertIn(f"{self.config}:2: throttles.mail: concurrency must be", log)
        client = self.faktory(server, "w")
        self.push(client, 3)
        self.assertIsNotNone(client.fetch("mail"))
        self.assertIsNotNone(client.fetch("mail"))
        self.assertIsNone(client.fetch("mail"))
        arguments = [PROGRAM, "serve", f"--config={self.config}"]
        self.write("# mail", "mail = { concurrency = 2 }")
        self.assert_refused(arguments, f"{self.config}:3: throttles.mail: timeout", status=2)

    def test_limits_are_set_by_hand_under_names_that_a_queue_can_have(self):
        web = Web(self.start().web_address)
        limits = {"concurrency": 1, "timeout_s": 60}
        for name, status in (("mail", 200), ("a/b+c", 200), ("my%20mail", 400), ("m%C3%A4il", 400)):
            answer = web.post(f"/api/v1/throttles/{name}/set", limits)
            self.assertEqual(answer[0], status, answer)
        self.assertEqual(answer[1]["error"], 'no queue can have the name "mäil"')

    def test_a_pattern_and_a_rate_hold_and_the_metrics_tell(self):
        server = self.start('"mail-*" = { rate = { count = 2, per = 2 } }', LIMIT_OF_2)
        client = self.faktory(server, "w")
        self.push(client, 4, "mail-7")
        self.push(client, 3)
        self.assertIsNotNone(client.fetch("mail-7"))
        self.assertIsNotNone(client.fetch("mail-7"))
        begin = time.monotonic()
        self.assertIsNotNone(client.fetch("mail-7"))
        self.assertGreater(time.monotonic() - begin, 0.5)
        self.assertIsNotNone(client.fetch("mail"))
        address = f"http://{server.web_address[0]}:{server.web_address[1]}/metrics"
        with urllib.request.urlopen(address) as page:
            text = page.read().decode()
        self.assertIn('millrace_throttle_taken{queue="mail"} 1\n', text)
        self.assertIn('millrace_throttle_limit{queue="mail",kind="concurrency"} 2\n', text)
        self.assertIn('millrace_throttle_held_total{queue="mail-7"} 3\n', text)

    def push_each(self, client, jids, **more):
        for jid in jids:
            self.assertEqual(client.push(jid, **more), "+OK")

    def fetched(self, client, count, *queues):
        return [client.fetch(*queues)["jid"] for _ in range(count)]

    def test_a_type_is_limited_over_all_queues_and_holds_up_no_others(self):
        server = self.start('"type:Mail*" = { concurrency = 1, timeout = 60 }')
        client, waiting = self.faktory(server, "w"), self.faktory(server, "x")
        mail = {"jobtype": "MailFast"}
        self.push_each(client, ["mail-0001", "mail-0002"], queue="a", **mail)
        self.push_each(client, ["mail-0003"], queue="b", **mail)
        self.push_each(client, ["other-01"], queue="a")
        self.assertEqual(self.fetched(client, 2, "a"), ["mail-0001", "other-01"])
        waiting.send(b"FETCH b\r\n")
        time.sleep(0.1)
        begin = time.monotonic()
        self.assertEqual(client.ack("mail-0001"), "+OK")
        self.assertIn('"mail-0003"', waiting.body(int(waiting.line()[1:])).decode())
        self.assertLess(time.monotonic() - begin, 1)
        self.assertIsNone(client.fetch("a"))

    def test_after_a_crash_types_and_keys_are_full_of_the_jobs_that_run(self):
        lines = ("tenants = { per_key = 1, timeout = 60 }",
                 '"type:Mail" = { concurrency = 1, timeout = 60 }')
        server = self.start(*lines)
        client = self.faktory(server, "w")
        acme = {"queue": "tenants", "custom": {"throttle_key": "acme"}}
        self.push_each(client, ["acme-001", "acme-002"], **acme)
        self.push_each(client, ["bolt-001"], queue="tenants", custom={"throttle_key": "bolt"})
        self.push_each(client, ["mail-001", "mail-002"], queue="mail", jobtype="Mail")
        self.assertEqual(self.fetched(client, 1, "tenants"), ["acme-001"])
        self.assertEqual(self.fetched(client, 1, "mail"), ["mail-001"])
        self.store_reservations(client)
        server.restart()
        client = self.faktory(server, "w")
        self.assertEqual(self.fetched(client, 1, "tenants", "mail"), ["bolt-001"])
        self.assertIsNone(client.fetch("tenants", "mail"))
        self.assertEqual(client.ack("acme-001"), "+OK")
        self.assertEqual(client.ack("mail-001"), "+OK")
        self.assertEqual(self.fetched(client, 2, "tenants", "mail"), ["acme-002", "mail-002"])

    def test_keys_take_turns_and_limits_of_keys_follow_sighup(self):
        server = self.start("# none")
        client = self.faktory(server, "w")
        for number in range(2000):
            self.push_each(client, [f"acme-{number:04}"], queue="tenants",
                           custom={"throttle_key": "acme"})
        self.push_each(client, ["bolt-0000"], queue="tenants", custom={"throttle_key": 7})
        self.assertEqual(self.fetched(client, 2, "tenants"), ["acme-0000", "acme-0001"])
        self.reload(server, "reloaded", "tenants = { per_key = 3, timeout = 60 }")
        jids = self.fetched(client, 2, "tenants")
        self.assertEqual(jids, ["acme-0002", "bolt-0000"])
        self.assertIsNone(client.fetch("tenants"))
        self.reload(server, "reloaded")
        self.assertEqual(self.fetched(client, 1, "tenants"), ["acme-0003"])

    def test_what_limits_no_type_is_refused_with_file_and_line(self):
        self.start("# none")
        arguments = [PROGRAM, "serve", f"--config={self.config}"]
        self.write('"type:Mail" = { worker = 2, timeout = 60 }')
        self.assert_refused(arguments, f"{self.config}:2: throttles.type:Mail: worker", status=2)
        self.write("", '"type:" = { concurrency = 2, timeout = 60 }')
        self.assert_refused(arguments, f"{self.config}:3: throttles: type: needs", status=2)
