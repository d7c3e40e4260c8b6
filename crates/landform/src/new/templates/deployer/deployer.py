"""Deploys items of the type example.com/@NAME@: each of them is a file with a text, in the directory `deployed`.

The contract that is kept here is that of docs/writing-a-deployer.md. The work is short: what takes long belongs into a thread of its own, which an abort
can stop.
"""

import base64
import datetime
import json
import os
import pathlib
import time

from api import call

TYPE = "example.com/@NAME@"
ITEMS = "/apis/landscaper.gardener.cloud/v1alpha1"
FINALIZER = "finalizer.landscaper.gardener.cloud"
OPERATION = "landscaper.gardener.cloud/operation"
RECONCILE_TIME = "landscaper.gardener.cloud/reconcile-time"
ABORT_TIME = "landscaper.gardener.cloud/abort-time"
ME = {"identity": "@NAME@-deployer", "name": TYPE, "version": "1.0.0"}
DIRECTORY = pathlib.Path("deployed")


class Problem(Exception):
    """A person must change something: there is no use in trying again."""


def deploy(settings, noted):
    """Makes what an item wants; `noted` is what was written down of it before. Returns what it exports."""
    text = settings.get("text")
    if not isinstance(text, str):
        raise Problem("spec.config.text must be a text")
    path = pathlib.Path(noted["path"])
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return {"path": str(path)}


def remove(noted):
    """Takes away what was noted. The configuration is not looked at: it may be broken by now."""
    if "path" in noted:
        pathlib.Path(noted["path"]).unlink(missing_ok=True)


def look(item):
    """Decides from the item alone what to do."""
    metadata, status = item["metadata"], item.get("status") or {}
    annotations = metadata.get("annotations") or {}
    operation = annotations.get(OPERATION)
    final = status.get("phase") in ("Succeeded", "Failed")
    if metadata.get("deletionTimestamp"):
        if FINALIZER in metadata.get("finalizers", []):
            remove(status.get("providerStatus") or {})
            left = [name for name in metadata["finalizers"] if name != FINALIZER]
            write(item, {"metadata": {"finalizers": left, "resourceVersion": metadata["resourceVersion"]}})
    elif operation == "abort":
        if not final:
            fail(item, "Abort", "Aborted", "the work was stopped, as it was asked for", [])
        write(item, {"metadata": {"annotations": {OPERATION: None, ABORT_TIME: None, RECONCILE_TIME: None}}})
    elif (
        RECONCILE_TIME in annotations
        or operation in ("reconcile", "force-reconcile")
        or status.get("observedGeneration") != metadata["generation"]
    ):
        work(pick_up(item))
    elif not final:
        work(item)  # This program ended in the middle of it.


def pick_up(item):
    """First the status, then the annotation: after a crash in between the item is picked up once more."""
    now = datetime.datetime.now(datetime.timezone.utc).isoformat().replace("+00:00", "Z")
    status = {"observedGeneration": item["metadata"]["generation"], "phase": "Init", "lastReconcileTime": now}
    item = write_status(item, status | {"deployer": ME})
    finalizers = sorted({*item["metadata"].get("finalizers", []), FINALIZER})
    return write(item, {"metadata": {
        "finalizers": finalizers,
        "annotations": {RECONCILE_TIME: None, OPERATION: None},
        "resourceVersion": item["metadata"]["resourceVersion"],
    }})


def work(item):
    # Noted before it is made, so that it is found again whatever happens in between.
    noted = {"path": str((DIRECTORY / item["metadata"]["uid"]).absolute())}
    item = write_status(item, {"phase": "Progressing", "providerStatus": noted})
    try:
        exports = deploy(item["spec"].get("config") or {}, noted)
    except Problem as problem:
        fail(item, "Deploy", "InvalidConfiguration", str(problem), ["ERR_CONFIGURATION_PROBLEM"])
        return
    reference = export(item, exports)
    write_status(item, {"phase": "Succeeded", "exportRef": reference, "lastError": None})
    print(f"{item['metadata']['name']}: succeeded")


def export(item, values):
    """The Secret <item>-export, with all values as JSON under the key `config`. It goes with the item."""
    metadata = item["metadata"]
    name, namespace = f"{metadata['name']}-export", metadata["namespace"]
    owner = {key: item[key] for key in ("apiVersion", "kind")} | {key: metadata[key] for key in ("name", "uid")}
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace, "ownerReferences": [owner]},
        "data": {"config": base64.b64encode(json.dumps(values).encode()).decode()},
    }
    secrets = f"/api/v1/namespaces/{namespace}/secrets"
    if call("PATCH", f"{secrets}/{name}", body, patch=True) is None:
        call("POST", secrets, body)
    return {"name": name, "namespace": namespace}


def fail(item, operation, reason, message, codes):
    error = {"operation": operation, "reason": reason, "message": message, "codes": codes}
    write_status(item, {"phase": "Failed", "lastError": error})
    print(f"{item['metadata']['name']}: {reason}")


def path_of(item):
    return f"{ITEMS}/namespaces/{item['metadata']['namespace']}/deployitems/{item['metadata']['name']}"


def write(item, change):
    return call("PATCH", path_of(item), change, patch=True)


def write_status(item, status):
    return call("PATCH", path_of(item) + "/status", {"status": status}, patch=True)


def main():
    print(f"following items of the type {TYPE}")
    while True:
        try:
            for item in call("GET", f"{ITEMS}/deployitems")["items"]:
                if item["spec"].get("type") == TYPE:
                    look(item)
        except OSError as error:  # The server is away, or an item has changed meanwhile: the next look tells.
            print(f"will look again: {error}")
        time.sleep(0.5)


if __name__ == "__main__":
    main()
