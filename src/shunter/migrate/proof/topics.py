"""The topics of a proof's findings."""

from __future__ import annotations

from shunter.migrate.findings import Topic

UNEXPLAINED = Topic(
    id="PROOF001",
    title="a pod differs between v1 and v2 without an explanation",
    severity="error",
    change="semantic-change",
    grade="N",
    explanation=(
        "The pods of the v1 job and of the converted job were created in memory by the operators' own rules, and compared pod "
        "by pod: environment after `$(NAME)` is replaced, programs, volumes, resources, placement, names. The finding lists the "
        "differences that are caused neither by how v2 works nor by another finding."
    ),
    remedy=(
        "Compare both sides with `shunter migrate diff`. If the difference is harmless, suppress it with --accept "
        "PROOF001; please report it as well, because the conversion should have reported it."
    ),
    effort=3,
    acceptable=True,
)
NO_PODS = Topic(
    id="PROOF002",
    title="the result cannot be evaluated",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "TrainJob and runtime do not match, or one of them cannot be read: v2's operator would report this in a condition of "
        "the TrainJob, and create no pods."
    ),
    remedy="Correct what the message names.",
)
GENERATED_NAME = Topic(
    id="PROOF003",
    title="a program receives the name of its pod, which v2 generates",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "v1 pods are named `JOB-worker-3`; the names of v2 pods end in five random characters that change with each restart. A "
        "program that derives its rank or file names from the pod name gets different ones."
    ),
    remedy=(
        "Read the rank from the annotation batch.kubernetes.io/job-completion-index by a fieldRef, and use the pod's host name "
        "for stable names."
    ),
    limits_proof=True,
)
NOT_AS_CARRIED = Topic(
    id="PROOF004",
    title="a carried value differs in the result",
    severity="error",
    change="semantic-change",
    grade="N",
    explanation=("The conversion recorded that the field is copied unchanged into the result, but the result differs there."),
    remedy="Compare the field in both manifests; either the result was edited, or this is a defect of the tool.",
    acceptable=True,
)
OTHER_ENDING = Topic(
    id="PROOF005",
    title="the end of the job differs from v1 without an explanation",
    severity="error",
    change="semantic-change",
    grade="N",
    explanation=(
        "The rules of both operators were evaluated in memory for pods that succeed or fail. The outcomes of the job differ, "
        "and no finding of the conversion explains it. Or the job's deadline differs from v1."
    ),
    remedy="Check successPolicy, failurePolicy, podFailurePolicy, backoffLimit and activeDeadlineSeconds of the result.",
    effort=3,
    acceptable=True,
)
OTHER_GROUP = Topic(
    id="PROOF006",
    title="the process group of the job differs from v1",
    severity="error",
    change="semantic-change",
    grade="N",
    explanation=(
        "For each program the number of processes, its own rank and the rendezvous address were computed for v1 and v2. A group "
        "of another size, a duplicate rank or another rendezvous means that nodes train alone, or wait forever."
    ),
    remedy="Set --torch-launch, or correct what the message names.",
    effort=3,
)
EVICTED_RESTARTS = Topic(
    id="PROOF007",
    title="v2 restarts a pod that was evicted, v1 fails the job",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "XGBoostJobs, and other jobs whose pods never restart, fail in v1 as soon as a pod is evicted or its node is lost. In "
        "v2 the Jobs replace such a pod; the program then rejoins the others, or fails as it would have in v1."
    ),
    remedy="Nothing, unless the program must not be started twice: then set restartPolicy Never.",
    effort=0,
)
NOT_COMPARED = Topic(
    id="PROOF008",
    title="the pods of the original are unknown",
    severity="warning",
    change="manual",
    grade="D",
    explanation=(
        "Pods are compared by evaluating the rules of both operators, without a cluster. MPIJobs of kubeflow.org/v2beta1 belong "
        "to mpi-operator, a different product whose rules are not included here."
    ),
    remedy="Run both jobs, and compare the runs.",
)
NO_ORIGINAL_PODS = Topic(
    id="PROOF009",
    title="v1 creates no pods for the original",
    severity="warning",
    change="manual",
    grade="D",
    explanation=(
        "v1's webhook or operator rejects the job, so it has no pods to compare with those of the result. The result may still "
        "train: v2 has other rules."
    ),
    remedy="To have the conversion proved, correct what the message names in the source.",
)
NO_EXISTING_TRAIN_JOB = Topic(
    id="PROOF018",
    title="no existing TrainJob corresponds to the job",
    severity="error",
    change="manual",
    grade="N",
    explanation=(
        "With --against the pods of each job are compared with those of a TrainJob that you wrote. This job has no TrainJob of "
        "its name, the runtime is missing, or a server would reject one of them. The other jobs are compared."
    ),
    remedy="Add the file with the TrainJob by --against, or exclude the job by naming the others.",
)
NOT_THE_SAME_TEXT = Topic(
    id="PROOF010",
    title="the text of the result does not parse to the objects it was written from",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "The manifests are written with the comments and the layout of the source, and then read again; the values read differ "
        "from those written. This is a defect of the tool."
    ),
    remedy="Please report it, with the manifest.",
    effort=0,
)
REFUSED_BY_SCHEMA = Topic(
    id="PROOF011",
    title="the result does not match the schema",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "An API server with the CRDs of Trainer 2.3 would reject the object, or silently drop the field. The CRDs "
        "of v1 restrict values less than those of v2."
    ),
    remedy="Correct the value in the source.",
)
REFUSED_BY_CEL = Topic(
    id="PROOF012",
    title="the result breaks a rule of the CRD",
    severity="error",
    change="unsupported",
    grade="N",
    explanation="The CRDs of TrainJobs and runtimes contain CEL rules, which an API server checks after the schema.",
    remedy="Correct the value in the source.",
)
REFUSED_BY_WEBHOOK = Topic(
    id="PROOF013",
    title="Trainer's webhook rejects the result",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "Trainer's webhooks validate runtimes, and TrainJobs together with their runtime: reserved variables, patches of "
        "objects that do not exist, required containers."
    ),
    remedy="Correct what the message names.",
)
NO_OBJECTS = Topic(
    id="PROOF014",
    title="an object created from the result would be rejected",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "An accepted TrainJob becomes a JobSet, then Jobs, then pods; each has its own rules, for example the maximum length of "
        "a pod name. Upstream reports a rejection there only in events of the TrainJob, sets no condition and retries forever."
    ),
    remedy="Correct what the message names; if a name is too long, rename the job.",
)
REFUSED_BY_SERVER = Topic(
    id="PROOF015",
    title="the cluster rejects the result in a dry run",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "The runtime was created in a scratch namespace, because a TrainJob is validated together with it; then the TrainJob "
        "and its JobSet were sent to the cluster in a dry run, which stores nothing."
    ),
    remedy="Correct what the message names, or the policy of the cluster that caused it.",
)
NOT_STARTED = Topic(
    id="PROOF016",
    title="the result does not train on the embedded cluster",
    severity="error",
    change="unsupported",
    grade="N",
    explanation="The converted job was run briefly on the embedded cluster; it failed or never started.",
    remedy="Run it with `shunter migrate test --keep 600`, and check its logs.",
    effort=3,
)
TRAINED_DIFFERENTLY = Topic(
    id="PROOF017",
    title="the runs of v1 and v2 differ",
    severity="error",
    change="semantic-change",
    grade="N",
    explanation="A run of the v1 job and a run of its TrainJob were compared, and the training runs are not the same.",
    remedy="See the differences with shunter migrate compare ORIGINAL SUCCESSOR. A tolerance can be set there.",
    effort=3,
)
