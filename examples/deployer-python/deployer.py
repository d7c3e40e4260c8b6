#!/usr/bin/env python3
"""A deployer for deploy items of type example.landform.dev/file: each of them is a file in a directory.

    python3 deployer.py --directory /tmp/files

It needs `pip install kubernetes`, a kubeconfig (KUBECONFIG), and nothing else of Landform than its API. An
item's configuration is {name, content}, and {seconds} if the work should take its time. An item exports the
path of its file. docs/writing-a-deployer.md explains the contract that is kept here, step by step.
"""

import argparse
import base64
import datetime
import json
import os
import pathlib
import threading

from kubernetes import config, dynamic
from kubernetes.client import api_client
from kubernetes.dynamic.exceptions import ApiException, ConflictError, NotFoundError

TYPE = "example.landform.dev/file"
FINALIZER = "finalizer.landscaper.gardener.cloud"
OPERATION = "landscaper.gardener.cloud/operation"
RECONCILE_TIME = "landscaper.gardener.cloud/reconcile-time"
ABORT_TIME = "landscaper.gardener.cloud/abort-time"
FINAL = ("Succeeded", "Failed")
MERGE = "application/merge-patch+json"
ME = {"identity": "file-deployer", "name": TYPE, "version": "1.0.0"}


class Problem(Exception):
    """A person must change something: there is no use in trying again."""


class Work(threading.Thread):
    """The work on one item. It looks at `stopped` before it touches anything."""

    def __init__(self, deployer, item):
        super().__init__(daemon=True)
        self.deployer, self.item, self.stopped = deployer, item, threading.Event()

    def run(self):
        try:
            self.deployer.deploy(self.item, self.stopped)
        except Problem as problem:
            self.deployer.fail(self.item, "Deploy", "InvalidConfiguration", str(problem))
        except (ApiException, OSError) as error:
            # No final phase: the next list, within a minute, tries again. Landform ends it when its time is over.
            self.deployer.say(self.item, f"{type(error).__name__}, will be tried again")

    def stop(self):
        """Returns when nothing will be written any more: that is the fence."""
        self.stopped.set()
        self.join()


