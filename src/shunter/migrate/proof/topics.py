"""What the proof tells of a conversion."""

from __future__ import annotations

from shunter.migrate.findings import Topic

UNEXPLAINED = Topic(
    id="PROOF001",
    title="a pod differs between v1 and v2 without an explanation",
    severity="error",
    change="semantic-change",
    grade="N",
    explanation=(
        "The pods of the v1 job and those of the converted one were made in memory, by the operators' own rules, and "
        "compared pod by pod: environment after `$(NAME)` is replaced, programs, volumes, resources, placement, names. "
        "What differs because v2 works otherwise, or because a finding says so, is left out; this is the rest."
    ),
    remedy=(
        "Look at both sides with `shunter migrate diff`. If the difference is harmless, suppress it with --accept "
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
        "TrainJob and runtime do not go together, or one of them cannot be read: v2's operator would say so in a condition "
        "of the TrainJob, and make no pods."
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
        "Pods of v1 are called `JOB-worker-3`; those of v2 end in five random characters, and are called otherwise "
        "after each restart. A program that takes its rank from the name, or names files after it, finds another one."
    ),
    remedy=(
        "Take the rank from the annotation batch.kubernetes.io/job-completion-index by a fieldRef, and stable names "
        "from the pod's host name."
    ),
    limits_proof=True,
)
NOT_AS_CARRIED = Topic(
    id="PROOF004",
    title="a carried value differs in the result",
    severity="error",
    change="semantic-change",
    grade="N",
    explanation="The account of the conversion says that the field stands in the result as it is; it does not.",
    remedy="Compare the field in both manifests; the result was edited, or the tool is at fault.",
    acceptable=True,
)
OTHER_ENDING = Topic(
    id="PROOF005",
    title="the end of the job differs from v1 without an explanation",
    severity="error",
    change="semantic-change",
    grade="N",
    explanation=(
        "Both operators were asked, in memory, what becomes of the job when certain pods succeed or fail; their answers"
        " differ, and no finding of the conversion says so. Or the job has another deadline than in v1."
    ),
    remedy="Look at successPolicy, failurePolicy, podFailurePolicy, backoffLimit and activeDeadlineSeconds of the result.",
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
        "What each program would take for the number of processes, its own rank and the place to meet was worked out "
        "for both sides. A group of another size, a rank twice or another place to meet means that nodes train alone, "
        "or wait forever."
    ),
    remedy="Set --torch-launch, or correct what the message names.",
    effort=3,
)
MORE_PATIENT = Topic(
    id="PROOF007",
    title="v2 restarts a pod that was evicted, v1 fails the job",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "XGBoostJobs, and others whose pods never restart, failed under v1 as soon as a pod was evicted or its node went away. "
        "The Jobs of v2 replace such a pod; the program finds the others again, or fails as it would have."
    ),
    remedy="Nothing, unless the program must not be started a second time: then set restartPolicy Never.",
    effort=0,
)
NOT_COMPARED = Topic(
    id="PROOF008",
    title="the pods of the original are unknown",
    severity="warning",
    change="manual",
    grade="D",
    explanation=(
        "Pods are compared by asking both operators for them, without a cluster. MPIJobs of kubeflow.org/v2beta1 belong to "
        "the mpi-operator, another product, of which there is no copy here."
    ),
    remedy="Run both, and compare the runs.",
)
NO_ORIGINAL_PODS = Topic(
    id="PROOF009",
    title="v1 creates no pods for the original",
    severity="warning",
    change="manual",
    grade="D",
    explanation=(
        "v1's webhook or operator refuses the job, so there are no pods of it that those of the result could be compared "
        "with. The result may well train: v2 has other rules."
    ),
    remedy="Correct what the message names, in the source, to have the conversion proved.",
)
NOTHING_GIVEN = Topic(
    id="PROOF018",
    title="no existing TrainJob corresponds to the job",
    severity="error",
    change="manual",
    grade="N",
    explanation=(
        "With --against the pods of each job are compared with those of a TrainJob that you wrote; for this one there "
        "is none of its name, or not its runtime, or a server would refuse one of them. The other jobs are compared."
    ),
    remedy="Name the file that has it with --against, or leave the job out by naming the others.",
)
NOT_THE_SAME_TEXT = Topic(
    id="PROOF010",
    title="the text of the result has another meaning when read again",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "The manifests are written with the comments and the layout of the source, then read again; what was read is not "
        "what was written. This is a fault of the tool."
    ),
    remedy="Please report it, with the manifest.",
    effort=0,
)
REFUSED_BY_SCHEMA = Topic(
    id="PROOF011",
    title="the result does not fit the schema",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "An API server that has the definitions of Trainer 2.3 would refuse the object, or drop the field without a word. "
        "v1's definitions say less about values than those of v2."
    ),
    remedy="Correct the value in the source.",
)
REFUSED_BY_CEL = Topic(
    id="PROOF012",
    title="the result breaks a rule of the definition",
    severity="error",
    change="unsupported",
    grade="N",
    explanation="The definitions of TrainJobs and runtimes have rules in CEL, which an API server checks after the schema.",
    remedy="Correct the value in the source.",
)
REFUSED_BY_WEBHOOK = Topic(
    id="PROOF013",
    title="Trainer's webhook refuses the result",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "Trainer's webhooks look at runtimes, and at TrainJobs together with their runtime: reserved variables, patches to "
        "what is not there, containers that must be there."
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
        "A TrainJob that was accepted becomes a JobSet, that becomes Jobs, and those become pods; each has rules of its own, "
        "the longest name of a pod among them. Upstream reports a refusal there only in events of the TrainJob, sets no "
        "condition and retries forever."
    ),
    remedy="Correct what the message names; a name that is too long is shortened by giving the job another one.",
)
REFUSED_BY_SERVER = Topic(
    id="PROOF015",
    title="the cluster refuses the result in a dry run",
    severity="error",
    change="unsupported",
    grade="N",
    explanation=(
        "The runtime was made in a scratch namespace, for a TrainJob is judged together with it; then the cluster was asked, "
        "without storing anything, whether it would take the TrainJob and the JobSet that follows from it."
    ),
    remedy="Correct what the message names, or the policy of the cluster that it comes from.",
)
NOT_STARTED = Topic(
    id="PROOF016",
    title="the result does not train on the embedded cluster",
    severity="error",
    change="unsupported",
    grade="N",
    explanation="The converted job was run for a short while on the embedded cluster, and has failed or never started.",
    remedy="Run it with `shunter migrate test --keep 600`, and look at its logs.",
    effort=3,
)
TRAINED_DIFFERENTLY = Topic(
    id="PROOF017",
    title="the runs of v1 and v2 differ",
    severity="error",
    change="semantic-change",
    grade="N",
    explanation="A run of the v1 job and a run of what it became were compared, and what they trained is not the same.",
    remedy="Look at the aspects that differ: shunter migrate compare ORIGINAL SUCCESSOR. A tolerance can be given there.",
    effort=3,
)
