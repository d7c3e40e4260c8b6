//! Finding the binary under test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The path of the binary `landform`, built from the sources as they are now.
///
/// `cargo xtask test` builds it once and names it in `LANDFORM_TEST_BINARY`. Without that, cargo is
/// asked to build it, so that a test by hand never runs against an old one.
///
/// # Panics
/// When the binary can't be built.
pub fn landform() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match std::env::var_os("LANDFORM_TEST_BINARY") {
        Some(path) => path.into(),
        None => build(),
    })
}

fn build() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = [
        "build",
        "--package",
        "landform",
        "--message-format",
        "json-render-diagnostics",
    ];
    let output = Command::new(cargo)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("can't run cargo: {error}"));
    let messages = String::from_utf8_lossy(&output.stdout);
    let executable = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == "landform")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from));
    executable.unwrap_or_else(|| {
        panic!(
            "can't build landform:\n{}",
            String::from_utf8_lossy(&output.stderr)
        )
    })
}
