//! A copy of an example, brought up as a project by the commands of its README.

use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use landform_e2e::{Lines, landform, python, run};
use tempfile::TempDir;

use crate::readme;
use crate::shop::Leftovers;

/// How a README without an installed binary calls it.
const FROM_SOURCE: &str = "cargo run --release --";

/// The command of the example of an operator.
const OPERATOR: &str = "command: [python3, notes.py]";

/// An example in a home of its own, with ports that are free here.
pub(crate) struct Example {
    // Dropped before its directory goes: processes outlive their Landform.
    _leftovers: Leftovers,
    home: TempDir,
    /// Commands are for this directory, relative to the home.
    directory: &'static str,
    /// What the page says, with the ports of this test.
    page: String,
    replaced: Vec<(String, String)>,
}

impl Example {
    /// Copies an example to where its commands expect it; its README is the page.
    pub(crate) fn new(name: &str, words: &[&str]) -> Self {
        Self::at(
            name,
            &format!("examples/{name}"),
            &format!("examples/{name}/README.md"),
            words,
        )
    }

    /// Copies an example to `to`, and follows this page. Each of the words is replaced: a port by a free one, a
    /// path by one below the home.
    pub(crate) fn at(name: &str, to: &str, page: &str, words: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let listeners: Vec<_> = words
            .iter()
            .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
            .collect();
        let pairs = words.iter().zip(&listeners).map(|(word, listener)| {
            let own = if word.starts_with('/') {
                format!("{}{word}", home.path().display())
            } else {
                listener.local_addr().unwrap().port().to_string()
            };
            ((*word).to_owned(), own)
        });
        let replaced = pairs.collect();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let page = std::fs::read_to_string(root.join(page)).unwrap();
        std::fs::create_dir_all(home.path().join("bin")).unwrap();
        symlink(landform(), home.path().join("bin/landform")).unwrap();
        let mut example = Self {
            _leftovers: Leftovers(home.path().to_path_buf()),
            home,
            directory: "",
            page: String::new(),
            replaced,
        };
        example.page = example.localized(page);
        example.copy(
            &root.join("examples").join(name),
            &example.home.path().join(to),
        );
        example
    }

    /// Has the commands run in a directory below the home.
    pub(crate) fn inside(mut self, directory: &'static str) -> Self {
        self.directory = directory;
        self
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.home.path().join(file)
    }

    fn localized(&self, text: String) -> String {
        let pairs = self.replaced.iter();
        let text = pairs.fold(text, |text, (written, own)| text.replace(written, own));
        // The operator's program needs the Python that has the client library.
        if text.contains(OPERATOR) {
            let own = format!("command: [{}, notes.py]", python().display());
            return text.replace(OPERATOR, &own);
        }
        text
    }

    fn copy(&self, from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap();
            // Somebody may have it up.
            if name == ".landform" {
                continue;
            }
            if path.is_dir() {
                self.copy(&path, &to.join(name));
            } else {
                let text = self.localized(std::fs::read_to_string(&path).unwrap());
                std::fs::write(to.join(name), text).unwrap();
            }
        }
    }

    /// A program in the directory of the commands.
    pub(crate) fn command(&self, program: &str) -> Command {
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new(program);
        command
            .current_dir(self.home.path().join(self.directory))
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .env("HOME", self.home.path())
            .env("LC_ALL", "C")
            .env_remove("KUBECONFIG");
        for variable in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            command
                .env_remove(variable)
                .env_remove(variable.to_lowercase());
        }
        command
    }

    /// Starts the `landform up` of a section, as it stands there, and waits until all is well.
    pub(crate) fn up(&self, section: &str) -> Lines {
        let script = readme::script(&self.page, section);
        let line = script.lines().find(|line| is_up(line)).unwrap();
        let line = line.replace(FROM_SOURCE, "landform");
        // A port of its own: tests run side by side.
        let line = format!("exec {line} --listen 127.0.0.1:0");
        let mut up = Lines::of(self.command("sh").args(["-c", &line]));
        up.expect(&["landform ready", "kubeconfig="]);
        up.expect(&["Watching the files"]);
        up
    }

    /// Runs the other commands of a section, and returns what they print.
    pub(crate) fn follow(&self, section: &str) -> String {
        let done = run(&mut self.shell(section));
        assert!(done.status.success(), "{section}: {}", done.report());
        done.stdout
    }

    /// As [`Self::follow`], for commands that can't succeed at this moment.
    pub(crate) fn follow_failing(&self, section: &str) -> String {
        let done = run(&mut self.shell(section));
        assert!(!done.status.success(), "{section}: {}", done.report());
        done.stdout
    }

    fn shell(&self, section: &str) -> Command {
        let script = readme::whole_script(&self.page, section);
        let elsewhere = |line: &&str| {
            let other = ["cargo ", "cp -r examples/", "cd "];
            is_up(line) || other.iter().any(|start| line.starts_with(start))
        };
        let lines: Vec<_> = script.lines().filter(|line| !elsewhere(line)).collect();
        // What was built is in PATH already.
        let script = lines.join("\n").replace("$PWD/target/release:", "");
        let mut shell = self.command("sh");
        shell.args(["-exc", &script]);
        // What a section exports is there in those after it.
        let exported = self.page.split_whitespace().find_map(|word| {
            let file = word.strip_prefix("KUBECONFIG=")?;
            file.contains(".landform/").then_some(file)
        });
        if let Some(file) = exported {
            shell.env("KUBECONFIG", file);
        }
        shell
    }
}

/// Whether this command goes on until somebody stops it.
fn is_up(line: &str) -> bool {
    line.replace(FROM_SOURCE, "landform")
        .starts_with("landform up")
}
