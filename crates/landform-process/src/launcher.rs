//! What stands between Landform and a program for a moment: goes into a control group, and becomes the program.
//!
//! Landform can't put a child into a control group before the child runs, and a program that runs could already have
//! started others. So Landform starts itself, with the door of the control group as its standard input; that process
//! goes through it, drops rights, and becomes the program, with the same number.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The first argument by which Landform knows that it is asked for this.
const WORD: &str = "__start";
/// What a shell ends with when it can't start a program.
pub const NOT_STARTED: u8 = 127;
/// Where programs are looked for when the environment doesn't say.
const USUAL_PATH: &str = "/bin:/usr/bin";

/// Does what the arguments ask for when they are those of a launcher; returns only when they are not, or with an error.
///
/// # Errors
/// Why the program can't be started.
pub fn become_program(arguments: impl IntoIterator<Item = OsString>) -> Result<(), String> {
    let mut arguments = arguments.into_iter().skip(1);
    if arguments.next().is_none_or(|word| word != WORD) {
        return Ok(());
    }
    let (user, directory) = (arguments.next(), arguments.next());
    let (Some(user), Some(directory), Some(program)) = (user, directory, arguments.next()) else {
        return Err(format!(
            "{WORD} is what Landform starts programs with: it is not for people"
        ));
    };
    // If it doesn't work the program is still found by its mark.
    let door = io::stdin().as_fd().try_clone_to_owned();
    let _ = door.and_then(|door| File::from(door).write_all(b"0"));
    let mut command = Command::new(&program);
    command
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null());
    let ids = user.to_str().and_then(|user| user.split_once(':'));
    if let Some((user, group)) = ids {
        let number = |text: &str| {
            text.parse::<u32>()
                .map_err(|_| format!("{text} is no user"))
        };
        command.uid(number(user)?).gid(number(group)?);
    }
    let error = command.exec();
    Err(format!("{} can't be started: {error}", program.display()))
}

/// The same command by way of a launcher, which lets it into the control group of that door. It runs with the variables
/// that the command was given, and no others.
///
/// # Errors
/// When there is no such program, as when it is started.
pub fn through(
    launcher: &Path,
    door: File,
    command: &Command,
    user: Option<(u32, u32)>,
) -> io::Result<Command> {
    let directory = command.get_current_dir().unwrap_or(Path::new("/"));
    let variables = || {
        command
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?)))
    };
    let path = variables().find(|(name, _)| *name == "PATH");
    let path = path.map_or(USUAL_PATH.into(), |(_, path)| path.to_owned());
    find(Path::new(command.get_program()), directory, &path)?;
    let user = user.map_or("-".to_owned(), |(user, group)| format!("{user}:{group}"));
    let mut through = Command::new(launcher);
    through
        .arg(WORD)
        .arg(user)
        .arg(directory)
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear()
        .envs(variables())
        .current_dir("/")
        .stdin(door);
    Ok(through)
}

/// Where a program is.
fn find(program: &Path, directory: &Path, path: &OsString) -> io::Result<PathBuf> {
    if program.components().count() != 1 || program.as_os_str().as_encoded_bytes().contains(&b'/') {
        return executable(directory.join(program));
    }
    let mut worst = io::Error::from_raw_os_error(rustix::io::Errno::NOENT.raw_os_error());
    for place in std::env::split_paths(path) {
        match executable(directory.join(place).join(program)) {
            Ok(found) => return Ok(found),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => worst = error,
            Err(_) => {}
        }
    }
    Err(worst)
}

fn executable(path: PathBuf) -> io::Result<PathBuf> {
    let metadata = path.metadata()?;
    if metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 {
        return Ok(path);
    }
    Err(io::Error::from_raw_os_error(
        rustix::io::Errno::ACCESS.raw_os_error(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn only_its_own_arguments_concern_it() {
        assert_eq!(become_program(words(&["landform", "up"])), Ok(()));
        assert_eq!(become_program(words(&["landform"])), Ok(()));
        assert!(become_program(words(&["landform", WORD, "-"])).is_err());
    }

    #[test]
    fn programs_are_found_as_the_system_finds_them() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("run"), "").unwrap();
        std::fs::write(at("text"), "").unwrap();
        std::fs::set_permissions(at("run"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = OsString::from(format!("/nowhere:{}", directory.path().display()));
        let kind = |program: &str| {
            find(Path::new(program), directory.path(), &path).map_err(|error| error.kind())
        };
        assert_eq!(kind("run"), Ok(at("run")));
        assert_eq!(kind("./run"), Ok(at("./run")));
        assert_eq!(kind("text"), Err(io::ErrorKind::PermissionDenied));
        assert_eq!(kind("./text"), Err(io::ErrorKind::PermissionDenied));
        assert_eq!(kind("absent"), Err(io::ErrorKind::NotFound));
        assert_eq!(kind("/absent/run"), Err(io::ErrorKind::NotFound));
    }
}
