"""Counts the test cases inside the programs that ctest ran, from its JUnit report.

Prints `N passed, N failed`. A doctest program or a Python test counts with its own cases, any other
with one. A program that failed without saying which case did counts as one failed case.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree

DOCTEST = re.compile(r"\[doctest\] test cases: +(\d+) \| +(\d+) passed \| +(\d+) failed")
UNITTEST = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)
UNITTEST_FAILED = re.compile(r"^FAILED \((.*)\)", re.MULTILINE)


def count_output(output):
    """The (passed, failed) cases that a program's output tells of, or None."""
    counts = DOCTEST.findall(output)
    if counts:
        return sum(int(row[1]) for row in counts), sum(int(row[2]) for row in counts)
    ran = UNITTEST.findall(output)
    if ran:
        summary = " ".join(UNITTEST_FAILED.findall(output))
        failed = sum(int(number) for number in re.findall(r"(?:failures|errors)=(\d+)", summary))
        return max(0, sum(int(number) for number in ran) - failed), failed
    return None


def count_program(case):
    """The (passed, failed) cases of one program in the report."""
    ok = case.get("status") == "run"
    counted = count_output(case.findtext("system-out") or "")
    if counted is None:
        return (1, 0) if ok else (0, 1)
    passed, failed = counted
    return passed, failed if ok else max(1, failed)


def main():
    report = ElementTree.parse(sys.argv[1]).getroot()
    counts = [count_program(case) for case in report.iter("testcase")]
    passed = sum(count[0] for count in counts)
    failed = sum(count[1] for count in counts)
    print(f"{passed} passed, {failed} failed")


if __name__ == "__main__":
    main()
