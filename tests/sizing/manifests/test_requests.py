"""What a pod that has a machine for itself requests."""

from __future__ import annotations

from shunter.sizing import ManifestOptions, size
from shunter.sizing.manifests import manifests
from sizing.made_manifests import choice


def test_machines_whose_allocatable_is_not_published_get_gpus_requested_only() -> None:
    made = manifests(choice("Standard_ND96isr_H100_v5"), ManifestOptions(image="x", kueue=True))
    assert made.objects[-1]["spec"]["trainer"]["resourcesPerNode"] == {
        "requests": {"nvidia.com/gpu": "8"},
        "limits": {"nvidia.com/gpu": "8"},
    }
    assert len(made.notes) == 2


def test_the_memory_that_pods_request_holds_what_the_formula_says_of_the_host() -> None:
    for option in size("Llama-3.1-8B").of("fits"):
        job = manifests(option.choice, ManifestOptions()).objects[-1]
        requested = int(job["spec"]["trainer"]["resourcesPerNode"]["requests"]["memory"].removesuffix("Mi"))
        assert requested <= option.choice.instance.memory_mib
