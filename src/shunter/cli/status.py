"""`status`: show the embedded cluster and its processes."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer

from shunter.api.meta import annotations_of
from shunter.cli.clusters import StateDirOption, chosen, warn_of_disk
from shunter.cli.output.console import Output, output, plain_table, print_as, print_table, say
from shunter.cli.target import embedded_node
from shunter.cluster.disk_space import amount, disk_space
from shunter.cluster.state_dir import StateDir
from shunter.page.record import page_record


def page_link(state: StateDir) -> str:
    """A link that logs a browser in to the web page of this user, within a minute; empty if no page is up."""
    if not state.page.exists():
        return ""

    record = page_record(state.page)
    return record.login_url() if record is not None else ""


def status(
    state_dir: StateDirOption = None,
    form: Annotated[Output, typer.Option("-o", "--output", help="table, json or yaml.")] = Output.table,
) -> None:
    """Show whether the embedded cluster is running, its isolation level and its processes. Exit code 1 if it is not running."""
    state = StateDir(chosen(state_dir).absolute())
    record = state.read_record()
    if state.root.is_dir():
        warn_of_disk(state)
    if record is None:
        if form is Output.table:
            say(f"no cluster is up in {state.root}; start one with: shunter up")
        else:
            print_as({"up": False, "stateDir": str(state.root)}, form)
        raise typer.Exit(1)

    node = asyncio.run(embedded_node(state))
    space = disk_space(state.root)
    summary = {
        "up": True,
        "server": record.server,
        "kubeconfig": str(state.kubeconfig),
        "stateDir": str(state.root),
        "page": page_link(state),
        "level": "simulated" if record.simulate else annotations_of(node).get("shunter.dev/level", "unknown"),
        "disk": {"freeBytes": space.free, "totalBytes": space.total},
        "strictResources": record.strict_resources,
        "allocatable": node.get("status", {}).get("allocatable", {}),
        "processes": {
            name: {"pid": pid, "rssMiB": resident_mib(pid), "restarts": record.restarts.get(name, 0)}
            for name, pid in {"supervisor": record.supervisor, **record.children}.items()
        },
    }
    if form is not Output.table:
        print_as(summary, form)
        return

    output().print(f"server      {record.server}", soft_wrap=True)
    output().print(f"kubeconfig  {state.kubeconfig}", soft_wrap=True)
    if page := page_link(state):
        output().print(f"web page    {page}", soft_wrap=True)
    output().print(f"disk        {amount(space.free)} of {amount(space.total)} left", soft_wrap=True)
    output().print(f"pods run as {LEVELS.get(str(summary['level']), summary['level'])}", soft_wrap=True)
    table = plain_table("PROCESS", "PID", "MEMORY", "RESTARTS", "LOG")
    for name, process in summary["processes"].items():
        log = "" if name == "supervisor" else str(state.logs / f"{name}.log")
        table.add_row(name, str(process["pid"]), f"{process['rssMiB']} MiB", str(process["restarts"]), log)
    print_table(table)


LEVELS = {
    "namespaces": "processes in separate namespaces: network address, names, mounts, limits",
    "plain": "plain processes: addresses and ports are substituted",
    "simulated": "nothing: the node simulates them",
}


def resident_mib(pid: int) -> int:
    """Resident memory of a process in MiB; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20
    except OSError:
        return 0
