//! `examples/operator` with the real binary: a Python operator goes through three versions, a failed one and
//! back, by the commands of its README.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use landform_e2e::{Server, landform, python, run};
use tempfile::TempDir;

use crate::example::Example as Project;
use crate::shop::Leftovers;
use crate::{assert_contains, readme};

struct Example {
    server: Server,
    directory: TempDir,
    readme: String,
}

impl Example {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/operator");
        copy(&source, directory.path());
        // As if it were installed.
        std::fs::create_dir(directory.path().join("bin")).unwrap();
        symlink(landform(), directory.path().join("bin/landform")).unwrap();
        let readme = std::fs::read_to_string(source.join("README.md")).unwrap();
        let server = Server::start_with(&["--catalogs", directory.path().to_str().unwrap()]);
        Self {
            server,
            directory,
            readme,
        }
    }

    /// Runs all commands of a section of the README, and returns what they print.
    fn follow(&self, section: &str) -> String {
        let script = readme::script(&self.readme, section);
        let path = std::env::var("PATH").unwrap();
        let bin = self.directory.path().join("bin");
        let mut shell = self.server.client("sh");
        shell
            .current_dir(self.directory.path())
            .env("PATH", format!("{}:{path}", bin.display()));
        let done = run(shell.args(["-exc", &script]));
        assert!(
            done.status.success(),
            "{}\n{}",
            done.report(),
            self.server.log()
        );
        done.stdout
    }

    fn uid(&self) -> String {
        let uid = [
            "get",
            "cm",
            "note-shopping",
            "-o",
            "jsonpath={.metadata.uid}",
        ];
        self.server.kubectl(&uid)
    }
}

/// Copies a directory; programs are run by the Python that has the client library.
fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy(&path, &target);
        } else {
            let text = std::fs::read_to_string(&path).unwrap();
            let python = python();
            let program = format!("command: [{}, notes.py]", python.display());
            let text = text.replace("command: [python3, notes.py]", &program);
            std::fs::write(target, text).unwrap();
        }
    }
}

#[test]
fn an_operator_is_a_project_as_its_readme_tells_it() {
    let example = Project::at("operator", "operator", "examples/operator/README.md", &[]);
    let example = example.inside("operator");
    let up = example.up("Up");
    let seen = example.follow("Up");
    assert_contains(&seen, &["notes.v1.0.0", "notes.v1.1.0", "Succeeded"]);
    up.interrupt();
    assert!(up.finish().status.success());
    example.follow("Down");
}

#[test]
fn an_operator_as_its_readme_tells_it() {
    let example = Example::new();
    if !example.server.kubectl_is_at_least(23) {
        return;
    }
    let _leftovers = Leftovers(example.server.home().to_path_buf());
    let installed = example.follow("Install");
    assert_contains(&installed, &["notes.v1.0.0", "Succeeded", "2.0.0"]);
    let uid = example.uid();

    // Both options, and the resource is the same one all the way.
    let upgraded = example.follow("Upgrade");
    assert_contains(
        &upgraded,
        &["notes.v1.1.0", "may go up to 2.0.0", "2.0.0 runs"],
    );
    assert_eq!(example.uid(), uid);

    let failed = example.follow("Fail");
    let message = "2.0.0 goes on running";
    assert_contains(
        &failed,
        &[
            "2.1.0 failed",
            message,
            "2.0.0 runs",
            "a rollback left 2.1.0",
        ],
    );
    let versions = example.server.kubectl(&["get", "opv", "-o", "name"]);
    assert_eq!(
        versions,
        "operatorversion.catalog.landform.dev/notes.v2.0.0"
    );

    let back = example.follow("Go back");
    assert_contains(&back, &["1.1.0 runs"]);
    assert_eq!(example.uid(), uid, "it was handed back, not made anew");

    let removed = example.follow("Remove");
    assert_contains(&removed, &["note.notes.example.com/shopping"]);
    assert!(!removed.contains("configmap/note-shopping"), "{removed}");
    assert!(!removed.contains("operatorversion.catalog"), "{removed}");
    assert!(!removed.contains("deployitem.landscaper"), "{removed}");
}
