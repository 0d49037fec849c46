"""statsd over UDP: the program tells of its jobs, and does not wait for anybody who listens."""

import signal
import socket
import time

from clients import Beanstalk, Faktory
from program import ServerTest, wait_until


class StatsdTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.socket = self.listen()
        self.lines = []
        self.datagrams = []

    def listen(self):
        listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(listener.close)
        listener.bind(("127.0.0.1", 0))
        listener.settimeout(0.05)
        return listener

    def port(self):
        return self.socket.getsockname()[1]

    def start(self, *members, location=None, env=None):
        location = location or f"localhost:{self.port()}"
        self.write(f'location = "{location}"', *members)
        return self.server(f"--config={self.path('config.toml')}", env=env).start()

    def write(self, *lines):
        with open(self.path("config.toml"), "w", encoding="utf-8") as file:
            file.write("\n".join(["[statsd]", *lines, ""]))

    def take(self):
        """Reads what has come."""
        try:
            while True:
                datagram = self.socket.recv(65536)
                self.datagrams.append(datagram)
                self.lines += datagram.decode().split("\n")
        except TimeoutError:
            pass

    def wait_for(self, *beginnings):
        def has_all():
            self.take()
            return all(any(line.startswith(each) for line in self.lines) for each in beginnings)

        wait_until(has_all, f"lines {beginnings}")

    def counted(self, name):
        """The sum of a counter's lines."""
        counts = [line for line in self.lines if line.startswith(name + ":")]
        return sum(int(line.split(":")[1].split("|")[0]) for line in counts)

    def wait_for_count(self, name, count):
        def is_there():
            self.take()
            return self.counted(name) >= count

        wait_until(is_there, f"{name} {count}")
        self.assertEqual(self.counted(name), count)

    def client(self, server):
        return self.open(Faktory(server.faktory_address, "worker-1"))

    def run_job(self, client, jid, queue="default", end="ACK", **members):
        self.assertEqual(client.push(jid, queue, **members), "+OK")
        job = client.fetch(queue)
        reply = client.command(f'{end} {{"jid":"{job["jid"]}"}}')
        self.assertEqual(reply, "+OK")

    def test_a_run_has_its_time_its_queue_and_its_jobtype(self):
        client = self.client(self.start('tags = ["env:production"]'))
        client.push("job-00001", "mail")
        client.fetch("mail")
        time.sleep(0.1)
        client.ack("job-00001")
        self.wait_for("faktory.jobs.perform:")
        (line,) = [each for each in self.lines if "jobs.perform" in each]
        self.assertRegex(
            line,
            r"^faktory\.jobs\.perform:1\d\d(\.\d+)?\|ms\|#env:production,queue:mail,jobtype:\w+$",
        )

    def test_runs_failures_and_locks_are_counted(self):
        server = self.start('namespace = "jobs."')
        client = self.client(server)
        for number in range(20):
            self.run_job(client, f"job-{number:05}")
        self.run_job(client, "job-99999", end="FAIL")
        self.assertEqual(client.push("unique-1", custom={"unique_for": 60}), "+OK")
        client.push("unique-2", custom={"unique_for": 60})
        tube = self.open(Beanstalk(server.beanstalk_address))
        job = tube.put(b"x")
        tube.command(f"reserve-job {job}")
        tube.body(1)
        tube.delete(job)
        self.wait_for_count("jobs.jobs.count", 22)
        self.wait_for_count("jobs.jobs.failed", 1)
        self.wait_for_count("jobs.uniq.lock", 1)
        self.wait_for_count("jobs.uniq.denied", 1)

    def test_gauges_come_at_once_and_name_queues(self):
        server = self.start('queueLatency = ["mail", "not-there"]')
        client = self.client(server)
        client.push("job-00001", "mail")
        self.wait_for("faktory.processed:0|g", "faktory.dead:0|g", "faktory.connections:")
        server.kill()
        server.start()
        self.wait_for(
            "faktory.enqueued:1|g",
            "faktory.queue.size:1|g|#queue:mail",
            "faktory.queue.latency:",
            "faktory.enqueued.mail:1|g",
            "faktory.latency.mail:",
            "faktory.latency.not-there:0|g",
        )

    def test_a_restart_does_not_count_what_was_counted_before(self):
        server = self.start()
        client = self.client(server)
        self.run_job(client, "job-00001")
        self.wait_for_count("faktory.jobs.count", 1)
        server.restart()
        self.run_job(self.client(server), "job-00002")
        self.wait_for_count("faktory.jobs.count", 2)

    def test_hostile_names_break_no_line(self):
        server = self.start('tags = ["a|b", "c,d", "e\\nf#g"]')
        client = self.client(server)
        jobtype = "J|1#2,3@4\n:x|c\u00e9" + "y" * 3000
        self.run_job(client, "job-00001", jobtype=jobtype)
        self.wait_for("faktory.jobs.perform:")
        (line,) = [each for each in self.lines if "jobs.perform" in each]
        self.assertIn("|ms|#a_b,c_d,e_f_g,queue:default,jobtype:J_1_2_3_4_:x_c\u00e9yyy", line)
        for each in self.lines:
            self.assertRegex(each, r"^faktory\.[\w.-]+:[\d.]+\|(ms|c|g)(\|#[^|#@\n]+)?$")

    def test_datagrams_are_bounded(self):
        client = self.client(self.start("bufferSize = 1000"))
        for number in range(300):
            self.run_job(client, f"job-{number:05}")
        self.wait_for_count("faktory.jobs.count", 300)
        self.assertLessEqual(max(len(each) for each in self.datagrams), 1432)

    def test_the_variable_of_datadog_turns_it_on(self):
        env = {"DD_DOGSTATSD_URL": f"udp://127.0.0.1:{self.port()}"}
        server = self.server(env=env).start()
        self.run_job(self.client(server), "job-00001")
        self.wait_for_count("faktory.jobs.count", 1)

    def test_a_variable_that_is_not_for_us_stops_nothing(self):
        server = self.server(env={"DD_DOGSTATSD_URL": "unix:///nowhere"}).start()
        self.assertIn("config_ignored key=DD_DOGSTATSD_URL", server.error_text())

    def test_nobody_listens(self):
        port = self.port()
        self.socket.close()
        server = self.start(location=f"127.0.0.1:{port}")
        client = self.client(server)
        for number in range(50):
            self.run_job(client, f"job-{number:05}")
        wait_until(
            lambda: [self.beat(client), "statsd_fails problem=" in server.error_text()][1],
            "a log line",
        )
        self.assertIn("Connection refused", server.error_text())
        # Somebody does, later.
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(self.socket.close)
        self.socket.bind(("127.0.0.1", port))
        self.socket.settimeout(0.05)
        wait_until(
            lambda: [self.beat(client), "statsd_works" in server.error_text()][1], "a log line"
        )
        self.take()
        self.assertTrue(self.lines)

    def beat(self, client):
        """Something to tell of."""
        self.run_job(client, f"beat-{time.monotonic_ns()}")

    def test_a_host_that_cannot_be_found(self):
        server = self.start(location="no-such-host.invalid:8125")
        client = self.client(server)
        begin = time.monotonic()
        for number in range(50):
            self.run_job(client, f"job-{number:05}")
        self.assertLess(time.monotonic() - begin, 30)
        wait_until(lambda: "statsd_fails" in server.error_text(), "a log line")
        self.assertIn("cannot find no-such-host.invalid", server.error_text())
        self.assertEqual(server.terminate(), 0)

    def test_reload(self):
        server = self.start()
        client = self.client(server)
        self.run_job(client, "job-00001")
        self.wait_for_count("faktory.jobs.count", 1)
        self.write(f'location = "localhost:{self.port()}"', 'namespace = ""')
        self.reload(server)
        self.run_job(client, "job-00002")
        self.wait_for_count("jobs.count", 1)
        self.write('location = "localhost"')
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "reload_failed" in server.error_text(), "reload_failed")
        self.assertIn("config.toml:2: statsd.location is wrong", server.error_text())
        with open(self.path("config.toml"), "w", encoding="utf-8"):
            pass
        self.reload(server)
        self.take()
        self.lines.clear()
        self.run_job(client, "job-00003")
        time.sleep(0.5)
        self.take()
        self.assertEqual(self.lines, [])

    def reload(self, server):
        count = server.error_text().count(" reloaded\n")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: server.error_text().count(" reloaded\n") > count, "reloaded")
