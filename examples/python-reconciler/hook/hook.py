#!/usr/bin/env python3
"""Reconciles recipes: adds up what a recipe needs, and writes a shopping list.

    python3 hook.py            listens on http://127.0.0.1:8765/
    python3 hook.py --stdin    answers one call from stdin on stdout

The same function serves both; a Reconciler names one of them in spec.hook.
"""

import argparse
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def reconcile(call):
    """From what is there to what should be there. Called at any time, and twice for the same state."""
    recipe = call["object"]
    generation = recipe["metadata"]["generation"]
    total = dict(recipe["spec"].get("ingredients", {}))
    for ref in call["refs"]:
        status = (ref["object"] or {}).get("status", {})
        if not status.get("ready"):
            # No error, and no need to ask again: the engine calls when that recipe has changed.
            message = f"waits for {ref['name']}"
            if ref.get("state") == "failed":
                message += f", which has failed: {ref['error']}"
            return {"status": {"observedGeneration": generation, "ready": False, "message": message}}
        for name, grams in status["ingredients"].items():
            total[name] = total.get(name, 0) + grams
    return {
        "status": {
            "observedGeneration": generation,
            "ready": True,
            "message": "",
            "grams": sum(total.values()),
            "ingredients": total,
        },
        "owned": [shopping_list(recipe["metadata"]["name"], total)],
    }


def shopping_list(name, total):
    """The one child of a recipe. The engine makes it, keeps it so, and removes it."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"shopping-list-{name}"},
        "data": {ingredient: f"{grams} g" for ingredient, grams in total.items()},
    }


class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        print(f"{call['object']['metadata']['name']}: {call['reason']}", flush=True)
        answer = json.dumps(reconcile(call)).encode()
        try:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)
        except ConnectionError:
            pass  # Given up, and not answered within spec.hook.grace: another call follows.

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description="Reconciles recipes.")
    parser.add_argument("--port", type=int, default=8765, help="0 takes a free one")
    parser.add_argument("--stdin", action="store_true", help="answer one call and end")
    arguments = parser.parse_args()
    if arguments.stdin:
        json.dump(reconcile(json.load(sys.stdin)), sys.stdout)
        return
    server = ThreadingHTTPServer(("127.0.0.1", arguments.port), Hook)
    print(f"listening on http://127.0.0.1:{server.server_port}/", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
