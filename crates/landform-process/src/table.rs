//! The processes of this machine, and which of them are ours.
//!
//! The number of a process says little: when it has ended another one may get it. A process is known by its
//! number and the time at which it was started, within one boot of the machine. Before a signal is sent, a
//! descriptor of the process is opened and then the process looked at: the descriptor stays with the process that
//! was seen, so a signal sent through it never reaches a stranger.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use tokio::io::unix::AsyncFd;

use crate::{Cgroup, Group};

/// The variable by which programs of deploy items are found again: `<uid of the item>-<attempt>`.
pub const MARK: &str = "LANDFORM_ITEM";
/// The variable by which programs of a hook's call are found again.
pub const CALL: &str = "LANDFORM_CALL";

/// One process, for as long as the machine is up and longer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// Its number.
    pub pid: i32,
    /// In clock ticks since the machine was started.
    pub start_time: u64,
    /// Which boot of the machine that was.
    pub boot_id: String,
}

impl Identity {
    /// The process that has this number now; none when it has ended.
    #[must_use]
    pub fn now(pid: i32) -> Option<Self> {
        let seen = Seen::of(pid).filter(|seen| !seen.ended)?;
        let (start_time, boot_id) = (seen.start_time, boot_id()?);
        Some(Self {
            pid,
            start_time,
            boot_id,
        })
    }

    /// A child of ours that nobody has waited for, so that its number is its own even if it has ended.
    #[must_use]
    pub fn of_child(pid: i32) -> Option<Self> {
        let (start_time, boot_id) = (Seen::of(pid)?.start_time, boot_id()?);
        Some(Self {
            pid,
            start_time,
            boot_id,
        })
    }

    /// Whether its number is still its own: it runs, or nobody has asked yet how it ended.
    fn holds_its_number(&self) -> bool {
        Some(&self.boot_id) == boot_id().as_ref()
            && Seen::of(self.pid).is_some_and(|seen| seen.start_time == self.start_time)
    }
}

/// Which boot of the machine this is.
fn boot_id() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

/// What `/proc/PID/stat` says about a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) pid: i32,
    parent: i32,
    group: i32,
    start_time: u64,
    ended: bool,
}

impl Seen {
    fn of(pid: i32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// `PID (NAME) STATE PARENT GROUP …`, and the name may hold anything.
    fn parse(text: &str) -> Option<Self> {
        let pid = text.split_once(' ')?.0.parse().ok()?;
        let mut fields = text.rsplit_once(") ")?.1.split(' ');
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let start_time = fields.nth(16)?.parse().ok()?;
        let ended = matches!(state, "Z" | "X" | "x");
        Some(Self {
            pid,
            parent,
            group,
            start_time,
            ended,
        })
    }

    /// All processes that have not ended, but for Landform itself.
    fn all() -> Vec<Self> {
        let own = i32::try_from(std::process::id()).ok();
        let names = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = names.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let seen = numbers.filter(|pid| Some(*pid) != own).filter_map(Self::of);
        seen.filter(|seen| !seen.ended).collect()
    }
}

/// What programs that belong together have in their environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Of one attempt to bring a deploy item about.
    Attempt(String),
    /// Of any attempt.
    Item(String),
    /// Of one call of a hook.
    Call(String),
}

impl Mark {
    /// The mark of one attempt.
    #[must_use]
    pub fn attempt(uid: &str, attempt: u64) -> Self {
        Self::Attempt(format!("{uid}-{attempt}"))
    }

    /// The marks of all attempts.
    #[must_use]
    pub fn item(uid: &str) -> Self {
        Self::Item(format!("{uid}-"))
    }

    /// The variable that it stands in.
    fn variable(&self) -> &'static str {
        match self {
            Self::Attempt(_) | Self::Item(_) => MARK,
            Self::Call(_) => CALL,
        }
    }

    /// What stands in the variable.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Attempt(text) | Self::Item(text) | Self::Call(text) => text,
        }
    }

    fn fits(&self, value: &[u8]) -> bool {
        match self {
            Self::Attempt(text) | Self::Call(text) => value == text.as_bytes(),
            Self::Item(text) => {
                let attempt = value.strip_prefix(text.as_bytes());
                attempt.is_some_and(|rest| !rest.is_empty() && rest.iter().all(u8::is_ascii_digit))
            }
        }
    }

    fn is_on(&self, pid: i32) -> bool {
        // What can't be read belongs to another user or has just ended.
        let variables = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        variables.split(|byte| *byte == 0).any(|variable| {
            let value = variable.strip_prefix(self.variable().as_bytes());
            value
                .and_then(|value| value.strip_prefix(b"="))
                .is_some_and(|value| self.fits(value))
        })
    }
}

/// Whether a process group has members that have not ended. Unlike signals this doesn't count those that have ended
/// and that nobody has asked yet how.
#[must_use]
pub fn group_lives(group: i32) -> bool {
    Seen::all().iter().any(|seen| seen.group == group)
}

/// The processes with a mark that were started by Landform, and not by others of them.
#[must_use]
pub fn leaders(mark: &Mark) -> Vec<Identity> {
    let seen = Seen::all().into_iter();
    let seen = seen.filter(|seen| seen.pid == seen.group && mark.is_on(seen.pid));
    let mut leaders: Vec<Identity> = seen.filter_map(|seen| Identity::now(seen.pid)).collect();
    leaders.sort_by_key(|leader| (leader.start_time, leader.pid));
    leaders
}

