"""The drop-in: Millrace called as `beanstalkd`, with its flags, statuses and signals."""

import os
import pwd
import re
import signal
import socket
import subprocess
import time
import unittest

from beanstalkd import DropinTest
from clients import Beanstalk, Faktory
from program import PROGRAM, start_kept, wait_until

NOBODY = "nobody"


class FlagsTest(DropinTest):
    def assert_usage(self, message, *flags):
        done = self.run_briefly(*flags)
        self.assertEqual((done.returncode, done.stdout), (5, ""))
        self.assertEqual(done.stderr.splitlines()[0], f"beanstalkd: {message}")
        self.assertIn("Use: beanstalkd [OPTIONS]", done.stderr)

    def test_version(self):
        done = self.run_briefly("-v")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"^beanstalkd \d+\.\d+\n$")

    def test_help(self):
        done = self.run_briefly("-h")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        for flag in "bfFlpuzsvVh":
            self.assertRegex(done.stderr, rf"(?m)^ -{flag} ")

    def test_what_makes_no_sense(self):
        self.assert_usage("unknown flag: -x", "-x")
        self.assert_usage("unknown flag: Vx", "-Vx")
        self.assert_usage("unknown flag: --help", "--help")
        self.assert_usage("unknown argument: foo", "foo")
        self.assert_usage("unknown argument: -", "-")
        self.assert_usage("flag requires an argument: -l", "-l")
        self.assert_usage("invalid size: abc", "-z", "abc")
        self.assert_usage("invalid size: 5k", "-z5k")
        self.assert_usage("invalid size: ", "-s", "")

    def test_bundles_and_attached_values(self):
        done = self.run_briefly("-VFVcnz5", "-s+10", "-f0", "-v")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(re.findall("flag was removed", done.stderr)), 2)

    def test_a_job_size_beyond_the_limit_is_cut(self):
        for size in ("1073741825", "-1", "99999999999999999999999"):
            done = self.run_briefly("-z", size, "-v")
            self.assertEqual(
                done.stderr, "beanstalkd: maximum job size was set to 1073741824\n"
            )

    def test_ports_that_cannot_be_had(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            self.assertEqual(self.run_briefly("-l", "127.0.0.1", "-p", port).returncode, 111)
        self.assertEqual(self.run_briefly("-p", "abc").returncode, 111)
        self.assertEqual(self.run_briefly("-l", "192.0.2.1", "-p", "0").returncode, 111)
        self.assertEqual(self.run_briefly("-l", "unix:/nowhere/socket").returncode, 111)
        self.assertEqual(self.run_briefly("-l", "unix:/" + "x" * 107).returncode, 111)

    def test_the_environment_of_millrace_means_nothing(self):
        server = self.dropin(env={"MILLRACE_MAX_JOB_SIZE": "1", "MILLRACE_DATA": "/nowhere"})
        self.assertEqual(self.client(server).put(b"hello"), 1)


class ServingTest(DropinTest):
    def listening(self, server):
        """The local addresses of its TCP listeners, as /proc/net/tcp writes them."""
        fds = f"/proc/{server.process.pid}/fd"
        sockets = {os.readlink(os.path.join(fds, fd)) for fd in os.listdir(fds)}
        with open("/proc/net/tcp", encoding="ascii") as file:
            rows = [line.split() for line in file][1:]
        return [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets]

    def test_it_opens_its_one_port_on_all_ipv4_addresses(self):
        probe = self.dropin()
        port = probe.address[1]
        self.client(probe)
        probe.process.kill()
        probe.process.wait()
        server = self.dropin("-p", str(port), address=("127.0.0.1", port))
        self.client(server)
        self.assertEqual(self.listening(server), [f"00000000:{port:04X}"])

    def test_it_is_silent_and_stores_nothing(self):
        server = self.dropin(cwd=self.directory)
        self.assertEqual(self.client(server).put(b"a"), 1)
        self.assertEqual(os.listdir(self.directory), ["beanstalkd"])
        server.process.kill()
        self.assertEqual((server.process.stdout.read(), server.error_text()), ("", ""))

    def test_verbose_says_what_it_opens(self):
        server = self.dropin("-V")
        output = server.process.stdout
        self.assertEqual(output.readline(), f"pid {server.process.pid}\n")
        self.assertRegex(output.readline(), rf"^bind \d+ 127.0.0.1:{server.address[1]}$")

    def test_verbose_says_who_comes_and_goes(self):
        server = self.dropin("-V")
        output = server.process.stdout
        client = server.client()
        accepted = [output.readline() for _ in range(3)][2]
        self.assertRegex(accepted, r"^accept \d+$")
        client.close()
        self.assertEqual(output.readline(), accepted.replace("accept", "close"))

    def test_a_normal_run_writes_nothing_on_stderr(self):
        for _ in range(2):
            server = self.dropin("-b", self.directory)
            self.assertEqual(self.client(server).command("use a"), "USING a")
            self.client(server).put(b"x")
            self.assertEqual(self.terminate(server)[0], -signal.SIGTERM)
            self.assertEqual((server.process.stdout.read(), server.error_text()), ("", ""))

    def test_a_unix_socket_again_and_again(self):
        path = self.path("socket")
        for _ in range(2):
            server = self.dropin("-l", f"unix:{path}", "-p", "ignored", address=path)
            client = self.client(server)
            self.assertEqual(client.put(b"a"), 1)
            self.assertEqual(client.command("peek 1"), "FOUND 1 1")
            server.process.kill()
            server.process.wait()

    def test_an_ipv6_address(self):
        if not socket.has_ipv6 or not os.path.exists("/proc/net/if_inet6"):
            self.skipTest("no IPv6 here")
        server = self.dropin("-V", "-l", "::1", "-p", "0", address=("::1", 0))
        self.assertRegex(server.process.stdout.readline(), r"^pid \d+$")
        self.assertRegex(server.process.stdout.readline(), r"^bind \d+ \[::1\]:\d+$")

    def test_it_serves_within_100_ms(self):
        def start_seconds():
            began = time.monotonic()
            server = self.dropin()
            self.assertEqual(self.client(server).put(b"a"), 1)
            seconds = time.monotonic() - began
            server.process.kill()
            return seconds

        # The quickest of some: what else the machine does is not ours.
        self.assertTrue(any(start_seconds() < 0.1 for _ in range(50)))

    def test_sizes_in_stats(self):
        stats = self.client(self.dropin("-z", "+5000000", "-s", "4096")).stats()
        self.assertEqual(stats["max-job-size"], "5000000")
        self.assertEqual(stats["binlog-max-size"], "4096")
        self.assertEqual(stats["binlog-current-index"], "0")
        self.assertEqual(stats["binlog-records-written"], "0")

    def test_one_byte_beyond_the_largest_job(self):
        client = self.client(self.dropin("-z", "1073741824"))
        client.send(b"put 0 0 0 1073741825\r\n")
        piece = b"a" * (1 << 20)
        for _ in range(1 << 10):
            client.send(piece)
        client.send(b"x\r\n")
        self.assertEqual(client.line(), "JOB_TOO_BIG")
        self.assertEqual(client.put(b"b"), 1)


class SignalsTest(DropinTest):
    def test_sigusr1_drains(self):
        server = self.dropin()
        client = self.client(server)
        self.assertEqual(client.put(b"a"), 1)
        server.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: client.stats()["draining"] == "true", "drain mode")
        self.assertEqual(client.put(b"a"), "DRAINING")
        self.assertEqual(client.reserve(), (1, b"a"))

    def test_sigterm_ends_it_at_once(self):
        server = self.dropin("-b", self.directory)
        waiting, idle = self.client(server), self.client(server)
        waiting.send(b"reserve\r\n")
        self.assertEqual(idle.put(b"a", delay=100), 1)
        status, seconds = self.terminate(server)
        self.assertEqual(status, -signal.SIGTERM)
        self.assertLess(seconds, 2)

    def test_sigint_and_sighup_end_it_too(self):
        for number in (signal.SIGINT, signal.SIGHUP):
            server = self.dropin()
            self.client(server)
            server.process.send_signal(number)
            self.assertEqual(server.process.wait(20), -number)


