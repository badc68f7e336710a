"""The Helm chart, rendered by Helm, says what `shunter install` applies."""

from typing import Any

import helm_python
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from install.charts import CHART, DEPLOY, by_name, rendered
from shunter.install import manifests
from shunter.install.kinds import RESOURCES
from shunter.install.values import checked, defaults

names = st.from_regex(r"[a-z]([-a-z0-9]{0,8}[a-z0-9])?", fullmatch=True)
text = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z"), exclude_characters="<>&"), max_size=8)
flags = st.booleans()


def section(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


any_values = section(
    image=section(
        repository=text.filter(bool),
        tag=text.filter(bool),
        digest=st.just("sha256:" + "0f" * 32),
        pullSecrets=st.lists(st.fixed_dictionaries({"name": names}), max_size=2),
    ),
    replicas=st.integers(0, 3),
    kinds=st.sampled_from([{"PyTorchJob": False}, {"TrainJob": False}, {}]),
    namespaces=st.lists(names, max_size=3, unique=True),
    namespace=section(create=flags),
    certificates=section(
        mode=st.sampled_from(["self-managed", "cert-manager", "provided"]),
        secretName=names,
        caBundle=text,
        issuer=section(name=names, kind=st.sampled_from(["Issuer", "ClusterIssuer"])),
    ),
    config=section(
        featureGates=section(TrainJobStatus=flags),
        metrics=section(bindAddress=st.sampled_from([":8080", "0"]), secureServing=flags, auth=section(enabled=flags)),
        leaderElection=section(leaderElect=flags, resourceName=names),
        controller=section(groupKindConcurrency=st.dictionaries(names, st.integers(1, 9), max_size=2)),
        health=section(readinessEndpointName=text),
        tls=section(minVersion=text, nextProtos=st.lists(text, max_size=2)),
    ),
    resources=st.sampled_from([{}, {"limits": {"cpu": "2"}}, {"limits": None, "requests": None}]),
    nodeSelector=st.dictionaries(names, text, max_size=2),
    tolerations=st.lists(st.fixed_dictionaries({"key": names, "operator": st.just("Exists")}), max_size=2),
    priorityClassName=names,
    monitoring=st.sampled_from(["auto", "always", "never"]),
    ui=st.fixed_dictionaries(
        {"host": names},
        optional={
            "enabled": flags,
            "auth": st.just("token"),
            "replicas": st.integers(1, 3),
            "readOnly": flags,
            "frameAncestors": st.sampled_from(["", "https://kubeflow.example.com"]),
        },
    )
    | st.fixed_dictionaries(
        {
            "enabled": flags,
            "host": names,
            "auth": st.just("proxy"),
            "proxy": st.fixed_dictionaries(
                {"secretName": names, "groups": st.lists(names, max_size=2)},
                optional={"groupsHeader": st.sampled_from(["", "x-groups"]), "userHeader": names},
            ),
        }
    ),
    dashboard=section(enabled=flags),
    alerts=section(enabled=flags),
    networkPolicy=section(enabled=flags),
    runtimes=section(enabled=flags),
    userRoles=section(enabled=flags),
)


@pytest.mark.slow
@settings(max_examples=60)
@given(any_values, names)
def test_helm_renders_what_install_applies_for_any_values(values: dict[str, Any], namespace: str) -> None:
    values["namespace"] = {"create": False, **values.get("namespace", {})}
    expected = manifests.manifests(checked(values), namespace=namespace)
    assert by_name(rendered(values, namespace=namespace)) == by_name(expected)


def test_the_default_chart_is_the_installation_without_the_namespace_that_helm_makes() -> None:
    expected = by_name(manifests.manifests(checked({}), namespace="shunter-system"))
    del expected["Namespace", "", "shunter-system"]
    assert by_name(rendered({})) == expected


def test_the_chart_has_the_defaults_of_install_but_for_the_namespace() -> None:
    assert CHART.values == {**defaults(), "namespace": {"create": False}}


def test_helm_finds_no_fault_with_the_chart() -> None:
    report = helm_python.lint(DEPLOY / "chart", strict=True)
    assert [message for message in report["messages"] if message["severity"] > 1] == []


def test_the_chart_brings_the_definitions_in_the_folder_that_helm_never_deletes_from() -> None:
    assert sorted(crd["name"] for crd in CHART.crds) == sorted(
        f"crds/{path.stem}.json" for path in (DEPLOY / "crds").glob("*.kubeflow.org.yaml")
    )


@pytest.mark.parametrize(
    ("values", "named"),
    [
        pytest.param({"replica": 3}, "replica", id="a value that does not exist"),
        pytest.param({"replicas": "3"}, "replicas", id="text for a number"),
        pytest.param({"certificates": {"mode": "acme"}}, "mode", id="an unknown certificate mode"),
        pytest.param({"kinds": {"SparkJob": True}}, "SparkJob", id="a kind that is not served"),
        pytest.param({"kinds": dict.fromkeys(RESOURCES, False)}, "kinds", id="all kinds off"),
        pytest.param({"image": {"digest": "sha256:12"}}, "digest", id="half a digest"),
        pytest.param({"ui": {"enabled": True}}, "host", id="a page without an address"),
        pytest.param({"ui": {"host": "https://a.example"}}, "host", id="an address for a host"),
        pytest.param({"ui": {"enabled": True, "host": "a", "auth": "proxy"}}, "secretName", id="a proxy without a secret"),
        pytest.param({"ui": {"proxy": {"groups": ["system:masters"]}}}, "groups", id="a group of Kubernetes itself"),
        pytest.param({"ui": {"proxy": {"groups": ["System:masters"]}}}, "groups", id="the same in capitals, as the page does"),
        pytest.param({"ui": {"frameAncestors": "*"}}, "frameAncestors", id="a frame of anybody"),
        pytest.param({"ui": {"frameAncestors": "https://a.example\n"}}, "frameAncestors", id="an origin and a line more"),
        pytest.param({"config": {"webhook": {"port": 9444}}}, "port", id="a port that no Service leads to"),
        pytest.param({"config": {"metrics": {"bindAddress": ":8443"}}}, "bindAddress", id="metrics that nobody scrapes"),
    ],
)
def test_helm_and_install_refuse_the_same_values_by_name(values: dict[str, Any], named: str) -> None:
    with pytest.raises(helm_python.HelmValuesError, match=named):
        rendered(values)
    with pytest.raises(Exception, match=named):
        checked(values)


def test_values_of_a_parent_chart_are_no_fault() -> None:
    assert rendered({"global": {"imageRegistry": "somewhere"}})
