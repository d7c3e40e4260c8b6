//! Where the data is when nobody says so: a directory under the user's data home.

use std::path::PathBuf;

use crate::AnyError;

/// The data directory that was named, or the default one.
pub(crate) fn resolve(named: Option<PathBuf>) -> Result<PathBuf, AnyError> {
    if let Some(dir) = named {
        return Ok(dir);
    }
    let home = std::env::var_os("XDG_DATA_HOME")
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".local/share")));
    match home {
        Some(home) => Ok(home.join("landform")),
        None => Err("no home directory is known: name a directory with --data-dir".into()),
    }
}

/// Where the store keeps its files within the data directory.
pub(crate) fn store_dir(data_dir: &std::path::Path) -> PathBuf {
    data_dir.join("store")
}
