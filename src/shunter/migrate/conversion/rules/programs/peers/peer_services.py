"""Names in DNS that may stand for several pods of a job: its own, and those of Services."""

from __future__ import annotations

from shunter.api.late_patterns import late_pattern
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.rules.programs.hosts import is_own_domain
from shunter.operator.training.names import JOB_NAME, OPERATOR_NAME, REPLICA_TYPE

_SERVICE = late_pattern(r"[a-z][-a-z0-9]{1,61}[a-z0-9]")
_OF_OTHERS = late_pattern(
    r"(?:\A|[-_])(?:kubernetes|localhost|any|srv|redis|valkey|memcached?|kafka|zookeeper|zk|rabbitmq|nats|postgres(?:ql)?|pg|mysql"
    r"|mariadb|mongo(?:db)?|cassandra|scylla|clickhouse|elastic(?:search)?|opensearch|minio|s3|ceph|weed|hdfs|namenode|etcd|consul"
    r"|vault|mlflow|wandb|prometheus|grafana|loki|jaeger|proxy|registry|gateway|dns|db|database|cache|store|storage|broker|queue"
    r"|api|server|aaaa|cname|txt|ptr|soa|spark|flink|milvus|qdrant|feast|triton)(?:\Z|[-_\d])"
)
"""Words by which services of other kinds are called, and types of records."""


def own_names(draft: Draft) -> set[str]:
    """Names that are known to be those of several pods, in v1 or v2."""
    job = draft.job.name
    return {job, *(f"{job}-{role.lower()}" for role in draft.job.replicas), *_services_of_v1(draft)}


def _services_of_v1(draft: Draft) -> set[str]:
    """Services of the input that select pods of the job by labels of v1."""
    if draft.options.v1_labels:
        return set()
    return {
        name
        for name, selector in draft.context.selectors(draft.source.namespace)
        if selector.keys() & {JOB_NAME, REPLICA_TYPE, OPERATOR_NAME} and selector.get(JOB_NAME, draft.job.name) == draft.job.name
    }


def of_service(draft: Draft, name: str) -> str:
    """What a Service of that name is in v2, for a message; empty for a name that is one of the job's own, or not known."""
    if name in _services_of_v1(draft):
        return f"{name}, a Service that selects pods by labels of v1, which no pod of v2 has"
    if name and name not in draft.hosts and name not in own_names(draft):
        return f"{name}: a Service of that name is not in the input; if it selects pods by labels of v1, it has none in v2"
    return ""


def is_unseen(draft: Draft, name: str) -> bool:
    """Whether the name may be that of a Service for the job's pods that is not in the input: of the job's namespace, not one of
    the pods' own names, nor by its words another program's."""
    host, _, domain = name.partition(".")
    return (
        not draft.options.v1_labels
        and _SERVICE.fullmatch(host) is not None
        and not _OF_OTHERS.search(host)
        and is_own_domain(draft, domain)
        and host not in draft.hosts
        and draft.context.find("Service", draft.source.namespace, host) is None
    )
