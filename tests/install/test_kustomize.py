"""The Kustomize base, as kubectl builds it, is what `shunter install` applies and prints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from install.charts import DEPLOY, by_name
from shunter.fabrics import profiles
from shunter.install import manifests
from shunter.install.values import checked

pytestmark = pytest.mark.integration

BINARIES = Path(sys.executable).parent


def built(directory: Path) -> dict[tuple[str, str, str], Any]:
    done = subprocess.run([BINARIES / "kubectl", "kustomize", directory], capture_output=True, text=True, check=True, timeout=60)
    return by_name(list(yaml.load_all(done.stdout, yaml.CSafeLoader)))


def printed(*flags: str) -> dict[tuple[str, str, str], Any]:
    command = [str(BINARIES / "shunter"), "install", "--dry-run", "-o", "yaml", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, env={"PATH": "/usr/bin:/bin"})
    return by_name(list(yaml.load_all(done.stdout, yaml.CSafeLoader)))


def test_the_base_is_what_install_prints() -> None:
    assert built(DEPLOY / "base") == printed()


COMPONENTS = {
    "monitoring": ["monitoring=always"],
    "monitoring/dashboard": ["dashboard.enabled=true"],
    "monitoring/alerts": ["alerts.enabled=true"],
    "ui": ["ui.enabled=true", "ui.host=shunter.example.com"],
}


def with_components(directory: Path, *names: str) -> dict[tuple[str, str, str], Any]:
    """What kubectl builds of the base with these."""
    (directory / "deploy").symlink_to(DEPLOY)
    overlay = {"resources": ["deploy/base"], "components": [f"deploy/{name}" for name in names]}
    (directory / "kustomization.yaml").write_text(yaml.dump(overlay))
    return built(directory)


def test_the_base_with_all_components_is_what_install_prints_with_them(tmp_path: Path) -> None:
    values = [word for values in COMPONENTS.values() for value in values for word in ("--set", value)]
    assert with_components(tmp_path, *COMPONENTS) == printed(*values)


@pytest.mark.long
@pytest.mark.parametrize("component", COMPONENTS)
def test_the_base_with_a_component_is_what_install_prints_with_it(tmp_path: Path, component: str) -> None:
    values = [word for value in COMPONENTS[component] for word in ("--set", value)]
    assert with_components(tmp_path, component) == printed(*values)


def test_a_component_adds_a_runtime_for_each_machine_of_a_fabric(tmp_path: Path) -> None:
    (tmp_path / "deploy").symlink_to(DEPLOY)
    components = [f"deploy/fabrics/{name}" for name in profiles()]
    (tmp_path / "kustomization.yaml").write_text(yaml.dump({"components": components}))
    found = {name: runtime for (_, _, name), runtime in built(tmp_path).items()}
    wanted = {
        f"shunter-torch-{profile.name}-{machine.type.lower().replace('.', '-').replace('_', '-')}": (profile, machine)
        for profile in profiles().values()
        for machine in profile.instances
        if machine.devices or not profile.devices
    }
    assert found.keys() == wanted.keys()
    for name, (profile, machine) in wanted.items():
        assert found[name]["metadata"]["annotations"]["shunter.dev/fabric"] == profile.name
        (job,) = found[name]["spec"]["template"]["spec"]["replicatedJobs"]
        pods = job["template"]["spec"]["template"]["spec"]
        assert pods["nodeSelector"] == {"node.kubernetes.io/instance-type": machine.type}
        if profile.devices:
            (node,) = pods["containers"]
            amount = {profile.devices[0].name: str(machine.devices)}
            assert node["resources"] == {"requests": amount, "limits": amount}


def test_only_the_printed_form_needs_no_cluster() -> None:
    done = subprocess.run(
        [BINARIES / "shunter", "install", "--dry-run"], capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin"}
    )
    assert done.returncode == 2
    assert "no cluster was named" in done.stderr


@pytest.mark.parametrize("namespace", ["shunter-system", "training"])
def test_every_object_says_that_it_is_ours_and_names_the_namespace(namespace: str) -> None:
    for obj in manifests.manifests(checked({"monitoring": "always"}), namespace=namespace):
        assert obj["metadata"]["labels"]["app.kubernetes.io/part-of"] == "shunter", obj
        assert obj["metadata"].get("namespace", namespace) == namespace, obj
