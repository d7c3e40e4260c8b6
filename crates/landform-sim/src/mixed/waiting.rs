//! R8b: what must run waits only for what it is related to, and for nothing longer than that may take.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::oracle::{Inner, Subject};
use super::{Kind, TIMEOUT};
use crate::log::{CALM_HEARING, DISTURBED_HEARING, Seen};

/// A call that was given up is waited for this time unless its Reconciler says otherwise.
pub(super) const GRACE: Duration = Duration::from_secs(10);
/// What a run does before and after its call takes less than this on a calm day.
const AROUND_A_CALL: Duration = Duration::from_secs(2);

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// To hear of a write.
    pub(super) hearing: Duration,
    /// To begin a run that nothing stands in the way of.
    pub(super) waiting: Duration,
    /// To be called again after the time that was asked for.
    pub(super) retrigger: Duration,
    /// For all that a run does besides its call.
    pub(super) slack: Duration,
}

impl Bounds {
    /// While nothing goes wrong.
    pub(super) const CALM: Self = Self {
        hearing: CALM_HEARING,
        waiting: Duration::from_secs(3),
        retrigger: Duration::from_secs(60),
        slack: Duration::ZERO,
    };
    /// While everything does.
    pub(super) const DISTURBED: Self = Self {
        hearing: DISTURBED_HEARING,
        waiting: Duration::from_secs(240),
        retrigger: Duration::from_secs(900),
        slack: Duration::from_secs(240),
    };
}

pub(super) struct Queued {
    pub(super) since: Duration,
    /// Since when nothing was seen that it could wait for.
    unhindered: Option<Duration>,
}

impl Queued {
    pub(super) fn new(since: Duration) -> Self {
        Self {
            since,
            unhindered: None,
        }
    }
}

/// Deletes whose hook was called.
#[derive(Default)]
pub(super) struct Deletes {
    called: BTreeSet<String>,
    /// When first, since a run was last cut short.
    since: BTreeMap<String, Duration>,
    /// Those that hold back no others any more: the hook has done its part, or was tried and failed.
    over: BTreeSet<String>,
}

impl Deletes {
    pub(super) fn called(&mut self, uid: &str, now: Duration) {
        self.called.insert(uid.to_owned());
        self.since.entry(uid.to_owned()).or_insert(now);
    }

    /// Its run was told to return: it must be tried anew.
    pub(super) fn cut_short(&mut self, uid: &str) {
        self.since.remove(uid);
    }

    pub(super) fn over(&mut self, uid: &str) {
        self.over.insert(uid.to_owned());
    }

    /// Whether the hook was called before.
    pub(super) fn was_called(&self, uid: &str) -> bool {
        self.called.contains(uid)
    }

    /// Whether the delete of a marked object holds back others at this time, if its run may take `time`.
    fn holds(&self, uid: &str, time: Duration, now: Duration) -> bool {
        let in_time = |called: &Duration| now <= *called + time;
        !self.over.contains(uid) && self.since.get(uid).is_none_or(in_time)
    }
}

impl Inner {
    /// The deletes of a strict kind that others in the namespace must certainly wait for.
    pub(super) fn certain_deletes(&self, namespace: &str, now: Duration) -> Option<&Seen> {
        let until = now.saturating_sub(self.bounds.hearing);
        let mut deletes =
            self.deletes_within(namespace, TIMEOUT.saturating_sub(AROUND_A_CALL), now);
        deletes.find(|seen| seen.marked.is_some_and(|marked| marked <= until))
    }

    /// The marked objects of the strict kind whose first call hasn't ended, and whose time isn't over.
    fn deletes_within(
        &self,
        namespace: &str,
        time: Duration,
        now: Duration,
    ) -> impl Iterator<Item = &Seen> {
        let all = self.log.of(Kind::Parcel.name());
        all.filter(move |(uid, seen)| {
            seen.namespace == namespace
                && seen.marked.is_some()
                && self.deletes.holds(uid, time, now)
        })
        .map(|(_, seen)| seen)
    }

    /// R9, R8b: a run returns when its call's time, and the grace period after it, are over.
    pub(super) fn runs_end(&self, now: Duration) -> Option<String> {
        let most = TIMEOUT + GRACE + AROUND_A_CALL.max(self.bounds.slack);
        let late = self.runs.values().find(|run| now > run.since + most)?;
        let ran = (now - late.since).as_secs();
        let subject = &late.subject;
        Some(format!(
            "R9: {subject:?} runs for {ran} s, longer than its timeout allows"
        ))
    }

    pub(super) fn waiting_has_a_reason(&mut self, now: Duration) -> Option<String> {
        let bounds = self.bounds;
        let waiting = self.queued.iter();
        let waiting = waiting.filter(|(_, queued)| now > queued.since + bounds.waiting);
        let hindered: Vec<(Subject, bool)> = waiting
            .map(|(subject, _)| (subject.clone(), self.is_hindered(subject, now)))
            .collect();
        for (subject, hindered) in hindered {
            let queued = self.queued.get_mut(&subject)?;
            if hindered {
                queued.unhindered = None;
                continue;
            }
            let since = *queued.unhindered.get_or_insert(now);
            if now > since + bounds.waiting {
                let waited = (now - queued.since).as_secs();
                return Some(format!(
                    "R8b: {subject:?} has waited for {waited} s, and nothing related to it is under way"
                ));
            }
        }
        None
    }

    /// Whether there is anything that a run may wait for.
    fn is_hindered(&self, subject: &Subject, now: Duration) -> bool {
        let (kind, namespace, _) = subject;
        if self.unsettled(now) {
            return true;
        }
        let Some(kind) = Kind::named(kind) else {
            // Reconcilers run one after the other, and wait for nothing else.
            let others = self.runs.values().filter(|run| run.subject.0 == *kind);
            return others.count() > 0;
        };
        let Some(uid) = self.uid(subject) else {
            return true;
        };
        let renames = || {
            let mut all = self.log.of(kind.name());
            all.any(|(_, seen)| seen.namespace == *namespace && seen.renamed)
        };
        let deletes = || {
            self.deletes_within(namespace, TIMEOUT, now)
                .next()
                .is_some()
        };
        if kind == Kind::Parcel && (deletes() || renames()) {
            return true;
        }
        // A ref that is new may bind already: here the newest state counts as well.
        let related = |other: &String| *other == uid || self.log.related(&uid, other, now);
        // A run under a name that is no more may be of anything that was related to it; how long it takes is judged
        // by itself.
        let mut nameless = self.runs.values().map(|run| &run.subject);
        if nameless.any(|run| run.1 == *namespace && self.uid(run).is_none()) {
            return true;
        }
        let busy = self.runs.values().map(|run| &run.subject);
        let busy = busy.chain(self.queued.keys().filter(|other| *other != subject));
        let mut busy = busy.filter_map(|subject| self.uid(subject));
        let mut calls = self.calls.values().filter(|call| call.goes_on(now));
        let mut marked = self
            .log
            .of(kind.name())
            .filter(|(_, seen)| seen.marked.is_some());
        busy.any(|other| related(&other))
            || calls.any(|call| related(&call.uid) || call.above.contains(&uid))
            || marked.any(|(other, _)| related(other))
    }
}
