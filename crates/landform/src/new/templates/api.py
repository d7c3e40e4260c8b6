"""The API of Landform with Python's standard library alone: JSON over HTTPS, with the token that the kubeconfig names."""

import base64
import json
import os
import re
import ssl
import urllib.error
import urllib.request


def _setting(name):
    """A value of the kubeconfig that Landform has written for this process: each is on a line of its own."""
    with open(os.environ["KUBECONFIG"]) as file:
        found = re.search(rf"^[\s-]*{name}: *(.+?) *$", file.read(), re.MULTILINE)
    return found.group(1).strip("\"'")


def call(method, path, body=None, patch=False):
    """One request; the answer as it is, or None when there is no such object."""
    # Read each time: the token is renewed, and after a restart of the server the address may be another one.
    authority = base64.b64decode(_setting("certificate-authority-data")).decode()
    with open(_setting("tokenFile")) as file:
        token = file.read().strip()
    kind = "application/merge-patch+json" if patch else "application/json"
    request = urllib.request.Request(_setting("server") + path, method=method)
    request.add_header("Authorization", f"Bearer {token}")
    request.add_header("Content-Type", kind)
    data = None if body is None else json.dumps(body).encode()
    try:
        tls = ssl.create_default_context(cadata=authority)
        with urllib.request.urlopen(request, data, timeout=30, context=tls) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise
