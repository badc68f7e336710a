"""Plays random jobs by upstream's operator, twice, and by ours, on real control planes, and says where ours does something else.

python -m random_jobs v1|v2 [--seed N] [--cases N] [-j N] [--only NAME] [--gang-scheduler NAME] [--keep DIR]

(with tests/ and conformance/ on PYTHONPATH; `make random-jobs` does it.) A case is the same for the same seed and number, so
`--only` plays one again. What docs/differences.md lists is found as well. Exits with 1 where anything differs.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from player.case import Case
from player.play import play
from player.shape import Json
from random_jobs import v1, v2
from random_jobs.comparison import different_step
from random_jobs.operators import Generation, Side, live_cluster

CASES = {"v1": v1.cases, "v2": v2.cases}
QUIET = 2.5
"""Seconds without a change after which a step is taken as done."""


async def main(options: argparse.Namespace) -> int:
    cases = [one for one in CASES[options.generation](options.seed, options.cases) if options.only in ("", one.name)]
    sides: tuple[Side, ...] = ("upstream", "upstream", "shunter")
    upstream, again, ours = [await records(side, cases, options) for side in sides]
    found = [different_step(case, upstream[case.name], again[case.name], ours[case.name]) for case in cases]
    different = [one for one in found if one]
    for one in different:
        print(one, flush=True)
    if options.keep:
        keep(options.keep, cases, {"upstream": upstream, "again": again, "shunter": ours})
    print(f"{options.generation}, seed {options.seed}: {len(cases) - len(different)} of {len(cases)} cases equal")
    return 1 if different else 0


async def records(side: Side, cases: Sequence[Case], options: argparse.Namespace) -> dict[str, list[Json]]:
    """What was seen after each step of each case."""
    print(f"{side}: {len(cases)} cases", file=sys.stderr, flush=True)
    generation: Generation = options.generation
    gate = asyncio.Semaphore(options.jobs)
    async with live_cluster(side, generation, options.gang_scheduler) as live:

        async def played(case: Case) -> list[Json]:
            async with gate:
                return [record async for _, record in play(case, live, quiet=QUIET)]

        return dict(zip((case.name for case in cases), await asyncio.gather(*map(played, cases)), strict=True))


def keep(directory: Path, cases: Sequence[Case], records: Mapping[str, Mapping[str, list[Json]]]) -> None:
    """Writes a file for each case and run, in the form of recordings."""
    for side, of_side in records.items():
        folder = directory / side
        folder.mkdir(parents=True, exist_ok=True)
        for case in cases:
            steps = [
                {"step": {step.verb: step.argument}, **record}
                for step, record in zip(case.steps, of_side[case.name], strict=True)
            ]
            document = {"name": case.name, "about": case.about, "steps": steps}
            (folder / f"{case.name}.yaml").write_text(yaml.safe_dump(document, sort_keys=False))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="random_jobs", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("generation", choices=sorted(CASES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=40)
    parser.add_argument("--only", default="", metavar="NAME", help="the case of that name alone")
    parser.add_argument("-j", "--jobs", type=int, default=10, help="cases at a time")
    parser.add_argument("--gang-scheduler", default="", metavar="NAME", help="of v1 jobs, as both operators take it")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write what was seen there")
    sys.exit(asyncio.run(main(parser.parse_args())))
