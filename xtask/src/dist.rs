//! `cargo xtask dist`: an archive with the binary, manual pages and completions, for machines without Rust.
//!
//! What is in it lies as below `/usr/local`, so that unpacking it there is the whole installation.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::{Outcome, process, repository, say};

/// Where each shell looks for completions, below the archive's root.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/landform"),
    ("zsh", "share/zsh/site-functions/_landform"),
    ("fish", "share/fish/vendor_completions.d/landform.fish"),
];

/// Arguments of `cargo xtask dist`.
#[derive(Args)]
pub struct Arguments {
    /// Pack this binary instead of a release build.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Write the archive into this directory [default: target/dist].
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Builds the binary and packs the archive.
///
/// # Errors
/// When the build fails, the binary doesn't run, or the archive can't be written.
pub fn run(arguments: &Arguments) -> Outcome {
    let binary = match &arguments.binary {
        Some(binary) => binary.clone(),
        None => {
            let build = ["build", "--release", "--locked", "--package", "landform"];
            process::run(process::cargo().args(build))?;
            process::target().join("release/landform")
        }
    };
    let out = arguments.out.clone();
    let out = out.unwrap_or_else(|| process::target().join("dist"));
    let archive = pack(&binary, &out)?;
    say(&format!("wrote {}", archive.display()));
    Ok(())
}

/// Packs a binary with all that it says about itself; returns the archive.
///
/// # Errors
/// When the binary doesn't run, or the archive can't be written.
pub fn pack(binary: &Path, out: &Path) -> Outcome<PathBuf> {
    let version = process::output(Command::new(binary).arg("--version"))?;
    let version = version.split_whitespace().last().unwrap_or_default();
    let (system, machine) = (std::env::consts::OS, std::env::consts::ARCH);
    let name = format!("landform-{version}-{system}-{machine}");
    let root = out.join(&name);
    // What an earlier version had doesn't belong into this one.
    if root.exists() {
        std::fs::remove_dir_all(&root).map_err(|error| unwritable(&root, &error))?;
    }
    let pages = root.join("share/man/man1");
    make_directory(&pages)?;
    process::output(Command::new(binary).args(["man", "--dir"]).arg(&pages))?;
    for (shell, path) in COMPLETIONS {
        let script = process::output(Command::new(binary).args(["completion", shell]))?;
        write(&root.join(path), script.as_bytes())?;
    }
    for file in ["LICENSE", "README.md", "CHANGELOG.md"] {
        let target = root.join("share/doc/landform").join(file);
        copy(&repository::root().join(file), &target)?;
    }
    let program = root.join("bin/landform");
    copy(binary, &program)?;
    // Lines of our own sources are of use in backtraces, and are most of the file.
    if process::find("strip").is_some() {
        process::output(Command::new("strip").arg("--strip-debug").arg(&program))?;
    }
    let archive = out.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.arg("--owner=0").arg("--group=0").arg("--sort=name");
    process::output(tar.arg("-C").arg(out).arg("-czf").arg(&archive).arg(&name))?;
    Ok(archive)
}

fn copy(from: &Path, to: &Path) -> Outcome {
    make_directory(to.parent().unwrap_or(to))?;
    std::fs::copy(from, to).map_err(|error| unwritable(to, &error))?;
    Ok(())
}

fn write(file: &Path, content: &[u8]) -> Outcome {
    make_directory(file.parent().unwrap_or(file))?;
    std::fs::write(file, content).map_err(|error| unwritable(file, &error))
}

fn make_directory(directory: &Path) -> Outcome {
    std::fs::create_dir_all(directory).map_err(|error| unwritable(directory, &error))
}

fn unwritable(path: &Path, error: &std::io::Error) -> String {
    format!("can't write {}: {error}", path.display())
}