class StoringTest(DropinTest):
    def restarted(self, server, *flags):
        server.process.kill()
        server.process.wait()
        return self.dropin("-b", self.directory, *flags)

    def test_an_empty_directory(self):
        server = self.dropin("-b", self.directory)
        self.client(server)
        self.assertEqual(self.client(self.restarted(server)).put(b"a"), 1)

    def test_jobs_survive(self):
        for flags in ((), ("-f0",), ("-F",), ("-f", "1000", "-c", "-n", "-s", "601")):
            with self.subTest(flags):
                server = self.dropin("-b", self.directory, *flags)
                job = self.client(server).put(b"a")
                server = self.restarted(server, *flags)
                self.assertEqual(self.client(server).delete(job), "DELETED")
                server.process.kill()
                server.process.wait()

    def test_states_survive(self):
        server = self.dropin("-b", self.directory, "-f0")
        client = self.client(server)
        client.command("use test")
        client.command("watch test")
        self.assertEqual([client.put(b"test"), client.put(b"test")], [1, 2])
        client.reserve()
        self.assertEqual(client.command("release 1 1 1"), "RELEASED")
        client.reserve()
        self.assertEqual(client.delete(2), "DELETED")
        client = self.client(self.restarted(server))
        client.command("watch test")
        self.assertEqual(client.reserve(timeout=5), (1, b"test"))
        self.assertEqual(client.delete(1), "DELETED")
        self.assertEqual(client.delete(2), "NOT_FOUND")

    def test_many_small_jobs(self):
        server = self.dropin("-b", self.directory, "-s", "601")
        client = self.client(server)
        jobs = [client.put(b"x" * 22) for _ in range(96)]
        self.assertEqual(jobs, list(range(1, 97)))
        client = self.client(self.restarted(server))
        self.assertEqual({client.delete(job) for job in jobs}, {"DELETED"})

    def test_directories_that_it_does_not_take(self):
        os.mkdir(self.path("old"))
        with open(self.path("old/binlog.3"), "wb"):
            pass
        for name, reason in (("missing", "No such file"), ("old", "binlog.3")):
            done = self.run_briefly("-l", "127.0.0.1", "-p", "0", "-b", self.path(name))
            self.assertEqual(done.returncode, 10)
            self.assertRegex(done.stderr, f"^beanstalkd: .*{reason}")
        self.client(self.dropin("-b", self.directory))
        done = self.run_briefly("-l", "127.0.0.1", "-p", "0", "-b", self.directory)
        self.assertEqual(done.returncode, 10)


