//! Processes as a person meets them: `landform ps`, `restart`, `stop` and `start`, what an escaped child does to its item, and
//! the end of a log beside an error.

use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use landform_e2e::run;
use serde_json::{Value, json};

use crate::assert_contains;
use crate::project::{Installation, Project};
use crate::shop::Leftovers;

/// A master that listens, and hands its socket to a child which hides from it: two forks, a session of its own, an empty
/// environment, and no signal but the last one.
const MASTER: &str = "\
import os, socket, sys, time
port, how = int(sys.argv[1]), sys.argv[2]
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('127.0.0.1', port))
s.listen(100)
os.set_inheritable(s.fileno(), True)
if os.fork() == 0:
    os.setsid()
    if how == 'orphan' and os.fork() != 0:
        os._exit(0)
    open('child', 'w').write(str(os.getpid()))
    program = 'import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(1000)'
    os.execve(sys.executable, [sys.executable, '-c', program], {})
if how == 'orphan':
    os.wait()
print('up', flush=True)
time.sleep(1000)
";

struct World {
    project: Project,
    port: u16,
    _leftovers: Leftovers,
}

impl World {
    /// A project with one installation, whose one item is a process with these fields.
    fn new(fields: &Value) -> Self {
        let project = Project::empty();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let leftovers = Leftovers(std::fs::canonicalize(project.directory()).unwrap());
        let world = Self {
            project,
            port,
            _leftovers: leftovers,
        };
        world.write(fields);
        world
    }

    fn write(&self, fields: &Value) {
        let mut config = json!({
            "restart": {"backoff": "50ms"},
            "stop": {"grace": "1s"},
            "exports": {"port": {"value": self.port}},
        });
        for (name, value) in fields.as_object().unwrap() {
            config[name] = value.clone();
        }
        let item = json!({"name": "main", "type": "landform.dev/process", "config": config});
        let installation = Installation {
            item: &item.to_string(),
            exports: &["port"],
            value: "{{ .values.deployitems.main.port }}",
            ..Installation::default()
        };
        let text = installation.named("db");
        self.project.write("db.yaml", &text);
    }

    /// A master with a child that hides in this way.
    fn master(how: &str) -> Self {
        let world = Self::new(&json!({"command": ["true"]}));
        world.write(&world.master_fields(how));
        world
    }

    fn master_fields(&self, how: &str) -> Value {
        json!({
            "command": ["python3", "-u", "master.py"], "args": [self.port, how],
            "files": {"master.py": MASTER},
            "readiness": {"tcp": {"port": self.port}, "interval": "50ms", "timeout": "20s"},
        })
    }

    fn item(&self) -> Value {
        self.project.get("deployitem")["items"][0].clone()
    }

    fn name(&self) -> String {
        let item = self.item();
        format!("di/{}", item["metadata"]["name"].as_str().unwrap())
    }

    fn pid(&self) -> i64 {
        let pid = &self.item()["status"]["providerStatus"]["pid"];
        pid.as_i64().unwrap()
    }

    /// What the item's directory has in a file.
    fn file(&self, path: &str) -> String {
        let uid = self.item()["metadata"]["uid"].as_str().unwrap().to_owned();
        let directory = self.project.directory().join(".landform");
        let mut found = String::new();
        let mut open = vec![directory];
        while let Some(directory) = open.pop() {
            let own = directory.join("processes").join(&uid).join(path);
            if own.exists() {
                found = std::fs::read_to_string(own).unwrap();
            }
            let entries = std::fs::read_dir(&directory)
                .into_iter()
                .flatten()
                .flatten();
            open.extend(
                entries
                    .map(|entry| entry.path())
                    .filter(|path| path.is_dir()),
            );
        }
        found
    }

    fn child(&self) -> i64 {
        let mut child = String::new();
        until("the child's number", || {
            child = self.file("work/child");
            !child.is_empty()
        });
        child.trim().parse().unwrap()
    }

    fn ps(&self) -> Value {
        let text = self.project.landform(&["ps", "-o", "json"]);
        serde_json::from_str::<Value>(&text).unwrap()["items"][0].clone()
    }

