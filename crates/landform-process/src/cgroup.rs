//! Control groups (version 2), where this process may make some: what a program starts stays in the one in which the
//! program was started, whatever it does to its environment, its session and its parents.
//!
//! They are made below the one that Landform is in: root may do that everywhere, a unit of systemd with `Delegate=yes`,
//! and what runs below a user's own systemd. No controller is needed, so that nothing is limited by it.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// With this variable set to `off` no control groups are made.
pub const SWITCH: &str = "LANDFORM_CGROUPS";
/// The file with the numbers of all processes in a control group. Who writes a number there moves the process.
const PROCESSES: &str = "cgroup.procs";
/// Control groups in control groups are looked into so deep.
const DEEPEST: usize = 16;

/// Where control groups can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cgroups {
    base: PathBuf,
}

impl Cgroups {
    /// Below the control group of this process; none when the system has no version 2 of them, or the switch says so.
    #[must_use]
    pub fn find() -> Option<Self> {
        if std::env::var_os(SWITCH).is_some_and(|value| value == "off") {
            return None;
        }
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let base = directory(&own, &mounts)?;
        Some(Self { base })
    }

    /// Where the control group with a name is, or would be.
    #[must_use]
    pub fn named(&self, name: &str) -> Cgroup {
        Cgroup(self.base.join(name))
    }

    /// All whose names begin with a text.
    #[must_use]
    pub fn beginning(&self, text: &str) -> Vec<Cgroup> {
        let entries = fs::read_dir(&self.base).into_iter().flatten().flatten();
        let fits = entries.filter(|entry| {
            entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(text.as_bytes())
        });
        fits.map(|entry| Cgroup(entry.path())).collect()
    }
}

/// One control group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cgroup(PathBuf);

impl Cgroup {
    /// Makes it, and gives what lets a process in: who writes `0` there is in it.
    ///
    /// # Errors
    /// When this process may make none here.
    pub fn make(&self) -> io::Result<File> {
        match fs::create_dir(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let door = OpenOptions::new().write(true).open(self.0.join(PROCESSES));
        if door.is_err() {
            self.remove();
        }
        door
    }

    /// The numbers of the processes in it and in those that were made in it.
    #[must_use]
    pub fn members(&self) -> BTreeSet<i32> {
        let mut members = BTreeSet::new();
        self.visit(0, &mut |directory| {
            let text = fs::read_to_string(directory.join(PROCESSES)).unwrap_or_default();
            members.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()));
        });
        members
    }

    /// Kills all that is in it, and whatever that starts meanwhile.
    pub(crate) fn kill(&self) {
        // Before Linux 5.14 there is no such file, and then each process is killed by itself.
        let file = OpenOptions::new()
            .write(true)
            .open(self.0.join("cgroup.kill"));
        let _ = file.and_then(|mut file| file.write_all(b"1"));
    }

    /// Removes it with those that were made in it; one with processes stays.
    pub fn remove(&self) {
        self.visit(0, &mut |directory| {
            let _ = fs::remove_dir(directory);
        });
    }

    /// The processor time that all that was ever in it has used, in microseconds.
    pub(crate) fn processor_us(&self) -> Option<u64> {
        let text = fs::read_to_string(self.0.join("cpu.stat")).ok()?;
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("usage_usec "))?;
        line.parse().ok()
    }

    /// Calls for each directory, the deepest first.
    fn visit(&self, depth: usize, call: &mut dyn FnMut(&Path)) {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        for entry in entries {
            if depth < DEEPEST && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                Self(entry.path()).visit(depth + 1, call);
            }
        }
        call(&self.0);
    }
}

/// The directory of the control group that `/proc/self/cgroup` names, by the mounts of this process.
fn directory(own: &str, mounts: &str) -> Option<PathBuf> {
    let own = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        if kind.split(' ').next() != Some("cgroup2") {
            return None;
        }
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let inside = Path::new(own).strip_prefix(root).ok()?;
        Some(Path::new(point).join(inside))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Group;
    use std::process::{Command, Stdio};

    #[test]
    fn the_own_control_group_is_found_below_any_mount() {
        let unified = "24 1 0:21 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let hybrid = "30 1 0:27 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
                      31 1 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let container = "40 1 0:28 /docker/a /sys/fs/cgroup ro - cgroup2 cgroup ro\n";
        for (own, mounts, found) in [
            ("0::/\n", unified, Some("/sys/fs/cgroup/")),
            (
                "0::/user.slice/a.scope\n",
                unified,
                Some("/sys/fs/cgroup/user.slice/a.scope"),
            ),
            (
                "8:pids:/x\n0::/a\n",
                hybrid,
                Some("/sys/fs/cgroup/unified/a"),
            ),
            ("0::/docker/a\n", container, Some("/sys/fs/cgroup/")),
            ("0::/docker/b\n", container, None),
            ("8:pids:/x\n", hybrid, None),
            ("0::/\n", "", None),
        ] {
            let expected = found.map(PathBuf::from);
            assert_eq!(directory(own, mounts), expected, "{own} {mounts}");
        }
    }

    /// One that this machine lets the test make.
    fn made() -> Option<(Cgroup, File)> {
        let cgroup = Cgroups::find()?.named(&format!("landform-test-{}", std::process::id()));
        let door = cgroup.make().ok()?;
        Some((cgroup, door))
    }

    #[tokio::test]
    async fn what_hides_from_all_else_is_found_in_its_control_group() {
        let Some((cgroup, door)) = made() else {
            // None can be made here.
            return;
        };
        // Two forks, another session, an empty environment, and a parent that has ended.
        let script =
            "echo 0 >&0; (setsid env -i sleep 1000 </dev/null >/dev/null 2>&1 & echo $!); exit 0";
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .stdin(door)
            .stdout(Stdio::piped());
        let output = command.output();
        assert!(output.unwrap().status.success());
        let group = Group::inside(cgroup.clone());
        assert_eq!(cgroup.members().len(), 1);
        assert!(!group.is_gone());
        cgroup.remove();
        assert_eq!(cgroup.members().len(), 1, "one with processes was removed");
        group.kill().await.unwrap();
        assert!(group.is_gone());
        cgroup.remove();
        assert!(cgroup.make().is_ok(), "it can be made again");
        cgroup.remove();
        assert_eq!(cgroup.members(), BTreeSet::new());
    }
}
