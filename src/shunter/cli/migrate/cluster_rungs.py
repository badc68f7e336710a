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
from shunter.migrate.moving.runs.smoke import tried
from shunter.migrate.moving.runs.trial import TrialOptions
from shunter.migrate.options import Options
from shunter.migrate.proof.ladder import Ladder
from shunter.migrate.proof.rungs.server import asked, not_asked, scratch_namespace


def ask_server(ladders: list[Ladder], scratch: str, source: InputOptions) -> list[Ladder]:
    """The proofs, with the stage `server` for those that hold so far."""

    async def climb() -> list[Ladder]:
        higher = []
        async with connect(source.kubeconfig, source.context).client as client:
            try:
                async with scratch_namespace(client, scratch) as namespace:
                    with counting("asking the cluster", len(ladders)) as advance:
                        for ladder in ladders:
                            higher.append(ladder.higher(await asked(ladder, client, namespace)) if ladder.holds else ladder)
                            advance(1)
            except Forbidden as error:
                step = not_asked(error)
                return [ladder.higher(step) if ladder.holds else ladder for ladder in ladders]
        return higher

    return asyncio.run(climb())


def run_on_embedded_cluster(
    ladders: list[Ladder], others: list[Json], trial_options: TrialOptions, options: Options
) -> list[Ladder]:
    """The proofs, with the stage `smoke` for those that hold so far. Raises EnvironmentProblem if the embedded cluster is
    down."""
    target = connect(None, "")
    if target.embedded is None:
        raise EnvironmentProblem("--smoke runs jobs on the embedded cluster, and KUBECONFIG names another one.", "Unset it.")

    async def climb() -> list[Ladder]:
        higher = []
        async with target.client as client:
            with counting("running", len(ladders)) as advance:
                for ladder in ladders:
                    if ladder.holds:
                        async with scratch_namespace(client) as namespace:
                            step = await tried(ladder, client, namespace, others, trial_options, options, now=datetime.now(UTC))
                        higher.append(ladder.higher(step))
                    else:
                        higher.append(ladder)
                    advance(1)
        return higher

    return asyncio.run(climb())
