"""Rules that all kinds share: a module a rule, each with `apply(draft)` and the topics that it tells.

Applied in the order of `ORDER`, after the kind's module has arranged the groups. A rule changes the draft and accounts for the
fields that it takes; it does not look at what other rules made of theirs, but for `profiles`, the last. `launcher`, `processes`
and `elastic` are about PyTorchJobs only: their kind's module asks them while it arranges. `pod_reads` is asked when the result
stands.

suspend, deadline, managed_by, gang    the fields of runPolicy that these names say
clean_pod_policy      what remains of a finished job: cleanPodPolicy and ttlSecondsAfterFinished
restart_policy        restartPolicy and backoffLimit
names, metadata       the name of the TrainJob; namespace, labels and annotations
roles, owners         roles of which nothing becomes; who made the job or looks after it
admission             what v1's admission has against the job
trainer, profiles     what the TrainJob says itself; whether a shipped runtime does
pods/, programs/      pod templates; what programs say and read
ssh, pytorch/         how mpirun of a converted MPIJob reaches its nodes; rules of PyTorchJobs

Tests: tests/scenarios/migrate, a folder an area; tests/migrate/conversion/rules.
"""

from __future__ import annotations

from collections.abc import Callable

from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.rules import (
    admission,
    clean_pod_policy,
    deadline,
    gang,
    managed_by,
    metadata,
    names,
    owners,
    profiles,
    restart_policy,
    roles,
    ssh,
    suspend,
    trainer,
)
from shunter.migrate.conversion.rules.pods import (
    containers,
    downward,
    environment,
    init_containers,
    network,
    placement,
    pod_deadline,
    pod_metadata,
    pod_template,
    repeated_entries,
)
from shunter.migrate.conversion.rules.programs import (
    built_names,
    cluster_requests,
    container_names,
    downward_files,
    files_of_v1,
    hosts,
    new_variables,
    ports_of_v1,
    ports_of_v2,
    ssh_clients,
    whole_environment,
)
from shunter.migrate.conversion.rules.programs.peers import master_lookups, peer_lookups
from shunter.migrate.conversion.rules.pytorch import master_first, processes

Rule = Callable[[Draft], None]
ORDER: tuple[Rule, ...] = (
    admission.apply,
    roles.apply,
    names.apply,
    owners.apply,
    metadata.apply,
    suspend.apply,
    managed_by.apply,
    deadline.apply,
    clean_pod_policy.apply,
    restart_policy.apply,
    # From here on each group has its pod template in the making, which keeps the source's places until `environment`.
    pod_template.apply,
    gang.apply,
    containers.apply,
    placement.apply,
    downward.apply,
    network.apply,
    hosts.apply,
    ports_of_v1.apply,
    ports_of_v2.apply,
    environment.apply,
    init_containers.apply,
    repeated_entries.apply,
    pod_metadata.apply,
    pod_deadline.apply,
    ssh.apply,
    cluster_requests.apply,
    built_names.apply,
    container_names.apply,
    new_variables.apply,
    processes.report_reads,
    downward_files.apply,
    files_of_v1.apply,
    ssh_clients.apply,
    master_first.apply,
    master_lookups.apply,
    peer_lookups.apply,
    whole_environment.apply,
    # Last: what the TrainJob says itself, the replicated jobs, and whether a shipped runtime says as much.
    trainer.apply,
    profiles.apply,
)
