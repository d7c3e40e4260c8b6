"""Makes a ConfigMap for each object of the kind @KIND@, which this version of the operator owns."""

import os
import time

from api import call

NAMESPACE = os.environ["LANDFORM_NAMESPACE"]
ME = {
    "apiVersion": "catalog.landform.dev/v1alpha1",
    "kind": "OperatorVersion",
    "name": os.environ["LANDFORM_OPERATOR_VERSION"],
    "uid": os.environ["LANDFORM_OPERATOR_UID"],
    "controller": True,
    "blockOwnerDeletion": True,
}


def reconcile(own):
    """From what is there to what should be there. What is so already is left alone."""
    name = "@NAME@-" + own["metadata"]["name"]
    data = {"text": own["spec"]["text"], "by": os.environ["LANDFORM_VERSION"]}
    metadata = {"name": name, "labels": {"app": "@NAME@"}, "ownerReferences": [ME]}
    maps = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
    found = call("GET", f"{maps}/{name}")
    if found is None:
        call("POST", maps, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
        return
    owners = found["metadata"].get("ownerReferences", [])
    # Another version's: Landform hands it over when that version goes.
    if any(owner["uid"] == ME["uid"] for owner in owners) and found.get("data") != data:
        call("PATCH", f"{maps}/{name}", {"data": data}, patch=True)


def main():
    print("following @PLURAL@")
    while True:
        try:
            objects = call("GET", f"/apis/example.com/v1/namespaces/{NAMESPACE}/@PLURAL@")
            for own in (objects or {"items": []})["items"]:
                reconcile(own)
        except OSError as error:  # The server is away, or an object has changed meanwhile: the next look tells.
            print(f"will look again: {error}")
        time.sleep(0.5)


if __name__ == "__main__":
    main()
