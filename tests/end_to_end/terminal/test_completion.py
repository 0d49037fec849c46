"""What the program prints for shells and for man, used by them."""

import os
import pty
import re
import shutil
import subprocess
import tempfile
import unittest

from clients import Beanstalk
from program import PROGRAM, ServerTest, environment, free_port


SECONDS_MAX = 60
COMMANDS = "serve check backup restore move-to-log move-to-file import".split()
COMMANDS += "stats queues ls peek tail retry kill delete pause resume push put fetch top".split()
COMMANDS += "workers errors dev doctor bench health cluster types audit locks tokens config".split()


def printed(*arguments):
    done = subprocess.run(
        [PROGRAM, *arguments], capture_output=True, check=True, env=environment(), text=True
    )
    return done.stdout


def options_of(command):
    return set(re.findall(r"^  (?:-[a-z],)?(--[a-z-]+)", printed(command, "--help"), re.MULTILINE))


class CompletionTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.folder = self.path("home")
        os.mkdir(self.folder)
        for name in ("here.log", "there.log"):
            self.save(name, "")
        self.env = environment() | {"HOME": self.folder, "ZDOTDIR": self.folder}
        self.env["PATH"] = os.path.dirname(os.path.abspath(PROGRAM)) + ":" + os.environ["PATH"]

    def save(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run_shell(self, shell, *arguments):
        if shutil.which(shell) is None:
            self.skipTest(f"{shell} is missing")
        done = subprocess.run(
            [shell, *arguments], capture_output=True, cwd=self.folder, env=self.env, text=True
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split("\n")

    def bash(self, *words):
        script = self.save("bash", printed("completion", "bash"))
        line = " ".join(f"'{word}'" for word in ("millrace", *words))
        lines = self.run_shell(
            "bash",
            "--norc",
            "-c",
            f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words)}; _millrace; "
            'printf "%s\\n" "${COMPREPLY[@]}"',
        )
        return sorted(line for line in lines if line)

    def fish(self, line):
        script = self.save("fish", printed("completion", "fish"))
        found = self.run_shell("fish", "-c", f"source {script}; complete -C '{line}'")
        return sorted(each.split("\t")[0] for each in found if each)

    def zsh(self, line):
        """The line after the tab key, in a terminal."""
        script = self.save("completion", printed("completion", "zsh"))
        self.run_shell("zsh", "-n", script)
        self.save("line", line)
        self.save(
            ".zshrc",
            f"""autoload -Uz compinit; compinit -u -d {self.folder}/dump; source {script}
            press_tab() {{
              BUFFER=$(<line) CURSOR=1000; zle complete-word; print -rn -- "$BUFFER" >answer
              zle -U $'\\x15exit\\n'
            }}
            zle -N zle-line-init press_tab
            """,
        )
        master, slave = pty.openpty()
        try:
            subprocess.run(
                ["zsh", "-i"], stdin=slave, stdout=slave, stderr=slave, cwd=self.folder,
                env=self.env | {"TERM": "dumb"}, timeout=SECONDS_MAX, start_new_session=True,
            )
        finally:
            os.close(master)
            os.close(slave)
        with open(os.path.join(self.folder, "answer"), encoding="utf-8") as file:
            return file.read()


