//! kubectl and Python with the server's kubeconfig and a home of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::process::{Finished, Lines, run, run_with_input};
use crate::server::Server;

/// The path of a file under `tests/` of this crate.
#[must_use]
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name)
}

/// The Python that has the client libraries: `LANDFORM_TEST_PYTHON`, or that of `.tools/venv`.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn python() -> PathBuf {
    if let Some(python) = std::env::var_os("LANDFORM_TEST_PYTHON") {
        return python.into();
    }
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/venv/bin/python");
    assert!(
        tools.exists(),
        "the Python clients are missing: run `cargo xtask test`"
    );
    tools
}

impl Server {
    /// A program that finds the server by its kubeconfig and nothing else of ours.
    #[must_use]
    pub fn client(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.home());
        command
            .env("HOME", self.home())
            .env("KUBECONFIG", self.kubeconfig())
            .env("LC_ALL", "C");
        for variable in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            command
                .env_remove(variable)
                .env_remove(variable.to_lowercase());
        }
        command
    }

    /// kubectl with these arguments, not started yet.
    #[must_use]
    pub fn kubectl_command(&self, arguments: &[&str]) -> Command {
        let program = std::env::var_os("LANDFORM_TEST_KUBECTL").unwrap_or_else(|| "kubectl".into());
        let mut command = self.client(program);
        command.args(arguments);
        command
    }

    /// Runs kubectl to its end, however that is.
    #[must_use]
    pub fn try_kubectl(&self, arguments: &[&str]) -> Finished {
        run(&mut self.kubectl_command(arguments))
    }

    /// Runs kubectl, which must succeed, and returns its stdout without the last line end.
    ///
    /// # Panics
    /// When kubectl fails.
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        succeeded(&self.try_kubectl(arguments))
    }

    /// Runs kubectl with a text on stdin (`-f -`); it must succeed.
    ///
    /// # Panics
    /// When kubectl fails.
    pub fn kubectl_with(&self, arguments: &[&str], input: &str) -> String {
        succeeded(&run_with_input(&mut self.kubectl_command(arguments), input))
    }

    /// Runs kubectl, which must fail, and returns its stderr.
    ///
    /// # Panics
    /// When kubectl succeeds.
    pub fn kubectl_fails(&self, arguments: &[&str]) -> String {
        failed(&self.try_kubectl(arguments))
    }

    /// Runs kubectl with a text on stdin; it must fail.
    ///
    /// # Panics
    /// When kubectl succeeds.
    pub fn kubectl_with_fails(&self, arguments: &[&str], input: &str) -> String {
        failed(&run_with_input(&mut self.kubectl_command(arguments), input))
    }

    /// Applies manifests.
    ///
    /// # Panics
    /// When kubectl fails.
    pub fn apply(&self, manifests: &str) -> String {
        self.kubectl_with(&["apply", "-f", "-"], manifests)
    }

    /// Runs kubectl with `-o json` and returns what it prints.
    ///
    /// # Panics
    /// When kubectl fails or prints something else.
    #[must_use]
    pub fn kubectl_json(&self, arguments: &[&str]) -> Value {
        let text = self.kubectl(&[arguments, &["-o", "json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in:\n{text}"))
    }

    /// Starts kubectl in the background.
    #[must_use]
    pub fn kubectl_lines(&self, arguments: &[&str]) -> Lines {
        Lines::of(&mut self.kubectl_command(arguments))
    }

    /// Whether kubectl is at least this version; says so on stderr when it is not, because the test
    /// then leaves something out.
    #[must_use]
    pub fn kubectl_is_at_least(&self, minor: u32) -> bool {
        let version = self.kubectl_json(&["version", "--client"]);
        let found = version["clientVersion"]["minor"]
            .as_str()
            .unwrap_or_default();
        let found = found
            .trim_end_matches('+')
            .parse::<u32>()
            .unwrap_or_default();
        if found < minor {
            left_out(&format!(
                "kubectl 1.{found} can't do this, 1.{minor} could: left out"
            ));
        }
        found >= minor
    }

    /// Runs a Python program of `tests/` to its end; it must succeed.
    ///
    /// # Panics
    /// When it fails.
    pub fn python(&self, script: &str, arguments: &[&str]) -> String {
        let mut command = self.client(python());
        succeeded(&run(command.arg(fixture(script)).args(arguments)))
    }
}

#[expect(
    clippy::print_stderr,
    reason = "a part that is left out must not look like a passed one"
)]
fn left_out(message: &str) {
    eprintln!("{message}");
}

fn succeeded(finished: &Finished) -> String {
    assert!(
        finished.status.success(),
        "this should succeed:\n{}",
        finished.report()
    );
    finished.stdout.trim_end_matches('\n').to_owned()
}

fn failed(finished: &Finished) -> String {
    assert!(
        !finished.status.success(),
        "this should fail:\n{}",
        finished.report()
    );
    finished.stderr.trim_end_matches('\n').to_owned()
}
