"""Says which tests passed only when they were run again, and fails when they are more than three.

tests/unpassed.py writes them down. A test that fails one run in three would pass .ci/run, which repeats what failed, unseen.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

MOST = 3
KEPT = Path(".pytest_cache/v/unpassed/repeated")


def main() -> int:
    """The exit code: 1 when there are more than `MOST`."""
    tests = json.loads(KEPT.read_text()) if KEPT.exists() else []
    print(f"tests that passed only when they were run again: {len(tests)}, of {MOST} that may", *tests, sep="\n  ")
    return int(len(tests) > MOST)


if __name__ == "__main__":
    sys.exit(main())
