//! What `wait` waits for, and whether an object is there.

use std::fmt;

use landform_api::jsonpath::JsonPath;
use landform_api::landscaper::keys::OPERATION;
use landform_api::{catalog, landscaper, project};
use serde_json::Value;

use crate::AnyError;
use crate::client::object::Place;
use crate::exit::misused;

/// What is waited for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Goal {
    Delete,
    Condition {
        kind: String,
        status: String,
    },
    JsonPath {
        path: JsonPath,
        text: String,
        value: Option<String>,
    },
    Phase(String),
}

/// How an object stands to a goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is there; how that is called.
    Reached(String),
    /// Not yet, and why.
    Open(String),
    /// It won't get there by itself, and why.
    Never(String),
    /// There is no object.
    Missing,
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delete => f.write_str("gone"),
            Self::Condition { kind, status } => write!(f, "{kind}={status}"),
            Self::JsonPath {
                text,
                value: Some(value),
                ..
            } => write!(f, "{text}={value}"),
            Self::JsonPath {
                text, value: None, ..
            } => write!(f, "with {text}"),
            Self::Phase(phase) => f.write_str(phase),
        }
    }
}

impl Goal {
    /// Reads what stands after `--for`.
    pub(super) fn parse(text: &str) -> Result<Self, AnyError> {
        if text.eq_ignore_ascii_case("delete") {
            return Ok(Self::Delete);
        }
        match text.split_once('=') {
            Some(("condition", rest)) if !rest.is_empty() => {
                let (kind, status) = rest.split_once('=').unwrap_or((rest, "True"));
                Ok(Self::Condition {
                    kind: kind.to_owned(),
                    status: status.to_owned(),
                })
            }
            Some(("phase", phase)) if !phase.is_empty() => Ok(Self::Phase(phase.to_owned())),
            Some(("jsonpath", rest)) => Self::parse_path(rest),
            _ => misused(format!(
                "--for={text}: write delete, condition=TYPE[=STATUS], jsonpath='{{.PATH}}'[=VALUE] or phase=PHASE"
            )),
        }
    }

    fn parse_path(rest: &str) -> Result<Self, AnyError> {
        let rest = rest.trim_matches('\'');
        // The path ends with its brace: filters have equal signs of their own.
        let end = rest
            .rfind('}')
            .map_or_else(|| rest.find('=').unwrap_or(rest.len()), |brace| brace + 1);
        let (text, after) = rest.split_at(end);
        let value = match after.trim_start_matches('\'').strip_prefix('=') {
            Some(value) => Some(value.trim_matches('\'').to_owned()),
            None if after.is_empty() => None,
            None => return misused(format!("--for=jsonpath={rest}: write '{{.PATH}}'=VALUE")),
        };
        match JsonPath::parse(text) {
            Ok(path) => Ok(Self::JsonPath {
                path,
                text: text.to_owned(),
                value,
            }),
            Err(error) => misused(format!("--for=jsonpath={text}: {error}")),
        }
    }

    /// What is waited for when nothing was said.
    pub(super) fn usual(place: &Place) -> Result<Self, AnyError> {
        let own = [landscaper::GROUP, catalog::GROUP, project::GROUP];
        if own.contains(&place.kind.group.as_str()) {
            let phase = match place.kind.kind.as_str() {
                project::KIND => "Synced",
                "Catalog" => "Ready",
                "Reconciler" => return Self::parse("condition=Ready"),
                _ => "Succeeded",
            };
            return Ok(Self::Phase(phase.to_owned()));
        }
        misused(format!(
            "say what {} should become: --for=delete, --for=condition=TYPE, --for=jsonpath='{{.PATH}}'=VALUE or --for=phase=PHASE",
            place.short()
        ))
    }

    /// Whether what is asked for is what a run has said of it.
    pub(super) fn tells_of_a_run(&self) -> bool {
        matches!(self, Self::Phase(_))
    }

