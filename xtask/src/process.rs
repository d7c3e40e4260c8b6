//! Running other programs.

use std::path::PathBuf;
use std::process::Command;

use crate::{Outcome, repository, say};

/// `cargo` as it was called, in the root of the repository.
#[must_use]
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(repository::root());
    command
}

/// Runs a program and lets it talk to the terminal.
///
/// # Errors
/// When it can't be started or fails.
pub fn run(command: &mut Command) -> Outcome {
    let shown = shown(command);
    say(&format!("$ {shown}"));
    let status = command
        .status()
        .map_err(|error| format!("can't run `{shown}`: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{shown}` failed ({status})"))
    }
}

/// Runs a program and returns what it prints on stdout.
///
/// # Errors
/// When it can't be started, fails, or prints something that is no text.
pub fn output(command: &mut Command) -> Outcome<String> {
    let shown = shown(command);
    let output = command
        .output()
        .map_err(|error| format!("can't run `{shown}`: {error}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{shown}` failed ({}):\n{stderr}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{shown}` printed no UTF-8"))
}

/// Where cargo puts what it builds.
#[must_use]
pub fn target() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    target.map_or_else(|| repository::root().join("target"), PathBuf::from)
}

/// Where cargo puts a program of ours in a debug build.
#[must_use]
pub fn binary(name: &str) -> PathBuf {
    target().join("debug").join(name)
}

/// Where a program is found on PATH.
#[must_use]
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

fn shown(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program());
    let words = std::iter::once(name).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}
