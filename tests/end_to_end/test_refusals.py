"""A start that cannot succeed ends with one clear line, and harms nothing."""

import os
import socket
import subprocess
import unittest

from clients import Beanstalk
from program import PROGRAM, ServerTest, environment
from shared.shared_log import make_certificate


class UnusableTest(ServerTest):
    def test_a_bad_flag(self):
        self.assert_refused([PROGRAM, "serve", "--no-such-flag"], "no-such-flag")

    def test_a_bad_value(self):
        for flag in ("--sync=sometimes", "--beanstalk=nowhere", "--max-job-size=many"):
            with self.subTest(flag):
                self.assert_refused([PROGRAM, "serve", flag], flag.split("=")[1])

    def test_a_stdout_that_takes_nothing(self):
        os.mkdir(self.path("binlog"))
        with open(self.path("binlog/binlog.1"), "wb") as file:
            file.write((7).to_bytes(4, "little"))  # its version, and no job
        server = self.server().start()
        server.terminate()
        report = "it is done, but the report of it"
        binlog = ["--beanstalkd", self.path("binlog"), "--into", self.path("imported")]
        for arguments, name in ((["--help"], "the output"), (["man"], "the output"),
                                (["completion", "bash"], "the output"),
                                (["check", self.path("data")], report),
                                (["backup", self.path("data"), self.path("backup")], report),
                                (["import", *binlog], report)):
            with self.subTest(arguments[0]), open("/dev/full", "wb") as full:
                done = subprocess.run([PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE,
                                      env=environment(), text=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr),
                                 (1, f"millrace: {name} could not be written\n"))

    def test_a_reader_that_has_gone_is_no_fault(self):
        done = subprocess.run(f"{PROGRAM} man | head -n 1", shell=True, capture_output=True,
                              env=environment(), text=True, timeout=60)
        self.assertEqual(done.stderr, "")

    def test_an_argument_cannot_move_the_cursor(self):
        odd = self.path("\x1b[2Jgone")
        for arguments in (["check", odd], ["backup", odd, self.path("b")],
                          ["import", "--beanstalkd", odd, "--into", self.path("d")],
                          ["export", odd, "--to", "beanstalk://a"]):
            with self.subTest(arguments[0]):
                done = subprocess.run([PROGRAM, *arguments], capture_output=True,
                                      env=environment(), text=True, timeout=60)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(r"\x1b[2J", done.stderr)
                self.assertNotIn("\x1b", done.stderr)

    def test_a_contradiction(self):
        flags = ("--volatile", "--sync=always")
        self.assert_refused(self.server(*flags).arguments(), "--volatile.*--sync", status=2)

    def test_a_mistake_in_the_url_of_a_log(self):
        for url in ("nats://u:s3cret@a/jobs?sync=yes", "postgresql://a/jobs?sslmode=s3cret"):
            flag = f"--log={url}"
            for arguments in (
                self.server(flag, "--node=a").arguments(),
                [PROGRAM, "move-to-log", self.path("data"), flag],
                [PROGRAM, "move-to-file", self.path("data"), flag],
            ):
                with self.subTest(arguments[1:]):
                    # All of it is one line, without the password.
                    text = "^millrace: --log: the URL of a log ((?!s3cret).)*$"
                    self.assert_refused(arguments, text, status=2)
                    self.assertFalse(os.path.exists(self.path("data")))

    def test_a_taken_port(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            server = self.server()
            server.beanstalk_address = taken.getsockname()
            self.assert_refused(server.arguments(), f"{taken.getsockname()[1]}.*in use")

    def test_two_ports_at_one_address_leave_nothing_behind(self):
        server = self.server()
        server.web_address = server.faktory_address
        self.assert_refused(server.arguments(), "--faktory and --web are both", status=2)
        self.assertFalse(os.path.exists(server.data))

    def test_a_taken_port_is_named_and_leaves_nothing_behind(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            server = self.server()
            server.web_address = taken.getsockname()
            text = "the web port: cannot listen on .*: Address already in use$"
            self.assert_refused(server.arguments(), text, status=1)
            self.assertFalse(os.path.exists(server.data))

    def test_a_data_directory_in_use(self):
        first = self.server().start()
        second = self.server()
        self.assert_refused(second.arguments(), "data")
        self.assertEqual(self.open(Beanstalk(first.beanstalk_address)).put(b"a"), 1)

    def test_a_data_directory_that_cannot_be(self):
        with open(self.path("file"), "w", encoding="utf-8"):
            pass
        server = self.server(data="file/data")
        self.assert_refused(server.arguments(), "file/data")

    @unittest.skipIf(os.getuid() == 0, "root may write anywhere")
    def test_an_unwritable_data_directory(self):
        os.mkdir(self.path("data"), 0o500)
        self.assert_refused(self.server().arguments(), "data")

    def test_a_missing_password_file(self):
        server = self.server("--password-file=/nowhere/password")
        self.assert_refused(server.arguments(), "/nowhere/password", status=2)

    def test_files_of_tls_that_cannot_be_used(self):
        good, key = make_certificate(self.path("."))
        with open(self.path("text"), "w", encoding="ascii") as file:
            file.write("no certificate\n")
        text, gone = self.path("text"), "/nowhere/file"
        for flags, problem in (
            ((gone, key), f"--tls-cert: cannot read {gone}: No such file or directory$"),
            ((good, gone), f"--tls-key: cannot read {gone}: No such file or directory$"),
            ((text, key), f"cannot use certificate {text}: it must be PEM \\(no start line\\)$"),
            ((good, text), f"cannot use key {text}: it must be PEM "),
            ((self.path("."), key), "cannot use certificate"),
        ):
            with self.subTest(flags):
                server = self.server(f"--tls-cert={flags[0]}", f"--tls-key={flags[1]}")
                text_of_it = f"^millrace: ((?!error:|system lib).)*{problem}"
                self.assert_refused(server.arguments(), text_of_it, status=2)

    def test_a_value_of_another_type_in_the_config_file(self):
        with open(self.path("config"), "w", encoding="ascii") as file:
            file.write("volatile = false\ndata = 5\n")
        done = [PROGRAM, "serve", "--config", self.path("config")]
        self.assert_refused(done, "config:2: data must be a text in quotes$", status=2)
        self.assertFalse(os.path.exists("5"))

    def test_certificates_that_a_verb_cannot_read(self):
        for verb in (["stats", "--url=https://127.0.0.1:1"],
                     ["put", "body", "--address=tls://127.0.0.1:1"]):
            with self.subTest(verb):
                text = "--ca: cannot read /nowhere/ca: No such file or directory$"
                self.assert_refused([PROGRAM, *verb, "--ca=/nowhere/ca"], text, status=2)


class DamageTest(ServerTest):
    def filled(self, jobs=50):
        """A server that was killed after so many acknowledged puts."""
        server = self.server().start()
        client = self.open(Beanstalk(server.beanstalk_address))
        for number in range(jobs):
            client.put(b"job number %d" % number)
        server.kill()
        return server

    @staticmethod
    def contents(path):
        with open(path, "rb") as file:
            return file.read()

    @staticmethod
    def change(path, offset, data):
        with open(path, "r+b") as file:
            file.seek(offset)
            file.write(data)

    def flip(self, path, offset):
        self.change(path, offset, bytes([self.contents(path)[offset] ^ 0x40]))

    def ready_after_start(self, server):
        client = self.open(Beanstalk(server.start().beanstalk_address))
        return int(client.stats("stats-tube default")["current-jobs-ready"])

    def test_a_flipped_byte_in_the_middle(self):
        server = self.filled()
        segment = server.segments()[-1]
        offset = self.contents(segment).index(b"job number 7")
        self.flip(segment, offset)
        before = self.contents(segment)
        self.assert_refused(server.arguments(), os.path.basename(segment))
        self.assertEqual(self.contents(segment), before, "a refused start changed the journal")
        self.flip(segment, offset)
        self.assertEqual(self.ready_after_start(server), 50)

    def test_a_flipped_byte_in_a_header(self):
        server = self.filled()
        self.flip(server.segments()[0], 20)
        self.assert_refused(server.arguments(), os.path.basename(server.segments()[0]))

    def test_a_missing_piece(self):
        server = self.filled()
        segment = server.segments()[-1]
        middle = self.contents(segment).index(b"job number 9")
        os.truncate(segment, os.path.getsize(segment))
        self.change(segment, middle - 100, bytes(200))
        self.assert_refused(server.arguments(), os.path.basename(segment))

    def test_a_torn_tail_is_cut_and_told(self):
        server = self.filled()
        segment = server.segments()[-1]
        end = len(self.contents(segment).rstrip(b"\0"))
        self.change(segment, (end + 7) // 8 * 8, b"half a frame that a crash left behind")
        self.assertEqual(self.ready_after_start(server), 50)
        self.assertRegex(server.error_text(), "cut|torn")

    def test_a_cut_last_frame_loses_only_itself(self):
        server = self.filled()
        segment = server.segments()[-1]
        end = len(self.contents(segment).rstrip(b"\0"))
        os.truncate(segment, end - 4)
        self.assertEqual(self.ready_after_start(server), 49)
        self.assertRegex(server.error_text(), "cut|torn")

    def test_work_goes_on_behind_a_cut_tail(self):
        server = self.filled()
        segment = server.segments()[-1]
        os.truncate(segment, len(self.contents(segment).rstrip(b"\0")) - 4)
        self.assertEqual(self.ready_after_start(server), 49)
        self.open(Beanstalk(server.beanstalk_address)).put(b"after")
        server.kill()
        self.assertEqual(self.ready_after_start(server), 50)


if __name__ == "__main__":
    unittest.main()
