"""Reconciles objects of the kind @KIND@: one ConfigMap for each, with its words in one line.

It is called with an object and what belongs to it, and answers what should be. Landform makes, repairs and deletes
the children, and writes the status.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def reconcile(call):
    """From what is there to what should be there. Called at any time, and twice for the same state."""
    own = call["object"]
    message = " ".join(own["spec"]["words"])
    child = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "@NAME@-" + own["metadata"]["name"]},
        "data": {"message": message},
    }
    status = {"observedGeneration": own["metadata"]["generation"], "message": message}
    return {"status": status, "owned": [child]}


class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps(reconcile(call)).encode()
        try:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)
        except ConnectionError:
            pass  # The call was given up; another one follows.

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Hook).serve_forever()
