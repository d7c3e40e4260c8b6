"""The dynamic client: discovery, CRUD of built-in and custom kinds, patches, watch."""

from kubernetes import config, dynamic
from kubernetes.client import api_client
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError, UnprocessibleEntityError

config.load_kube_config()
cluster = dynamic.DynamicClient(api_client.ApiClient())

maps = cluster.resources.get(api_version="v1", kind="ConfigMap")
created = maps.create(
    namespace="default",
    body={"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "1"}},
)
assert created.metadata.uid
assert maps.get(name="settings", namespace="default").data.a == "1"
merge = "application/merge-patch+json"
maps.patch(namespace="default", name="settings", body={"data": {"b": "2"}}, content_type=merge)
steps = [{"op": "remove", "path": "/data/a"}]
patched = maps.patch(
    namespace="default", name="settings", body=steps, content_type="application/json-patch+json"
)
assert patched.data.to_dict() == {"b": "2"}, patched

widgets = cluster.resources.get(api_version="example.com/v1", kind="Widget")
assert widgets.name == "widgets" and widgets.namespaced


def widget(name, **spec):
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


first = widgets.create(namespace="default", body=widget("first", color="red"))
assert first.spec.count == 1, "the default of the schema"
try:
    widgets.create(namespace="default", body=widget("wrong", color="pink"))
    raise AssertionError("an invalid widget was taken")
except UnprocessibleEntityError as error:
    assert "spec.color" in str(error.body), error.body

stale = first.to_dict()
widgets.patch(namespace="default", name="first", body={"spec": {"count": 2}}, content_type=merge)
stale["spec"]["count"] = 3
try:
    widgets.replace(namespace="default", body=stale)
    raise AssertionError("a stale write was taken")
except ConflictError:
    pass

status = widgets.subresources["status"]
status.patch(namespace="default", name="first", body={"status": {"ready": True}}, content_type=merge)
assert widgets.get(namespace="default", name="first").status.ready is True

listed = widgets.get(namespace="default")
widgets.create(namespace="default", body=widget("second", color="blue"))
widgets.delete(namespace="default", name="first")
events = []
for event in widgets.watch(
    namespace="default", resource_version=listed.metadata.resourceVersion, timeout=60
):
    events.append((event["type"], event["object"].metadata.name))
    if event["type"] == "DELETED":
        break
# A delete without a policy marks the object first; then it is removed.
assert events == [("ADDED", "second"), ("MODIFIED", "first"), ("DELETED", "first")], events

try:
    widgets.get(namespace="default", name="first")
    raise AssertionError("a deleted widget was found")
except NotFoundError:
    pass
print("ok")
