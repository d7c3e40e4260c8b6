"""A watch that is stopped and resumed from its last resource version misses and repeats nothing."""

from kubernetes import client, config, watch

config.load_kube_config()
core = client.CoreV1Api()


def create(name):
    core.create_namespaced_config_map(
        "default", client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"app": "w"}))
    )


def take(count, version):
    """The next events from this version on, and the version of the last one."""
    events = []
    watcher = watch.Watch()
    stream = watcher.stream(
        core.list_namespaced_config_map,
        "default",
        label_selector="app=w",
        resource_version=version,
        timeout_seconds=60,
    )
    for event in stream:
        events.append((event["type"], event["object"].metadata.name))
        if len(events) == count:
            watcher.stop()
    return events, watcher.resource_version


create("before")
listed = core.list_namespaced_config_map("default", label_selector="app=w")
assert [item.metadata.name for item in listed.items] == ["before"]

create("one")
create("two")
core.patch_namespaced_config_map("one", "default", {"data": {"k": "v"}})
# In the background: a delete without a policy first marks the object, which is an event too.
core.delete_namespaced_config_map("two", "default", propagation_policy="Background")
create("three")

events, version = take(2, listed.metadata.resource_version)
assert events == [("ADDED", "one"), ("ADDED", "two")], events
events, version = take(2, version)
assert events == [("MODIFIED", "one"), ("DELETED", "two")], events
events, version = take(1, version)
assert events == [("ADDED", "three")], events

# Without a version a watch begins with what is there.
events, _ = take(3, None)
assert sorted(events) == [("ADDED", "before"), ("ADDED", "one"), ("ADDED", "three")], events

# A watch ends by itself when its time is over, and the end is no error.
quiet = list(
    watch.Watch().stream(
        core.list_namespaced_config_map,
        "default",
        label_selector="app=nobody",
        resource_version=version,
        timeout_seconds=1,
    )
)
assert quiet == [], quiet
print("ok")
