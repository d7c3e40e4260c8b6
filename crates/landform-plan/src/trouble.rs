//! What would go wrong, what would wait, and what nobody can know: read from the statuses at the end.

use std::collections::{BTreeMap, BTreeSet};

use landform_api::keys::FINALIZER_CRD;
use landform_api::words::counted;
use landform_store::Key;
use serde_json::Value;

use crate::log::{Done, Entry};
use crate::model::{Assumption, Problem, Unknown};
use crate::objects::{Found, Objects, text};

/// From what waits to what it waits for, at most so many times.
const HOPS: usize = 256;

/// Kind, namespace and name of an object.
type Name = (String, String, String);

/// What is wrong or unknown at the end.
#[derive(Default)]
pub(crate) struct Trouble {
    pub(crate) unknown: Vec<Unknown>,
    pub(crate) assumed: Vec<Assumption>,
    pub(crate) problems: Vec<Problem>,
}

/// What a run said last, by kind, namespace and name.
pub(crate) type Errors = BTreeMap<Name, String>;

/// Something that is known only later.
struct Open {
    found: Found,
    reason: String,
    /// Whether it was so before the change.
    old: bool,
    affects: BTreeSet<String>,
}

/// Reads it all.
///
/// `earlier` is what deployers and hooks would have done before the change, `entries` since.
pub(crate) fn look<'k>(
    objects: &Objects<'_>,
    touched: impl IntoIterator<Item = &'k Key>,
    earlier: &[Entry],
    entries: &[Entry],
    errors: &Errors,
) -> Trouble {
    let mut open = open(objects, earlier, true);
    for newer in self::open(objects, entries, false) {
        open.retain(|older| older.found.key != newer.found.key);
        open.push(newer);
    }
    let mut blocked: BTreeMap<Name, usize> = BTreeMap::new();
    for (index, one) in open.iter().enumerate() {
        for link in objects.chain(&one.found) {
            blocked.insert(name_of(&link.value), index);
        }
    }
    let mut problems = Vec::new();
    let mut told = BTreeSet::new();
    let mut names = Vec::new();
    for key in touched {
        let Some(value) = objects.new_of(key) else {
            continue;
        };
        let key = key.clone();
        let found = Found { key, value };
        let name = name_of(&found.value);
        names.extend(cut_name(objects, &found, &name.2));
        let before = objects.old(&found.key);
        let before = before.as_ref().map(|object| &object["status"]);
        match standing(objects, &found, before, &blocked) {
            Standing::Fine => continue,
            Standing::Open(index, why) => {
                if let Some(open) = open.get_mut(index) {
                    let view = objects.view(&found).short();
                    open.affects.insert(format!("{view} ({why})"));
                }
            }
            Standing::Wrong(message) => problems.push(problem(objects, &found, message)),
        }
        told.insert(name);
    }
    for (name, message) in errors.iter().filter(|(name, _)| !told.contains(*name)) {
        if let Some(found) = objects.find(&name.0, &name.1, &name.2) {
            problems.push(problem(objects, &found, message.clone()));
        }
    }
    let mut trouble = Trouble {
        unknown: told_unknown(objects, open),
        assumed: assumed(objects, entries),
        problems: roots_of(problems),
    };
    trouble.cut(&names);
    trouble
}

impl Trouble {
    /// Names that follow from uids of the fork will be others: sentences show what the plan calls them.
    fn cut(&mut self, names: &[(String, String)]) {
        let cut = |sentence: &mut String| {
            for (name, shown) in names {
                if sentence.contains(name) {
                    *sentence = sentence.replace(name, shown);
                }
            }
        };
        let problems = self.problems.iter_mut();
        problems.for_each(|problem| cut(&mut problem.message));
        let unknown = self.unknown.iter_mut();
        unknown.for_each(|unknown| unknown.affects.iter_mut().for_each(cut));
    }
}