/// What is ours: processes with a mark, wherever they are; those in the leader's process group for as long
/// as the leader's number, which is the group's, is its own; those in the control group; and whatever has one of these as
/// its parent. A process with a mark that leads its group is such a leader: what it has started may have cleaned its
/// environment. Those that are known to be ours stay so.
pub(crate) fn members(group: &Group, known: &[Identity]) -> Vec<Handle> {
    let leader = group.leader.as_ref();
    let leader = leader.filter(|leader| leader.holds_its_number());
    let all = Seen::all();
    let mark = group.mark.as_ref();
    let marked = |seen: &&Seen| mark.is_some_and(|mark| mark.is_on(seen.pid));
    let marked: BTreeSet<i32> = all.iter().filter(marked).map(|seen| seen.pid).collect();
    let inside = group.cgroup.as_ref().map(Cgroup::members);
    let inside = inside.unwrap_or_default();
    let found = |seen: &&Seen| {
        leader.is_some_and(|leader| leader.pid == seen.group)
            || marked.contains(&seen.pid)
            || marked.contains(&seen.group)
            || inside.contains(&seen.pid)
            || known
                .iter()
                .any(|known| known.pid == seen.pid && known.start_time == seen.start_time)
    };
    let found: BTreeSet<i32> = all.iter().filter(found).map(|seen| seen.pid).collect();
    let ours = with_descendants(&all, found);
    let identities = all.into_iter().filter_map(|seen| {
        let (pid, start_time) = (seen.pid, seen.start_time);
        let ours = ours.contains(&pid);
        ours.then(boot_id).flatten().map(|boot_id| Identity {
            pid,
            start_time,
            boot_id,
        })
    });
    identities
        .filter_map(|identity| Handle::open(&identity))
        .collect()
}

/// These processes, and all that they have started, as far as parents are known: the parent of a process whose own has
/// ended is another one.
fn with_descendants(all: &[Seen], mut ours: BTreeSet<i32>) -> BTreeSet<i32> {
    loop {
        let children = all.iter().filter(|seen| ours.contains(&seen.parent));
        let children: Vec<i32> = children.map(|seen| seen.pid).collect();
        let before = ours.len();
        ours.extend(children);
        if ours.len() == before {
            return ours;
        }
    }
}

/// A process that runs, or did when it was opened.
pub struct Handle {
    identity: Identity,
    descriptor: AsyncFd<OwnedFd>,
}

impl Handle {
    /// The process; none when it has ended, whoever has its number now.
    #[must_use]
    pub fn open(identity: &Identity) -> Option<Self> {
        let descriptor = pidfd_open(Pid::from_raw(identity.pid)?, PidfdFlags::NONBLOCK).ok()?;
        // The order matters: what is seen now is what the descriptor is of, or that has ended.
        if Identity::now(identity.pid).as_ref() != Some(identity) {
            return None;
        }
        let descriptor = watched(descriptor).ok()?;
        let identity = identity.clone();
        Some(Self {
            identity,
            descriptor,
        })
    }

    /// Which process it is.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Sends a signal to this very process.
    ///
    /// # Errors
    /// When it has ended, or is another user's.
    pub fn send(&self, signal: Signal) -> io::Result<()> {
        Ok(pidfd_send_signal(self.descriptor.get_ref(), signal)?)
    }

    /// Resolves when it has ended.
    pub async fn ended(&self) {
        // It fails only when the runtime is going down.
        let _ = self.descriptor.readable().await;
    }
}

/// Has the runtime wait for a descriptor.
///
/// # Errors
/// When there is no runtime, or it can't wait for this one.
#[expect(
    deprecated,
    reason = "its successor is unsafe because of types that close their descriptor early, which this one can't"
)]
pub fn watched(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(descriptor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_hold_anything() {
        let text = "42 (a) S (b)) R 1 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 9876 1 2 3";
        let seen = Seen {
            pid: 42,
            parent: 1,
            group: 7,
            start_time: 9876,
            ended: false,
        };
        assert_eq!(Seen::parse(text), Some(seen));
        assert_eq!(Seen::parse("42 (a"), None);
    }

    #[test]
    fn what_ours_have_started_is_ours() {
        let seen = |pid, parent| Seen {
            pid,
            parent,
            group: pid,
            start_time: 0,
            ended: false,
        };
        let all = [seen(5, 4), seen(4, 3), seen(3, 1), seen(6, 1), seen(7, 6)];
        let ours = with_descendants(&all, BTreeSet::from([3]));
        assert_eq!(ours, BTreeSet::from([3, 4, 5]));
        assert_eq!(with_descendants(&all, BTreeSet::new()), BTreeSet::new());
    }

    #[test]
    fn a_mark_fits_its_own_item_only() {
        for (mark, value, fits) in [
            (Mark::attempt("a", 1), "a-1", true),
            (Mark::attempt("a", 1), "a-11", false),
            (Mark::item("a"), "a-11", true),
            (Mark::item("a"), "a-", false),
            (Mark::item("a"), "a-b-1", false),
            (Mark::item("a-b"), "a-b-1", true),
        ] {
            assert_eq!(mark.fits(value.as_bytes()), fits, "{mark:?} {value}");
        }
    }

    #[tokio::test]
    async fn a_process_with_another_start_time_is_a_stranger() {
        let own = Identity::now(i32::try_from(std::process::id()).unwrap()).unwrap();
        assert!(Handle::open(&own).is_some());
        let later = Identity {
            start_time: own.start_time + 1,
            ..own.clone()
        };
        assert!(Handle::open(&later).is_none());
        let before_reboot = Identity {
            boot_id: "another".into(),
            ..own
        };
        assert!(Handle::open(&before_reboot).is_none());
    }
}
