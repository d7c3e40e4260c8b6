//! What `landform up` knows of all objects at a moment, and what has changed since.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::sight::{STOPPED, Sight, Tone};

/// An object and how long it has been as it is.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) sight: Sight,
    /// When its present phase was first seen.
    pub(crate) since: Instant,
}

/// A change of phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) title: String,
    /// Absent when the object is new.
    pub(crate) from: Option<String>,
    /// Absent when the object is gone.
    pub(crate) to: Option<String>,
    pub(crate) tone: Tone,
    pub(crate) note: String,
    /// How long it was in the phase before.
    pub(crate) after: Duration,
}

/// All objects that are followed, by uid.
#[derive(Default)]
pub(crate) struct State {
    objects: BTreeMap<String, Known>,
}

impl State {
    /// Takes in an object; says what changed for people.
    pub(crate) fn seen(&mut self, sight: Sight, now: Instant) -> Option<Change> {
        let before = self.objects.get(&sight.uid);
        let from = before.map(|known| known.sight.phase.clone());
        let same_phase = from.as_deref() == Some(&sight.phase);
        let same_trouble = before.is_none_or(|known| known.sight.note == sight.note);
        let since = before.map_or(now, |known| known.since);
        let title = self.title(&sight);
        let change = (!same_phase || (sight.tone == Tone::Bad && !same_trouble)).then(|| Change {
            title,
            from,
            to: Some(sight.phase.clone()),
            tone: sight.tone,
            note: sight.note.clone(),
            after: now.saturating_duration_since(since),
        });
        let since = if same_phase { since } else { now };
        self.objects
            .insert(sight.uid.clone(), Known { sight, since });
        change
    }

    /// How an object is called: with its namespace, if there are several.
    fn title(&self, sight: &Sight) -> String {
        let mut others = self
            .objects
            .values()
            .map(|known| known.sight.namespace.as_str());
        let several = others.any(|other| !other.is_empty() && other != sight.namespace);
        match sight.namespace.as_str() {
            namespace if several && !namespace.is_empty() => {
                format!("{}/{namespace}/{}", sight.kind, sight.name)
            }
            _ => sight.title(),
        }
    }

    /// Forgets an object.
    pub(crate) fn gone(&mut self, uid: &str, now: Instant) -> Option<Change> {
        let title = self.title(&self.objects.get(uid)?.sight);
        let known = self.objects.remove(uid)?;
        Some(Change {
            title,
            from: Some(known.sight.phase),
            to: None,
            tone: Tone::Good,
            note: String::new(),
            after: now.saturating_duration_since(known.since),
        })
    }

    pub(crate) fn objects(&self) -> impl Iterator<Item = &Known> {
        self.objects.values()
    }

    /// Processes that a person has stopped.
    pub(crate) fn stopped(&self) -> Vec<String> {
        let objects = self.objects.values();
        let stopped = objects.filter(|known| known.sight.phase == STOPPED);
        stopped.map(|known| self.title(&known.sight)).collect()
    }

    /// Whether objects are in more than one namespace.
    pub(crate) fn has_several_namespaces(&self) -> bool {
        let mut names = self
            .objects
            .values()
            .map(|known| known.sight.namespace.as_str());
        let first = names.find(|name| !name.is_empty());
        names.any(|name| !name.is_empty() && Some(name) != first)
    }

    pub(crate) fn contains(&self, uid: &str) -> bool {
        self.objects.contains_key(uid)
    }

    /// Whether there is something, and all of it is as it should be.
    pub(crate) fn is_well(&self) -> bool {
        !self.objects.is_empty()
            && self
                .objects
                .values()
                .all(|known| known.sight.tone == Tone::Good)
    }

    /// Whether nothing of it will move on by itself: something is bad, and nothing is being worked on.
    pub(crate) fn is_stuck(&self) -> bool {
        let mut tones = self.objects.values().map(|known| known.sight.tone);
        tones.any(|tone| tone == Tone::Bad) && self.is_resting()
    }

    /// Whether nothing is being worked on.
    pub(crate) fn is_resting(&self) -> bool {
        let mut tones = self.objects.values().map(|known| known.sight.tone);
        !tones.any(|tone| tone == Tone::Working)
    }
}

/// How long, as people read it.
pub(crate) fn span(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 60.0 {
        format!("{seconds:.1}s")
    } else if seconds < 3600.0 {
        format!("{}m{:02}s", time.as_secs() / 60, time.as_secs() % 60)
    } else {
        format!("{}h{:02}m", time.as_secs() / 3600, time.as_secs() / 60 % 60)
    }
}

/// A change as a plain line.
pub(crate) fn line(change: &Change) -> String {
    let from = change.from.as_deref().unwrap_or("new");
    let to = change.to.as_deref().unwrap_or("gone");
    let phases = if from == to || change.from.is_none() {
        to.to_owned()
    } else {
        format!("{from} → {to}")
    };
    let after = if change.from.is_some() {
        format!("  {}", span(change.after))
    } else {
        String::new()
    };
    let note = if change.note.is_empty() {
        String::new()
    } else {
        format!("  {}", change.note)
    };
    format!("{}  {phases}{after}{note}", change.title)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(phase: &str, tone: Tone, note: &str) -> Sight {
        Sight {
            kind: "Installation".into(),
            namespace: "default".into(),
            name: "db".into(),
            uid: "1".into(),
            owners: Vec::new(),
            phase: phase.into(),
            tone,
            note: note.into(),
            short_name: None,
        }
    }

    #[test]
    fn a_change_of_phase_is_one_line_with_the_time_that_it_took() {
        let start = Instant::now();
        let mut state = State::default();
        let new = state.seen(sight("Progressing", Tone::Working, ""), start);
        assert_eq!(line(&new.unwrap()), "Installation/db  Progressing");
        let same = state.seen(sight("Progressing", Tone::Working, "x"), start);
        assert_eq!(same, None);
        let later = start + Duration::from_millis(1200);
        let done = state.seen(sight("Succeeded", Tone::Good, ""), later);
        let text = line(&done.unwrap());
        assert_eq!(text, "Installation/db  Progressing → Succeeded  1.2s");
        assert!(state.is_well());
        let gone = state.gone("1", later + Duration::from_secs(61));
        let text = line(&gone.unwrap());
        assert_eq!(text, "Installation/db  Succeeded → gone  1m01s");
        assert!(!state.is_well());
    }

    #[test]
    fn another_trouble_is_told_too() {
        let start = Instant::now();
        let mut state = State::default();
        state.seen(sight("Failed", Tone::Bad, "a"), start);
        assert!(state.is_stuck());
        let other = state.seen(sight("Failed", Tone::Bad, "b"), start);
        assert_eq!(line(&other.unwrap()), "Installation/db  Failed  0.0s  b");
        assert_eq!(state.seen(sight("Failed", Tone::Bad, "b"), start), None);
    }
}
