//! Scenario files: what people do, and what is expected to happen, in words that everybody can read.
//!
//! A block is some commands, `----`, and what happened meanwhile: the world's story, and the answers to
//! `get`. The vocabulary:
//!
//! | command | does |
//! | --- | --- |
//! | `create KIND NAME field=value …` | applies an object with these fields of its spec; `[a,b]` is a list |
//! | `update KIND NAME field=value …` | the same, in the words of a change |
//! | `apply` | applies the YAML in the indented lines below |
//! | `delete KIND NAME` | deletes an object |
//! | `ask KIND NAME` | asks for a run |
//! | `get KIND NAME path` | says what is at a path, as in `status.number` |
//! | `wait 10s` · `rest` · `expect rest` | time passes; until nothing happens; nothing happens any more |
//! | `crash` · `crash after 3 writes` · `restart` | the process dies now, later, or stops in good order |
//! | `fault NAME once` | a fault strikes at its next opportunity |
//! | `jump 5m` · `jump -5m` | the time of day is set |

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::end_state::objects;
use crate::fault::{Fault, Rates};
use crate::simulation::{Action, Simulation, Template, World};
use crate::user::{ObjectName, Wish};

/// A scenario that is being played.
pub struct Script<W: World> {
    simulation: Simulation<W>,
    /// Kinds by their name in lower case: apiVersion, kind.
    kinds: Vec<(String, String)>,
}

impl<W: World> Script<W> {
    /// Plays on this disk, with these controllers. `kinds` are those that commands may name, as
    /// `apiVersion` and `kind`.
    #[must_use]
    pub fn new(template: &Template, world: W, kinds: &[(&str, &str)]) -> Self {
        let owned = |(version, kind): &(&str, &str)| ((*version).to_owned(), (*kind).to_owned());
        Self {
            simulation: Simulation::new(Arc::new(world), template, 0, Rates::none()),
            kinds: kinds.iter().map(owned).collect(),
        }
    }

    /// Carries out the commands of a block and tells what happened.
    ///
    /// # Errors
    /// When a command can't be understood or carried out, or a rule was broken.
    pub fn carry_out(&mut self, commands: &[&str]) -> Result<Vec<String>, String> {
        let mut happened = Vec::new();
        let mut lines = commands.iter().copied().peekable();
        while let Some(line) = lines.next() {
            let mut below = String::new();
            while let Some(indented) = lines.next_if(|line| line.starts_with(' ')) {
                below.push_str(indented);
                below.push('\n');
            }
            let said = self
                .command(line, &below)
                .map_err(|error| format!("{line}: {error}"))?;
            happened.extend(self.simulation.world().story());
            happened.extend(said);
        }
        Ok(happened)
    }

