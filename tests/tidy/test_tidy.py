"""The tree keeps the rules, and each rule catches what it is there for."""

import os
import subprocess
import tempfile
import unittest

import prose
import tidy


def problems(rule, path, text):
    return list(rule(tidy.Source(path, text)))


class RulesTest(unittest.TestCase):
    def assert_caught(self, rule, path, *texts):
        for text in texts:
            self.assertTrue(problems(rule, path, text), f"{rule.__name__} missed {text!r}")

    def assert_fine(self, rule, path, *texts):
        for text in texts:
            self.assertEqual(problems(rule, path, text), [], text)

    def test_core_includes_no_other_folder(self):
        rule = tidy.folder_directions
        self.assert_caught(rule, "src/core/a.cpp", '#include "server/options/config.hpp"\n')
        self.assert_caught(rule, "src/core/a.cpp", '#include "journal/file_journal.hpp"\n')
        self.assert_fine(rule, "src/core/a.cpp", '#include "core/model/job.hpp"\n')

    def test_protocols_do_not_include_each_other(self):
        rule = tidy.folder_directions
        self.assert_caught(rule, "src/beanstalk/a.hpp", '#include "faktory/service.hpp"\n')
        self.assert_caught(rule, "src/faktory/a.hpp", '#include "beanstalk/service.hpp"\n')
        self.assert_caught(rule, "src/http/a.hpp", '#include "faktory/service.hpp"\n')
        self.assert_fine(rule, "src/faktory/a.hpp", '#include "core/broker/broker.hpp"\n')

    def test_journal_includes_only_core(self):
        rule = tidy.folder_directions
        self.assert_caught(rule, "src/journal/a.cpp", '#include "server/process/logging.hpp"\n')
        self.assert_fine(rule, "src/server/a.cpp", '#include "journal/file_journal.hpp"\n')

    def test_cron_includes_only_the_model(self):
        rule = tidy.folder_directions
        self.assert_caught(rule, "src/cron/a.cpp", '#include "core/broker/broker.hpp"\n')
        self.assert_caught(rule, "src/cron/a.cpp", '#include "faktory/job/pusher.hpp"\n')
        self.assert_fine(rule, "src/cron/a.cpp", '#include "core/model/types.hpp"\n')
        self.assert_fine(rule, "src/cron/a.cpp", '#include "cron/schedule.hpp"\n')

    def test_includes_are_written_from_src(self):
        self.assert_caught(tidy.folder_directions, "src/core/a.cpp", '#include "job.hpp"\n')

    def test_core_sees_no_library_but_containers(self):
        texts = ["sys/epoll.h", "nlohmann/json.hpp", "simdjson.h", "openssl/sha.h", "thread"]
        texts += ["sys/socket.h", "unistd.h", "filesystem"]
        includes = [f"#include <{name}>\n" for name in texts]
        self.assert_caught(tidy.library_directions, "src/core/a.cpp", *includes)
        fine = ["#include <absl/container/btree_set.h>\n", "#include <string>\n"]
        self.assert_fine(tidy.library_directions, "src/core/a.cpp", *fine)

    def test_protocols_see_no_sockets(self):
        for path in ("src/beanstalk/a.cpp", "src/faktory/a.cpp", "src/http/a.cpp"):
            self.assert_caught(tidy.library_directions, path, "#include <sys/socket.h>\n")
        self.assert_fine(tidy.library_directions, "src/server/a.cpp", "#include <sys/socket.h>\n")

    def test_clocks_are_read_in_server_only(self):
        calls = [
            "auto t = std::chrono::steady_clock::now();\n",
            "auto t = std::chrono::system_clock::now();\n",
            "auto t = std::time(nullptr);\n",
            "auto t = time(0);\n",
            "gettimeofday(&tv, nullptr);\n",
        ]
        self.assert_caught(tidy.banned_calls, "src/core/a.cpp", *calls)
        self.assert_caught(tidy.banned_calls, "src/journal/a.cpp", *calls)
        self.assert_fine(tidy.banned_calls, "src/server/clock.cpp", *calls)
        self.assert_fine(tidy.banned_calls, "src/core/a.cpp", "job.time();\n", "run_time(0);\n")

    def test_chance_and_environment_come_from_server(self):
        self.assert_caught(tidy.banned_calls, "src/core/a.cpp", "rand();\n", "std::random_device d;\n")
        self.assert_caught(tidy.banned_calls, "src/server/server.cpp", 'std::getenv("A");\n')
        self.assert_fine(tidy.banned_calls, "src/server/options/config.cpp", 'std::getenv("A");\n')

    def test_prints_go_through_logging(self):
        calls = ['std::printf("a");\n', "std::cout << 1;\n", 'fprintf(stderr, "a");\n', 'puts("a");\n']
        self.assert_caught(tidy.banned_calls, "src/server/server.cpp", *calls)
        self.assert_fine(tidy.banned_calls, "src/server/process/logging.cpp", *calls)
        self.assert_fine(tidy.banned_calls, "src/core/a.cpp", "std::snprintf(b, 4, f);\n")

    def test_nothing_sleeps(self):
        texts = ["std::this_thread::sleep_for(1s);\n", "usleep(5);\n", "sleep(1);\n"]
        self.assert_caught(tidy.banned_calls, "tests/core/a.cpp", *texts)

    def test_comments_and_strings_are_not_code(self):
        texts = ["// never rand()\n", '/* std::rand() */ f("usleep(1)");\n', "f(R\"(rand())\");\n"]
        self.assert_fine(tidy.banned_calls, "src/core/a.cpp", *texts)
        self.assert_caught(tidy.banned_calls, "src/core/a.cpp", 'f("\\""); rand(); g("");\n')
        self.assert_caught(tidy.banned_calls, "src/core/a.cpp", "n = 1'000; rand(); m = 1'000;\n")

    def test_shared_ownership_says_why(self):
        text = "std::shared_ptr<int> a;\n"
        self.assert_caught(tidy.shared_ownership, "src/server/a.hpp", "\n" + text)
        self.assert_fine(tidy.shared_ownership, "src/server/a.hpp", "// Outlives the writer.\n" + text)

    def test_length_of_functions(self):
        def function(lines, head="void f() {\n"):
            return head + "  a();\n" * (lines - 2) + "}\n"

        rule, path = tidy.function_length, "src/core/a.cpp"
        constructor = "X::X(int a)\n    : a_(a) {\n"
        self.assert_caught(rule, path, function(71), function(70, constructor))
        self.assert_caught(rule, path, "namespace a {\n" + function(71) + "}\n")
        self.assert_fine(rule, path, function(70), function(70) * 2, function(69, constructor))
        self.assert_fine(rule, path, function(90, "namespace a {\n"))

    def test_the_main_loop_is_read_on_one_screen(self):
        for lines, path, is_fine in (
            (31, "src/server/turn/turn.cpp", False),
            (30, "src/server/turn/turn.cpp", True),
            (31, "src/server/turn/ticker.cpp", True),
        ):
            text = "void f() {\n" + "  a();\n" * (lines - 2) + "}\n"
            found = problems(tidy.function_length, path, text)
            self.assertEqual(found == [], is_fine, (lines, path))

    def test_opaque_names_do_not_come_back(self):
        caught = [f"a.{name}();\n" for name in tidy.OPAQUE_NAMES]
        self.assert_caught(tidy.opaque_names, "src/core/a.cpp", *caught)
        self.assert_caught(tidy.opaque_names, "tests/a.cpp", "Host host;\n", "House& house,\n")
        fine = ["// The last_words of it.\n", 'f("last_words");\n', "last_words_max();\n"]
        # The HTTP header and the name of a machine are something else.
        fine += ['f("Host: a");\n', "/// The header `Host`.\n", "Address host;\n", "kHostHeader;\n"]
        self.assert_fine(tidy.opaque_names, "src/core/a.cpp", *fine)

    def test_length_of_lines(self):
        self.assert_caught(tidy.line_length, "src/core/a.cpp", "/" * 101 + "\n")
        self.assert_fine(tidy.line_length, "src/core/a.cpp", "/" * 100 + "\n", "é" * 100 + "\n")

    def test_text_of_pages(self):
        long = "a " * 60 + "b\n"
        self.assert_caught(tidy.page_text, "a.md", long, "Word " * 17 + "end.\n")
        self.assert_fine(tidy.page_text, "src/core/a.cpp", long)
        self.assert_fine(
            tidy.page_text,
            "a.md",
            f"| {long}",
            f"```\n{long}```\n",
            f"[a](https://example.com/{'b' * 120})\n",
            "One word. " * 10 + "\n\n" + "word " * 20 + "\n",
        )

    def test_tabs_and_trailing_space(self):
        self.assert_caught(tidy.tabs_and_trailing_space, "src/core/a.cpp", "a; \n", "\ta;\n")

    def test_headers_are_guarded(self):
        self.assert_caught(tidy.include_guard, "src/core/a.hpp", "#include <string>\n", "")
        self.assert_fine(tidy.include_guard, "src/core/a.hpp", "// What it is.\n#pragma once\n")

    def test_words_that_do_not_belong(self):
        texts = ["// FIXME\n", "// TODO: later\n", "open(/work/data)\n", '"/root/x"\n', "/home/me\n"]
        self.assert_caught(tidy.stray_words, "src/core/a.cpp", *texts)
        fine = ["// TODO(gcc 13): use std::format\n", "build/work/x\n", "https://a.b/c\n"]
        self.assert_fine(tidy.stray_words, "src/core/a.cpp", *fine)


