//! Holds what is stored to what the files say, and what is deleted to what was away for long enough.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::FutureExt as _;
use landform_store::{EventKind, Store as _, Watch};
use serde_json::Value;

use super::plan::THEIRS;
use super::{Doc, GRACE, HOME, Kind, PROJECT, Said, Who};
use crate::disk::Disk;
use crate::end_state::{object_at, objects};

/// A run may have read the files this long before it deletes.
pub(super) const CALM_RUN: Duration = Duration::from_secs(1);
/// While the network has faults.
pub(super) const DISTURBED_RUN: Duration = Duration::from_secs(30);

/// In a project with this many objects, deletions of more than half must be agreed to.
const LARGE: usize = 8;

/// What is known of an object that people planned.
#[derive(Clone, Debug, Default)]
struct Known {
    /// Its uid at the last rest.
    uid: Option<String>,
    /// What its file said at the last rest.
    said: Option<(String, Doc)>,
    /// When no file had it, since the last rest: from, and until unless that goes on.
    away: Vec<(Duration, Option<Duration>)>,
    /// Others delete it.
    deleted: bool,
    /// Others have written it since the last rest.
    written: bool,
    /// What others wrote last.
    theirs: Option<String>,
}

/// Follows one simulation.
pub(super) struct Oracle {
    watch: Option<Box<dyn Watch>>,
    run: Duration,
    looked: Duration,
    said: Said,
    known: BTreeMap<Who, Known>,
    /// Objects that are nobody's to delete: their places, with what they are.
    foreign: BTreeMap<String, Value>,
    /// The uids that were written since the last rest.
    moved: BTreeSet<String>,
    /// The uids of the project's objects that are there, and not marked.
    living: BTreeSet<String>,
    /// Whether people have agreed to deletions since the last rest.
    agreed: bool,
    ended: bool,
}

impl Oracle {
    pub(super) fn new(disk: &Disk, run: Duration) -> Self {
        Self {
            watch: disk.store().watch_all(disk.store().revision()).ok(),
            run,
            looked: Duration::ZERO,
            said: Said::default(),
            known: BTreeMap::new(),
            foreign: BTreeMap::new(),
            moved: BTreeSet::new(),
            living: BTreeSet::new(),
            agreed: false,
            ended: false,
        }
    }

    /// From now on files say this.
    pub(super) fn files_say(&mut self, said: Said, now: Duration) {
        let all: BTreeSet<Who> = said.docs.keys().copied().collect();
        let whos: Vec<Who> = self.known.keys().copied().chain(all).collect();
        for who in whos {
            let there = said.docs.contains_key(&who) || said.unsure.contains(&who);
            let known = self.known.entry(who).or_default();
            match known.away.last_mut() {
                Some((_, until @ None)) if there => *until = Some(now),
                Some((_, None)) => {}
                _ if !there => known.away.push((now, None)),
                _ => {}
            }
        }
        self.said = said;
    }

    pub(super) fn others_write(&mut self, who: Who, theirs: Option<String>) {
        let known = self.known.entry(who).or_default();
        known.written = true;
        known.theirs = theirs;
    }

    pub(super) fn others_delete(&mut self, who: Who) {
        self.known.entry(who).or_default().deleted = true;
    }

    pub(super) fn foreign(&mut self, place: String, disk: &Disk) {
        if let Some(object) = object_at(disk.store(), &place) {
            self.foreign.insert(place, object);
        }
    }

    pub(super) fn people_agree(&mut self) {
        self.agreed = true;
    }

    pub(super) fn ends(&mut self) {
        self.ended = true;
    }

    /// Takes in what was written up to now. Files haven't changed since this was last called.
    pub(super) fn follow(&mut self, now: Duration) -> Result<(), String> {
        let Some(mut watch) = self.watch.take() else {
            return Err("there is no log to follow".into());
        };
        let mut result = Ok(());
        while let Some(Ok(events)) = watch.next().now_or_never() {
            for event in events {
                let object: Value = serde_json::from_slice(&event.record.value).unwrap_or_default();
                let Some(uid) = object["metadata"]["uid"].as_str() else {
                    continue;
                };
                self.moved.insert(uid.to_owned());
                let marked = object["metadata"]["deletionTimestamp"].is_string();
                // A rename takes the former name away; the project's deletions mark first.
                let renamed = !marked && self.bound(uid).is_some();
                if (marked || event.kind == EventKind::Deleted) && !renamed {
                    result = result.and_then(|()| self.goes(uid, &object, now));
                }
                let ours = object["metadata"]["labels"]["landform.dev/project"] == PROJECT
                    && object["kind"] != "Namespace";
                if marked || event.kind == EventKind::Deleted {
                    self.living.remove(uid);
                } else if ours {
                    self.living.insert(uid.to_owned());
                }
            }
        }
        self.watch = Some(watch);
        self.looked = now;
        result
    }

