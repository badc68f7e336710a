"""What the pods of an MPIJob mean for it."""

from __future__ import annotations

import pytest

from mpi_jobs import ALL_RUN, MPI, NOW, after, job_view, observed, states, written
from shunter.operator.training.plan import plan


@pytest.mark.parametrize("role", ["Launcher", "Worker"])
@pytest.mark.parametrize("policy", ["Never", "OnFailure", "Always"])
def test_a_failed_pod_fails_the_job_and_stays_under_all_policies_but_exit_code(role: str, policy: str) -> None:
    """In-place restarts are the kubelet's; a pod in phase Failed is not made again."""
    name = {"Launcher": "ring-launcher", "Worker": "ring-worker-1"}[role]
    made = plan(MPI, observed(job_view(roles={role: {"restartPolicy": policy}}), {**ALL_RUN, name: "Failed"}), NOW)
    assert made.writes == () or written(made) == ["patch ConfigMap/ring-config"]
    assert made.status is not None
    assert made.status.desired["conditions"][-1]["reason"] == "MPIJobMPIJobFailed"
    assert made.status.desired["conditions"][-1]["message"] == f"MPIJob ring is failed because 1 {role} replica(s) failed."


def test_a_failing_worker_beside_a_running_launcher_does_not_turn_the_state_back_and_forth() -> None:
    """Upstream writes Running and Restarting in turns, without end."""
    view = job_view(roles={"Worker": {"restartPolicy": "ExitCode"}})
    phases = {**ALL_RUN, "ring-worker-1": "Failed"}
    first = plan(MPI, observed(view, phases), NOW)
    second = plan(MPI, observed(after(view, first), phases), NOW.replace(hour=13))
    assert first.status is not None
    assert second.status is not None
    assert second.status.desired == first.status.desired
    assert second.events == ()


def test_a_failing_worker_beside_a_pending_launcher_restarts_the_job_until_the_launcher_runs() -> None:
    """Upstream says Restarting as well, but makes no new worker."""
    view = job_view(roles={"Worker": {"restartPolicy": "ExitCode"}})
    phases = {**ALL_RUN, "ring-launcher": "Pending"}
    first = plan(MPI, observed(view, {**phases, "ring-worker-1": "Failed"}, exit_code=137), NOW)
    assert states(first)[-1] == "Restarting=True"
    view = after(view, first)
    second = plan(MPI, observed(view, {**phases, "ring-worker-1": "Failed"}, exit_code=137), NOW)
    assert "delete Pod/ring-worker-1" in written(second)
    assert states(plan(MPI, observed(view, phases), NOW))[-1] == "Restarting=True"
    assert states(plan(MPI, observed(view, ALL_RUN), NOW))[-1] == "Running=True"
