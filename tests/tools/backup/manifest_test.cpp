#include "tools/backup/manifest.hpp"

#include "support/doctest.hpp"

namespace millrace::tools {
namespace {

/// Two backups that follow each other, and one after a gap.
BackupManifest example_manifest() {
  const std::string sum(64, 'a');
  return {.writer = 77,
          .points = {{.at = Time{10s}, .told = Time{9s}, .begin = 0, .end = 150},
                     {.at = Time{20s}, .told = Time{15s}, .begin = 100, .end = 300},
                     {.at = Time{30s}, .told = Time{25s}, .begin = 500, .end = 600}},
          .files = {{.first = 0, .bytes = 100, .sha256 = sum},
                    {.first = 100, .bytes = 200, .sha256 = sum},
                    {.first = 500, .bytes = 100, .sha256 = sum}}};
}

std::string manifest_refusal(const BackupManifest& manifest) {
  const auto parsed = parse_manifest(encode(manifest), "PATH");
  return parsed ? "" : parsed.error().text;
}

}  // namespace

TEST_CASE("manifest: it is read as it was written") {
  const auto parsed = parse_manifest(encode(example_manifest()), "PATH");
  REQUIRE_MESSAGE(parsed, parsed.error().text);
  CHECK(*parsed == example_manifest());
}

TEST_CASE("manifest: its lines are those of the grammar") {
  const std::string text = encode(example_manifest());
  CHECK(
      text.starts_with("millrace-backup 2\n"
                       "writer 77\n"
                       "point 1970-01-01T00:00:10Z 1970-01-01T00:00:09Z 0 150\n"));
  CHECK(text.find("\nfile 00000000000000000100.log 200 aaaa") != std::string::npos);
}

TEST_CASE("manifest: no byte can be changed, and none left out") {
  const std::string text = encode(example_manifest());
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string other = text;
    other[at] ^= 1;
    if (parse_manifest(other, "PATH")) FAIL_CHECK("byte ", at);
    if (parse_manifest(text.substr(0, at), "PATH")) FAIL_CHECK("cut at ", at);
  }
}

TEST_CASE("manifest: one whose files have not all that its points need is refused") {
  BackupManifest manifest = example_manifest();
  const std::string expected = "PATH does not list all files that it needs";
  SUBCASE("the first one") {
    manifest.files.erase(manifest.files.begin());
  }
  SUBCASE("the last one") {
    manifest.files.pop_back();
  }
  SUBCASE("all points") {
    manifest.points.clear();
  }
  CHECK(manifest_refusal(manifest) == expected);
}

TEST_CASE("manifest: one of format 1 is read, and has no writer") {
  BackupManifest manifest = example_manifest();
  manifest.writer.reset();
  std::string text = encode(manifest);
  text.replace(text.find('2'), 1, "1");
  text.resize(text.size() - 72);
  text += "sha256 " + sha256_of(text) + "\n";
  const auto parsed = parse_manifest(text, "PATH");
  REQUIRE_MESSAGE(parsed, parsed.error().text);
  CHECK(*parsed == manifest);
}

TEST_CASE("manifest: a writer that is no number, or the second one, is refused") {
  const auto refusal = [](const std::string& lines) {
    const std::string text = "millrace-backup 2\n" + lines;
    return parse_manifest(text + "sha256 " + sha256_of(text) + "\n", "PATH").error().text;
  };
  const std::string line_2 = "PATH cannot be read: line 2 is of no backup that this program makes";
  CHECK(refusal("writer \n") == line_2);
  CHECK(refusal("writer 18446744073709551616\n") == line_2);
  CHECK(refusal("writer 1\nwriter 1\n") ==
        "PATH cannot be read: line 3 is of no backup that this program makes");
}

TEST_CASE("manifest: files that overlap are refused") {
  BackupManifest manifest = example_manifest();
  manifest.files[0].bytes = 101;
  CHECK(manifest_refusal(manifest) ==
        "PATH cannot be read: line 7 is of no backup that this program makes");
}

