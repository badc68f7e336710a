"""The store: keys, namespaces and indexes always agree."""

from hypothesis import given
from hypothesis import strategies as st

from shunter.api.core import ConfigMap, Pod
from shunter.api.meta import ObjectMeta, OwnerReference
from shunter.kube.cache.store import Store, by_controller_uid, key_of, revision
from shunter.kube.controllers.plan import Key


def config_map(name: str, namespace: str = "n", version: int = 1, **labels: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace, labels=labels, uid=name, resource_version=str(version)))


def labelled() -> Store[ConfigMap]:
    return Store({"label": lambda obj: obj.metadata.labels.values()})


def test_an_object_is_found_by_key_namespace_and_index() -> None:
    store = labelled()
    one, two = config_map("a", x="red"), config_map("b", "other", x="red")
    store.put(one)
    store.put(two)
    assert store.get(Key("n", "a")) is one
    assert store.list("other") == (two,)
    assert store.by_index("label", "red") == (one, two)


def test_a_change_moves_an_object_between_index_values() -> None:
    store = labelled()
    store.put(config_map("a", x="red"))
    store.put(config_map("a", x="blue"))
    assert store.by_index("label", "red") == ()
    assert len(store.by_index("label", "blue")) == 1


def test_an_index_added_late_finds_what_is_there() -> None:
    store: Store[ConfigMap] = Store()
    store.put(config_map("a", x="red"))
    store.add_index("label", lambda obj: obj.metadata.labels.values())
    assert len(store.by_index("label", "red")) == 1


def test_replace_yields_exactly_the_differences() -> None:
    store = labelled()
    for name in ("same", "changed", "gone", "kept"):
        store.put(config_map(name))
    differences = store.replace(
        "", [config_map("same"), config_map("changed", version=2), config_map("new")], keep={Key("n", "kept")}
    )
    told = sorted((d.old.metadata.name if d.old else "", d.new.metadata.name if d.new else "") for d in differences)
    assert told == [("", "new"), ("changed", "changed"), ("gone", "")]
    assert {obj.metadata.name for obj in store.list()} == {"same", "changed", "new", "kept"}


def test_replacing_one_namespace_leaves_the_others() -> None:
    store: Store[ConfigMap] = Store(scopes=("one", "two"))
    store.put(config_map("a", "one"))
    store.put(config_map("a", "two"))
    store.replace("one", [])
    assert [obj.metadata.namespace for obj in store.list()] == ["two"]


def test_an_object_recreated_under_its_name_is_a_difference() -> None:
    store = labelled()
    before = config_map("a")
    store.put(before)
    after = ConfigMap(metadata=ObjectMeta(name="a", namespace="n", uid="other", resource_version="1"))
    assert store.replace("", [after]) == [(before, after)]


def test_versions_are_compared_as_numbers() -> None:
    store: Store[ConfigMap] = Store()
    store.observed("", "99")
    store.observed("", "100")
    assert store.has_observed("n", 100)
    assert not store.has_observed("n", 101)
    assert revision("opaque") == 0


def test_a_namespace_that_nobody_feeds_is_not_waited_for() -> None:
    store: Store[ConfigMap] = Store(scopes=("one",))
    assert store.has_observed("elsewhere", 10**9)


def test_objects_are_found_by_the_uid_of_their_controller() -> None:
    owner = OwnerReference(api_version="v1", kind="Job", name="j", uid="u1", controller=True)
    friend = OwnerReference(api_version="v1", kind="Job", name="k", uid="u2")
    store: Store[Pod] = Store({"owner": by_controller_uid})
    pod = Pod(metadata=ObjectMeta(name="p", namespace="n", owner_references=(friend, owner)))
    store.put(pod)
    assert store.by_index("owner", "u1") == (pod,)
    assert store.by_index("owner", "u2") == ()


steps = st.lists(
    st.tuples(st.sampled_from(["put", "remove"]), st.sampled_from("abc"), st.sampled_from(["n", "m"]), st.sampled_from("xy"))
)


@given(steps)
def test_indexes_agree_with_the_objects_after_any_steps(steps: list[tuple[str, str, str, str]]) -> None:
    store = labelled()
    model: dict[Key, ConfigMap] = {}
    for verb, name, namespace, label in steps:
        key = Key(namespace, name)
        if verb == "put":
            model[key] = config_map(name, namespace, l=label)
            store.put(model[key])
        else:
            model.pop(key, None)
            store.remove(key)
    assert keys(store.list()) == set(model)
    for namespace in ("n", "m"):
        assert keys(store.list(namespace)) == {key for key in model if key.namespace == namespace}
    for label in "xy":
        assert keys(store.by_index("label", label)) == {key for key, obj in model.items() if obj.metadata.labels["l"] == label}


def keys(objects: tuple[ConfigMap, ...]) -> set[Key]:
    return {key_of(obj) for obj in objects}
