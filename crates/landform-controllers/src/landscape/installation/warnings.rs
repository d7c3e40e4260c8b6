//! What looks wrong in what templates rendered: in the status as long as it is so, and once as an Event.

use landform_api::budget::shown;
use landform_api::landscaper::InstallationStatus;
use landform_blueprint::Problem;
use landform_engine::{Context, EventType};

/// The status lists at most this many warnings.
const WARNINGS_LISTED_MAX: usize = 20;
/// How warnings about the output of export executors begin.
const OF_EXPORTS: &str = "output of export executor";

/// Notes the warnings of an update, in place of all that there were.
pub(super) fn of_update(context: &Context, status: &mut InstallationStatus, found: &[Problem]) {
    let before = std::mem::take(&mut status.warnings);
    note(context, status, &before, found);
}

/// Notes the warnings of exports, in place of those that exports had.
pub(super) fn of_exports(context: &Context, status: &mut InstallationStatus, found: &[Problem]) {
    let before = status.warnings.clone();
    status
        .warnings
        .retain(|warning| !warning.starts_with(OF_EXPORTS));
    note(context, status, &before, found);
}

fn note(context: &Context, status: &mut InstallationStatus, before: &[String], found: &[Problem]) {
    for problem in found {
        if status.warnings.len() >= WARNINGS_LISTED_MAX {
            return;
        }
        // Keys can be long; the place says enough.
        let mut problem = problem.clone();
        problem.path = shown(&problem.path).into_owned();
        let text = problem.to_string();
        if status.warnings.contains(&text) {
            continue;
        }
        if !before.contains(&text) {
            context.event(EventType::Warning, "RenderedWithWarning", &text);
        }
        status.warnings.push(text);
    }
}
