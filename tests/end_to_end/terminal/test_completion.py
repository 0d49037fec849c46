"""What the program prints for shells and for man, used by them."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

from program import PROGRAM, environment


COMMANDS = "serve check backup restore move-to-log move-to-file import".split()
COMMANDS += "stats queues ls peek tail retry kill delete pause resume push put fetch top".split()
COMMANDS += "workers errors dev doctor bench".split()


def printed(*arguments):
    done = subprocess.run(
        [PROGRAM, *arguments], capture_output=True, check=True, env=environment(), text=True
    )
    return done.stdout


def options_of(command):
    return set(re.findall(r"^ +(?:-h,)?(--[a-z-]+)", printed(command, "--help"), re.MULTILINE))


class Completion(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="millrace-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name in ("here.log", "there.log"):
            with open(os.path.join(self.folder, name), "w", encoding="ascii"):
                pass

    def run_shell(self, shell, *arguments):
        if shutil.which(shell) is None:
            self.skipTest(f"{shell} is missing")
        path = os.path.dirname(os.path.abspath(PROGRAM)) + ":" + os.environ["PATH"]
        done = subprocess.run(
            [shell, *arguments],
            capture_output=True,
            cwd=self.folder,
            env=environment() | {"PATH": path, "HOME": self.folder},
            text=True,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split("\n")

    def save(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

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

    def test_bash_knows_commands_flags_and_paths(self):
        self.assertEqual(self.bash("mov"), ["move-to-file", "move-to-log"])
        self.assertEqual(self.bash("serve", "--worker"), ["--worker-timeout"])
        self.assertEqual(set(self.bash("serve", "--")), options_of("serve"))
        self.assertEqual(self.bash("serve", "--config", "he"), ["here.log"])
        self.assertEqual(self.bash("serve", "--config", "=", "he"), ["here.log"])
        self.assertEqual(self.bash("check", "the"), ["there.log"])
        self.assertEqual(self.bash("serve", "--lease", ""), [])
        self.assertEqual(set(self.bash("delete", "--")), options_of("delete"))
        self.assertEqual(self.bash("stats", "--password-file", "he"), ["here.log"])

    def test_fish_knows_commands_flags_and_paths(self):
        script = self.save("fish", printed("completion", "fish"))

        def fish(line):
            found = self.run_shell("fish", "-c", f"source {script}; complete -C '{line}'")
            return sorted(each.split("\t")[0] for each in found if each)

        self.assertEqual(fish("millrace mov"), ["move-to-file", "move-to-log"])
        self.assertEqual(fish("millrace serve --worker"), ["--worker-timeout"])
        self.assertIn("here.log", fish("millrace check he"))
        self.assertEqual(fish("millrace ls --older"), ["--older-than"])
        self.assertEqual(fish("millrace serve --lease "), [])

    def test_zsh_takes_it(self):
        script = self.save("_millrace", printed("completion", "zsh"))
        self.run_shell("zsh", "-n", script)
        with open(script, encoding="utf-8") as file:
            text = file.read()
        for command in ("serve", "move-to-file", "import", "delete", "push"):
            for option in options_of(command):
                self.assertRegex(text, rf"'{option}=?\[")

    def test_another_shell_is_refused(self):
        done = subprocess.run(
            [PROGRAM, "completion", "tcsh"], capture_output=True, env=environment(), text=True
        )
        self.assertEqual(done.returncode, 2)
        self.assertIn("bash, zsh or fish", done.stderr)


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
