"""The typed client: create, read, list, patch, replace, conflict, delete."""

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

config.load_kube_config()
core = client.CoreV1Api()
apps = client.AppsV1Api()


def refused(status, reason, call, *arguments, **options):
    """The call must fail with this status, and say so in a Status object."""
    try:
        call(*arguments, **options)
    except ApiException as error:
        assert error.status == status, error
        assert f'"reason":"{reason}"' in error.body.replace(" ", ""), error.body
    else:
        raise AssertionError(f"{call} should have failed with {status}")


created = core.create_namespaced_config_map(
    "default",
    client.V1ConfigMap(
        metadata=client.V1ObjectMeta(name="settings", labels={"app": "web"}), data={"a": "1"}
    ),
)
assert created.metadata.uid and created.metadata.creation_timestamp
again = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="settings"))
refused(409, "AlreadyExists", core.create_namespaced_config_map, "default", again)

found = core.read_namespaced_config_map("settings", "default")
assert found.data == {"a": "1"}, found
assert found.metadata.resource_version == created.metadata.resource_version

patched = core.patch_namespaced_config_map("settings", "default", {"data": {"b": "2"}})
assert patched.data == {"a": "1", "b": "2"}, patched

found.data = {"a": "stale"}
refused(409, "Conflict", core.replace_namespaced_config_map, "settings", "default", found)
patched.data = {"c": "3"}
assert core.replace_namespaced_config_map("settings", "default", patched).data == {"c": "3"}

listed = core.list_namespaced_config_map("default", label_selector="app=web")
assert [item.metadata.name for item in listed.items] == ["settings"], listed

deployment = apps.create_namespaced_deployment(
    "default",
    client.V1Deployment(
        metadata=client.V1ObjectMeta(name="web"),
        spec=client.V1DeploymentSpec(
            replicas=2,
            selector=client.V1LabelSelector(match_labels={"app": "web"}),
            template=client.V1PodTemplateSpec(
                metadata=client.V1ObjectMeta(labels={"app": "web"}),
                spec=client.V1PodSpec(containers=[client.V1Container(name="web", image="nginx")]),
            ),
        ),
    ),
)
scale = apps.read_namespaced_deployment_scale("web", "default")
assert scale.spec.replicas == 2, scale
apps.patch_namespaced_deployment_scale("web", "default", {"spec": {"replicas": 5}})
assert apps.read_namespaced_deployment("web", "default").spec.replicas == 5

for number in range(5):
    secret = client.V1Secret(
        metadata=client.V1ObjectMeta(name=f"s{number}"), string_data={"k": "v"}
    )
    core.create_namespaced_secret("default", secret)
pages, token, seen = 0, None, []
while pages == 0 or token:
    page = core.list_namespaced_secret("default", limit=2, _continue=token)
    seen += [item.metadata.name for item in page.items]
    token = page.metadata._continue
    pages += 1
assert [name for name in seen if name[0] == "s"] == [f"s{number}" for number in range(5)], seen
assert pages >= 3, pages

core.delete_namespaced_config_map("settings", "default")
refused(404, "NotFound", core.read_namespaced_config_map, "settings", "default")
core.delete_collection_namespaced_secret("default", field_selector="metadata.name!=s0")
left = [item.metadata.name for item in core.list_namespaced_secret("default").items]
assert left == ["s0"], left
print("ok")
