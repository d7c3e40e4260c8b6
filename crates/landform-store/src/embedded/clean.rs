//! When the journal is written anew, so that what was deleted is gone from the disk, too.
//!
//! A deleted or replaced value stays in the history for a while, and in free pages of the file and in its log after
//! that: a Secret could be read there for years. So once something of the kind is old enough, the history behind
//! it is dropped, the file is written anew without what is dead (`VACUUM`), and the log is emptied. When that was
//! last done is noted in a file, because a store on a laptop may never be open for long enough.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::directory::replace_private;
use crate::{Error, Event, EventKind, Revision};

/// Decides when to clean, and remembers why.
pub(crate) struct Clean {
    after: Duration,
    /// Says when the last one was.
    note: PathBuf,
    /// Since when there is something dead, and the revision that it is dead since.
    dead: Option<(SystemTime, Revision)>,
}

impl Clean {
    /// For a store that was just opened: it may hold something dead since it was last cleaned.
    pub(crate) fn new(
        note: PathBuf,
        after: Duration,
        newest: Revision,
        now: SystemTime,
    ) -> Result<Self, Error> {
        let last = read(&note);
        if last.is_none() {
            write(&note, now)?;
        }
        // A clock that was set back must not put it off.
        let last = last.unwrap_or(now).min(now);
        let dead = (newest > Revision::ZERO).then_some((last, newest));
        Ok(Self { after, note, dead })
    }

    /// Something was written.
    pub(crate) fn written<'a>(
        &mut self,
        events: impl IntoIterator<Item = &'a Event>,
        now: SystemTime,
    ) {
        let mut events = events.into_iter();
        if self.dead.is_none()
            && let Some(event) = events.find(|event| event.kind != EventKind::Created)
        {
            self.dead = Some((now, event.revision));
        }
    }

    /// The history up to this revision must go now, and the file be written anew.
    pub(crate) fn due(&self, now: SystemTime) -> Option<Revision> {
        let (since, revision) = self.dead?;
        let age = now.duration_since(since).unwrap_or_default();
        (age >= self.after).then_some(revision)
    }

    /// It was done; `left` is the newest revision if the history still holds something dead.
    pub(crate) fn done(&mut self, left: Option<Revision>, now: SystemTime) -> Result<(), Error> {
        self.dead = left.map(|revision| (now, revision));
        write(&self.note, now)
    }

    /// It could not be done: not again at once.
    pub(crate) fn postpone(&mut self, now: SystemTime) {
        if let Some((since, _)) = &mut self.dead {
            *since = now;
        }
    }
}

fn read(note: &Path) -> Option<SystemTime> {
    let seconds = std::fs::read_to_string(note).ok()?.trim().parse().ok()?;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

fn write(note: &Path, now: SystemTime) -> Result<(), Error> {
    let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    replace_private(note, format!("{seconds}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::state::{State, Verdict};
    use crate::{Bucket, Compare, Key, Op, Txn};

    const HOUR: Duration = Duration::from_secs(3_600);

    fn events(state: &mut State, op: Op) -> Vec<Arc<Event>> {
        let key = Key::new(&Bucket::new("secrets"), "a");
        match state.apply(&Txn::one(key, Compare::Any, op)) {
            Verdict::Applied(events) => events,
            Verdict::Conflict { .. } | Verdict::Full { .. } => Vec::new(),
        }
    }

    #[test]
    fn what_is_dead_for_long_enough_is_due_whatever_is_written_meanwhile() {
        let place = tempfile::tempdir().unwrap();
        let note = place.path().join("cleaned");
        let start = UNIX_EPOCH + 1_000 * HOUR;
        let mut state = State::default();
        let new = |newest, now| Clean::new(note.clone(), HOUR, newest, now).unwrap();
        let mut clean = new(Revision::ZERO, start);
        let mut write = |clean: &mut Clean, op, at| {
            let events = events(&mut state, op);
            clean.written(events.iter().map(|event| &**event), at);
        };
        write(&mut clean, Op::Put("1".into()), start);
        assert_eq!(clean.due(start + 9 * HOUR), None, "nothing is dead");
        write(&mut clean, Op::Delete, start + HOUR);
        write(&mut clean, Op::Put("2".into()), start + HOUR * 3 / 2);
        assert_eq!(clean.due(start + HOUR * 3 / 2), None, "too early");
        assert_eq!(clean.due(start + 2 * HOUR), Some(Revision(2)));
        // A store that is opened now and then is cleaned all the same.
        assert_eq!(
            new(Revision(3), start + HOUR / 2).due(start + HOUR / 2),
            None
        );
        let opened = new(Revision(3), start + 2 * HOUR);
        assert_eq!(opened.due(start + 2 * HOUR), Some(Revision(3)));
        clean.postpone(start + 2 * HOUR);
        assert_eq!(clean.due(start + 2 * HOUR), None);
        clean.done(None, start + 2 * HOUR).unwrap();
        assert_eq!(clean.due(start + 99 * HOUR), None);
        assert_eq!(
            new(Revision(3), start + 2 * HOUR).due(start + 2 * HOUR),
            None
        );
        clean.done(Some(Revision(3)), start + 2 * HOUR).unwrap();
        assert_eq!(clean.due(start + 3 * HOUR), Some(Revision(3)));
    }
}
