//! `examples/shop` with the real binary: the commands of its README, as they stand there.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use landform_e2e::{Server, run};

use crate::example::Example;
use crate::{assert_contains, readme};

/// Ports of the example that a test can't have.
const PORTS: [&str; 4] = ["7401", "7402", "7403", "7411"];

/// Processes that outlive their Landform must not outlive a test that fails.
pub(crate) struct Leftovers(pub(crate) PathBuf);

impl Drop for Leftovers {
    fn drop(&mut self) {
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let directory = std::fs::read_link(entry.path().join("cwd"));
            if directory.is_ok_and(|directory| directory.starts_with(&self.0)) {
                let _ = Command::new("kill")
                    .arg("-9")
                    .arg(entry.file_name())
                    .status();
            }
        }
    }
}

/// Whether there is such a process. One whose Landform was killed may stay as a zombie when it ends, where
/// nobody collects those.
fn is_running(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

struct Shop {
    server: Server,
    readme: String,
}

impl Shop {
    /// A server, and the example with ports that are free here.
    fn new() -> Self {
        let server = Server::start();
        let listeners = PORTS.map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
        let ports = listeners.map(|listener| listener.local_addr().unwrap().port().to_string());
        let localize = |text: String| {
            let pairs = PORTS.iter().zip(&ports);
            pairs.fold(text, |text, (written, port)| text.replace(written, port))
        };
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/shop");
        let copy = server.home().join("examples/shop");
        std::fs::create_dir_all(&copy).unwrap();
        for entry in std::fs::read_dir(example).unwrap() {
            let path = entry.unwrap().path();
            let text = localize(std::fs::read_to_string(&path).unwrap());
            std::fs::write(copy.join(path.file_name().unwrap()), text).unwrap();
        }
        // kubectl takes a README for no manifest.
        let readme = std::fs::read_to_string(copy.join("README.md")).unwrap();
        Self { server, readme }
    }

    /// Runs all commands of a section of the README, and returns what they print.
    fn follow(&self, section: &str) -> String {
        let mut shell = self.server.client("sh");
        let done = run(shell.args(["-ec", &readme::script(&self.readme, section)]));
        assert!(done.status.success(), "{}", done.report());
        done.stdout
    }

    fn processes(&self) -> Vec<String> {
        let path = "jsonpath={range .items[*]}{.status.providerStatus.pid} {end}";
        let pids = self.server.kubectl(&["get", "di", "-o", path]);
        let pids = pids.split_whitespace();
        pids.map(str::to_owned).collect()
    }

    fn page(&self) -> String {
        let told = self.follow("Kill a process");
        told.lines().last().unwrap_or_default().to_owned()
    }
}

#[test]
fn a_shop_is_a_project_as_its_readme_tells_it() {
    let shop = Example::new("shop", &PORTS);
    let up = shop.up("Up");
    let page = "<h1>Shop</h1><ul><li>coffee: 4.20</li><li>tea: 3.50</li></ul>";
    assert_contains(&shop.follow("Up"), &[page]);
    assert_contains(&shop.follow("Move the database by its file"), &[page]);
    up.interrupt();
    let ended = up.finish();
    assert!(ended.status.success(), "{}", ended.report());
    assert_contains(&shop.follow("Landform may go"), &[page]);
    let again = shop.up("Up");
    again.interrupt();
    assert!(again.finish().status.success());
    shop.follow("Down");
    assert!(!shop.follow_failing("Landform may go").contains("<h1>"));
}

#[test]
fn a_shop_as_its_readme_tells_it() {
    let mut shop = Shop::new();
    if !shop.server.kubectl_is_at_least(23) {
        return;
    }
    let _leftovers = Leftovers(shop.server.home().to_path_buf());
    let opened = shop.follow("With kubectl");
    let page = "<h1>Shop</h1><ul><li>coffee: 4.20</li><li>tea: 3.50</li></ul>";
    assert_contains(&opened, &["shop-web", page]);

    // Landform is killed and comes back: the same processes are looked after, and none is started anew.
    let before = shop.processes();
    assert_eq!(before.len(), 3);
    shop.server = shop.server.restart(|_| ());
    let items = [
        "wait",
        "installation",
        "--all",
        "--for=jsonpath={.status.phase}=Succeeded",
    ];
    shop.server.kubectl(&items);
    assert_eq!(shop.processes(), before);
    for pid in &before {
        assert!(is_running(pid), "{pid}");
    }
    // One is killed, and another one takes its place.
    assert_contains(&shop.page(), &[page]);

    assert_contains(&shop.follow("Move the database"), &[page]);
    let moved = shop.processes();
    assert_eq!(
        moved.iter().filter(|pid| before.contains(pid)).count(),
        1,
        "only the page's"
    );

    let watch = ["get", "installations", "--watch", "--output-watch-events"];
    let mut watch = shop.server.kubectl_lines(&watch);
    watch.expect(&["ADDED", "shop-web"]);
    shop.follow("Close");
    for name in ["shop-web", "shop-api", "shop-database"] {
        watch.expect(&["DELETED", name]);
    }
    for pid in moved {
        assert!(!is_running(&pid), "{pid}");
    }
}
