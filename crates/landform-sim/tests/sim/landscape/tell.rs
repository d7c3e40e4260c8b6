//! How stories are told: once undisturbed, to see where they lead, and once for each write with a crash after it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use landform_sim::fault::Rates;
use landform_sim::landscape::{Installation, LandscapeWorld, data, installation_name, template};
use landform_sim::user::Wish;
use landform_sim::{Action, Simulation, crash_at_writes};
use serde_json::Value;

/// How a story ends.
pub(super) struct End {
    objects: BTreeMap<String, Value>,
}

/// Tells a story with a crash after each write: all end alike, and this is how.
pub(super) fn survives(story: &[Action]) -> End {
    let end = ends(story);
    let template = template().unwrap();
    if let Err(failure) = crash_at_writes(&template, LandscapeWorld::new, story) {
        panic!("{failure}");
    }
    end
}

/// The same for the many stories of a table: with crashes in the long version only (`cargo xtask sim --stories`).
pub(super) fn survives_in_long_version(story: &[Action]) -> End {
    let every = std::env::var("LANDFORM_SIM_EVERY").unwrap_or_default();
    let is_short = every.parse::<usize>().is_ok_and(|every| every > 1);
    if is_short {
        ends(story)
    } else {
        survives(story)
    }
}

/// Tells a story undisturbed.
fn ends(story: &[Action]) -> End {
    let template = template().unwrap();
    let mut calm = Simulation::new(Arc::new(LandscapeWorld::new()), &template, 0, Rates::none());
    for action in story.iter().chain(&[Action::Rest]) {
        if let Err(failure) = calm.perform(action) {
            panic!("{}\n{failure}", calm.surroundings().trace.text());
        }
    }
    let objects = calm.end_state().into_iter();
    let parse = |(name, text): (String, String)| (name, serde_json::from_str(&text).unwrap());
    End {
        objects: objects.map(parse).collect(),
    }
}

impl End {
    /// The phase of an installation; `gone` when it isn't there.
    pub(super) fn phase(&self, installation: &str) -> String {
        let key = format!("installations.landscaper.gardener.cloud default/{installation}");
        let Some(object) = self.objects.get(&key) else {
            return "gone".into();
        };
        object["status"]["phase"].as_str().unwrap_or("none").into()
    }

    /// The last error of an installation.
    pub(super) fn error(&self, installation: &str) -> String {
        let key = format!("installations.landscaper.gardener.cloud default/{installation}");
        let error = &self.objects[&key]["status"]["lastError"];
        error["message"].as_str().unwrap_or_default().into()
    }

    /// How often an installation was reconciled automatically, in the row that goes on.
    pub(super) fn times(&self, installation: &str) -> Option<i64> {
        let key = format!("installations.landscaper.gardener.cloud default/{installation}");
        let status = &self.objects[&key]["status"]["automaticReconcileStatus"];
        status["numberOfReconciles"].as_i64()
    }

    /// What exists outside, by place.
    pub(super) fn outside(&self) -> Vec<(&str, u64)> {
        let all = self.objects.iter();
        all.filter_map(|(name, value)| Some((name.strip_prefix("outside ")?, value.as_u64()?)))
            .collect()
    }

    /// How many objects of a kind there are.
    pub(super) fn count(&self, plural: &str) -> usize {
        let prefix = format!("{plural}.landscaper.gardener.cloud ");
        let names = self.objects.keys();
        names.filter(|name| name.starts_with(&prefix)).count()
    }
}

pub(super) fn apply(installation: Installation) -> Action {
    Action::Wish(Wish::Applied(installation.object()))
}

pub(super) fn given(name: &str, value: u64) -> Action {
    Action::Wish(Wish::Applied(data(name, value)))
}

pub(super) fn ask(installation: &str, operation: &str) -> Action {
    Action::Wish(Wish::Applied(Installation::asked_for(
        installation,
        operation,
    )))
}

pub(super) fn keep_outside(installation: &str) -> Action {
    Action::Wish(Wish::Applied(Installation::kept_outside(installation)))
}

/// The same while it is being deleted.
pub(super) fn let_stay(installation: &str) -> Action {
    Action::Wish(Wish::Told(Installation::kept_outside(installation)))
}

/// Asks for something while it is being deleted.
pub(super) fn ask_of_marked(installation: &str, operation: &str) -> Action {
    let asked = Installation::asked_for(installation, operation);
    Action::Wish(Wish::Told(asked))
}

pub(super) fn delete(installation: &str) -> Action {
    Action::Wish(Wish::Deleted(installation_name(installation)))
}

pub(super) fn delete_in_background(installation: &str) -> Action {
    Action::Wish(Wish::DeletedBy(
        installation_name(installation),
        "Background",
    ))
}

/// Long enough that everything that can go on without help has, and shorter than any timeout.
pub(super) fn a_while() -> Action {
    Action::Wait(Duration::from_secs(120))
}
