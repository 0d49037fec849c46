"""What the shape of the tree is read from: the parsers, and the lists of places."""

import os
import tempfile
import unittest

import shape
import classes

HEADER = """
#include <map>
namespace a {
enum class Kind { kOne, kTwo };
class Store : public Base {
 public:
  explicit Store(int size) : size_{size}, names_(size) {}
  ~Store();
  Store(const Store&) = delete;
  bool operator==(const Store&) const = default;
  [[nodiscard]] std::map<int, std::string> names(Kind kind, int from = 0) const { return names_; }
  template <typename T>
  void add(T&& name);
  static Store make();

 private:
  struct Slot {
    int id = 0;
    std::vector<std::pair<int, int>> places = {{1, 2}, {3, 4}};
  };
  void grow();
  static constexpr int kMax = 3;
  std::function<void(int, int)> on_change_;
  std::map<int, Slot> slots_{};
  int size_, used_;
};
struct Store::State {
  void serve();
  int waits = std::max(1, 2);
};
}
"""


class ClassesTest(unittest.TestCase):
    def setUp(self):
        self.found = {each.name: each for each in classes.classes(HEADER)}

    def test_classes_are_found_nested_and_outside(self):
        self.assertEqual(list(self.found), ["Store", "Slot", "Store::State"])

    def test_public_methods_leave_out_constructors_operators_and_private_ones(self):
        self.assertEqual(self.found["Store"].public_methods, 3)
        self.assertEqual(self.found["Store"].methods, 4)
        self.assertEqual(self.found["Store::State"].public_methods, 1)

    def test_members_leave_out_constants_and_types(self):
        self.assertEqual(self.found["Store"].members, 4)
        self.assertEqual(self.found["Slot"].members, 2)
        self.assertEqual(self.found["Store::State"].members, 1)


class TreeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        self.write("src/core/model/job.cpp", "// Why.\nint a;  // b\nCHECK(a); DCHECK(a);\n\n")
        self.write("src/core/job.hpp", '#define CHECK(x)\nf("CHECK(x)");  // CHECK(x)\n')
        self.write("src/http/page.cpp", "int a;\n")
        self.write("tests/core/job_test.cpp", "")
        self.write("tests/core/page_test.cpp", "")

    def write(self, path, text):
        os.makedirs(os.path.dirname(os.path.join(self.root, path)), exist_ok=True)
        with open(os.path.join(self.root, path), "w", encoding="utf-8") as file:
            file.write(text)

    def test_checks_are_counted_in_code_only(self):
        files = list(shape.sources(self.root))
        self.assertEqual(shape.count_checks(files, "CHECK"), 1)
        self.assertEqual(shape.count_checks(files, "DCHECK"), 1)

    def test_comment_lines_are_those_of_cpp_files(self):
        self.assertEqual(shape.comment_share(list(shape.sources(self.root))), 2 / 5)

    def test_folders_are_counted_with_those_in_them(self):
        sizes = shape.folder_sizes(list(shape.sources(self.root)))
        self.assertEqual(list(sizes.items()), [("core", (6, 2)), ("http", (1, 1))])

    def test_a_test_has_the_name_and_the_folder_of_its_source(self):
        files = list(shape.sources(self.root))
        self.assertEqual(shape.tested_by_name(self.root, files), (1, 2))

    def test_the_first_list_that_fits_counts(self):
        fits = {"places": [["src/**/job.cpp", "int a;"], ["src/core/**/job.hpp", "#define"]]}
        lacks = {"places": [["src/**/job.cpp", "int b;"]]}
        self.assertEqual(shape.count_list(self.root, [lacks, fits]), "2")
        said = shape.count_list(self.root, [lacks])
        self.assertEqual(said, "no list fits: 1 places lack, first src/**/job.cpp: int b;")

    def test_times_are_those_of_the_revision(self):
        runs = '{"verb": "test", "revision": "b", "seconds": 9, "steps": []}\n' \
               '{"verb": "test", "revision": "b", "seconds": 8, ' \
               '"steps": ["    7 s  build", "    0 s  setup"]}\n' \
               '{"verb": "check", "revision": "a", "seconds": 7, "steps": []}\n'
        self.write("times.json", runs)
        path = os.path.join(self.root, "times.json")
        self.assertEqual(shape.gate_times("b", path), {"test": "8 s, 7 s build"})
        self.assertEqual(shape.gate_times("c", path), {})


class ListsTest(unittest.TestCase):
    def test_places_are_a_pattern_and_texts(self):
        lists = shape.read_lists()
        self.assertGreater(len(lists), 3)
        for each in (each for same in lists.values() for each in same):
            for pattern, *texts in each["places"]:
                self.assertRegex(pattern, r"^(src|tests|docs)/")
                self.assertTrue(texts and all(text.strip() for text in texts), pattern)

    def test_a_list_of_each_title_fits_this_tree(self):
        for title, lists in shape.read_lists().items():
            with self.subTest(title):
                self.assertRegex(shape.count_list(shape.ROOT, lists), r"^[0-9]+$")

    def test_two_revisions_are_two_columns(self):
        text = shape.table(["a", "b"], [{"files": "1"}, {"files": "2"}])
        self.assertEqual(text, "|  | a | b |\n| --- | --- | --- |\n| files | 1 | 2 |")


if __name__ == "__main__":
    unittest.main()
