"""An operator as people write them with kopf: every Widget gets a ConfigMap.

The ConfigMap goes when its widget goes; kopf's finalizer holds the widget until that is done.
"""

import kopf
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

config.load_kube_config()
core = client.CoreV1Api()


@kopf.on.create("example.com", "v1", "widgets")
def create(name, namespace, spec, **_):
    body = {"metadata": {"name": f"widget-{name}"}, "data": {"color": spec["color"]}}
    core.create_namespaced_config_map(namespace, body)
    return {"color": spec["color"]}


@kopf.on.update("example.com", "v1", "widgets", field="spec.color")
def recolor(name, namespace, new, patch, **_):
    core.patch_namespaced_config_map(f"widget-{name}", namespace, {"data": {"color": new}})
    patch.status["recolored"] = new


@kopf.on.delete("example.com", "v1", "widgets")
def delete(name, namespace, **_):
    try:
        core.delete_namespaced_config_map(f"widget-{name}", namespace)
    except ApiException as error:
        if error.status != 404:
            raise
