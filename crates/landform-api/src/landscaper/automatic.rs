//! What an installation asks for with `spec.automaticReconcile`: to be reconciled again at certain times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::duration;
use crate::schedule::Schedule;

/// When an installation that has come to an end is reconciled again by itself. Only the roots of a landscape are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AutomaticReconcile {
    /// Deploys everything again after a success: every 24 hours, if nothing else is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub succeeded_reconcile: Option<RepeatedReconcile>,
    /// Runs again what failed: every 5 minutes, if nothing else is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_reconcile: Option<RepeatedReconcile>,
}

/// At which times, and how often.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RepeatedReconcile {
    /// At most this many times in a row; without it there is no limit. A change of the spec, another end and a
    /// reconcile that was asked for begin a new row.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub number_of_reconciles: Option<i32>,
    /// The time between two of them, for instance `90s` or `24h`, at least `1s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = duration::PATTERN))]
    pub interval: Option<String>,
    /// A crontab in UTC, which counts instead of the interval: `minute hour day month weekday`, a word such as
    /// `@daily`, or `@every 90s`, at least every second.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cron_spec: String,
}

/// What was reconciled automatically.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AutomaticReconcileStatus {
    /// The generation that this is about.
    pub generation: i64,
    /// How often it was reconciled automatically, in this row.
    pub number_of_reconciles: i32,
    /// When the last one was begun; before the first one, when the row began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_reconcile_time: Option<String>,
    /// Whether it is about an installation that failed.
    pub on_failed: bool,
}

impl RepeatedReconcile {
    /// The times, with this interval if none is given.
    ///
    /// # Errors
    /// The field that is wrong, and what is.
    pub fn schedule(&self, interval: &str) -> Result<Schedule, (&'static str, String)> {
        if !self.cron_spec.is_empty() {
            return Schedule::cron(&self.cron_spec).map_err(|problem| ("cronSpec", problem));
        }
        let interval = self.interval.as_deref().unwrap_or(interval);
        Schedule::every(interval).map_err(|problem| ("interval", problem))
    }
}
