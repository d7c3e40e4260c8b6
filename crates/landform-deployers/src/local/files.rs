//! Files that deployers write: as a whole or not at all, and only where they may.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Component, Path};

use landform_process::User;
use serde::{Deserialize, Serialize};

use super::{Field, Hidden, Tree};
use crate::DeployError;

/// What a file holds. It may be secret, so nobody else can read it unless the configuration says so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct File {
    pub(crate) content: Hidden<String>,
    pub(crate) mode: u32,
}

/// Files by their paths, which are relative.
pub(crate) type Files = BTreeMap<String, File>;

/// Readable for Landform's user only.
const PRIVATE: u32 = 0o600;

/// Reads files from a configuration: a text, or an object with the text and a mode.
pub(crate) fn read_files(field: Option<Field<'_>>) -> Result<Files, DeployError> {
    let mut files = Files::new();
    for (path, field) in field.map_or(Ok(Vec::new()), |field| field.entries())? {
        if !is_inside(path) {
            return Err(field.problem("the path must be relative and without '..'"));
        }
        let (content, mode) = match field.value() {
            serde_json::Value::String(text) => (text.clone(), PRIVATE),
            _ => {
                field.only(&["content", "mode"])?;
                let mode = field
                    .get("mode")
                    .map_or(Ok(PRIVATE), |mode| read_mode(&mode))?;
                (field.require("content")?.scalar()?, mode)
            }
        };
        let content = Hidden(content);
        files.insert(path.to_owned(), File { content, mode });
    }
    Ok(files)
}

fn read_mode(field: &Field<'_>) -> Result<u32, DeployError> {
    let mode = field
        .value()
        .as_str()
        .and_then(|text| u32::from_str_radix(text, 8).ok());
    let mode = mode.filter(|mode| (0o400..=0o777).contains(mode));
    mode.ok_or_else(|| field.problem("must be an octal number as a string, for instance \"0644\""))
}

/// Whether a path stays inside the directory that it is relative to.
pub(crate) fn is_inside(path: &str) -> bool {
    let mut components = Path::new(path).components().peekable();
    components.peek().is_some()
        && !path.ends_with('/')
        && !path.contains('\0')
        && components.all(|component| matches!(component, Component::Normal(_)))
}

/// Makes a directory, with those above it, that nobody else can look into.
pub(crate) fn private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Writes those files that are not as they should be, below a directory that is there.
pub(crate) fn write_all(directory: &Path, files: &Files) -> io::Result<()> {
    let tree = Tree::open(directory)?;
    files
        .iter()
        .try_for_each(|(path, file)| tree.write(path.as_ref(), file.content.as_bytes(), file.mode))
}

/// Writes a file so that everybody sees the old one or the new one.
pub(crate) fn write_atomically(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    write_owned(path, content, mode, None)
}

/// The same; the file belongs to a user, if one is named, from the moment on when it has its name.
pub(crate) fn write_owned(
    path: &Path,
    content: &[u8],
    mode: u32,
    user: Option<&User>,
) -> io::Result<()> {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".new");
    let new = path.with_file_name(name);
    // One that was left by a crash may have another mode.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(PRIVATE)
        .open(&new)?;
    file.write_all(content)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    if let Some(user) = user {
        fchown(&file, Some(user.id), Some(user.group))?;
    }
    file.sync_all()?;
    fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_stay_inside() {
        for (path, inside) in [
            ("a", true),
            ("a/b.conf", true),
            (".hidden", true),
            ("", false),
            (".", false),
            ("a/", false),
            ("..", false),
            ("a/../../b", false),
            ("/etc/passwd", false),
        ] {
            assert_eq!(is_inside(path), inside, "{path}");
        }
    }

    #[test]
    fn files_have_their_content_and_mode() {
        let directory = tempfile::tempdir().unwrap();
        let value = json!({"a": "one", "run/b.sh": {"content": "two", "mode": "0755"}});
        let files = read_files(Some(Field::root(&value))).unwrap();
        write_all(directory.path(), &files).unwrap();
        let mode = |path: &str| {
            let found = fs::metadata(directory.path().join(path)).unwrap();
            found.permissions().mode() & 0o777
        };
        assert_eq!(
            (mode("a"), mode("run/b.sh"), mode("run")),
            (0o600, 0o755, 0o700)
        );

        let before = fs::metadata(directory.path().join("a")).unwrap();
        fs::write(directory.path().join("run/b.sh"), "meddled with").unwrap();
        write_all(directory.path(), &files).unwrap();
        let after = fs::metadata(directory.path().join("a")).unwrap();
        assert_eq!(before.modified().unwrap(), after.modified().unwrap());
        let script = fs::read_to_string(directory.path().join("run/b.sh")).unwrap();
        assert_eq!(script, "two");
        assert!(!format!("{files:?}").contains("two"));
    }

    #[test]
    fn wrong_files_are_refused() {
        for (value, problem) in [
            (
                json!({"../a": "x"}),
                "config.../a: the path must be relative and without '..'",
            ),
            (
                json!({"a": {"mode": "0644"}}),
                "config.a: content is missing",
            ),
            (
                json!({"a": {"content": "x", "mode": 644}}),
                "config.a.mode: must be an octal number as a string, for instance \"0644\"",
            ),
        ] {
            let error = read_files(Some(Field::root(&value))).unwrap_err();
            assert_eq!(error.message, problem);
        }
    }
}