class ProseTest(unittest.TestCase):
    def test_sentences_of_paragraphs_and_items(self):
        page = "# No sentence\n\nOne two.\nThree `four five` six? Seven 8.5 e.g.\n\n* a b 3. C\n  d\n| no |\n"
        self.assertEqual(prose.sentences(page), [2, 3, 2, 2, 2])

    def test_a_sentence_may_begin_with_code(self):
        self.assertEqual(prose.sentences("One two. `Three` four five.\n"), [2, 3])

    def test_code_and_comments_are_no_text(self):
        page = "<!-- a\nb -->\n```\nc d\n```\n[e f](g.md) h\n"
        self.assertEqual(prose.sentences(page), [3])

    def test_measure(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.md")
            with open(path, "w", encoding="utf-8") as file:
                file.write("# Two words\n\nOne two three. Four.\n\n| five |\n")
            self.assertEqual(prose.measure([path]), prose.Measure(7, 4, 2, 3, 20))


class TreeTest(unittest.TestCase):
    def test_folders_do_not_include_each_other(self):
        down = tidy.Source("src/core/a/x.cpp", '#include "core/b/y.hpp"\n')
        up = tidy.Source("src/core/b/y.cpp", '#include "core/a/x.hpp"\n')
        self.assertEqual(list(tidy.folder_pairs([down])), [])
        self.assertEqual(len(list(tidy.folder_pairs([down, up]))), 1)

    def test_long_files_and_full_folders_are_only_advice(self):
        sources = [tidy.Source(f"src/core/{number}.cpp", "") for number in range(26)]
        sources.append(tidy.Source("src/base/a.cpp", "\n" * 701))
        self.assertEqual(len(list(tidy.advice(sources))), 2)
        self.assertEqual([text for each in sources for text in tidy.check(each)], [])

    def test_the_tree_keeps_the_rules(self):
        found = tidy.problems(list(tidy.tree()))
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_what_git_ignores_is_left_alone(self):
        with tempfile.TemporaryDirectory() as root:
            subprocess.run(["git", "init", "-q", root], check=True)
            for path, text in (("a.py", ""), ("venv/b.py", ""), (".gitignore", "venv/\n")):
                os.makedirs(os.path.dirname(f"{root}/{path}"), exist_ok=True)
                with open(f"{root}/{path}", "w", encoding="utf-8") as file:
                    file.write(text)
            self.assertEqual([source.path for source in tidy.tree(root)], ["a.py"])

    def test_the_tree_was_read(self):
        self.assertGreater(sum(source.is_cpp for source in tidy.tree()), 10)


if __name__ == "__main__":
    unittest.main()
