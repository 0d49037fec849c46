"""Counts the instructions of each operation of the core, and compares them with those in
docs/internals/performance: what costs more than that fails.
"""

import os
import platform
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import arguments
import results

PART = "instructions"
# Of what the table says. One program counts the same each time, and within 0.5 % wherever its heap
# begins; the rest is for libraries, and for what the compiler makes of changes nearby.
TOLERANCE = 0.03
# Compiler, and the libraries whose instructions count.
PACKAGES = ["g++-12", "libc6", "libstdc++6", "libabsl-dev", "libsimdjson-dev", "libsodium23",
            "nlohmann-json3-dev"]
# glibc and simdjson choose functions by what the processor has: here those that all have. There is
# nothing else in the environment, whose length would move the stack.
ENVIRONMENT = {
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX,-AVX_Fast_Unaligned_Load,-ERMS,-FSRM,-BMI2,"
                      "-SSSE3,-SSE4_1,-SSE4_2,-LZCNT,-MOVBE,-POPCNT",
    "SIMDJSON_FORCE_IMPLEMENTATION": "westmere",
}
CALLGRIND = ["valgrind", "--tool=callgrind", "--instr-atstart=no",
             "--collect-atstart=no",
             "--callgrind-out-file=/dev/null"]


def names():
    done = subprocess.run([os.environ["INSTRUCTIONS"]], stdout=subprocess.PIPE, text=True,
                          check=True)
    return done.stdout.splitlines()


def count(name):
    """The instructions that the operation takes each time."""
    done = subprocess.run(CALLGRIND + [os.environ["INSTRUCTIONS"], name], env=ENVIRONMENT,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{name}:\n{done.stderr}")
    collected = re.search(r"Collected : (\d+)", done.stderr)
    return round(int(collected.group(1)) / int(done.stdout))


def measure():
    """In the order of the program, as many at a time as there are cores."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        operations = names()
        return dict(zip(operations, pool.map(count, operations)))


def packages():
    done = subprocess.run(["dpkg-query", "-W", "-f=${Package} ${Version}\n", *PACKAGES],
                          stdout=subprocess.PIPE, text=True)
    return ", ".join([platform.machine(), *done.stdout.splitlines()])


def table(counts):
    lines = [packages(), "", "| operation | instructions |", "|---|---|"]
    return "\n".join(lines + [f"| {name} | {number:,} |" for name, number in counts.items()])


def judge(name, counts, expected):
    """(is all right, what to say)"""
    if name not in counts:
        return False, "in the table, but there is no such operation"
    if name not in expected:
        return False, f"{counts[name]:,}, not in the table"
    change = counts[name] / expected[name] - 1
    verdict = f"{counts[name]:,} instructions, {expected[name]:,} in the table ({change:+.1%})"
    if change < -TOLERANCE:
        verdict += ": cheaper, which `./dev bench instructions --write` would hold on to"
    return change <= TOLERANCE, verdict


def compare(counts):
    """Answers how many operations failed."""
    expected = {row["operation"]: int(row["instructions"]) for row in results.rows(PART)}
    failed = 0
    for name in dict.fromkeys([*counts, *expected]):
        is_ok, verdict = judge(name, counts, expected)
        failed += not is_ok
        print(f"{'ok' if is_ok else 'FAILED'} {name}: {verdict}")
    if failed:
        explain()
    print(f"{len(counts.keys() | expected.keys()) - failed} passed, {failed} failed")
    return failed


def explain():
    print(f"More than {TOLERANCE:.0%} above the table in {results.path(PART)} fails. If it is "
          "worth it, write the table anew: ./dev bench instructions --write")
    before = results.about(PART)
    if before != packages():
        print(f"The table was made with\n  {before}\nand this is\n  {packages()}")


def main():
    parser = arguments.Parser("instructions", __doc__)
    parser.add_argument("--write", action="store_true", help="into docs/internals/performance")
    options = parser.parse_args()
    arguments.build("instructions")
    counts = measure()
    if options.write:
        results.write(PART, table(counts))
    if not results.about(PART).startswith(platform.machine()):
        print(f"{table(counts)}\nThe table in {results.path(PART)} is of other processors.")
        return
    sys.exit(1 if compare(counts) else 0)


if __name__ == "__main__":
    main()