fn cut_name(objects: &Objects<'_>, found: &Found, name: &str) -> Option<(String, String)> {
    if objects.old(&found.key).is_some() {
        return None;
    }
    let shown = objects.view(found).name;
    (shown != name).then(|| (name.to_owned(), shown))
}

/// How an object stands at the end.
enum Standing {
    /// It is where it should be, or as it was before.
    Fine,
    /// It waits for this open thing, for this reason.
    Open(usize, String),
    /// It has failed, or waits for something that doesn't come by itself.
    Wrong(String),
}

fn standing(
    objects: &Objects<'_>,
    found: &Found,
    before: Option<&Value>,
    blocked: &BTreeMap<Name, usize>,
) -> Standing {
    let status = &found.value["status"];
    let waits = waits(status);
    let sentence = || {
        let sentences: Vec<_> = waits.iter().map(Wait::sentence).collect();
        sentences.join("; ")
    };
    let around_open = blocked.contains_key(&name_of(&found.value));
    if !around_open && let Some(index) = leads_to(objects, found, blocked) {
        return Standing::Open(index, sentence());
    }
    if let Some(message) = failed(status, before) {
        return Standing::Wrong(message);
    }
    if around_open {
        return Standing::Fine;
    }
    let waited = before.is_some_and(|before| before["waitingOn"] == status["waitingOn"]);
    if !waits.is_empty() && !waited {
        return Standing::Wrong(format!("it would wait: {}", sentence()));
    }
    let metadata = &found.value["metadata"];
    let finalizers = metadata["finalizers"].as_array().into_iter().flatten();
    let finalizers: Vec<_> = finalizers.map(text).collect();
    let marked = waits.is_empty() && metadata["deletionTimestamp"].is_string();
    if marked
        && finalizers == [FINALIZER_CRD]
        && let Some(standing) = standing_of_definition(objects, &found.value, blocked)
    {
        return standing;
    }
    if marked && !finalizers.is_empty() {
        let held = finalizers.join(", ");
        return Standing::Wrong(format!("it would be marked and not go: {held} holds it"));
    }
    Standing::Fine
}

/// A definition goes when its last object has gone: what keeps these is told of them.
fn standing_of_definition(
    objects: &Objects<'_>,
    definition: &Value,
    blocked: &BTreeMap<Name, usize>,
) -> Option<Standing> {
    let spec = &definition["spec"];
    let left = objects.of_kind(text(&spec["group"]), text(&spec["names"]["kind"]));
    let names: Vec<_> = left.iter().map(|left| name_of(&left.value)).collect();
    let open = names.iter().find(|name| blocked.contains_key(*name));
    let (kind, namespace, name) = open.or_else(|| names.first())?;
    let place = match namespace.as_str() {
        "" => String::new(),
        namespace => format!(" in {namespace}"),
    };
    let and = match names.len() - 1 {
        0 => "has".to_owned(),
        more => format!("and {} of its kind have", counted(more, "more object")),
    };
    let when = format!("when {kind}/{name}{place} {and} gone");
    Some(match open.and_then(|open| blocked.get(open)) {
        Some(index) => Standing::Open(*index, format!("it goes {when}")),
        None => Standing::Wrong(format!("it would be marked and go {when}")),
    })
}

fn open(objects: &Objects<'_>, entries: &[Entry], old: bool) -> Vec<Open> {
    let mut open: Vec<Open> = Vec::new();
    for entry in entries {
        let reason = match &entry.what {
            Done::Unknown(why) => why.clone(),
            Done::Hook => "its hook is called only in earnest".to_owned(),
            Done::Deployed(_) | Done::Removed | Done::Assumed(_) => continue,
        };
        let found = objects.find(&entry.kind, &entry.namespace, &entry.name);
        let Some(found) = found.filter(|found| objects.new_of(&found.key).is_some()) else {
            continue;
        };
        open.retain(|known| known.found.key != found.key);
        open.push(Open {
            found,
            reason,
            old,
            affects: BTreeSet::new(),
        });
    }
    open
}

