//! A directory of an item, parts of which may belong to the user that a program runs as.
//!
//! Landform writes, reads and removes here with its own rights, which may be those of root, while a program changes the parts that
//! are its own. So no link is followed: each part of a path is opened from the one before it. New files and directories are made
//! at the top, which only Landform can change, get their owner there, and are then moved to their place: a program can't put
//! anything else under a name that Landform is about to work on.

use std::ffi::OsStr;
use std::fs::{File, Metadata, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
use std::path::{Component, Path};

use landform_process::User;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

/// A file on its way to its place.
const NEW_FILE: &str = ".landform-new-file";
/// A directory on its way to its place.
const NEW_DIRECTORY: &str = ".landform-new-directory";
/// Of directories: nobody else can look into them.
const DIRECTORY_MODE: u32 = 0o700;

/// The top of a tree. Only Landform's user may change the top itself.
pub(crate) struct Tree {
    top: OwnedFd,
}

impl Tree {
    /// A directory that is there, in one that no program can change.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let top = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Self { top })
    }

    /// Makes a directory with those above it. What is made belongs to the owner of the directory that it is in.
    pub(crate) fn make_directory(&self, path: &Path) -> io::Result<()> {
        self.directory(path, Missing::IsMade).map(|_| ())
    }

    /// Writes a file, unless it is as it should be, so that everybody sees the old one or the new one. It belongs to the owner of
    /// the directory that it is in.
    pub(crate) fn write(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
        let (parent, name) = self.place(path, Missing::IsMade)?;
        let parent = File::from(parent);
        let owner = parent.metadata()?;
        if is_same(&parent, name, content, mode, &owner) {
            return Ok(());
        }
        // One that was left by a crash.
        absent_is_fine(rustix::fs::unlinkat(&self.top, NEW_FILE, AtFlags::empty()))?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let private = Mode::from_raw_mode(0o600);
        let file = rustix::fs::openat(&self.top, NEW_FILE, flags, private)?;
        let mut file = File::from(file);
        file.write_all(content)?;
        file.set_permissions(Permissions::from_mode(mode))?;
        give(&file, &owner)?;
        file.sync_all()?;
        Ok(rustix::fs::renameat(&self.top, NEW_FILE, &parent, name)?)
    }

    /// Removes a file. One that is gone is fine, and so is a directory in its place, which is the program's own.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        let place = match self.place(path, Missing::IsAnError) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            place => place?,
        };
        let (parent, name) = place;
        match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
            Err(Errno::ISDIR) => Ok(()),
            removed => absent_is_fine(removed),
        }
    }

    /// Lets a user's group read all that is Landform's own, and change nothing.
    pub(crate) fn show(&self, user: &User) -> io::Result<()> {
        show(user, File::from(self.top.as_fd().try_clone_to_owned()?))
    }

    fn place<'a>(&self, path: &'a Path, missing: Missing) -> io::Result<(OwnedFd, &'a OsStr)> {
        let name = path.file_name().ok_or(Errno::INVAL)?;
        let parent = path.parent().unwrap_or(Path::new(""));
        Ok((self.directory(parent, missing)?, name))
    }

    fn directory(&self, path: &Path, missing: Missing) -> io::Result<OwnedFd> {
        let mut directory = self.top.as_fd().try_clone_to_owned()?;
        for component in path.components() {
            let name = match component {
                Component::Normal(name) => name,
                Component::CurDir => continue,
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(Errno::INVAL.into());
                }
            };
            directory = match (enter(&directory, name), missing) {
                (Err(Errno::NOENT), Missing::IsMade) => {
                    self.make(&directory, name)?;
                    enter(&directory, name)
                }
                (entered, _) => entered,
            }
            .map_err(|error| match error {
                Errno::NOTDIR | Errno::LOOP => no_directory(path),
                error => error.into(),
            })?;
        }
        Ok(directory)
    }

    fn make(&self, parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
        absent_is_fine(rustix::fs::unlinkat(
            &self.top,
            NEW_DIRECTORY,
            AtFlags::REMOVEDIR,
        ))?;
        let mode = Mode::from_raw_mode(DIRECTORY_MODE);
        rustix::fs::mkdirat(&self.top, NEW_DIRECTORY, mode)?;
        let made = File::from(enter(&self.top, NEW_DIRECTORY.as_ref())?);
        let owner = File::from(parent.try_clone()?).metadata()?;
        give(&made, &owner)?;
        let (from, flags) = (NEW_DIRECTORY, RenameFlags::NOREPLACE);
        match rustix::fs::renameat_with(&self.top, from, parent, name, flags) {
            // A program was faster: what it made is looked at as anything else.
            Err(Errno::EXIST) => Ok(()),
            moved => Ok(moved?),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    IsMade,
    IsAnError,
}

fn enter(directory: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(directory, name, flags, Mode::empty())
}

/// Whether something is a file that Landform would write just so.
fn is_same(parent: &File, name: &OsStr, content: &[u8], mode: u32, owner: &Metadata) -> bool {
    let Ok(Some(found)) = open_file(parent, name) else {
        return false;
    };
    let same = found.metadata().is_ok_and(|found| {
        found.is_file()
            && found.uid() == owner.uid()
            && found.permissions().mode() & 0o7777 == mode
            && Some(found.len()) == u64::try_from(content.len()).ok()
    });
    // A program may make it longer meanwhile.
    let mut bytes = Vec::new();
    let limit = content.len() as u64 + 1;
    same && found.take(limit).read_to_end(&mut bytes).is_ok() && bytes == content
}

/// Opens what is there without waiting for it; a link is nothing that can be opened.
fn open_file(directory: &File, name: &OsStr) -> io::Result<Option<File>> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    match rustix::fs::openat(directory, name, flags, Mode::empty()) {
        Ok(file) => Ok(Some(file.into())),
        // Links, sockets and devices without a driver.
        Err(Errno::LOOP | Errno::NXIO | Errno::NODEV | Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Gives what Landform has made to the owner of the directory that it goes to.
fn give(made: &File, owner: &Metadata) -> io::Result<()> {
    if owner.uid() == User::current().id {
        return Ok(());
    }
    fchown(made, Some(owner.uid()), Some(owner.gid()))
}

fn show(user: &User, found: File) -> io::Result<()> {
    let metadata = found.metadata()?;
    let plain = metadata.is_dir() || metadata.is_file();
    if !plain || metadata.uid() != User::current().id {
        return Ok(());
    }
    fchown(&found, None, Some(user.group))?;
    // As the owner may, but for writing.
    let mode = metadata.permissions().mode() & 0o7777;
    let group = (mode & 0o500) >> 3;
    found.set_permissions(Permissions::from_mode(mode & !0o070 | group))?;
    if metadata.is_dir() {
        for entry in Dir::read_from(&found)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if let Some(inner) = open_file(&found, name)? {
                show(user, inner)?;
            }
        }
    }
    Ok(())
}

fn absent_is_fine(done: Result<(), Errno>) -> io::Result<()> {
    match done {
        Err(error) if error != Errno::NOENT => Err(error.into()),
        _ => Ok(()),
    }
}

fn no_directory(path: &Path) -> io::Error {
    io::Error::new(
        io::ErrorKind::NotADirectory,
        format!(
            "{}: a part of it is a link or a file, and Landform follows no links here",
            path.display()
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// A tree, and beside it what no operation may touch: `keep` with a text, and a directory with the same.
    fn place() -> (tempfile::TempDir, Tree) {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("work/a/b")).unwrap();
        fs::create_dir_all(root.path().join("outside/b")).unwrap();
        for file in ["outside/keep", "outside/b/keep"] {
            fs::write(root.path().join(file), "canary").unwrap();
        }
        let tree = Tree::open(&root.path().join("work")).unwrap();
        (root, tree)
    }

    fn state(directory: &Path) -> Vec<(String, String, u32)> {
        let mut found = Vec::new();
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            if metadata.is_dir() {
                found.extend(state(&path));
            }
            let text = fs::read_to_string(&path).unwrap_or_default();
            found.push((
                path.display().to_string(),
                text,
                metadata.permissions().mode(),
            ));
        }
        found.sort();
        found
    }

    type Operation = fn(&Tree, &Path) -> io::Result<()>;
    const OPERATIONS: [(&str, Operation); 4] = [
        ("write", |tree, path| tree.write(path, b"evil", 0o755)),
        ("remove", Tree::remove),
        ("mkdir", Tree::make_directory),
        ("chown", |tree, _| tree.show(&User::current())),
    ];

    #[test]
    fn c6_no_part_of_a_path_that_is_a_link_leads_an_operation_outside() {
        // Which part of the path a/b/keep is a link, and to what.
        let links = [
            ("a", "../outside"),
            ("a/b", "../../outside"),
            ("a/b", "../../outside/b"),
            ("a/b/keep", "../../../outside/keep"),
            ("a/b/keep", "../../../outside/b"),
            ("a/b/keep", "../../../outside/absent"),
            (NEW_FILE, "../outside/keep"),
        ];
        for (name, operation) in OPERATIONS {
            for (link, target) in links {
                let (root, tree) = place();
                let outside = root.path().join("outside");
                let before = state(&outside);
                let link_path = root.path().join("work").join(link);
                if link_path.is_dir() {
                    fs::remove_dir_all(&link_path).unwrap();
                }
                symlink(target, &link_path).unwrap();
                for path in ["a/b/keep", "a/b/keep/deeper", "a/b/new/deeper"] {
                    // Whether it is refused or done inside, nothing happens outside.
                    let _ = operation(&tree, Path::new(path));
                    assert_eq!(state(&outside), before, "{name} {path}, {link} -> {target}");
                }
            }
        }
    }

    #[test]
    fn c6_a_path_with_a_link_in_it_is_refused_with_words() {
        let (root, tree) = place();
        symlink("../../outside", root.path().join("work/a/link")).unwrap();
        let error = tree.write(Path::new("a/link/keep"), b"evil", 0o600);
        let error = error.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
        assert!(error.to_string().contains("follows no links"), "{error}");
        for path in ["../outside/keep", "/etc/passwd", "a/../../outside/keep"] {
            assert!(
                tree.write(Path::new(path), b"evil", 0o600).is_err(),
                "{path}"
            );
            assert!(tree.remove(Path::new(path)).is_err(), "{path}");
        }
    }

    #[test]
    fn what_is_there_is_replaced_removed_and_left_when_it_is_the_same() {
        let (root, tree) = place();
        let path = root.path().join("work/c/d/file");
        tree.write(Path::new("c/d/file"), b"one", 0o640).unwrap();
        let first = fs::metadata(&path).unwrap();
        assert_eq!(first.permissions().mode() & 0o777, 0o640);
        tree.write(Path::new("c/d/file"), b"one", 0o640).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().ino(), first.ino());
        // What a crash has left doesn't matter.
        fs::write(root.path().join("work").join(NEW_FILE), "half").unwrap();
        fs::create_dir(root.path().join("work").join(NEW_DIRECTORY)).unwrap();
        tree.write(Path::new("c/d/file"), b"two", 0o600).unwrap();
        tree.make_directory(Path::new("e/f")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        for _ in 0..2 {
            tree.remove(Path::new("c/d/file")).unwrap();
            tree.remove(Path::new("e/f")).unwrap();
        }
        assert!(!path.exists() && root.path().join("work/e/f").is_dir());
        let left = fs::read_dir(root.path().join("work")).unwrap();
        let left = left.map(|entry| entry.unwrap().file_name());
        assert!(
            left.into_iter()
                .all(|name| !name.to_string_lossy().starts_with('.'))
        );
    }

    #[test]
    fn c6_what_a_special_file_holds_is_not_waited_for() {
        let (root, tree) = place();
        let fifo = std::process::Command::new("mkfifo")
            .arg(root.path().join("work/a/keep"))
            .status();
        assert!(fifo.unwrap().success());
        tree.show(&User::current()).unwrap();
        tree.write(Path::new("a/keep"), b"mine", 0o600).unwrap();
        assert_eq!(
            fs::read_to_string(root.path().join("work/a/keep")).unwrap(),
            "mine"
        );
    }
}
