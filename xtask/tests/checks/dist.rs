//! The archive for machines without Rust: packed, unpacked into a directory of its own, and used from there.

use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::{Outcome, dist, process};

/// The binary under test; built when nothing names one.
fn landform() -> Outcome<PathBuf> {
    if let Some(binary) = std::env::var_os("LANDFORM_TEST_BINARY") {
        return Ok(binary.into());
    }
    process::run(process::cargo().args(["build", "--workspace", "--bin", "landform"]))?;
    Ok(process::binary("landform"))
}

#[test]
fn the_archive_is_unpacked_and_runs() {
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dist");
    let _ = std::fs::remove_dir_all(&work);
    let archive = dist::pack(&landform().unwrap(), &work).unwrap();
    let name = archive.file_name().unwrap().to_string_lossy().into_owned();
    assert!(
        name.starts_with("landform-") && name.ends_with(".tar.gz"),
        "{name}"
    );

    let local = work.join("usr/local");
    std::fs::create_dir_all(&local).unwrap();
    let mut tar = Command::new("tar");
    tar.arg("xzf").arg(&archive).arg("-C").arg(&local);
    process::output(tar.arg("--strip-components=1")).unwrap();
    for file in [
        "share/man/man1/landform.1",
        "share/man/man1/landform-up.1",
        "share/bash-completion/completions/landform",
        "share/zsh/site-functions/_landform",
        "share/fish/vendor_completions.d/landform.fish",
        "share/doc/landform/LICENSE",
    ] {
        let length = std::fs::metadata(local.join(file)).map(|found| found.len());
        assert!(length.is_ok_and(|length| length > 100), "{file}");
    }
    // Not only its version: it does something without anything of ours around it.
    let mut program = Command::new(local.join("bin/landform"));
    program.env_clear().current_dir(&work);
    let made = process::output(program.args(["new", "project", "shop"])).unwrap();
    assert!(made.contains("shop/landform.yaml"), "{made}");
    let mut bash = Command::new("bash");
    let completions = local.join("share/bash-completion/completions/landform");
    process::output(bash.arg("-n").arg(completions)).unwrap();
}
