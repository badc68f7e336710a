"""Plays recordings against a cluster and says where it does something else.

python -m player --kubeconfig FILE [--only GLOB] [-j N] [--no-events] FOLDER...      (with tests/ on PYTHONPATH)
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from player.case import Case, cases
from player.check import differing_step
from player.live_cluster import LiveCluster
from shunter.kube import kubeconfig


async def main(options: argparse.Namespace) -> int:
    found = [case for folder in options.folders for case in cases(folder, options.only)]
    gate = asyncio.Semaphore(options.jobs)
    async with LiveCluster(kubeconfig.load(options.kubeconfig)) as live:

        async def check(case: Case) -> bool:
            async with gate:
                difference = await differing_step(case, live, events=options.events)
            print(f"{case.name}: {difference or 'equal'}", flush=True)
            return not difference

        results = await asyncio.gather(*map(check, found))
    print(f"{sum(results)} of {len(results)} cases equal")
    return 0 if all(results) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Plays recordings against a cluster.")
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--only", default="*")
    parser.add_argument("-j", "--jobs", type=int, default=6)
    parser.add_argument("--no-events", dest="events", action="store_false")
    parser.add_argument("folders", type=Path, nargs="+")
    sys.exit(asyncio.run(main(parser.parse_args())))