/// What was open before the change is told only when something waits for it now.
fn told_unknown(objects: &Objects<'_>, open: Vec<Open>) -> Vec<Unknown> {
    let told = open
        .into_iter()
        .filter(|open| !open.old || !open.affects.is_empty());
    let mut told: Vec<_> = told
        .map(|open| Unknown {
            before: objects.view(&open.found),
            reason: open.reason,
            affects: open.affects.into_iter().collect(),
        })
        .collect();
    told.sort();
    told
}

fn assumed(objects: &Objects<'_>, entries: &[Entry]) -> Vec<Assumption> {
    let mut assumed = BTreeSet::new();
    for entry in entries {
        if let Done::Assumed(what) = &entry.what
            && let Some(found) = objects.find(&entry.kind, &entry.namespace, &entry.name)
        {
            assumed.insert(Assumption {
                object: objects.view(&found),
                what: what.clone(),
            });
        }
    }
    assumed.into_iter().collect()
}

fn problem(objects: &Objects<'_>, found: &Found, message: String) -> Problem {
    Problem {
        object: objects.view(found),
        message,
    }
}

/// An object fails because what it owns does: only the innermost is told.
fn roots_of(mut problems: Vec<Problem>) -> Vec<Problem> {
    problems.sort();
    problems.dedup();
    let paths: Vec<_> = problems
        .iter()
        .map(|problem| {
            (
                problem.object.namespace.clone(),
                problem.object.path.clone(),
            )
        })
        .collect();
    problems.retain(|problem| {
        let object = &problem.object;
        !paths.iter().any(|(namespace, path)| {
            *namespace == object.namespace
                && path.len() > object.path.len()
                && path.starts_with(&object.path)
        })
    });
    problems
}

/// Why it has failed, if it hadn't before.
fn failed(status: &Value, before: Option<&Value>) -> Option<String> {
    let error = &status["lastError"];
    let message = error["message"].as_str()?;
    let said = before.is_some_and(|before| {
        before["lastError"]["message"] == error["message"] && before["phase"] == status["phase"]
    });
    (!said && status["phase"] != "Succeeded").then(|| message.to_owned())
}

/// Something that an object waits for.
struct Wait {
    object: Option<Name>,
    reason: String,
}

impl Wait {
    fn sentence(&self) -> String {
        match &self.object {
            Some((kind, _, name)) => format!("{kind}/{name}: {}", self.reason),
            None => self.reason.clone(),
        }
    }
}

fn waits(status: &Value) -> Vec<Wait> {
    let waits = status["waitingOn"].as_array().into_iter().flatten();
    waits
        .map(|wait| {
            let object = &wait["object"];
            let field = |name: &str| text(&object[name]).to_owned();
            Wait {
                object: (object.is_object())
                    .then(|| (field("kind"), field("namespace"), field("name"))),
                reason: text(&wait["reason"]).to_owned(),
            }
        })
        .collect()
}

/// Which open thing an object waits for in the end.
fn leads_to(
    objects: &Objects<'_>,
    found: &Found,
    blocked: &BTreeMap<Name, usize>,
) -> Option<usize> {
    let mut seen = BTreeSet::new();
    let mut next = vec![found.value.clone()];
    while let Some(value) = next.pop() {
        if seen.len() >= HOPS || !seen.insert(name_of(&value)) {
            continue;
        }
        for name in waits(&value["status"])
            .into_iter()
            .filter_map(|wait| wait.object)
        {
            if let Some(index) = blocked.get(&name) {
                return Some(*index);
            }
            let (kind, namespace, name) = &name;
            next.extend(objects.find(kind, namespace, name).map(|found| found.value));
        }
    }
    None
}

fn name_of(value: &Value) -> Name {
    let metadata = &value["metadata"];
    (
        text(&value["kind"]).to_owned(),
        text(&metadata["namespace"]).to_owned(),
        text(&metadata["name"]).to_owned(),
    )
}
