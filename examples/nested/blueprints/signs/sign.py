"""Puts up the sign at a station, or takes it down: the target says where."""
import json, os, pathlib

station = json.load(open(os.environ["TARGET_PATH"]))["spec"]["config"]
sign = pathlib.Path(station["directory"], station["name"] + ".txt")
if os.environ["OPERATION"] == "DELETE":
    sign.unlink(missing_ok=True)
else:
    sign.parent.mkdir(parents=True, exist_ok=True)
    text = json.load(open(os.environ["IMPORTS_PATH"]))["text"]
    sign.write_text(text + "\n")
    json.dump({"file": str(sign)}, open(os.environ["EXPORTS_PATH"], "w"))
