"""runPolicy.suspend: the same field of a TrainJob."""

from __future__ import annotations

from shunter.migrate.draft import Draft


def apply(draft: Draft) -> None:
    path = (*draft.run_policy, "suspend")
    if draft.options.suspend or draft.given(path) is True:
        draft.train_job["suspend"] = True
    if draft.given(path) is True:
        draft.carry(path, "TrainJob", ("spec", "suspend"))
    else:
        draft.default(path, "a TrainJob runs unless it is suspended")