    /// How an object stands.
    pub(super) fn judge(&self, found: Option<&Value>) -> Standing {
        let Some(object) = found else {
            return match self {
                Self::Delete => Standing::Reached("is gone".to_owned()),
                _ => Standing::Missing,
            };
        };
        let status = &object["status"];
        match self {
            Self::Delete if object["metadata"]["deletionTimestamp"].is_null() => {
                Standing::Open("nobody has deleted it".to_owned())
            }
            Self::Delete => {
                let held = object["metadata"]["finalizers"].as_array();
                let held: Vec<&str> = held
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                    .collect();
                Standing::Open(format!("held by {}", held.join(", ")))
            }
            Self::Condition {
                kind,
                status: wanted,
            } => condition(status, kind, wanted),
            Self::JsonPath { path, text, value } => {
                let found: Vec<String> = path.find(object).into_iter().map(plain).collect();
                let found = found.join(" ");
                match value {
                    Some(value) if found == *value => {
                        Standing::Reached(format!("has {text}={value}"))
                    }
                    None if !found.is_empty() => Standing::Reached(format!("has {text}={found}")),
                    _ if found.is_empty() => Standing::Open(format!("{text} is not set")),
                    _ => Standing::Open(format!("{text} is {found}")),
                }
            }
            Self::Phase(wanted) => phase(object, wanted),
        }
    }
}

fn condition(status: &Value, kind: &str, wanted: &str) -> Standing {
    let conditions = status["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    let found = conditions.find(|condition| {
        let name = condition["type"].as_str().unwrap_or_default();
        name.eq_ignore_ascii_case(kind)
    });
    let Some(found) = found else {
        return Standing::Open(format!("it has no condition {kind}"));
    };
    let status = found["status"].as_str().unwrap_or_default();
    if status.eq_ignore_ascii_case(wanted) {
        return Standing::Reached(format!("has {kind}={status}"));
    }
    let message = found["message"].as_str().unwrap_or_default();
    let colon = if message.is_empty() { "" } else { ": " };
    Standing::Open(format!("{kind} is {status}{colon}{message}"))
}