    /// Who has this uid.
    fn bound(&self, uid: &str) -> Option<(&Who, &Known)> {
        let mut known = self.known.iter();
        known.find(|(_, known)| known.uid.as_deref() == Some(uid))
    }

    /// An object is deleted: others wanted it so, the project is deleted, or no file had it for long enough.
    fn goes(&self, uid: &str, object: &Value, now: Duration) -> Result<(), String> {
        let name = &object["metadata"]["name"];
        let mut foreign = self.foreign.values();
        if foreign.any(|foreign| foreign["metadata"]["uid"] == uid) {
            return Err(format!(
                "R15: {name}, which is not the project's, was deleted"
            ));
        }
        let Some((who, known)) = self.bound(uid).filter(|_| !self.ended) else {
            return Ok(());
        };
        if known.deleted {
            return Ok(());
        }
        if known.was_away(now, self.looked.saturating_sub(self.run)) {
            return self.needs_no_consent(name, known);
        }
        let rule = if self.said.unsure.contains(who) {
            "R15: it stands in a file that can't be read"
        } else {
            "R15b: it was never away for the grace"
        };
        Err(format!("{rule}: {name} was deleted: {:?}", known.away))
    }

    /// R15: most objects of a large project go only if people have agreed. What was away before an object that goes
    /// counts with it; its namespace may count as well.
    fn needs_no_consent(&self, name: &Value, goes: &Known) -> Result<(), String> {
        let since = |known: &Known| match known.away.last() {
            Some((from, None)) => Some(*from),
            _ => None,
        };
        let Some(from) = since(goes).filter(|_| !self.agreed) else {
            return Ok(());
        };
        let away = self.known.values().filter(|known| {
            let lives = known
                .uid
                .as_ref()
                .is_some_and(|uid| self.living.contains(uid));
            lives && since(known).is_some_and(|since| since <= from)
        });
        let (away, living) = (away.count(), self.living.len());
        if living >= LARGE && away * 2 > living + 1 {
            return Err(format!(
                "R15: {name} was deleted without consent: {away} of {living} objects are away"
            ));
        }
        Ok(())
    }

    /// Compares what is stored with what the files say, when nothing happens any more.
    pub(super) fn judge(&mut self, disk: &Disk, now: Duration) -> Result<(), String> {
        let stored = objects(disk.store());
        for (place, foreign) in &self.foreign {
            if stored.get(place) != Some(foreign) {
                let found = stored.get(place);
                return Err(format!(
                    "R15: {place} is not the project's, and is {found:?}"
                ));
            }
        }
        if self.ended {
            return self.judge_end(&stored);
        }
        let mut expected = BTreeSet::new();
        for (who, (file, doc)) in &self.said.docs {
            let object = stored.get(&doc.place());
            let known = self.known.get(who).cloned().unwrap_or_default();
            let object = object.ok_or_else(|| {
                let project = status(&stored);
                format!(
                    "R15: {file} has {}, which isn't there; {project}",
                    doc.place()
                )
            })?;
            is_as_said(file, doc, object)?;
            self.keeps(&known, doc, object)?;
            self.changes_with_its_file(&known, file, doc, object)?;
            expected.insert(object["metadata"]["uid"].clone().to_string());
        }
        for who in &self.said.unsure {
            let known = self.known.get(who).cloned().unwrap_or_default();
            let kept = stored.values().find(|object| {
                known.uid.is_some() && object["metadata"]["uid"].as_str() == known.uid.as_deref()
            });
            match kept {
                Some(object) => drop(expected.insert(object["metadata"]["uid"].to_string())),
                None if known.uid.is_some() && !known.may_be_new() => {
                    let said = &known.said;
                    return Err(format!("R15: {said:?} is gone, and its file can't be read"));
                }
                None => {}
            }
        }
        for (place, object) in of_project(&stored) {
            if !expected.contains(&object["metadata"]["uid"].to_string()) {
                return Err(format!(
                    "R15: {place} is there, and no file has it; {}",
                    status(&stored)
                ));
            }
        }
        self.bind(&stored, now);
        Ok(())
    }

    /// R15b: the same object, unless it was away for too long or others deleted it; with what others wrote.
    fn keeps(&self, known: &Known, doc: &Doc, object: &Value) -> Result<(), String> {
        let (uid, before) = (object["metadata"]["uid"].as_str(), known.uid.as_deref());
        if before.is_none() || known.may_be_new() {
            return Ok(());
        }
        if uid != before {
            return Err(format!(
                "R15b: {} is another object than {:?} was; away {:?}",
                doc.place(),
                known.said,
                known.away
            ));
        }
        let theirs = object["metadata"]["annotations"][THEIRS].as_str();
        if theirs != known.theirs.as_deref() {
            return Err(format!("R15: what others wrote is lost on {}", doc.place()));
        }
        Ok(())
    }

