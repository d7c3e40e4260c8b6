//! The programs that the tests need beside cargo: found on PATH, or installed.
//!
//! kubectl and etcd come from the Debian packages, the Python clients from pip into a virtual
//! environment under `.tools/`. Nothing outside `.tools/` and the package manager is touched.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, find};
use crate::{Outcome, repository, say};

/// The Python packages that the tests use, with their versions.
const REQUIREMENTS: &str = "crates/landform-e2e/requirements.txt";

/// The variables that tell the tests where the programs are.
///
/// # Errors
/// When a program is missing and can't be installed; the message says what to run.
pub fn prepare() -> Outcome<Vec<(&'static str, OsString)>> {
    let kubectl = program("kubectl", "kubernetes-client")?;
    // The README of an example asks its processes with it.
    program("curl", "curl")?;
    // Terminals for tests of what people see.
    program("script", "bsdutils")?;
    let etcd = etcd()?;
    let python = python()?;
    Ok(vec![
        ("LANDFORM_TEST_KUBECTL", kubectl.into()),
        etcd,
        ("LANDFORM_TEST_PYTHON", python.into()),
    ])
}

/// The variable that tells where etcd is.
///
/// # Errors
/// When it is missing and can't be installed; the message says what to run.
pub fn etcd() -> Outcome<(&'static str, OsString)> {
    Ok(("LANDFORM_TEST_ETCD", program("etcd", "etcd-server")?.into()))
}

fn program(name: &str, package: &str) -> Outcome<PathBuf> {
    if let Some(found) = find(name) {
        return Ok(found);
    }
    install(name, package)?;
    find(name).ok_or_else(|| {
        format!("the package {package} is installed, but {name} is not on PATH: add it to PATH")
    })
}

/// Installs a Debian package, as root or through sudo when that asks for no password.
fn install(what: &str, package: &str) -> Outcome {
    let by_hand = format!("{what} is missing: install it (on Debian: apt-get install {package})");
    if find("apt-get").is_none() {
        return Err(by_hand);
    }
    let root = process::output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    let sudo = || {
        find("sudo").is_some() && process::output(Command::new("sudo").args(["-n", "true"])).is_ok()
    };
    if !root && !sudo() {
        return Err(format!(
            "{by_hand}; this needs root, and sudo without a password is not there"
        ));
    }
    let apt = |arguments: &[&str]| {
        let mut command = if root {
            Command::new("apt-get")
        } else {
            Command::new("sudo")
        };
        if !root {
            command.args(["-n", "apt-get"]);
        }
        command
            .env("DEBIAN_FRONTEND", "noninteractive")
            .args(arguments);
        quietly(&mut command)
    };
    say(&format!("installing {package}"));
    let install = ["install", "--yes", "--no-install-recommends", package];
    // The lists of packages may be too old or absent: fetch them only when that is so.
    apt(&install)
        .or_else(|_| apt(&["update"]).and_then(|()| apt(&install)))
        .map_err(|error| format!("{by_hand}\napt-get could not: {error}"))
}

/// The Python of a virtual environment that holds the packages of [`REQUIREMENTS`].
fn python() -> Outcome<PathBuf> {
    let environment = repository::root().join(".tools/venv");
    let python = environment.join("bin/python");
    let wanted = repository::read(Path::new(REQUIREMENTS))?;
    let stamp = environment.join("installed.txt");
    if python.exists() && fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(python);
    }
    let system = program("python3", "python3")?;
    let create = || {
        let mut command = Command::new(&system);
        quietly(command.args(["-m", "venv", "--clear"]).arg(&environment))
    };
    say("installing the Python clients into .tools/venv");
    // Debian keeps the module in a package of its own.
    create()
        .or_else(|_| install("the Python module venv", "python3-venv").and_then(|()| create()))?;
    let mut pip = Command::new(&python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--requirement",
    ]);
    pip.arg(repository::root().join(REQUIREMENTS));
    quietly(&mut pip)?;
    fs::write(&stamp, wanted)
        .map_err(|error| format!("can't write {}: {error}", stamp.display()))?;
    Ok(python)
}

/// Runs an installer; what it prints is shown only when it fails, and without addresses, because
/// the name of a mirror is nobody's business.
fn quietly(command: &mut Command) -> Outcome {
    process::output(command)
        .map(drop)
        .map_err(|error| without_addresses(&error))
}

fn without_addresses(text: &str) -> String {
    let word = |word: &str| match word.find("://") {
        Some(at) => format!("{}://…", &word[..at]),
        None => word.to_owned(),
    };
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::without_addresses;

    #[test]
    fn addresses_are_left_out_of_messages() {
        let text = "Err:1 http://mirror.example:80/debian x\nE: failed (https://u:p@host/)";
        assert_eq!(
            without_addresses(text),
            "Err:1 http://… x\nE: failed (https://…"
        );
    }
}