    /// Carries out one command; says what it answers, if it does.
    fn command(&mut self, line: &str, below: &str) -> Result<Option<String>, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let action = match words.as_slice() {
            ["get", kind, name, path] => return self.get(kind, name, path).map(Some),
            ["create" | "update", kind, name, fields @ ..] => {
                let mut object = self.named(kind, name)?;
                object["spec"] = fields_of(fields)?;
                Action::Wish(Wish::Applied(object))
            }
            ["apply"] => {
                let limits = landform_yaml::Budget::FILE;
                let read = landform_yaml::parse_one(below, &limits);
                let read = read.map_err(|error| error.to_string())?;
                Action::Wish(Wish::Applied(read))
            }
            ["delete", kind, name] => {
                Action::Wish(Wish::Deleted(ObjectName::of(&self.named(kind, name)?)))
            }
            ["delete", kind, name, "background"] => {
                let name = ObjectName::of(&self.named(kind, name)?);
                Action::Wish(Wish::DeletedBy(name, "Background"))
            }
            ["ask", kind, name] => Action::Ask(ObjectName::of(&self.named(kind, name)?)),
            ["wait", time] => Action::Wait(duration(time)?),
            ["rest"] => Action::Rest,
            ["expect", "rest"] => Action::Silence(Duration::from_secs(3600)),
            ["crash"] => Action::Crash,
            ["crash", "after", count, "write" | "writes"] => {
                let count = count
                    .parse()
                    .map_err(|_| "not a number of writes".to_owned())?;
                Action::CrashAfterWrites(count)
            }
            ["restart"] => Action::Restart,
            ["fault", name, "once"] => {
                Action::Once(Fault::named(name).ok_or_else(|| format!("no fault {name}"))?)
            }
            ["jump", time] => {
                let (back, time) = match time.strip_prefix('-') {
                    Some(time) => (true, time),
                    None => (false, *time),
                };
                let by_ms = i64::try_from(duration(time)?.as_millis()).unwrap_or(i64::MAX);
                Action::Jump(if back { -by_ms } else { by_ms })
            }
            _ => return Err("there is no such command".into()),
        };
        self.simulation.perform(&action).map_err(|failure| {
            let trace = self.simulation.surroundings().trace.text();
            format!("{failure}\n{trace}")
        })?;
        Ok(None)
    }

    /// An object of this kind and name with nothing in it.
    fn named(&self, kind: &str, name: &str) -> Result<Value, String> {
        let found = self
            .kinds
            .iter()
            .find(|(_, known)| known.to_lowercase() == kind);
        let (api_version, kind) = found.ok_or_else(|| format!("no kind {kind}"))?;
        Ok(json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}))
    }

    /// What is stored at a path of an object, past the network.
    fn get(&self, kind: &str, name: &str, path: &str) -> Result<String, String> {
        let wanted = ObjectName::of(&self.named(kind, name)?);
        let objects = objects(self.simulation.surroundings().disk.store());
        let found = objects.values().find(|object| {
            let metadata = &object["metadata"];
            object["kind"] == *wanted.kind
                && metadata["name"] == *wanted.name
                && (metadata["namespace"].is_null() || metadata["namespace"] == *wanted.namespace)
        });
        let Some(object) = found else {
            return Ok(format!("{kind} {name} is not there"));
        };
        let mut value = object;
        for field in path.split('.') {
            value = field
                .parse::<usize>()
                .ok()
                .and_then(|index| value.get(index))
                .unwrap_or(&value[field]);
        }
        Ok(format!("{kind} {name} {path}: {value}"))
    }
}

/// `value=1 refs=[a,b] text=x` as fields.
fn fields_of(words: &[&str]) -> Result<Value, String> {
    let mut fields = Map::new();
    for word in words {
        let (name, value) = word
            .split_once('=')
            .ok_or_else(|| format!("{word}: write field=value"))?;
        let list = value
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        let value = match list {
            Some(list) => list
                .split(',')
                .filter(|item| !item.is_empty())
                .map(plain)
                .collect(),
            None => plain(value),
        };
        fields.insert(name.to_owned(), value);
    }
    Ok(Value::Object(fields))
}

/// A number or a text.
fn plain(text: &str) -> Value {
    text.parse::<i64>()
        .map_or_else(|_| json!(text), |number| json!(number))
}

/// `500ms`, `10s`, `5m`, `2h`.
fn duration(text: &str) -> Result<Duration, String> {
    let split = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().map_err(|_| format!("{text}: not a time"))?;
    let unit_ms = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(format!("{text}: write ms, s, m or h")),
    };
    Ok(Duration::from_millis(number.saturating_mul(unit_ms)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_times_are_read_as_people_write_them() {
        let fields = fields_of(&["value=1", "refs=[a,b]", "none=[]", "text=x"]);
        let expected = json!({"value": 1, "refs": ["a", "b"], "none": [], "text": "x"});
        assert_eq!(fields, Ok(expected));
        assert!(fields_of(&["value"]).is_err());
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        assert_eq!(duration("20ms"), Ok(Duration::from_millis(20)));
        assert!(duration("5").is_err() && duration("soon").is_err());
    }
}
