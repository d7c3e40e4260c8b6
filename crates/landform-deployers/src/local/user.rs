//! Programs that run as another user of the system, and the files that they may read and write.
//!
//! What Landform itself writes or reads stays in directories that only Landform's user can change, so that a program can
//! never lead it elsewhere by a link: the user may read them through its group. Besides there is one directory that belongs to the
//! user, in which Landform follows no links ([`Tree`]).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;

use landform_engine::Right;
use landform_process::{User, environment};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};

use super::{Field, Tree};
use crate::{DeployError, Job};

/// Whom a configuration names in `user`.
pub(crate) fn read_user(field: Option<Field<'_>>) -> Result<Option<String>, DeployError> {
    let Some(field) = field else {
        return Ok(None);
    };
    let name = field.text()?;
    if name.is_empty() {
        return Err(field.problem("names no user"));
    }
    Ok(Some(name.to_owned()))
}

/// Makes sure that the item's actor may run programs as this user (C6).
pub(crate) async fn may_run(job: &Job<'_>, user: Option<&str>) -> Result<(), DeployError> {
    job.require([right_to_run(job, user)]).await
}

/// The right to run the item's programs as this user.
pub(crate) fn right_to_run(job: &Job<'_>, user: Option<&str>) -> Right {
    let (namespace, _) = job.name();
    let own = User::current();
    Right::run(namespace, user.unwrap_or(&own.name))
}

/// The user that a program runs as, if that is another one than Landform's own.
///
/// # Errors
/// When there is no such user, or Landform can't become it.
pub(crate) fn other_user(name: Option<&str>) -> Result<Option<User>, DeployError> {
    let own = User::current();
    let Some(name) = name.filter(|name| *name != own.name) else {
        return Ok(None);
    };
    let problem =
        |what: String| DeployError::configuration("InvalidUser", format!("config.user: {what}"));
    if !own.is_root() {
        return Err(problem(format!(
            "Landform runs as {} and can't become another user: start it as root, or leave user out",
            own.name
        )));
    }
    let found = User::find(name);
    found
        .map(Some)
        .ok_or_else(|| problem("there is no such user on this machine".into()))
}

/// The environment of a program that runs as this user, or as Landform's own.
pub(crate) fn environment_of(
    user: Option<&User>,
    variables: &BTreeMap<String, String>,
) -> BTreeMap<OsString, OsString> {
    let mut all = environment(variables);
    if let Some(user) = user.filter(|_| !variables.contains_key("HOME")) {
        all.insert("HOME".into(), user.home.clone().into());
    }
    all
}

/// Lets a user reach an item's directory, and read what Landform has put into these directories of it.
///
/// # Errors
/// When a directory above the data directory is closed for the user.
pub(crate) fn let_in(user: &User, item: &Path, readable: &[&Path]) -> io::Result<()> {
    // The item, all items of its type, and the data directory: their other content stays private.
    for directory in item.ancestors().take(3) {
        let mode = fs::metadata(directory)?.permissions().mode();
        fs::set_permissions(directory, Permissions::from_mode(mode & 0o7777 | 0o011))?;
    }
    for directory in item.ancestors().skip(3) {
        let open = fs::metadata(directory)?.permissions().mode() & 0o001 != 0;
        if !directory.as_os_str().is_empty() && !open {
            return Err(io::Error::other(format!(
                "the user {} can't enter {}: start Landform with --data-dir below a directory that all users can enter, \
                 such as /var/lib",
                user.name,
                directory.display()
            )));
        }
    }
    readable
        .iter()
        .try_for_each(|path| Tree::open(path)?.show(user))
}

/// Lets the user's group enter a directory, and neither list nor change it.
pub(crate) fn let_enter(user: &User, path: &Path) -> io::Result<()> {
    chown(path, None, Some(user.group))?;
    fs::set_permissions(path, Permissions::from_mode(0o710))
}

/// Makes a directory that belongs to a user, in one that doesn't.
pub(crate) fn own_directory(user: &User, path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    std::os::unix::fs::lchown(path, Some(user.id), Some(user.group))
}

/// Makes an empty file that belongs to a user, in a directory that doesn't.
pub(crate) fn own_file(user: &User, path: &Path) -> io::Result<()> {
    let file = fs::File::create_new(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    std::os::unix::fs::fchown(file, Some(user.id), Some(user.group))
}

/// Reads a file below a directory that a program of a user, or of Landform's own, may have filled: no link leads out of it, and no
/// special file is read.
pub(crate) fn read_below(
    directory: &Path,
    path: &str,
    limit: u64,
    user: Option<&User>,
) -> io::Result<String> {
    let directory = rustix::fs::open(
        directory,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let opened = openat2(directory, path, flags, Mode::empty(), resolve);
    let file = fs::File::from(opened.map_err(|error| match error {
        rustix::io::Errno::XDEV => io::Error::other(
            "it leads out of the item's own directory, by a link for instance, and nothing outside is read: write the file itself there",
        ),
        error => error.into(),
    })?);
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is no plain file"));
    }
    // Where the system lets them, users make a second name for a file that they can't read.
    let other_name = metadata.nlink() > 1;
    if other_name && user.is_some_and(|user| user.id != metadata.uid()) {
        return Err(io::Error::other(
            "it has another name elsewhere, and isn't the user's own",
        ));
    }
    if metadata.len() > limit {
        return Err(io::Error::other("it is too long"));
    }
    let mut text = String::new();
    file.take(limit).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn c6_no_link_leads_out_of_a_directory() {
        let root = tempfile::tempdir().unwrap();
        let inside = root.path().join("work");
        fs::create_dir(&inside).unwrap();
        fs::write(root.path().join("secret"), "canary").unwrap();
        fs::write(inside.join("plain"), "text").unwrap();
        symlink("plain", inside.join("same")).unwrap();
        symlink("../secret", inside.join("out")).unwrap();
        symlink(root.path(), inside.join("up")).unwrap();
        let read = |path: &str| read_below(&inside, path, 100, None);
        assert_eq!(read("plain").unwrap(), "text");
        assert_eq!(read("same").unwrap(), "text");
        for path in ["out", "up/secret", "../secret", "/etc/passwd", "."] {
            assert!(read(path).is_err(), "{path}");
        }
        let words = read("out").unwrap_err().to_string();
        assert!(
            words.contains("leads out of the item's own directory"),
            "{words}"
        );
        assert!(read_below(&inside, "plain", 3, None).is_err());
    }

    #[test]
    fn c6_a_user_that_landform_cant_become_is_refused() {
        let own = User::current();
        assert_eq!(other_user(None).unwrap(), None);
        assert_eq!(other_user(Some(&own.name)).unwrap(), None);
        let error = other_user(Some("no such user")).unwrap_err();
        assert!(error.message.starts_with("config.user: "), "{error}");
    }
}
