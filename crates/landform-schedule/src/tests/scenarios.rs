//! The scenario files, played on the machine.
//!
//! `UPDATE_SCENARIOS=1` writes what happened into the files. Every block is one step. Commands:
//! `create c -> a b [passive]`, `update`, `status`, `relate c -> a`, `delete`, `gone`, `rename a b`, `ask`, `child a` (an object that a owns is changed),
//! `own update` (`own update-late` when the answer comes first), `own relate c -> a`, `own delete`, `own gone`, `finish a [error|retrigger
//! now|retrigger soon]`, `overdue a`, `wait 1000`, and `status of a`.

use std::path::{Path, PathBuf};

use super::world::{Action, How, Race, World, name, names, show};
use crate::scenario::replay;
use crate::{Order, Standing, Wait};

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

#[test]
fn r2_r3_r4_r5_r6_r7_r8_every_scenario_goes_as_written() {
    let files = files();
    let traces = (1..=12).map(|trace| format!("_t{trace}_"));
    let missing: Vec<_> = traces
        .filter(|trace| {
            let mut names = files.iter().map(|file| file.display().to_string());
            !names.any(|name| name.contains(trace.as_str()))
        })
        .collect();
    assert!(missing.is_empty(), "no scenario for {missing:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut world = World::new();
        let replayed = replay(&text, |commands| play(&mut world, commands));
        let replayed = replayed.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        if std::env::var_os("UPDATE_SCENARIOS").is_some() {
            std::fs::write(&file, &replayed).unwrap();
        } else {
            assert_eq!(replayed, text, "{}", file.display());
        }
    }
}

pub(super) fn play(world: &mut World, commands: &[&str]) -> Result<Vec<String>, String> {
    let mut actions = Vec::new();
    for command in commands {
        let words: Vec<_> = command.split_whitespace().collect();
        match words.as_slice() {
            ["wait", ms] => {
                let ms = ms.parse().map_err(|error| format!("{command}: {error}"))?;
                let happened = world.pass_time(ms);
                return Ok(happened.iter().filter_map(show).collect());
            }
            ["status", "of", object] => return Ok(vec![status(world, object)]),
            _ => actions.push(action(command)?),
        }
    }
    let happened = world.try_step(&actions)?;
    Ok(happened.iter().filter_map(show).collect())
}

fn action(command: &str) -> Result<Action, String> {
    let (command, refs) = command.split_once("->").unwrap_or((command, ""));
    let passive = refs.contains("passive") || command.contains("passive");
    let refs = names(&refs.replace("passive", ""));
    let words: Vec<_> = command
        .split_whitespace()
        .filter(|word| *word != "passive")
        .collect();
    Ok(match words.as_slice() {
        ["create", object, order @ ..] => Action::Create {
            name: name(object),
            refs,
            passive,
            order: order_of(order)?,
        },
        ["update", object] => Action::Update(name(object)),
        ["status", object] => Action::Status(name(object)),
        ["relate", object] => Action::Relate(name(object), refs),
        ["delete", object] => Action::Mark(name(object)),
        ["gone", object] => Action::Gone(name(object)),
        ["rename", from, to] => Action::Rename(name(from), name(to)),
        ["child", object] => Action::Child(name(object)),
        ["ask", object] => Action::Ask(name(object)),
        ["own", "update", object] => Action::OwnUpdate(name(object), Race::WatchFirst),
        ["own", "update-late", object] => Action::OwnUpdate(name(object), Race::AnswerFirst),
        ["own", "relate", object] => Action::OwnRelate(name(object), refs),
        ["own", "delete", object] => Action::OwnMark(name(object)),
        ["own", "gone", object] => Action::OwnGone(name(object)),
        ["finish", object] => Action::Finish(name(object), How::Well),
        ["finish", object, "error"] => Action::Finish(name(object), How::Error),
        ["finish", object, "retrigger", "now"] => Action::Finish(name(object), How::RetriggerPast),
        ["finish", object, "retrigger", "soon"] => Action::Finish(name(object), How::RetriggerSoon),
        ["late", object] => Action::Late(name(object)),
        ["due", object] => Action::Due(name(object)),
        ["overdue", object] => Action::Overdue(name(object)),
        _ => return Err(format!("unknown command: {command}")),
    })
}

/// `related [owner=a] [gives=x]`, `free`; strict without a word.
fn order_of(words: &[&str]) -> Result<Order<super::world::Name>, String> {
    let all = |prefix: &str| {
        let found = words.iter().filter_map(|word| word.strip_prefix(prefix));
        found.map(name).collect()
    };
    match words.first() {
        None => Ok(Order::Strict),
        Some(&"free") => Ok(Order::Free),
        Some(&"related") => Ok(Order::Related {
            owners: all("owner="),
            names: all("gives="),
        }),
        Some(other) => Err(format!("unknown order: {other}")),
    }
}

fn status(world: &World, object: &str) -> String {
    let Some(status) = world.machine.status(&name(object)) else {
        return "missing".to_owned();
    };
    let standing = match status.standing {
        Standing::Idle => "idle".to_owned(),
        Standing::Running { reason, .. } => format!("running ({reason})"),
        Standing::Cancelling { cause, .. } => format!("cancelling ({cause})"),
        Standing::Stuck { cause, .. } => format!("stuck ({cause})"),
        Standing::Cyclic(path) => format!("cycle {path}"),
        Standing::Pending { reason, on } => {
            let on: Vec<_> = on.iter().map(show_wait).collect();
            let reason = reason.map_or("by its refs".to_owned(), |reason| reason.to_string());
            format!("pending ({reason}) on {}", on.join(", "))
        }
    };
    let error = status.last_error;
    let error = error.map_or(String::new(), |error| format!(", error {error}"));
    let next = status.next_run_at_ms;
    let next = next.map_or(String::new(), |at| format!(", next at {at} ms"));
    standing + &error + &next
}

fn show_wait(wait: &Wait<super::world::Name>) -> String {
    match wait {
        Wait::Ref(key) => format!("ref {key}"),
        Wait::Dependent(key) => format!("dependent {key}"),
        Wait::FormerName(key) => format!("former name {key}"),
        Wait::Delete(key) => format!("delete of {key}"),
        Wait::Rename(key) => format!("rename of {key}"),
    }
}
