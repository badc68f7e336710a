"""runPolicy.managedBy: who reconciles the job."""

from __future__ import annotations

from shunter.api.scheduling.kueue import MANAGED_BY_KUEUE
from shunter.api.training.job import MANAGED_BY_US
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.findings import Topic

_UNHEEDED = frozenset({"JAXJob"})
"""Kinds whose v1 controller did not look at the field."""

UNKNOWN = Topic(
    id="MANAGED001",
    title="an unknown value of managedBy",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "A TrainJob is managed by Trainer itself or by MultiKueue. v1 silently ignored a job with any other manager; a TrainJob "
        "without the field would start to train."
    ),
    remedy="Remove runPolicy.managedBy if v1 should have run the job; otherwise convert the job together with its manager.",
    effort=3,
)
HAD_NO_EFFECT = Topic(
    id="MANAGED002",
    title="managedBy had no effect on this kind and is dropped",
    severity="warning",
    change="lossless",
    grade="E",
    explanation="The v1 controller of this kind ignored managedBy and ran the job; on a TrainJob the field would take effect.",
    remedy="Set managedBy in the result if another manager should run the job from now on.",
)


def apply(draft: Draft) -> None:
    """Carries Kueue's, leaves out the operator's own, and reports and drops any other."""
    path = (*draft.run_policy, "managedBy")
    manager = draft.job.run_policy.managed_by
    if manager is None:
        return
    if manager == MANAGED_BY_US:
        draft.default(path, "a TrainJob is Trainer's unless it says otherwise")
    elif draft.kind in _UNHEEDED:
        draft.report(HAD_NO_EFFECT, path, f"managedBy {manager} did not keep v1 from running the {draft.kind}.", dropped=True)
    elif manager == MANAGED_BY_KUEUE:
        draft.train_job["managedBy"] = manager
        draft.carry(path, "TrainJob", ("spec", "managedBy"))
    else:
        draft.report(UNKNOWN, path, f"managedBy is {manager!r}.", dropped=True)