class FileDeployer:
    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        cluster = dynamic.DynamicClient(api_client.ApiClient())
        resources = cluster.resources
        self.items = resources.get(api_version="landscaper.gardener.cloud/v1alpha1", kind="DeployItem")
        self.secrets = resources.get(api_version="v1", kind="Secret")
        self.works = {}

    def follow(self):
        """Looks at every item, and again at each that changes."""
        while True:
            listed = self.items.get().to_dict()
            for item in listed["items"]:
                self.look(item)
            version = listed["metadata"]["resourceVersion"]
            try:
                # Ends now and then; whatever was missed is in the next list.
                for event in self.items.watch(resource_version=version, timeout=60):
                    if event["type"] not in ("DELETED", "ERROR", "BOOKMARK"):
                        self.look(event["raw_object"])
            except ApiException as error:
                print(f"the watch ended ({error.status}), listing again", flush=True)

    def look(self, item):
        """Decides from the item alone what to do. The same item may come twice."""
        if item["spec"].get("type") != TYPE:
            return
        metadata, status = item["metadata"], item.get("status") or {}
        annotations = metadata.get("annotations") or {}
        operation = annotations.get(OPERATION)
        try:
            if operation == "abort":
                self.abort(item)
            elif metadata.get("deletionTimestamp"):
                if FINALIZER in (metadata.get("finalizers") or []):
                    self.remove(item)
            elif (
                RECONCILE_TIME in annotations
                or operation in ("reconcile", "force-reconcile")
                or status.get("observedGeneration") != metadata["generation"]
            ):
                self.pick_up(item)
            elif status.get("phase") in FINAL:
                self.stop(item)  # Perhaps its time was over.
            elif not self.is_at_work(item):
                # It was picked up by a process that is no more.
                self.start(item)
        except (ConflictError, NotFoundError):
            pass  # It has changed meanwhile: another look follows.

    def is_at_work(self, item):
        work = self.works.get(item["metadata"]["uid"])
        return work is not None and work.is_alive()

    def stop(self, item):
        work = self.works.pop(item["metadata"]["uid"], None)
        if work:
            work.stop()

    def start(self, item):
        work = self.works[item["metadata"]["uid"]] = Work(self, item)
        work.start()

    def pick_up(self, item):
        """First the status, then the annotation: after a crash in between it is picked up once more."""
        self.stop(item)
        now = datetime.datetime.now(datetime.timezone.utc).isoformat().replace("+00:00", "Z")
        status = {
            "observedGeneration": item["metadata"]["generation"],
            "phase": "Init",
            "lastReconcileTime": now,
            "deployer": ME,
        }
        item = self.write_status(item, status)
        finalizers = item["metadata"].get("finalizers") or []
        if FINALIZER not in finalizers:
            finalizers = finalizers + [FINALIZER]
        annotations = {RECONCILE_TIME: None, OPERATION: None}
        item = self.write_metadata(item, {"finalizers": finalizers, "annotations": annotations})
        self.say(item, "picked up")
        self.start(item)

    def deploy(self, item, stopped):
        settings = item["spec"].get("config") or {}
        name = settings.get("name") or ""
        if not name or name != os.path.basename(name) or name.startswith("."):
            raise Problem("spec.config.name must be the name of a file, without a directory")
        path = self.directory / name
        former = (item.get("status") or {}).get("providerStatus") or {}
        # Noted before it is made, so that it is found again to remove it, whatever happens in between.
        noted = sorted({str(path), *former.get("files", [])})
        self.write_status(item, {"phase": "Progressing", "providerStatus": {"files": noted}})
        if stopped.wait(float(settings.get("seconds") or 0)):
            return
        self.write_file(path, settings.get("content") or "")
        for other in noted:
            if other != str(path):
                pathlib.Path(other).unlink(missing_ok=True)
        if stopped.is_set():
            return
        export = self.write_export(item, {"path": str(path)})
        done = {
            "phase": "Succeeded",
            "exportRef": export,
            "lastError": None,
            "providerStatus": {"files": [str(path)]},
        }
        self.write_status(item, done)
        self.say(item, "succeeded")

    @staticmethod
    def write_file(path, content):
        """In one step, and only if it differs."""
        if path.exists() and path.read_text() == content:
            return
        draft = path.with_name(f".{path.name}.draft")
        draft.write_text(content)
        draft.replace(path)

    def write_export(self, item, values):
        """The Secret <item>-export with all values under the key `config`. It goes with the item."""
        metadata = item["metadata"]
        name = f"{metadata['name']}-export"
        owner = {"apiVersion": item["apiVersion"], "kind": item["kind"]}
        owner |= {"name": metadata["name"], "uid": metadata["uid"]}
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": metadata["namespace"], "ownerReferences": [owner]},
            "data": {"config": base64.b64encode(json.dumps(values).encode()).decode()},
        }
        try:
            self.secrets.create(body=body, namespace=metadata["namespace"])
        except ConflictError:
            self.secrets.patch(body=body, name=name, namespace=metadata["namespace"], content_type=MERGE)
        return {"name": name, "namespace": metadata["namespace"]}

    def remove(self, item):
        """From what was noted: the configuration may be broken, and is not looked at."""
        self.stop(item)
        status = item.get("status") or {}
        for path in (status.get("providerStatus") or {}).get("files", []):
            pathlib.Path(path).unlink(missing_ok=True)
        finalizers = [name for name in item["metadata"]["finalizers"] if name != FINALIZER]
        self.write_metadata(item, {"finalizers": finalizers})
        self.say(item, "removed")

    def abort(self, item):
        """Acknowledged only when the work has stopped: a final phase, and the annotation goes."""
        self.stop(item)
        if (item.get("status") or {}).get("phase") not in FINAL:
            self.fail(item, "Abort", "Aborted", "the work was stopped because somebody asked for it")
        self.write_metadata(
            self.read(item), {"annotations": {OPERATION: None, ABORT_TIME: None, RECONCILE_TIME: None}}
        )
        self.say(item, "aborted")

    def fail(self, item, operation, reason, message):
        codes = [] if reason == "Aborted" else ["ERR_CONFIGURATION_PROBLEM"]
        error = {"operation": operation, "reason": reason, "message": message, "codes": codes}
        generation = item["metadata"]["generation"]
        self.write_status(item, {"phase": "Failed", "observedGeneration": generation, "lastError": error})

    def read(self, item):
        metadata = item["metadata"]
        return self.items.get(name=metadata["name"], namespace=metadata["namespace"]).to_dict()

    def write_status(self, item, status):
        metadata = item["metadata"]
        return self.items.subresources["status"].patch(
            name=metadata["name"], namespace=metadata["namespace"], body={"status": status}, content_type=MERGE
        ).to_dict()

    def write_metadata(self, item, change):
        """With the version that was read: a list is written as a whole, and others write finalizers too."""
        metadata = item["metadata"]
        body = {"metadata": {**change, "resourceVersion": metadata["resourceVersion"]}}
        return self.items.patch(
            name=metadata["name"], namespace=metadata["namespace"], body=body, content_type=MERGE
        ).to_dict()

    @staticmethod
    def say(item, what):
        print(f"{item['metadata']['namespace']}/{item['metadata']['name']}: {what}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Deploys files.")
    parser.add_argument("--directory", required=True, help="where the files go")
    arguments = parser.parse_args()
    config.load_kube_config()
    deployer = FileDeployer(arguments.directory)
    print("following deploy items", flush=True)
    try:
        deployer.follow()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