class UserTest(DropinTest):
    def test_nobody_of_that_name(self):
        done = self.run_briefly("-l", "127.0.0.1", "-p", "0", "-u", "nobody-of-that-name")
        self.assertEqual(done.returncode, 33)
        self.assertIn("no such user", done.stderr)

    def assert_is_nobody(self, server):
        entry = pwd.getpwnam(NOBODY)
        self.assertEqual(server.status("Uid"), [str(entry.pw_uid)] * 4)
        self.assertEqual(server.status("Gid"), [str(entry.pw_gid)] * 4)
        self.assertEqual(server.status("Groups"), [str(entry.pw_gid)])

    @unittest.skipUnless(os.getuid() == 0, "only root can become somebody else")
    def test_it_binds_first_and_opens_its_journal_last(self):
        entry = pwd.getpwnam(NOBODY)
        os.mkdir(self.path("data"))
        os.chown(self.path("data"), entry.pw_uid, entry.pw_gid)
        os.chmod(self.directory, 0o755)
        path = self.path("socket")
        server = self.dropin(
            "-l", f"unix:{path}", "-u", NOBODY, "-b", self.path("data"), address=path
        )
        self.assertEqual(self.client(server).put(b"a"), 1)
        self.assert_is_nobody(server)
        for name in os.listdir(self.path("data")):
            self.assertEqual(os.stat(self.path(f"data/{name}")).st_uid, entry.pw_uid)

    @unittest.skipUnless(os.getuid() == 0, "only root can become somebody else")
    def test_millrace_serve_does_it_too(self):
        server = self.server("--volatile", f"--user={NOBODY}").start()
        server.status = lambda name: self.status_of(server.process.pid, name)
        self.assert_is_nobody(server)

    @staticmethod
    def status_of(pid, name):
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return next(line for line in file if line.startswith(name + ":")).split()[1:]

    @unittest.skipIf(os.getuid() == 0, "root may become anybody")
    def test_becoming_somebody_else_is_not_allowed(self):
        done = self.run_briefly("-l", "127.0.0.1", "-p", "0", "-u", "root")
        self.assertEqual(done.returncode, 34)


# Sockets wait there for their place; far above what a test has open.
SPARE = 100
# Stands between, as systemd does: the process that is started must know its own id.
ACTIVATE = 'export LISTEN_PID=$$; exec "$0" "$@"'