fn phase(object: &Value, wanted: &str) -> Standing {
    let status = &object["status"];
    let phase = status["phase"].as_str().unwrap_or_default();
    // A phase counts for what was asked last: the status may be about another spec, or a request be open.
    // What fails before anything was made of it has been seen to fail.
    let observed = status["observedGeneration"]
        .as_i64()
        .max(status["endedGeneration"].as_i64());
    let generation = object["metadata"]["generation"].as_i64();
    let is_old = observed.is_some_and(|observed| generation.is_some_and(|now| observed < now))
        || object["metadata"]["annotations"][OPERATION].is_string();
    let error = status["lastError"]["message"].as_str().unwrap_or_default();
    let waits = status["waitingOn"][0]["reason"]
        .as_str()
        .unwrap_or_default();
    if is_old {
        return Standing::Open(format!("{phase} for what it was before"));
    }
    if phase.eq_ignore_ascii_case(wanted) {
        return Standing::Reached(phase.to_owned());
    }
    let problem = status["problems"][0]["message"].as_str();
    let said = problem
        .or_else(|| status["message"].as_str())
        .unwrap_or_default();
    let because = [error, waits, said]
        .into_iter()
        .find(|text| !text.is_empty());
    let because = because.map_or(String::new(), |text| format!(": {text}"));
    match phase {
        "Failed" | "Aborted" => Standing::Never(format!("has {}{because}", phase.to_lowercase())),
        // A project or a catalog: what is wrong stands in files.
        "Incomplete" | "Held" | "Stale" => Standing::Never(format!("is {phase}{because}")),
        "" => Standing::Open(format!("nobody has looked at it yet{because}")),
        phase => Standing::Open(format!("{phase}{because}")),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn goal(text: &str) -> Goal {
        Goal::parse(text).unwrap()
    }

    #[test]
    fn goals_are_read_as_kubectl_reads_them() {
        assert_eq!(goal("delete"), Goal::Delete);
        let ready = |status: &str| Goal::Condition {
            kind: "Ready".into(),
            status: status.into(),
        };
        assert_eq!(goal("condition=Ready"), ready("True"));
        assert_eq!(goal("condition=Ready=false"), ready("false"));
        assert_eq!(goal("phase=Failed"), Goal::Phase("Failed".into()));
        for (text, shown) in [
            (
                "jsonpath={.status.phase}=Succeeded",
                "{.status.phase}=Succeeded",
            ),
            (
                "jsonpath='{.status.phase}'=Succeeded",
                "{.status.phase}=Succeeded",
            ),
            (
                "jsonpath={.a[?(@.b==\"c\")].d}=x",
                "{.a[?(@.b==\"c\")].d}=x",
            ),
            ("jsonpath={.status.address}", "with {.status.address}"),
        ] {
            assert_eq!(goal(text).to_string(), shown);
        }
        for wrong in [
            "",
            "ready",
            "condition=",
            "phase=",
            "jsonpath={.a",
            "jsonpath={.a}b",
        ] {
            assert!(Goal::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_failed_object_will_not_succeed_and_its_error_is_told() {
        let failed = json!({"metadata": {"generation": 2}, "status": {"phase": "Failed",
            "observedGeneration": 2, "lastError": {"message": "no such import"}}});
        let why = Standing::Never("has failed: no such import".into());
        assert_eq!(goal("phase=Succeeded").judge(Some(&failed)), why);
        assert_eq!(
            goal("phase=failed").judge(Some(&failed)),
            Standing::Reached("Failed".into())
        );
        let mut newer = failed;
        newer["metadata"]["generation"] = 3.into();
        assert!(matches!(
            goal("phase=Succeeded").judge(Some(&newer)),
            Standing::Open(_)
        ));
    }

    #[test]
    fn a_project_or_catalog_that_stays_wrong_says_why() {
        let object = |status: Value| json!({"metadata": {"generation": 1}, "status": status});
        let table = [
            (
                json!({"phase": "Incomplete", "problems": [{"file": "a.yaml", "message": "bad"}]}),
                "is Incomplete: bad",
            ),
            (
                json!({"phase": "Stale", "message": "no such directory"}),
                "is Stale: no such directory",
            ),
            (
                json!({"phase": "Failed", "message": "it can't be read"}),
                "has failed: it can't be read",
            ),
        ];
        for (status, expected) in table {
            let found = goal("phase=Synced").judge(Some(&object(status)));
            assert_eq!(found, Standing::Never(expected.into()));
        }
        let synced = object(json!({"phase": "Synced"}));
        assert_eq!(
            goal("phase=Synced").judge(Some(&synced)),
            Standing::Reached("Synced".into())
        );
        let settling = object(json!({"phase": "Settling"}));
        assert!(matches!(
            goal("phase=Synced").judge(Some(&settling)),
            Standing::Open(_)
        ));
    }

    #[test]
    fn other_goals_look_at_what_they_name() {
        let object = json!({"metadata": {"finalizers": ["x/y"], "deletionTimestamp": "t"}, "status": {"n": 2,
            "conditions": [{"type": "Ready", "status": "False", "message": "no"}]}});
        let judge = |text: &str| goal(text).judge(Some(&object));
        assert_eq!(judge("delete"), Standing::Open("held by x/y".into()));
        assert_eq!(
            judge("condition=ready"),
            Standing::Open("ready is False: no".into())
        );
        assert!(matches!(
            judge("condition=Ready=False"),
            Standing::Reached(_)
        ));
        assert!(matches!(
            judge("jsonpath={.status.n}=2"),
            Standing::Reached(_)
        ));
        assert!(matches!(judge("jsonpath={.status.n}=3"), Standing::Open(_)));
        assert_eq!(
            goal("delete").judge(None),
            Standing::Reached("is gone".into())
        );
        assert_eq!(goal("phase=Succeeded").judge(None), Standing::Missing);
    }
}