    /// R15: an object whose file says what it said is left alone.
    fn changes_with_its_file(
        &self,
        known: &Known,
        file: &str,
        doc: &Doc,
        object: &Value,
    ) -> Result<(), String> {
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        let same = known.said.as_ref() == Some(&(file.to_owned(), doc.clone()));
        if same && !known.written && !known.may_be_new() && self.moved.contains(uid) {
            let place = doc.place();
            return Err(format!("R15: {place} was written, and {file} is as it was"));
        }
        Ok(())
    }

    /// A deleted project takes its objects along, and goes.
    fn judge_end(&self, stored: &BTreeMap<String, Value>) -> Result<(), String> {
        if let Some((place, _)) = of_project(stored).next() {
            return Err(format!(
                "R15: {place} outlived its project; {}",
                status(stored)
            ));
        }
        if stored.contains_key(&project()) {
            return Err(format!("R15: the project doesn't go: {}", status(stored)));
        }
        let occupied = self
            .foreign
            .keys()
            .any(|place| place.contains(&format!(" {HOME}/")));
        if stored.contains_key(&format!("namespaces {HOME}")) != occupied {
            return Err(format!(
                "R15: the namespace {HOME}: others are in it: {occupied}"
            ));
        }
        Ok(())
    }

    /// From here on everything is as it is now.
    fn bind(&mut self, stored: &BTreeMap<String, Value>, now: Duration) {
        let Self { known, said, .. } = self;
        for (who, known) in known.iter_mut() {
            known.away = match known.away.last() {
                Some((_, None)) => vec![(now, None)],
                _ => Vec::new(),
            };
            (known.written, known.deleted) = (false, false);
            if let Some((file, doc)) = said.docs.get(who) {
                let object = stored.get(&doc.place());
                known.uid = object.and_then(|object| text(&object["metadata"]["uid"]));
                let theirs = object.map(|object| &object["metadata"]["annotations"][THEIRS]);
                known.theirs = theirs.and_then(text);
                known.said = Some((file.clone(), doc.clone()));
            } else if !said.unsure.contains(who) {
                (known.uid, known.said, known.theirs) = (None, None, None);
            }
        }
        self.moved.clear();
        self.agreed = false;
    }

    /// The consent that a project asks for, if it does so for a reason.
    pub(super) fn asks_for(&self, disk: &Disk) -> Result<Option<String>, String> {
        let project = object_at(disk.store(), &project()).unwrap_or_default();
        let held = &project["status"]["heldDeletions"];
        let Some(token) = text(&held["token"]) else {
            return Ok(None);
        };
        let stored = objects(disk.store());
        let (living, count) = (of_project(&stored).count(), held["count"].as_u64());
        let many = count.is_some_and(|count| count * 2 > living as u64) && living >= LARGE;
        if many {
            Ok(Some(token))
        } else {
            Err(format!(
                "R15: it asks for consent to {held}, with {living} objects"
            ))
        }
    }
}

impl Known {
    /// Whether no file had it for the grace, and that was so until after a time.
    fn was_away(&self, now: Duration, after: Duration) -> bool {
        self.away.iter().any(|(from, until)| {
            let until = until.unwrap_or(now);
            until.saturating_sub(*from) >= GRACE && until >= after
        })
    }

    /// Whether it may have been deleted since the last rest, and made anew.
    fn may_be_new(&self) -> bool {
        self.deleted || self.was_away(Duration::MAX, Duration::ZERO)
    }
}

fn is_as_said(file: &str, doc: &Doc, object: &Value) -> Result<(), String> {
    let (field, content) = doc.content();
    let annotations = &object["metadata"]["annotations"];
    let is_same = object[field] == content && annotations["landform.dev/project-file"] == file;
    if is_same && object["metadata"]["deletionTimestamp"].is_null() {
        return Ok(());
    }
    Err(format!(
        "R15: {file} says {doc:?}, and what is there is {object}"
    ))
}

/// Everything that is the project's but the namespace that it made.
fn of_project(stored: &BTreeMap<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let buckets = Kind::ALL.map(|kind| format!("{} ", kind.bucket()));
    stored.iter().filter(move |(place, object)| {
        buckets.iter().any(|bucket| place.starts_with(bucket))
            && object["metadata"]["labels"]["landform.dev/project"] == PROJECT
    })
}

fn project() -> String {
    format!("projects.landform.dev {PROJECT}")
}

fn status(stored: &BTreeMap<String, Value>) -> String {
    let status = stored
        .get(&project())
        .map(|found| found["status"].to_string());
    format!("the project says {}", status.unwrap_or_default())
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(ToOwned::to_owned)
}