class ActivationTest(DropinTest):
    """Sockets that are open already, at the descriptors from 3 on."""

    def activate(self, sockets, program, *flags, names=None, env=None):
        moves = " ".join(f"{3 + i}<&{SPARE + i}" for i in range(len(sockets)))
        for i, each in enumerate(sockets):
            os.dup2(each.fileno(), SPARE + i)
        env = {**(env or {}), "LISTEN_FDS": str(len(sockets))}
        if names:
            env["LISTEN_FDNAMES"] = names
        process = start_kept(
            ["bash", "-c", f"{ACTIVATE} {moves}", program, *flags],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=range(SPARE, SPARE + len(sockets)),
            env={**os.environ, **env},
            text=True,
        )
        for i in range(len(sockets)):
            os.close(SPARE + i)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def listening_socket(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        return listener

    def test_beanstalkd_takes_the_first(self):
        sockets = [self.listening_socket(), self.listening_socket()]
        process = self.activate(sockets, self.link, "-p", "1", "-l", "192.0.2.1")
        client = self.open(Beanstalk(sockets[0].getsockname()))
        self.assertEqual(client.put(b"a"), 1)
        self.assertIn("inherited_socket_ignored", process.stderr.readline())

    def test_a_unix_socket_stays_where_it_is(self):
        path = self.path("socket")
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(path)
        listener.listen()
        process = self.activate([listener], self.link)
        self.assertEqual(self.open(Beanstalk(path)).put(b"a"), 1)
        process.terminate()
        process.wait()
        self.assertTrue(os.path.exists(path))

    def test_millrace_serve_gives_each_port_one(self):
        sockets = [self.listening_socket(), self.listening_socket()]
        self.activate(sockets, PROGRAM, "serve", "--volatile", "--web=off")
        self.assertEqual(self.open(Beanstalk(sockets[0].getsockname())).put(b"a"), 1)
        self.assertEqual(self.open(Faktory(sockets[1].getsockname())).hello_reply, "+OK")

    def test_or_by_name(self):
        sockets = [self.listening_socket(), self.listening_socket()]
        command = [PROGRAM, "serve", "--volatile", "--web=off"]
        self.activate(sockets, *command, names="faktory:beanstalk")
        self.assertEqual(self.open(Beanstalk(sockets[1].getsockname())).put(b"a"), 1)
        self.assertEqual(self.open(Faktory(sockets[0].getsockname())).hello_reply, "+OK")

    def test_beanstalkd_leaves_a_socket_for_another_port_alone(self):
        sockets = [self.listening_socket(), self.listening_socket()]
        process = self.activate(sockets, self.link, names="faktory.socket:beanstalkd.socket")
        self.assertEqual(self.open(Beanstalk(sockets[1].getsockname())).put(b"a"), 1)
        self.assertIn("name=faktory.socket", process.stderr.readline())

    def test_faktory_opens_no_other_port(self):
        link = self.path("faktory")
        os.symlink(os.path.abspath(PROGRAM), link)
        flags = ("-e", "production", "-d", self.path("storage"), "-c", self.path("files"))
        for names in ("faktory.socket", "millrace.socket", None):
            with self.subTest(names):
                listener = self.listening_socket()
                process = self.activate(
                    [listener], link, *flags, names=names, env={"FAKTORY_PASSWORD": "secret"}
                )
                client = Faktory(listener.getsockname(), password="secret")
                self.assertEqual(self.open(client).hello_reply, "+OK")
                process.terminate()
                process.wait()

    def test_a_port_that_is_off_stays_closed(self):
        listener = self.listening_socket()
        self.activate([listener], PROGRAM, "serve", "--volatile", "--beanstalk=off")
        self.assertEqual(self.open(Faktory(listener.getsockname())).hello_reply, "+OK")

    def test_what_does_not_listen_is_refused(self):
        plain = socket.socket()
        self.addCleanup(plain.close)
        process = self.activate([plain], self.link)
        self.assertEqual(process.wait(20), 111)
        self.assertIn("descriptor 3", process.stderr.read())

    def test_sockets_for_another_process_are_left_alone(self):
        server = self.dropin(env={"LISTEN_PID": "1", "LISTEN_FDS": "1"})
        self.assertEqual(self.client(server).put(b"a"), 1)


if __name__ == "__main__":
    unittest.main()
