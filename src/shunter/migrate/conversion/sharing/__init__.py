"""Runtimes that several jobs share, as one would write them by hand: what is equal stands in the runtime, what differs in each
TrainJob. Pure, over the conversions of one run.

parts.py              a runtime as a frame, and the parts that a TrainJob may say in its place
on_runtime.py         a TrainJob with those parts that its runtime does not say, and where each field of the source stands then
groups.py             which jobs share a runtime, with each other or with one that is there already
jobset_equality.py    whether two TrainJobs with their runtimes make the same JobSet

Tests: tests/migrate/conversion/sharing, one file a module (test_groups.py: who shares, the runtime that is there already); whole
inputs, and what is proved of their pods, in test_shared.py there.
"""

from shunter.migrate.conversion.sharing.groups import shared, shared_by, shared_in

__all__ = ["shared", "shared_by", "shared_in"]
