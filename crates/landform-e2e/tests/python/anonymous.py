"""Whoever brings no credentials, or wrong ones, sees health and nothing else."""

import base64
import json
import os
import ssl
import sys
import urllib.error
import urllib.request

import yaml

with open(os.environ["KUBECONFIG"]) as file:
    kubeconfig = yaml.safe_load(file)
authority = base64.b64decode(kubeconfig["clusters"][0]["cluster"]["certificate-authority-data"])
context = ssl.create_default_context(cadata=authority.decode())
url = sys.argv[1]


def get(path, **headers):
    """The status and the body of an answer."""
    try:
        request = urllib.request.Request(url + path, headers=headers)
        with urllib.request.urlopen(request, context=context, timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


for path in ["/healthz", "/livez", "/readyz"]:
    status, body = get(path)
    assert (status, body) == (200, b"ok"), (path, status, body)

paths = ["/", "/api", "/apis", "/version", "/metrics", "/openapi/v2", "/api/v1/namespaces", "/no"]
for path in paths:
    for headers in [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic YTpi"}]:
        status, body = get(path, **headers)
        assert status == 401, (path, headers, status, body)
        answer = json.loads(body)
        assert (answer["kind"], answer["reason"], answer["code"]) == ("Status", "Unauthorized", 401)
print("ok")
