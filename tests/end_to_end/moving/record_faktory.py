"""Records what the official server writes, for tests where it is not at hand:

    FAKTORY_BIN=/path/to/faktory python3 moving/record_faktory.py       (in tests/end_to_end)
"""

import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from moving.official_faktory import OfficialFaktory, fill  # noqa: E402

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded", "faktory.rdb")


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        server = OfficialFaktory(os.environ["FAKTORY_BIN"], directory)
        try:
            fill(server)
        finally:
            server.terminate()
        shutil.copyfile(os.path.join(directory, "faktory.rdb"), RECORDED)
    print(f"{RECORDED}: {os.path.getsize(RECORDED)} bytes")


if __name__ == "__main__":
    main()