class Completion(CompletionTest):
    def test_bash_knows_commands_flags_and_paths(self):
        self.assertEqual(self.bash("mov"), ["move", "move-to-file", "move-to-log"])
        self.assertEqual(self.bash("serve", "--worker"), ["--worker-timeout"])
        self.assertEqual(set(self.bash("serve", "--")), options_of("serve"))
        self.assertEqual(self.bash("serve", "--config", "he"), ["here.log"])
        self.assertEqual(self.bash("serve", "--config", "=", "he"), ["here.log"])
        self.assertEqual(self.bash("check", "the"), ["there.log"])
        self.assertEqual(self.bash("serve", "--lease", ""), [])
        self.assertEqual(set(self.bash("delete", "--")), options_of("delete"))
        self.assertEqual(self.bash("stats", "--password-file", "he"), ["here.log"])

    def test_bash_knows_values(self):
        self.assertEqual(self.bash("ls", "re"), ["ready", "reserved", "retrying"])
        self.assertEqual(self.bash("ls", "--limit", "3", "comp"), ["completed"])
        self.assertEqual(self.bash("ls", "--limit", "=", "3", "comp"), ["completed"])
        self.assertEqual(self.bash("ls", "--url", "http", ":", "//x", ":", "80", "d"), ["dead"])
        self.assertEqual(self.bash("ls", "dead", "re"), [])
        self.assertEqual(set(self.bash("ls", "dead", "--")), options_of("ls"))
        self.assertEqual(self.bash("retry", "--state", "de"), ["dead"])
        self.assertEqual(
            self.bash("retry", "--state", "=", "dead,re"),
            ["dead,ready", "dead,retrying"],
        )
        self.assertEqual(self.bash("batches", "--state", "fa"), ["failed"])
        self.assertEqual(self.bash("cron", ""), ["pause", "resume", "run"])
        self.assertEqual(self.bash("completion", ""), ["bash", "fish", "zsh"])
        self.assertEqual(self.bash("serve", "--push-once", ""), ["off", "on"])
        self.assertEqual(self.bash("import", "--faktory", "he"), ["here.log"])

    def test_fish_knows_commands_flags_and_paths(self):
        self.assertEqual(self.fish("millrace mov"), ["move", "move-to-file", "move-to-log"])
        self.assertEqual(self.fish("millrace serve --worker"), ["--worker-timeout"])
        self.assertIn("here.log", self.fish("millrace check he"))
        self.assertEqual(self.fish("millrace ls --older"), ["--older-than"])
        self.assertEqual(self.fish("millrace serve --lease "), [])
        self.assertEqual(self.fish("millrace cron pause --fo"), [], "another verb is pause")

    def test_fish_knows_values(self):
        self.assertEqual(self.fish("millrace ls re"), ["ready", "reserved", "retrying"])
        self.assertEqual(self.fish("millrace ls --limit 3 comp"), ["completed"])
        self.assertEqual(self.fish("millrace ls dead re"), [])
        self.assertEqual(
            self.fish("millrace retry --state dead,re"),
            ["dead,ready", "dead,retrying"],
        )
        self.assertEqual(self.fish("millrace cron "), ["pause", "resume", "run"])
        self.assertEqual(self.fish("millrace completion "), ["bash", "fish", "zsh"])

    def test_zsh_knows_commands_flags_paths_and_values(self):
        for line, whole in (
            ("millrace move-to-f", "move-to-file "),
            ("millrace serve --worker-t", "--worker-timeout="),
            ("millrace check the", "there.log "),
            ("millrace serve --config he", "here.log "),
            ("millrace ls comp", "completed "),
            ("millrace ls --limit 3 comp", "completed "),
            # The comma is removed by the next key.
            ("millrace retry --state dead,sch", "dead,scheduled,"),
            ("millrace cron ru", "run "),
            ("millrace completion fi", "fish "),
        ):
            with self.subTest(line):
                before, _, _ = line.rpartition(" ")
                self.assertEqual(self.zsh(line), f"{before} {whole}")

    def test_zsh_has_all_options(self):
        text = printed("completion", "zsh")
        for command in ("serve", "move-to-file", "import", "delete", "push"):
            for option in options_of(command):
                self.assertRegex(text, rf"'{option}=?\[")

    def test_another_shell_is_refused(self):
        done = subprocess.run(
            [PROGRAM, "completion", "tcsh"], capture_output=True, env=environment(), text=True
        )
        self.assertEqual(done.returncode, 2)
        self.assertIn("bash, zsh or fish", done.stderr)


class QueueNames(CompletionTest):
    """Names of queues come from the server, and are whatever its clients have made."""

    def setUp(self):
        super().setUp()
        server = self.server()
        server.web_address = ("127.0.0.1", free_port())
        server.start()
        self.env["MILLRACE_URL"] = f"http://127.0.0.1:{server.web_address[1]}"
        client = self.open(Beanstalk(server.beanstalk_address))
        for tube in ("mail", "$(touch/made)", "images"):
            self.assertEqual(client.command(f"use {tube}"), f"USING {tube}")
            client.put(b"x")

    def test_bash(self):
        self.assertEqual(self.bash("pause", "ma"), ["mail"])
        self.assertEqual(self.bash("pause", "mail", "im"), ["images"])
        self.assertEqual(self.bash("ls", "dead", "--queue", "ma"), ["mail"])
        self.assertEqual(self.bash("throttles", "set", "ma"), ["mail"])
        self.assertIn(r"\$\(touch/made\)", self.bash("put", "--tube", ""))

    def test_fish(self):
        self.assertEqual(self.fish("millrace pause mail im"), ["images"])
        self.assertEqual(self.fish("millrace ls dead --queue ma"), ["mail"])
        self.assertIn(r"$(touch/made)", self.fish("millrace fetch "))

    def test_zsh(self):
        self.assertEqual(self.zsh("millrace pause mail im"), "millrace pause mail images ")
        self.assertEqual(
            self.zsh("millrace fetch \\$\\(to"), "millrace fetch \\$\\(touch/made\\) "
        )

    def test_a_server_that_is_away_completes_nothing(self):
        self.env["MILLRACE_URL"] = f"http://127.0.0.1:{free_port()}"
        self.assertEqual(self.bash("pause", "ma"), [])
        self.assertEqual(self.fish("millrace pause ma"), [])


class ManualPage(unittest.TestCase):
    def test_man_shows_every_command_and_option_without_a_warning(self):
        if shutil.which("man") is None:
            self.skipTest("man is missing")
        with tempfile.NamedTemporaryFile("w", suffix=".1", encoding="utf-8") as file:
            file.write(printed("man"))
            file.flush()
            done = subprocess.run(
                ["man", "--warnings", "-E", "UTF-8", "-P", "cat", "-l", file.name],
                capture_output=True,
                env=environment() | {"LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANOPT": ""},
                text=True,
            )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for command in COMMANDS:
            self.assertIn(f"millrace {command}", done.stdout)
            for option in options_of(command) - {"--help"}:
                self.assertIn(option, done.stdout)


if __name__ == "__main__":
    unittest.main()
