"""Programs that decide by files of the downward API which hold something else in v2: the pod's name, the labels of v1."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from shunter.api.meta import Json
from shunter.migrate.conversion.commands import python_reads, shell_reads
from shunter.migrate.conversion.commands.python_code import is_python_code
from shunter.migrate.conversion.commands.reads import OF_HOST_NAME
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.rules.programs.pod_reads import DECIDES
from shunter.migrate.conversion.rules.programs.texts import Programs, all_programs, place, quoted, without_comments
from shunter.operator.training.names import REPLICA_INDEX, REPLICA_TYPE

_STAND_IN = min(OF_HOST_NAME)
"""A file whose readers are followed: those of another file are followed as if it were this one."""
_MOST_PODS = 8


def apply(draft: Draft) -> None:
    """Reports each text once for each file."""
    for programs in all_programs(draft):
        for path, field in _files(programs):
            for text, spot in programs.texts:
                if path not in text or not _decides(text, path) or (says := _message(draft, programs, text, field)) is None:
                    continue
                start = text.find(path)
                where, offset = place(programs, spot, spot.offset(start))
                line = quoted(text, start, spot, with_number=True)
                draft.report(DECIDES, where, f"{line} decides by {path}, {says}.", offset=offset)


def _files(programs: Programs) -> Iterator[tuple[str, str]]:
    """The paths at which the container has the pod's name or all labels, and which field each one holds."""
    volumes = {volume.get("name"): volume for volume in programs.volumes}
    for mount in programs.container.get("volumeMounts") or ():
        volume: Json = volumes.get(mount.get("name")) or {}
        for part in (volume, *((volume.get("projected") or {}).get("sources") or ())):
            for item in (part.get("downwardAPI") or {}).get("items") or ():
                field = str((item.get("fieldRef") or {}).get("fieldPath"))
                file, mounted = PurePosixPath(item.get("path") or ""), str(mount.get("subPath") or "")
                if field in ("metadata.name", "metadata.labels") and file.name and file.is_relative_to(mounted):
                    yield str(PurePosixPath("/", str(mount.get("mountPath")), file.relative_to(mounted))), field


def _decides(text: str, path: str) -> bool:
    """Whether something is cut out of the file, or it is compared, or taken for a rank."""
    is_python = is_python_code(text)
    before, after = (
        sum(
            read.decides for read in (python_reads.reads(one, {}, shell_reads.reads) if is_python else shell_reads.reads(one, {}))
        )
        for one in (text, text.replace(path, _STAND_IN))
    )
    return after > before


def _message(draft: Draft, programs: Programs, text: str, field: str) -> str | None:
    """What the file holds in both generations; None where the text looks for nothing in it that changes."""
    if field == "metadata.labels":
        code = without_comments(text)
        label = next((one for one in (REPLICA_INDEX, REPLICA_TYPE) if one.partition("/")[2] in code), None)
        return None if label is None or draft.options.v1_labels else f"in which {label} is a line in v1 and none in v2"
    roles = tuple(f"{draft.job.name}-{role.lower()}-" for role in programs.roles)
    pods = [host for host in draft.hosts if host.startswith(roles)][:_MOST_PODS]
    names = [f"{host} in v1, {draft.host(*draft.hosts[host]).partition('.')[0]}-x7k2p in v2" for host in pods]
    return f"the pod's name: {'; '.join(names)} (with other random letters after each start)"
