"""Where the pods of a job made from a program save their checkpoints, by what its TrainJob gives them. Pure.

The variable SHUNTER_CHECKPOINT_DIR is what the program goes by; the volume says where that directory is outside of the pod.
"""

from __future__ import annotations

import posixpath
import shlex
from pathlib import Path

from shunter.api.core import variables_of
from shunter.api.meta import Json, Struct
from shunter.api.resources import TRAIN_JOBS
from shunter.launch.mounts import CHECKPOINTS_PATH
from shunter.launch.objects import checkpoint_path, checkpoint_volume
from shunter.operator.overview import pod_selector

ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")


class CheckpointLocation(Struct, frozen=True):
    """One of `directory`, `claim` and a URL in `path` says where it is; none of them where the program was given a place of its
    pod's own."""

    path: str
    """The path that pods use: a directory, or a URL."""
    directory: Path | None = None
    """On the machine of the embedded cluster."""
    claim: str = ""
    inside: str = ""
    """The path in the claim."""

    @property
    def is_url(self) -> bool:
        """Whether the checkpoints are in object storage, and neither in a directory nor in a claim."""
        return "://" in self.path

    @property
    def name(self) -> str:
        """The name of the job whose location it is; for a job that resumed another, the other's."""
        return posixpath.basename(self.path)

    @property
    def title(self) -> str:
        """`/home/me/checkpoints/train`, `train in claim data`, `s3://bucket/prefix/train`."""
        if self.directory is not None:
            return str(self.directory)
        return f"{self.inside} in claim {self.claim}" if self.claim else self.path


def checkpoint_location(job: Json) -> CheckpointLocation | None:
    """None for a job without a checkpoint location."""
    path = checkpoint_path(job)
    if not path:
        return None
    volume = checkpoint_volume(job)
    if not volume or not f"{path}/".startswith(f"{CHECKPOINTS_PATH}/"):
        return CheckpointLocation(path)
    inside = posixpath.normpath(posixpath.join(volume["subPath"], posixpath.relpath(path, CHECKPOINTS_PATH)))
    if host := volume.get("hostPath"):
        return CheckpointLocation(path, directory=Path(host["path"]) / inside)
    return CheckpointLocation(path, claim=str(volume.get("persistentVolumeClaim", {}).get("claimName", "")), inside=inside)


def endpoint_of(job: Json) -> str:
    """The server of one's own that a job's variables name for S3; empty for Amazon's, or where a Secret says it."""
    environment = variables_of(job["spec"].get("trainer") or {})
    return next((environment[name] for name in ENDPOINT_VARIABLES if environment.get(name)), "")


def listing_command(job: Json, place: CheckpointLocation) -> str:
    """What lists a place that is not a directory of this machine: a bucket by its own tool, a claim in a pod of the job."""
    if place.path.startswith("s3://"):
        endpoint = endpoint_of(job)
        return shlex.join(["aws", "s3", "ls", f"{place.path}/", *(["--endpoint-url", endpoint] if endpoint else [])])
    if place.path.startswith("gs://"):
        return shlex.join(["gcloud", "storage", "ls", f"{place.path}/"])
    if place.is_url:
        program = f"import fsspec; files, path = fsspec.url_to_fs({place.path!r}); print(*files.ls(path))"
        return shlex.join(["python", "-c", program])
    namespace = job["metadata"]["namespace"]
    pod = (
        f"$(kubectl get pods -n {namespace} -l {pod_selector({**job, 'apiVersion': TRAIN_JOBS.api_version})} -o name | head -n 1)"
    )
    return f"kubectl exec -n {namespace} {pod} -- ls -l {shlex.quote(place.path)}"
