"""Turns a report into the text of a sign."""
import json, os

if os.environ["OPERATION"] == "RECONCILE":
    report = json.load(open(os.environ["IMPORTS_PATH"]))
    text = f"Today: {report['sky']}, {report['degrees']} degrees"
    json.dump({"text": text}, open(os.environ["EXPORTS_PATH"], "w"))
