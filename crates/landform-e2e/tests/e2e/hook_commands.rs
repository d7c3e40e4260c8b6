//! Commands of hooks when the server is killed: nothing of them works on together with what comes after (R9b).

use std::process::Command;

use landform_e2e::{Lines, Server};

const BOXES: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boxes.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Box, listKind: BoxList, plural: boxes, singular: box}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"#;

/// Notes the numbers of its own process and of two that it starts, one of them in a session of its own. Before that it
/// looks whether one that was noted before is still at work. While there is no file `go` the box `inner` hangs.
const HOOK: &str = r#"
import json, os, subprocess, sys, time

def runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False

def note(what, name, pid):
    log = os.open(os.path.join(sys.argv[1], "hook.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(log, f"{what} {name} {pid}\n".encode())
    os.close(log)

name = json.load(sys.stdin)["object"]["metadata"]["name"]
try:
    lines = open(os.path.join(sys.argv[1], "hook.log")).read().splitlines()
except FileNotFoundError:
    lines = []
for line in lines:
    what, other, pid = line.split()
    if what == "begin" and runs(pid):
        note("overlap", f"{name}-with-{other}", pid)
note("begin", name, os.getpid())
if name == "inner" and not os.path.exists(os.path.join(sys.argv[1], "go")):
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    for session in [False, True]:
        child = subprocess.Popen(["sleep", "600"], start_new_session=session, **quiet)
        note("begin", name, child.pid)
    note("hangs", name, os.getpid())
    time.sleep(600)
note("end", name, os.getpid())
print(json.dumps({"status": {"done": True}}))
"#;

fn one(name: &str, of: &str) -> String {
    format!(
        "---\napiVersion: example.com/v1\nkind: Box\nmetadata: {{name: {name}}}\nspec: {{of: {of}}}\n"
    )
}

#[test]
fn r9b_what_a_killed_server_has_left_of_a_call_is_gone_before_the_next_one() {
    let server = Server::start();
    let (home, hook) = (server.home().to_owned(), server.file("hook.py", HOOK));
    server.apply(BOXES);
    server.kubectl(&[
        "wait",
        "--for=condition=Established",
        "crd/boxes.example.com",
    ]);
    server.apply(&format!(
        r#"
apiVersion: landform.dev/v1alpha1
kind: Reconciler
metadata: {{name: boxes}}
spec:
  for: {{group: example.com, version: v1, kind: Box}}
  refs: [{{path: ".spec.of[*]"}}]
  hook: {{command: [python3, {hook}, {}]}}
"#,
        home.display()
    ));
    server.apply(&(one("outer", "[]") + &one("inner", "[outer]")));
    let log = home.join("hook.log");
    let mut lines = Lines::of(Command::new("tail").args(["-n", "+1", "-F"]).arg(&log));
    lines.expect(&["hangs inner"]);
    let server = server.restart(|_| {
        std::fs::write(home.join("go"), "").unwrap();
    });
    lines.expect(&["end inner"]);
    // `outer`, to which `inner` refers, was called first, and saw nothing of the call that was left behind.
    let log = std::fs::read_to_string(&log).unwrap();
    assert!(!log.contains("overlap"), "{log}");
    assert_eq!(log.matches("end outer").count(), 2, "{log}");
    assert_eq!(log.matches("begin inner").count(), 4, "{log}");
    drop(server);
}
