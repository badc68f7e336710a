"""`shunter operator` without the record of failures, for who measures what the record costs.

python bench/unrecording_operator.py FLAGS
"""

from __future__ import annotations

import sys
from typing import Any

from shunter.cli.main import main
from shunter.kube.cache.informer import Informer
from shunter.kube.controllers.manager import Manager
from shunter.operator.trainer import plan as trainer_plan
from shunter.operator.trainer.views import RankPod
from shunter.operator.training import failure_record


def leave_out_the_record() -> None:
    """No pod of a JobSet is watched, and no pod looked at for what failed in it."""
    informer = Manager.informer

    def informer_of_others(self: Manager, resource: Any, view: Any, **options: Any) -> Informer[Any]:
        if view is not RankPod:
            return informer(self, resource, view, **options)
        options.pop("pause", None)
        empty = Informer(self.client, resource, view, **options)
        for feed in empty._feeds:
            feed.replaced((), "", keep=set())
        return empty

    Manager.informer = informer_of_others  # type: ignore[method-assign]
    failure_record.with_new_failures = failure_record.with_late_failures = lambda job, children, progress: progress
    vars(trainer_plan)["with_failures"] = lambda job, pods, plan: plan


if __name__ == "__main__":
    leave_out_the_record()
    sys.argv[1:1] = ["operator"]
    main()
