"""Machines as data: names, units, and agreement with what the package fabrics says of the same machines."""

from __future__ import annotations

import pytest

from shunter.errors import InputError
from shunter.fabrics import profiles
from shunter.sizing import SizeOptions, size
from shunter.sizing.instances import MIB, chosen_instances, known_gpus, known_instances


def test_interfaces_of_efa_are_those_of_the_profile() -> None:
    machines = {one.type: one.devices for one in profiles()["efa"].instances}
    shared = {name: one for name, one in known_instances().items() if name in machines}
    assert len(shared) >= 10
    assert {name: one.efa for name, one in shared.items()} == {name: machines[name] for name in shared}
    assert {name: one.gpus for name, one in shared.items()} == {
        one.type: one.gpus for one in profiles()["efa"].instances if one.type in shared
    }


def test_memory_is_in_mib_as_reported_and_not_the_gb_of_a_data_sheet() -> None:
    # An A10G is sold as 24 GB: that is 22,888 MiB, 22.35 GiB.
    assert known_gpus()["A10G"].memory_mib * MIB == pytest.approx(24e9, rel=1e-4)
    # An A100 or H100 is sold as 80 GB, and has 80 GiB.
    assert {known_gpus()[name].memory_mib * MIB for name in ("A100-80GB", "H100")} == {80 * 2**30}
    # An H200 is sold as 141 GB, and has 141 GiB.
    assert known_gpus()["H200"].memory_mib * MIB == 141 * 2**30


def test_a_verdict_turns_at_the_last_mebibyte() -> None:
    from shunter.sizing.fits import choice_of
    from shunter.sizing.formulas import memory
    from shunter.sizing.instances import Gpu, Instance
    from shunter.sizing.shapes import known_models

    shape, options = known_models()["GPT-2"].shape, SizeOptions(seq=1024, strategy="ddp")
    high = memory(shape, options, "ddp", gpus=1, gpus_a_node=1).total * 1.2
    enough = -(-high // (0.95 * MIB))
    verdicts = [choice_of(shape, options, Instance("x", "x", Gpu("x", int(mib)), 1), 1).verdict for mib in (enough - 1, enough)]
    assert verdicts == ["tight", "fits"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("p5.48xlarge", ["p5.48xlarge"]),
        ("aws:p5.48xlarge,g5.48xlarge", ["p5.48xlarge", "g5.48xlarge"]),
        ("aws:p5.48xlarge, aws:p5.48xlarge", ["p5.48xlarge"]),
        ("aws:g5.xlarge,azure:Standard_ND96asr_v4", ["g5.xlarge", "Standard_ND96asr_v4"]),
        ("azure", ["Standard_ND96asr_v4", "Standard_ND96amsr_A100_v4", "Standard_ND96isr_H100_v5", "Standard_ND96isr_H200_v5"]),
    ],
)
def test_machines_are_chosen_by_name_or_by_cloud(text: str, names: list[str]) -> None:
    assert [instance.name for instance in chosen_instances(text)] == names


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("p5.48xlrge", "--on 'p5.48xlrge': not known. Did you mean p5.48xlarge?"),
        ("azur", "Did you mean azure?"),
        ("gcp", "Use aws, azure, cluster"),
        ("aws:", "--on 'aws:': not known."),
        ("gcp:p5.48xlarge", "p5.48xlarge is a machine of aws, not of gcp."),
        ("aws:p5.48xlarge,Standard_ND96asr_v4", "Standard_ND96asr_v4 is a machine of azure, not of aws."),
        ("cluster,aws", "Give --on cluster alone"),
    ],
)
def test_machines_that_are_not_known_are_refused(text: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        chosen_instances(text)
    assert said in str(raised.value)


def test_no_machines_are_an_error_and_not_an_empty_answer() -> None:
    with pytest.raises(InputError, match="no machines"):
        size("GPT-2", instances=[])


def test_each_named_type_is_answered_and_of_a_cloud_one_of_each_gpu() -> None:
    named = size("GPT-2", on="g5.xlarge,g5.12xlarge,g5.48xlarge")
    assert len(named.choices) == 3
    gpus = [option.choice.instance.gpu.name for option in size("GPT-2").choices]
    assert len(gpus) == len(set(gpus)) == 10
