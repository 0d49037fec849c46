"""Who may connect to a unix socket of a server that was started as root."""

import os
import pwd
import socket
import stat
import unittest

from clients import Beanstalk
from program import ServerTest

NOBODY = "nobody"


@unittest.skipUnless(os.getuid() == 0, "only root can become somebody else")
class SocketFileTest(ServerTest):
    def setUp(self):
        super().setUp()
        os.chmod(self.directory, 0o755)
        self.user = pwd.getpwnam(NOBODY)

    def start(self, *flags, env=None):
        server = self.server("--volatile", f"--user={NOBODY}", *flags, env=env)
        server.beanstalk_address = self.path("beanstalk.sock")
        server.faktory_address = self.path("faktory.sock")
        server.web_address = self.path("web.sock")
        return server.start()

    def connects_as(self, server, user, group):
        """Whether such a user reaches all sockets."""
        child = os.fork()
        if child == 0:
            try:
                os.setgroups([])
                os.setgid(group)
                os.setuid(user)
                for path in (server.beanstalk_address, server.faktory_address, server.web_address):
                    with socket.socket(socket.AF_UNIX) as client:
                        client.connect(path)
                os._exit(0)
            except OSError:
                os._exit(1)
        return os.waitpid(child, 0)[1] == 0

    def test_they_belong_to_the_user(self):
        server = self.start()
        for path in (server.beanstalk_address, server.faktory_address, server.web_address):
            facts = os.stat(path)
            self.assertEqual((facts.st_uid, facts.st_gid), (self.user.pw_uid, self.user.pw_gid))
            self.assertEqual(stat.S_IMODE(facts.st_mode), 0o777 & ~self.umask())
        self.assertTrue(self.connects_as(server, self.user.pw_uid, self.user.pw_gid))
        self.assertFalse(self.connects_as(server, 12345, 12345))
        self.assertEqual(self.open(Beanstalk(server.beanstalk_address)).put(b"a"), 1)

    @staticmethod
    def umask():
        mask = os.umask(0)
        os.umask(mask)
        return mask

    def test_the_mode_lets_the_group_in_or_all(self):
        server = self.start("--socket-mode=660")
        self.assertTrue(self.connects_as(server, 12345, self.user.pw_gid))
        self.assertFalse(self.connects_as(server, 12345, 12345))
        server.kill()
        server = self.start(env={"MILLRACE_SOCKET_MODE": "0666"})
        self.assertTrue(self.connects_as(server, 12345, 12345))
        server.kill()
        with open(self.path("toml"), "w", encoding="utf-8") as file:
            file.write('socket-mode = "600"\n')
        server = self.start(f"--config={self.path('toml')}")
        self.assertTrue(self.connects_as(server, self.user.pw_uid, self.user.pw_gid))
        self.assertFalse(self.connects_as(server, 12345, self.user.pw_gid))
