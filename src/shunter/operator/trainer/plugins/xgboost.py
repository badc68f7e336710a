"""XGBoost: every worker gets DMLC_* variables with the tracker's address, on node 0, and the number of workers."""

from __future__ import annotations

from shunter.api.field_errors import FieldError, forbidden
from shunter.operator.trainer.model import Model
from shunter.operator.trainer.plugin import AdmissionContext, Plugin
from shunter.operator.trainer.rendezvous import PORT, RANK_SOURCE, add_rendezvous, counted_resources, first_node, set_nodes
from shunter.operator.trainer.resources import gpu_count

TRACKER_ENVIRONMENT = ("DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER")


class XGBoost(Plugin):
    """Acts where the runtime has `mlPolicy.xgboost`."""

    def apply(self, model: Model) -> None:
        """Sets the job's number of nodes, and DMLC_* with one worker for each GPU of a node, at least one a node. Only jobs with
        a `trainer` section, be it empty, get these variables."""
        if model.policy is None or model.policy.xgboost is None or model.trainer_set is None:
            return
        set_nodes(model)
        workers_per_node = max(1, gpu_count(counted_resources(model.job, model.template)))
        uri, port, task, workers = TRACKER_ENVIRONMENT
        add_rendezvous(
            model,
            [
                {"name": uri, "value": first_node(model.job)},
                {"name": port, "value": str(PORT)},
                {"name": task, "valueFrom": RANK_SOURCE},
                {"name": workers, "value": str(model.trainer_set.count * workers_per_node)},
            ],
        )

    def errors(self, context: AdmissionContext) -> list[FieldError]:
        """Each variable of the job that is one of TRACKER_ENVIRONMENT."""
        trainer = context.job.spec.trainer
        if context.policy is None or context.policy.xgboost is None or trainer is None:
            return []
        return [
            forbidden(f"spec.trainer.env[{index}]", f"{variable['name']} is reserved for the XGBoost runtime")
            for index, variable in enumerate(trainer.env)
            if variable["name"] in TRACKER_ENVIRONMENT
        ]
