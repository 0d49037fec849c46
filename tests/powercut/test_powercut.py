"""The power cuts find what is wrong on purpose, and build what a disk can hold."""

import os
import random
import shutil
import tempfile
import unittest

import disk
import powercut
from disk import Disk, Luck, Note

SECTOR = 512


def opened(handle, name, is_new=True):
    return Note("O", int(is_new), handle, 0, 0, name)


def write(handle, offset, data):
    return Note("W", 0, handle, offset, len(data), "", data)


def synced(handle, serial):
    return [Note("B", 0, handle, serial, 0, ""), Note("E", 0, handle, serial, 0, "")]


def images(disk_now, **luck):
    """All that come up with such luck."""
    drawn = random.Random(1)
    lucks = {"sector": SECTOR, "data": "any", "names": "any", **luck}
    found = [disk.image(disk_now, Luck(**lucks), drawn) for _ in range(300)]
    return [each for i, each in enumerate(found) if each not in found[:i]]


def played(*notes, base=None):
    now = Disk({} if base is None else base)
    for each in notes:
        now.play(each)
    return now


class DiskTest(unittest.TestCase):
    def test_a_synced_file_with_a_synced_name_is_there(self):
        now = played(
            opened(1, "."), opened(2, "a"), write(2, 0, b"text"), *synced(2, 1), *synced(1, 2)
        )
        self.assertEqual(images(now), [{"a": b"text"}])

    def test_a_name_needs_a_sync_of_its_own(self):
        now = played(opened(2, "a"), write(2, 0, b"text"), *synced(2, 1))
        self.assertCountEqual(images(now), [{}, {"a": b"text"}])

    def test_what_is_written_during_a_sync_may_be_missing(self):
        begin, end = synced(2, 1)
        base = {"a": b"old"}
        now = played(opened(2, "a", False), begin, write(2, 0, b"new"), end, base=base)
        self.assertCountEqual(images(now), [{"a": b"old"}, {"a": b"new"}])

    def test_each_sector_is_there_or_not(self):
        base = {"a": b"o" * 3 * SECTOR}
        now = played(opened(2, "a", False), write(2, 0, b"n" * 3 * SECTOR), base=base)
        found = {each["a"][::SECTOR] for each in images(now)}
        self.assertEqual(len(found), 8)

    def test_a_later_write_to_a_sector_brings_the_earlier_ones(self):
        notes = [opened(2, "a", False), write(2, 0, b"one"), write(2, 3, b"two")]
        found = {each["a"] for each in images(played(*notes, base={"a": b"......"}))}
        self.assertEqual(found, {b"......", b"one...", b"onetwo"})

    def test_a_file_has_any_of_its_lengths(self):
        now = played(opened(2, "a", False), Note("A", 0, 2, 0, 8, ""), base={"a": b"1234"})
        self.assertCountEqual(images(now), [{"a": b"1234"}, {"a": b"1234\0\0\0\0"}])
        now = played(opened(2, "a", False), Note("T", 0, 2, 2, 0, ""), base={"a": b"1234"})
        self.assertIn({"a": b"12"}, images(now))

    def test_a_rename_happens_as_a_whole(self):
        now = played(Note("R", 0, 0, 0, 0, "a/b"), base={"a": b"1", "b": b"2"})
        self.assertCountEqual(images(now), [{"a": b"1", "b": b"2"}, {"b": b"1"}])

    def test_changes_of_names_keep_their_order_or_not(self):
        notes = [Note("U", 0, 0, 0, 0, name) for name in "ab"]
        now = played(*notes, base={"a": b"", "b": b""})
        self.assertNotIn({"a": b""}, images(now, names="until"))
        self.assertIn({"a": b""}, images(now, names="any"))

    def test_what_was_told_is_counted_for_each_client(self):
        now = played(Note("S", 0, 0, 7000, 10, ""), Note("S", 0, 0, 7000, 5, ""))
        self.assertEqual(now.told, {7000: 15})


class PlantedTest(unittest.TestCase):
    """Servers that acknowledge what is not on the disk."""

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="millrace-test-")
        self.addCleanup(shutil.rmtree, self.directory)

    def assert_found(self, seed, *flags, lose=None):
        kept = os.path.join(self.directory, "kept")
        world = powercut.World(seed, self.directory, lose, kept)
        world.flags += flags
        found = []
        while not found and world.images < 100:
            found = world.run_once()
        self.assertTrue(found, "nothing was found")
        # But for the line that says where it is kept, and paths.
        again = powercut.again(os.path.join(kept, os.listdir(kept)[0]))
        self.assertEqual(len(again), len(found) - 1)

    def test_syncs_of_files_that_are_none(self):
        self.assert_found(1, lose="files")

    def test_syncs_of_directories_that_are_none(self):
        self.assert_found(2, lose="directories")

    def test_no_syncs(self):
        self.assert_found(3, "--sync=off")

    def test_syncs_that_come_later(self):
        self.assert_found(4, "--sync=interval:20")


if __name__ == "__main__":
    unittest.main()
