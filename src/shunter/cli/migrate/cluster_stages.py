"""The stages of the proof in `migrate validate` that need a cluster."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from shunter.api.meta import Json
from shunter.cli.migrate.options.inputs import InputOptions
from shunter.cli.output.progress import counting
from shunter.cli.target import connect
from shunter.errors import EnvironmentProblem
from shunter.kube.errors import Forbidden
from shunter.migrate.moving.runs.smoke import smoke_run
from shunter.migrate.moving.runs.trial import TrialOptions
from shunter.migrate.options import Options
from shunter.migrate.proof.proving import Proof
from shunter.migrate.proof.stages.server import dry_run, not_permitted, scratch_namespace


def with_server_stage(proofs: list[Proof], scratch: str, source: InputOptions) -> list[Proof]:
    """The proofs, with the stage `server` for those that hold so far."""

    async def prove() -> list[Proof]:
        found = []
        async with connect(source.kubeconfig, source.context).client as client:
            try:
                async with scratch_namespace(client, scratch) as namespace:
                    with counting("dry runs", len(proofs)) as advance:
                        for proof in proofs:
                            found.append(proof.with_result(await dry_run(proof, client, namespace)) if proof.holds else proof)
                            advance(1)
            except Forbidden as error:
                result = not_permitted(error)
                return [proof.with_result(result) if proof.holds else proof for proof in proofs]
        return found

    return asyncio.run(prove())


def with_smoke_stage(proofs: list[Proof], others: list[Json], trial_options: TrialOptions, options: Options) -> list[Proof]:
    """The proofs, with the stage `smoke` for those that hold so far. Raises EnvironmentProblem if the embedded cluster is
    down."""
    target = connect(None, "")
    if target.embedded is None:
        raise EnvironmentProblem(
            "--smoke runs jobs on the embedded cluster, but KUBECONFIG names another one.", "Unset KUBECONFIG."
        )

    async def prove() -> list[Proof]:
        found = []
        async with target.client as client:
            with counting("running", len(proofs)) as advance:
                for proof in proofs:
                    if proof.holds:
                        async with scratch_namespace(client) as namespace:
                            result = await smoke_run(
                                proof, client, namespace, others, trial_options, options, now=datetime.now(UTC)
                            )
                        found.append(proof.with_result(result))
                    else:
                        found.append(proof)
                    advance(1)
        return found

    return asyncio.run(prove())
