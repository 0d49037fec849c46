"""What the web port says to a Host name without a password, under each name of the program."""

import os

from program import PROGRAM, ServerTest, free_port
from web import Web


class HostTest(ServerTest):
    def setUp(self):
        super().setUp()
        os.symlink(os.path.abspath(PROGRAM), self.path("faktory"))

    def status(self, server, port, path="/stats", host="jobs.example.com"):
        return Web(("127.0.0.1", port)).request("GET", path, headers={"Host": host})

    def start_faktory(self, web, toml=None, env=None):
        os.makedirs(self.path("files/conf.d"), exist_ok=True)
        if toml:
            with open(self.path("files/conf.d/web.toml"), "w", encoding="utf-8") as file:
                file.write(toml)
        server = self.server(env={"HOME": self.directory, **(env or {})})
        server.arguments = lambda: [
            *(self.path("faktory"), "-d", self.path("db"), "-c", self.path("files")),
            *("-b", f"localhost:{free_port()}", "-w", web),
        ]
        return server.start()

    def test_faktory_for_others_takes_any_name_as_the_official_server_does(self):
        port = free_port()
        for web in (f":{port}", f"0.0.0.0:{port}"):
            server = self.start_faktory(web)
            for path in ("/", "/stats", "/metrics", "/api/v1/overview"):
                self.assertEqual(self.status(server, port, path)[0], 200, path)
            for name in (f"millrace.jobs.svc.cluster.local:{port}", "[::1]", "a"):
                self.assertEqual(self.status(server, port, host=name)[0], 200, name)
            server.kill()

    def test_faktory_on_loopback_refuses_and_names_what_allows_it(self):
        port = free_port()
        for web in (f"localhost:{port}", f"127.0.0.1:{port}"):
            server = self.start_faktory(web)
            for path in ("/", "/stats", "/metrics"):
                status, _, body = self.status(server, port, path)
                self.assertEqual(status, 403)
                self.assertIn(b"MILLRACE_WEB_HOST, or to hosts in [web]", body)
            self.assertEqual(self.status(server, port, host=f"localhost:{port}")[0], 200)
            self.assertEqual(self.status(server, port, "/health")[0], 200)
            server.kill()

    def test_faktory_takes_the_names_that_it_is_given(self):
        port = free_port()
        web = f"localhost:{port}"
        server = self.start_faktory(web, env={"MILLRACE_WEB_HOST": "Jobs.example.com,b.example"})
        self.assertEqual(self.status(server, port)[0], 200)
        self.assertEqual(self.status(server, port, host="c.example")[0], 403)
        server.kill()
        server = self.start_faktory(web, '[web]\nhosts = "jobs.example.com"\n')
        self.assertEqual(self.status(server, port)[0], 200)
        self.assertEqual(self.status(server, port, host="b.example")[0], 403)

    def test_millrace_refuses_wherever_it_listens_and_names_its_flag(self):
        port = free_port()
        for flags, status in ((), 403), (("--web-host=jobs.example.com",), 200):
            server = self.server("--insecure=web", *flags)
            server.web_address = ("", port)
            server.start()
            answer = self.status(server, port)
            self.assertEqual(answer[0], status)
            self.assertEqual(b"--web-host" in answer[2], status == 403)
            server.kill()
