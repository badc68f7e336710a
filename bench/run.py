"""Measures speed and memory, and judges them by the limits in loads.yaml.

    .venv/bin/python bench/run.py [--write] [NAME ...]

NAME: help, up, render, cached_pod, creates, jobs, job_list, page, page_browser, page_latency, admission, operator,
status_server, inventory, convert, moving, first_all_reduce, warm_start, run_program, recovery, packing, tracking, saves,
doctor, sizes, scale, fairness, upstream, failure_record; all when none is given.
`--write` puts the result into docs/benchmarks.md. Exits 1 when a limit is missed.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

import yaml

from figures import Judged, limits, markdown_table, text_table
from measurements import (
    admission,
    cached_pod,
    convert,
    creates,
    doctor,
    failure_record,
    fairness,
    first_all_reduce,
    inventory,
    job_list,
    jobs,
    moving,
    operator,
    packing,
    page,
    page_browser,
    page_latency,
    recovery,
    render,
    run_program,
    saves,
    scale,
    sizes,
    status_server,
    tracking,
    up,
    upstream,
    warm_start,
)
from measurements import help as help_

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "benchmarks.md"
MEASUREMENTS = {
    "help": help_.measure,
    "up": up.measure,
    "render": render.measure,
    "cached_pod": cached_pod.measure,
    "creates": creates.measure,
    "jobs": jobs.measure,
    "job_list": job_list.measure,
    "page": page.measure,
    "page_browser": page_browser.measure,
    "page_latency": page_latency.measure,
    "admission": admission.measure,
    "operator": operator.measure,
    "status_server": status_server.measure,
    "inventory": inventory.measure,
    "convert": convert.measure,
    "moving": moving.measure,
    "first_all_reduce": first_all_reduce.measure,
    "warm_start": warm_start.measure,
    "run_program": run_program.measure,
    "recovery": recovery.measure,
    "packing": packing.measure,
    "tracking": tracking.measure,
    "saves": saves.measure,
    "doctor": doctor.measure,
    "sizes": sizes.measure,
    "scale": scale.measure,
    "fairness": fairness.measure,
    "upstream": upstream.measure,
    "failure_record": failure_record.measure,
}
_RESULT = re.compile(r"(<!-- result: written by bench/run.py -->\n).*(<!-- end of result -->)", re.S)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *MEASUREMENTS])
    parser.add_argument("--write", action="store_true", help="put the result into docs/benchmarks.md")
    arguments = parser.parse_args()
    loads = yaml.safe_load((ROOT / "bench" / "loads.yaml").read_text())
    # Containers often set this; it makes every start compile what it imports, which is not what is measured here.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    circumstances = machine()
    rows: list[Judged] = []
    for name in arguments.names or MEASUREMENTS:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        wanted = limits(loads[name])
        rows += [Judged(name, figure, wanted.get(figure.name)) for figure in MEASUREMENTS[name](loads[name])]
    print(f"{circumstances}\n\n{text_table(rows)}")
    if arguments.write:
        text = f"{circumstances}\n\n{markdown_table(rows)}\n"
        DOCUMENT.write_text(_RESULT.sub(lambda match: match[1] + text + match[2], DOCUMENT.read_text()))
    return 0 if all(row.is_good for row in rows) else 1


def machine() -> str:
    """What the figures were measured on, and how busy it was before."""
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    memory = int(re.findall(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())[0]) / 1024 / 1024
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {model[1] if model else platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB, "
        f"Linux {platform.release()}, Python {platform.python_version()}; load average before: {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    sys.exit(main())