    fn answers(&self) -> bool {
        TcpStream::connect(("127.0.0.1", self.port)).is_ok()
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(40);
    while !holds() {
        assert!(Instant::now() < end, "it never happened: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[expect(
    clippy::print_stderr,
    reason = "whoever looks should see that less was tested"
)]
fn not_tested(why: &str) {
    eprintln!("{why}: not tested");
}

fn is_running(pid: i64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn kill_9(pid: i64) {
    let killed = Command::new("kill").args(["-9", &pid.to_string()]).status();
    assert!(killed.unwrap().success());
}

/// What follows when the master is killed and its child keeps the port.
fn a_killed_master_leaves_nothing(world: &World) {
    let (master, child) = (world.pid(), world.child());
    assert!(is_running(child));
    kill_9(master);
    // Not for as long as the port answers: at once.
    until("another master", || {
        let item = world.item();
        let pid = item["status"]["providerStatus"]["pid"].as_i64();
        item["status"]["phase"] == "Succeeded" && pid.is_some_and(|pid| pid != master)
    });
    assert!(
        !is_running(child),
        "the child of the former master is still there"
    );
    assert_eq!(world.ps()["restarts"], 1);
    let events = world.project.landform(&["events"]);
    assert_contains(&events, &["SIGKILL", "is started again"]);
}

#[test]
fn a_child_that_hides_from_everything_belongs_to_its_item_by_its_control_group() {
    let world = World::master("orphan");
    let mut up = world.project.up(&[]);
    up.expect(&["Everything is ready after "]);
    let state: Value = serde_json::from_str(&world.file("state.json")).unwrap();
    if state["instances"][0]["cgroup"].is_null() {
        not_tested("no control groups can be made here");
        world.project.landform(&["down", ".", "--yes"]);
        kill_9(world.child());
        return;
    }
    a_killed_master_leaves_nothing(&world);
    let cgroup = state["instances"][0]["cgroup"].as_str().unwrap();
    assert!(!std::path::Path::new(cgroup).exists(), "{cgroup} is left");

    // Landform is killed as well: the next one knows where the child is.
    let (master, child) = (world.pid(), world.child());
    kill_9(i64::from(up.id()));
    drop(up);
    assert!(is_running(master) && is_running(child));
    let mut up = world.project.up(&[]);
    up.expect(&["Everything is ready after "]);
    assert_eq!(world.pid(), master);
    assert_eq!(world.ps()["pids"].as_array().unwrap().len(), 2);
    let down = world.project.landform(&["down", ".", "--yes"]);
    assert_contains(&down, &["Everything of pair is gone"]);
    assert!(!is_running(master) && !is_running(child) && !world.answers());
    assert!(up.finish().status.success());
}

#[test]
fn without_control_groups_a_child_is_found_by_its_parent() {
    let world = World::master("child");
    let mut up = landform_e2e::Lines::of(
        world
            .project
            .command(&["up", ".", "--listen", "127.0.0.1:0"])
            .env("LANDFORM_CGROUPS", "off"),
    );
    up.expect(&["Everything is ready after "]);
    let state: Value = serde_json::from_str(&world.file("state.json")).unwrap();
    assert!(state["instances"][0]["cgroup"].is_null());
    let (master, child) = (world.pid(), world.child());
    let name = world.name();
    world.project.landform(&["stop", &name]);
    assert!(!is_running(master) && !is_running(child) && !world.answers());
    world.project.landform(&["down", ".", "--yes"]);
    assert!(up.finish().status.success());
}

#[test]
fn processes_are_listed_restarted_stopped_and_started() {
    let world = World::master("child");
    let importer = Installation {
        imports: &["port"],
        ..Installation::default()
    };
    world.project.write("web.yaml", &importer.named("web"));
    let mut up = world.project.up(&[]);
    up.expect(&["Everything is ready after "]);
    let (name, first) = (world.name(), world.pid());
    let shown = world.project.landform(&["ps"]);
    assert_contains(
        &shown,
        &[
            "NAMESPACE",
            "Running",
            &format!("{first} (+1)"),
            &world.port.to_string(),
        ],
    );
    let seen = world.ps();
    assert_eq!(
        (&seen["state"], &seen["pid"], &seen["restarts"]),
        (&json!("Running"), &json!(first), &json!(0))
    );
    assert!(seen["memoryBytes"].as_u64().unwrap() > 1 << 20, "{seen}");
    // What the importer was deployed with, and when.
    let deployed = |project: &Project| {
        let installation = project.get("installation/web")["status"]["imports"].clone();
        let items = project.get("deployitem")["items"].clone();
        let times = items.as_array().unwrap().iter().filter_map(|item| {
            let own = item["metadata"]["name"]
                .as_str()
                .unwrap()
                .starts_with("web");
            own.then(|| item["status"]["lastReconcileTime"].clone())
        });
        (installation, times.collect::<Vec<_>>())
    };
    let before = deployed(&world.project);

    let told = world.project.landform(&["restart", "inst/db"]);
    let second = world.pid();
    assert_contains(&told, &[&format!("runs as process {second}")]);
    assert!(second != first && !is_running(first) && is_running(second));

    let told = world.project.landform(&["stop", "inst/db"]);
    assert_contains(&told, &["is stopped"]);
    assert!(!is_running(second) && !world.answers());
    assert_contains(&world.project.landform(&["ps"]), &["Stopped"]);
    let item = world.item();
    assert_eq!(item["status"]["phase"], "Succeeded");
    let why = world.project.landform(&["why", &name]);
    assert_contains(&why, &["stopped on request", "landform start DeployItem/"]);
    assert_contains(
        &world.project.landform(&["why", "inst/db"]),
        &["Stopped on request", "landform start Installation/db"],
    );

    assert_eq!(
        deployed(&world.project),
        before,
        "the importer was deployed again"
    );

    // Neither a restart of the server nor another configuration starts it.
    up.interrupt();
    up.finish();
    let mut up = world.project.up(&[]);
    up.expect(&["Everything is ready after "]);
    up.expect(&["stopped on request: DeployItem/"]);
    assert!(!world.answers());
    assert_contains(
        &world.project.landform(&["events"]),
        &["the process was stopped on request"],
    );
    let mut fields = world.master_fields("child");
    fields["env"] = json!({"NUMBER": 2});
    let generation = item["metadata"]["generation"].as_i64();
    world.write(&fields);
    until("the other configuration is taken", || {
        let item = world.item();
        item["metadata"]["generation"].as_i64() > generation
            && item["status"]["observedGeneration"] == item["metadata"]["generation"]
            && item["status"]["phase"] == "Succeeded"
    });
    assert!(!world.answers());
    assert_eq!(world.ps()["state"], "Stopped");
    let exported = world.project.get("dataobject/port");
    assert_eq!(exported["data"], world.port);

    // The advice of `why` is followed.
    let advice = why.split("landform start ").nth(1).unwrap();
    let mut words = vec!["start"];
    words.extend(advice.lines().next().unwrap().split_whitespace());
    let told = world.project.landform(&words);
    assert_contains(&told, &["runs as process"]);
    assert!(world.answers());

    // One that is stopped can be taken down.
    world.project.landform(&["stop", &name]);
    let down = world.project.landform(&["down", ".", "--yes"]);
    assert_contains(&down, &["Everything of pair is gone"]);
    assert!(up.finish().status.success());
}

#[test]
fn the_end_of_the_log_is_shown_beside_the_error_and_not_in_the_status() {
    let script = "echo the first line; echo canary: no such table >&2; exit 3";
    let world = World::new(&json!({
        "command": ["sh", "-c", script],
        "restart": {"backoff": "10ms", "maxRestarts": 2},
        "readiness": {"exec": {"command": ["false"]}},
    }));
    let ended = run(&mut world
        .project
        .command(&["up", ".", "--wait", "--timeout", "50s"]));
    assert_eq!(ended.status.code(), Some(1), "{}", ended.report());
    assert_contains(
        &ended.stdout,
        &[
            "exit status: 3",
            "the end of its log:",
            "| canary: no such table",
        ],
    );
    let mut up = world.project.up(&[]);
    up.expect(&["DeployItem/", "Failed"]);
    until("the failure", || {
        world.item()["status"]["phase"] == "Failed"
    });
    let name = world.name();
    for command in [
        ["why", name.as_str()],
        ["describe", name.as_str()],
        ["why", "inst/db"],
    ] {
        let shown = world.project.landform(&command);
        assert_contains(&shown, &["exit status: 3", "| canary: no such table"]);
    }
    assert!(!world.item()["status"].to_string().contains("canary"));
    assert!(!world.project.landform(&["events"]).contains("canary"));

    // One that failed before it was ready can be stopped and started as well.
    world.project.landform(&["stop", &name]);
    assert_contains(
        &world.project.landform(&["why", &name]),
        &["was never ready", "landform start"],
    );
    let started = run(&mut world.project.command(&["start", &name]));
    assert_eq!(started.status.code(), Some(1), "{}", started.report());
    assert_contains(&started.stdout, &["has failed", "exit status: 3"]);
    world.project.landform(&["down", ".", "--yes"]);
}

#[test]
fn a_process_of_another_user_is_listed_stopped_and_started() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        not_tested("only root can start processes as other users");
        return;
    }
    let world = World::new(&json!({
        "command": ["sh", "-c", "id -un; exec sleep 1000"], "user": "nobody",
        "readiness": {"log": {"pattern": "nobody"}},
    }));
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(world.project.home.path(), open).unwrap();
    let mut up = world.project.up(&[]);
    up.expect(&["Everything is ready after "]);
    let (name, first) = (world.name(), world.pid());
    assert_eq!(world.ps()["user"], "nobody");
    assert_contains(&world.project.landform(&["logs", &name]), &["nobody"]);
    let status = std::fs::read_to_string(format!("/proc/{first}/status")).unwrap();
    assert!(
        status
            .lines()
            .any(|line| line.starts_with("Groups:") && line.trim_end() == "Groups:"),
        "{status}"
    );
    world.project.landform(&["restart", &name]);
    let second = world.pid();
    assert!(first != second && !is_running(first));
    assert_eq!(world.ps()["user"], "nobody");
    world.project.landform(&["stop", &name]);
    assert!(!is_running(second));
    world.project.landform(&["start", &name]);
    assert_eq!(world.ps()["state"], "Running");
    world.project.landform(&["down", ".", "--yes"]);
    assert!(up.finish().status.success());
}
