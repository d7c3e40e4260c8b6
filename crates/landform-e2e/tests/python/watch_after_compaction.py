"""A watch from a version that is no longer in the history gets 410; after a list it goes on."""

import sys

from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException

config.load_kube_config()
core = client.CoreV1Api()


def stream(version):
    return watch.Watch().stream(
        core.list_namespaced_config_map, "default", resource_version=version, timeout_seconds=60
    )


try:
    event = next(iter(stream(sys.argv[1])))
    raise AssertionError(f"a version that is too old was watched: {event}")
except ApiException as error:
    assert error.status == 410, error

listed = core.list_namespaced_config_map("default")
assert "old" in [item.metadata.name for item in listed.items]
core.patch_namespaced_config_map("old", "default", {"data": {"n": "new"}})
event = next(iter(stream(listed.metadata.resource_version)))
assert (event["type"], event["object"].data["n"]) == ("MODIFIED", "new"), event
print("ok")
