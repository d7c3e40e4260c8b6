//! A machine with the people, the watch and the runs around it, for tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use super::model::Model;
use crate::{
    Answer, Command, Event, ObjectKey, Order, Outcome, Retry, Role, RunId, Scheduler, Sight,
    Version,
};

/// `namespace/name`, or `name` in the namespace without a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Name(pub(super) Arc<str>);

impl Name {
    pub(super) fn namespace_part(&self) -> &str {
        self.0
            .split_once('/')
            .map_or("", |(namespace, _)| namespace)
    }
}

impl ObjectKey for Name {
    fn namespace(&self) -> &str {
        self.namespace_part()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(super) fn name(text: &str) -> Name {
    Name(text.into())
}

pub(super) fn names(text: &str) -> BTreeSet<Name> {
    text.split_whitespace().map(name).collect()
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum How {
    Well,
    Error,
    /// It wants to be looked at again at a time that is past.
    RetriggerPast,
    /// It wants to be looked at again in a second.
    RetriggerSoon,
}

/// Whether the watch shows an own write before or after the run gets its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Race {
    WatchFirst,
    AnswerFirst,
}

/// Something that somebody does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Action {
    Create {
        name: Name,
        refs: BTreeSet<Name>,
        passive: bool,
        order: Order<Name>,
    },
    Update(Name),
    Status(Name),
    Relate(Name, BTreeSet<Name>),
    Mark(Name),
    Gone(Name),
    Rename(Name, Name),
    Ask(Name),
    /// Somebody changes an object that this one owns.
    Child(Name),
    OwnUpdate(Name, Race),
    OwnRelate(Name, BTreeSet<Name>),
    OwnMark(Name),
    OwnGone(Name),
    Finish(Name, How),
    Overdue(Name),
    /// The time of its run is over.
    Late(Name),
    /// Its timer fires.
    Due(Name),
}

/// An object as it is stored.
#[derive(Clone, Debug)]
struct Stored {
    content: u64,
    refs: BTreeSet<Name>,
    marked: bool,
    passive: bool,
    order: Order<Name>,
}

#[derive(Clone)]
pub(super) struct World {
    pub(super) machine: Scheduler<Name>,
    pub(super) model: Model,
    stored: BTreeMap<Name, Stored>,
    pub(super) timers: BTreeMap<Name, u64>,
    version: u64,
    pub(super) now_ms: u64,
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            machine: Scheduler::new(7),
            model: Model::default(),
            stored: BTreeMap::new(),
            timers: BTreeMap::new(),
            version: 0,
            now_ms: 0,
        }
    }

    /// Does several things in one step; panics when a rule is broken.
    pub(super) fn step(&mut self, actions: &[Action]) -> Vec<Command<Name>> {
        match self.try_step(actions) {
            Ok(commands) => commands,
            Err(error) => panic!("{error}\nafter {actions:?}"),
        }
    }

    pub(super) fn try_step(&mut self, actions: &[Action]) -> Result<Vec<Command<Name>>, String> {
        let mut events = Vec::new();
        for action in actions {
            if self.is_possible(action) {
                events.extend(self.events(action));
                self.model.act(action);
            }
        }
        self.feed(events)
    }

    /// Feeds events that the model was told of already.
    pub(super) fn feed(&mut self, events: Vec<Event<Name>>) -> Result<Vec<Command<Name>>, String> {
        let mut commands = Vec::new();
        self.machine.step(events, &mut commands);
        for command in &commands {
            match command {
                Command::SetTimer { key, at_ms } => {
                    self.timers.insert(key.clone(), *at_ms);
                }
                Command::ClearTimer { key } => {
                    self.timers.remove(key);
                }
                Command::Start { .. } | Command::Cancel { .. } | Command::Report { .. } => {}
            }
        }
        let shown = |error| format!("{error}\n{commands:?}");
        self.model.check(&commands).map_err(shown)?;
        self.machine.verify().map_err(shown)?;
        Ok(commands)
    }

    /// Lets the timers fire whose time has come.
    pub(super) fn pass_time(&mut self, ms: u64) -> Vec<Command<Name>> {
        self.now_ms += ms;
        let due = self
            .timers
            .iter()
            .filter(|(_, at_ms)| **at_ms <= self.now_ms);
        let due: Vec<_> = due.map(|(key, at_ms)| (key.clone(), *at_ms)).collect();
        let mut events = Vec::new();
        for (key, at_ms) in due {
            self.timers.remove(&key);
            self.model.must.insert(key.clone());
            events.push(Event::TimeReached { key, at_ms });
        }
        self.feed(events).unwrap()
    }

    fn is_possible(&self, action: &Action) -> bool {
        let stored = |name: &Name| self.stored.get(name);
        let running = |name: &Name| self.run_of(name).is_some();
        match action {
            Action::Create { name, .. } => stored(name).is_none_or(|object| object.marked),
            Action::Update(name)
            | Action::Status(name)
            | Action::Relate(name, _)
            | Action::Gone(name)
            | Action::Ask(name)
            | Action::Child(name) => stored(name).is_some(),
            Action::Mark(name) => stored(name).is_some_and(|object| !object.marked),
            Action::Rename(from, to) => {
                let object = stored(from).filter(|object| !object.marked && !object.passive);
                object.is_some() && stored(to).is_none() && from != to
            }
            Action::OwnUpdate(name, _) | Action::OwnRelate(name, _) | Action::OwnGone(name) => {
                stored(name).is_some() && running(name)
            }
            Action::OwnMark(name) => {
                stored(name).is_some_and(|object| !object.marked) && running(name)
            }
            Action::Finish(name, _) | Action::Overdue(name) | Action::Late(name) => {
                self.model.flight_of(name).is_some()
            }
            Action::Due(name) => self.timers.contains_key(name),
        }
    }

    /// The run of an object that is still the one that the run was started for.
    fn run_of(&self, name: &Name) -> Option<RunId> {
        let run = self.model.flight_of(name)?;
        (!self.model.flights[&run].cancelled).then_some(run)
    }

    fn events(&mut self, action: &Action) -> Vec<Event<Name>> {
        match action {
            Action::Create {
                name,
                refs,
                passive,
                order,
            } => {
                let object = Stored {
                    order: order.clone(),
                    content: 0,
                    refs: refs.clone(),
                    marked: false,
                    passive: *passive,
                };
                self.stored.insert(name.clone(), object);
                vec![self.write(name, |_| {})]
            }
            Action::Update(name) => vec![self.write(name, |object| object.content += 1)],
            Action::Status(name) => vec![self.write(name, |_| {})],
            Action::Relate(name, refs) => {
                vec![self.write(name, |object| object.refs.clone_from(refs))]
            }
            Action::Mark(name) => vec![self.write(name, |object| object.marked = true)],
            Action::Gone(key) => {
                self.stored.remove(key);
                vec![Event::Gone { key: key.clone() }]
            }
            Action::Rename(from, to) => self.rename(from, to),
            Action::Due(key) => {
                let at_ms = self.timers.remove(key).unwrap();
                self.now_ms = self.now_ms.max(at_ms);
                let key = key.clone();
                vec![Event::TimeReached { key, at_ms }]
            }
            Action::Child(key) => vec![Event::Related { key: key.clone() }],
            Action::Ask(key) => vec![Event::Asked { key: key.clone() }],
            Action::OwnUpdate(name, race) => self.own(name, *race, |object| object.content += 1),
            Action::OwnRelate(name, refs) => self.own(name, Race::WatchFirst, |object| {
                object.refs.clone_from(refs);
            }),
            Action::OwnMark(name) => {
                self.own(name, Race::AnswerFirst, |object| object.marked = true)
            }
            Action::OwnGone(key) => {
                self.stored.remove(key);
                let run = self.run_of(key).unwrap();
                let answer = Answer::Deleted;
                vec![
                    Event::WriteBegan { run },
                    Event::Gone { key: key.clone() },
                    Event::WriteEnded { run, answer },
                ]
            }
            Action::Finish(name, how) => self.finish(name, *how),
            Action::Overdue(name) => {
                let run = self.model.flight_of(name).unwrap();
                vec![Event::Overdue { run }]
            }
            Action::Late(name) => {
                let run = self.model.flight_of(name).unwrap();
                vec![Event::Late { run }]
            }
        }
    }

    fn rename(&mut self, from: &Name, to: &Name) -> Vec<Event<Name>> {
        let object = self.stored.remove(from).unwrap();
        self.stored.insert(to.clone(), object);
        let Event::Seen(sight) = self.write(to, |_| {}) else {
            unreachable!("a write is seen");
        };
        let from = from.clone();
        vec![Event::Renamed {
            from,
            taken: false,
            sight,
        }]
    }

    fn finish(&mut self, name: &Name, how: How) -> Vec<Event<Name>> {
        let run = self.model.flight_of(name).unwrap();
        let succeeded = |retrigger_at_ms| Outcome::Succeeded { retrigger_at_ms };
        let outcome = match how {
            How::Well => succeeded(None),
            How::RetriggerPast => succeeded(Some(self.now_ms)),
            How::RetriggerSoon => succeeded(Some(self.now_ms + 1_000)),
            How::Error => Outcome::Failed {
                error: "no".into(),
                retry: Retry::Backoff,
                retrigger_at_ms: None,
            },
        };
        let now_ms = self.now_ms;
        vec![Event::Finished {
            run,
            outcome,
            now_ms,
        }]
    }

    /// Changes a stored object; returns what the watch shows.
    fn write(&mut self, key: &Name, change: impl FnOnce(&mut Stored)) -> Event<Name> {
        self.version += 1;
        let object = self.stored.get_mut(key).unwrap();
        change(object);
        Event::Seen(Sight {
            key: key.clone(),
            version: Version(self.version),
            content: object.content,
            refs: object.refs.iter().cloned().collect(),
            marked: object.marked,
            order: object.order.clone(),
            role: if object.passive {
                Role::Passive
            } else {
                Role::Reconciled
            },
        })
    }

    fn own(
        &mut self,
        name: &Name,
        race: Race,
        change: impl FnOnce(&mut Stored),
    ) -> Vec<Event<Name>> {
        let run = self.run_of(name).unwrap();
        let seen = self.write(name, change);
        let answer = Answer::Version(Version(self.version));
        let (began, ended) = (Event::WriteBegan { run }, Event::WriteEnded { run, answer });
        match race {
            Race::WatchFirst => vec![began, seen, ended],
            Race::AnswerFirst => vec![began, ended, seen],
        }
    }
}

/// A command as scenarios show it.
pub(super) fn show(command: &Command<Name>) -> Option<String> {
    use crate::{Phase, Report};
    Some(match command {
        Command::Start {
            key,
            reason,
            phase,
            former_name,
            ..
        } => {
            let phase = match phase {
                Phase::Delete => " delete",
                Phase::Rename => " rename",
                Phase::Ordinary => "",
            };
            let former = former_name.as_ref();
            let former = former.map_or(String::new(), |former| format!(", was {former}"));
            format!("start{phase} {key} ({reason}{former})")
        }
        Command::Cancel { key, cause, .. } => format!("cancel {key} ({cause})"),
        Command::SetTimer { key, at_ms } => format!("timer {key} at {at_ms} ms"),
        Command::ClearTimer { key } => format!("no timer {key}"),
        Command::Report { key, report } => match report {
            Report::Queued(_) => return None,
            Report::Cyclic(path) => format!("error {key}: cycle {path}"),
            Report::CycleBroken => format!("no cycle {key}"),
            Report::Stuck(_) => format!("stuck {key}"),
        },
    })
}