TEST_CASE("manifest: the times of each run are told") {
  CHECK(times_text(example_manifest()) ==
        "from 1970-01-01T00:00:09Z to 1970-01-01T00:00:20Z, and from 1970-01-01T00:00:25Z to "
        "1970-01-01T00:00:30Z");
}

TEST_CASE("manifest: of many gaps their number is told, and the end of the last one") {
  BackupManifest manifest = example_manifest();
  for (Lsn i = 1; i <= 1000; ++i) {
    const Time at{30s + std::chrono::seconds(i)};
    manifest.points.push_back({.at = at, .told = at, .begin = i * 1000, .end = i * 1000 + 100});
  }
  CHECK(times_text(manifest) ==
        "from 1970-01-01T00:00:09Z to 1970-01-01T00:17:10Z, with 1001 gaps; the last gap ends "
        "at 1970-01-01T00:17:10Z");
}

TEST_CASE("manifest: what only earlier times need is forgotten") {
  const auto pruned = [](Duration before) {
    BackupManifest manifest = example_manifest();
    prune(manifest, Time{before}, Time{30s});
    return std::to_string(manifest.points.size()) + "," + std::to_string(manifest.files.size());
  };
  CHECK(pruned(9s) == "3,3");
  CHECK(pruned(10s) == "3,3");
  CHECK(pruned(20s) == "2,2");
  CHECK(pruned(29s) == "2,2");
  CHECK(pruned(1000s) == "1,1");
}

TEST_CASE(
    "manifest: a clock that was wrong for a while keeps nothing for longer, and loses nothing") {
  const auto left = [](std::vector<Duration> made, Duration before) {
    BackupManifest manifest = example_manifest();
    manifest.points.clear();
    for (Lsn i = 0; i < made.size(); ++i) {
      manifest.points.push_back({.at = Time{made[i]}, .told = {}, .begin = 0, .end = 100 + i});
    }
    prune(manifest, Time{before}, Time{made.back()});
    std::vector<Duration> kept;
    for (const BackupPoint& point : manifest.points) kept.push_back(point.at.time_since_epoch());
    return kept;
  };
  using Times = std::vector<Duration>;
  CHECK(left({10s, 20s, 1000s, 30s, 40s, 50s}, 35s) == Times{30s, 40s, 50s});
  CHECK(left({30s, 40s, 1s, 50s}, 20s) == Times{30s, 40s, 1s, 50s});
  CHECK(left({30s, 40s, 1s, 50s}, 35s) == Times{30s, 40s, 1s, 50s});
  CHECK(left({30s, 40s, 50s, 2s}, 1s) == Times{30s, 40s, 50s, 2s});
  CHECK(left({30s, 40s, 1s, 50s, 60s}, 45s) == Times{40s, 1s, 50s, 60s});
  CHECK(left({30s, 1s, 40s, 50s, 20s}, 10s) == Times{30s, 1s, 40s, 50s, 20s});
}

TEST_CASE("manifest: the times of a run end with the latest one") {
  BackupManifest manifest = example_manifest();
  manifest.points[0].at = Time{1000s};
  CHECK(
      times_text(manifest).starts_with("from 1970-01-01T00:00:09Z to 1970-01-01T00:16:40Z, and "));
}

TEST_CASE("manifest: one whose first line does not end, or is another one, is refused") {
  const auto refusal = [](const std::string& text) {
    return parse_manifest(text + "sha256 " + sha256_of(text) + "\n", "PATH").error().text;
  };
  CHECK(refusal("millrace-backup 2") == "PATH is not the manifest of a backup");
  const std::string rest = encode(example_manifest()).substr(17);
  CHECK(refusal("millrace-backup a" + rest) == "PATH is not the manifest of a backup");
  CHECK(refusal("millrace-backup 2 " + rest) == "PATH is not the manifest of a backup");
}

TEST_CASE("manifest: its checksums are SHA-256") {
  CHECK(sha256_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace millrace::tools
