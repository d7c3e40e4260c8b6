//! One line: an `Event` of `audit.k8s.io/v1` at level `Metadata`, or a note of what is missing.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use landform_api::budget;
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::macros::format_description;

use crate::identity::Identity;

/// At most this many groups of a user are named.
const GROUPS: usize = 32;
/// At most this many parameters of a query are named.
const PARAMETERS: usize = 20;
/// A path is cut after this many segments.
const SEGMENTS: usize = 12;

/// Parameters whose values say how a request is meant and can't be a secret. Of all others only the name is logged.
const HARMLESS: [&str; 15] = [
    "allowWatchBookmarks",
    "dryRun",
    "fieldManager",
    "fieldValidation",
    "follow",
    "force",
    "gracePeriodSeconds",
    "limit",
    "orphanDependents",
    "pretty",
    "propagationPolicy",
    "resourceVersion",
    "resourceVersionMatch",
    "timeoutSeconds",
    "watch",
];

/// A request that was answered.
#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) received: Option<OffsetDateTime>,
    pub(super) duration: Duration,
    pub(super) verb: String,
    pub(super) uri: String,
    pub(super) user: Option<Person>,
    pub(super) impersonated: Option<Person>,
    pub(super) source: Option<SocketAddr>,
    pub(super) user_agent: String,
    pub(super) object: Option<Map<String, Value>>,
    pub(super) code: u16,
    pub(super) reason: &'static str,
}

/// A name and its groups, cut to what is shown.
#[derive(Clone, Debug)]
pub(super) struct Person {
    user: String,
    uid: String,
    groups: Vec<String>,
}

impl Person {
    pub(super) fn of(identity: &Identity) -> Self {
        let groups = identity.groups.iter().take(GROUPS);
        Self {
            user: cut(&identity.user),
            uid: cut(&identity.uid),
            groups: groups.map(|group| cut(group)).collect(),
        }
    }

    pub(super) fn named(user: &str) -> Self {
        Self {
            user: cut(user),
            uid: String::new(),
            groups: Vec::new(),
        }
    }

    fn to_value(&self) -> Value {
        let mut value = json!({"username": self.user});
        if !self.uid.is_empty() {
            value["uid"] = json!(self.uid);
        }
        if !self.groups.is_empty() {
            value["groups"] = json!(self.groups);
        }
        value
    }
}

impl Entry {
    pub(super) fn is_unauthorized(&self) -> bool {
        self.code == 401
    }

    pub(super) fn source(&self) -> Option<IpAddr> {
        self.source.map(|source| source.ip())
    }

    pub(super) fn to_line(&self) -> String {
        let received = self.received.unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let decision = match self.code {
            401 | 403 => "forbid",
            _ => "allow",
        };
        let mut status = json!({"code": self.code});
        if !self.reason.is_empty() {
            status["reason"] = json!(self.reason);
        }
        let mut line = json!({
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "Metadata",
            "auditID": self.id,
            "stage": "ResponseComplete",
            "requestURI": self.uri,
            "verb": self.verb,
            "user": self.user.as_ref().map_or_else(|| json!({}), Person::to_value),
            "responseStatus": status,
            "requestReceivedTimestamp": timestamp(received),
            "stageTimestamp": timestamp(received + self.duration),
            "annotations": {
                "authorization.k8s.io/decision": decision,
                "landform.dev/duration-us": self.duration.as_micros().to_string(),
            },
        });
        if let Some(person) = &self.impersonated {
            line["impersonatedUser"] = person.to_value();
        }
        if let Some(source) = self.source {
            line["sourceIPs"] = json!([source.ip().to_string()]);
            line["annotations"]["landform.dev/source-port"] = json!(source.port().to_string());
        }
        if !self.user_agent.is_empty() {
            line["userAgent"] = json!(self.user_agent);
        }
        if let Some(object) = &self.object {
            line["objectRef"] = Value::Object(object.clone());
        }
        line.to_string()
    }
}

/// Requests that are missing in the log.
pub(super) struct Gap {
    reason: &'static str,
    count: u64,
    source: Option<IpAddr>,
}

impl Gap {
    pub(super) fn new(reason: &'static str, count: u64, source: Option<IpAddr>) -> Self {
        Self {
            reason,
            count,
            source,
        }
    }

    pub(super) fn to_line(&self) -> String {
        let mut line = json!({
            "kind": "AuditGap",
            "apiVersion": "landform.dev/v1alpha1",
            "reason": self.reason,
            "missing": self.count,
            "stageTimestamp": timestamp(OffsetDateTime::now_utc()),
        });
        if let Some(source) = self.source {
            line["sourceIPs"] = json!([source.to_string()]);
        }
        line.to_string()
    }
}

/// A text of a client's, cut.
pub(super) fn cut(text: &str) -> String {
    budget::shown(text).into_owned()
}

/// A path and a query without what could be secret.
pub(super) fn shown_uri(path: &str, query: Option<&str>) -> String {
    let mut segments = path.split('/');
    let shown: Vec<String> = segments.by_ref().take(SEGMENTS).map(cut).collect();
    let mut uri = shown.join("/");
    if segments.next().is_some() {
        uri.push_str("/…");
    }
    let mut parameters = query
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty());
    let shown: Vec<String> = parameters
        .by_ref()
        .take(PARAMETERS)
        .map(|pair| match pair.split_once('=') {
            Some((key, value)) if HARMLESS.contains(&key) => format!("{key}={}", cut(value)),
            Some((key, _)) => format!("{}=…", cut(key)),
            // Without a name it may be a value.
            None => "…".to_owned(),
        })
        .collect();
    if !shown.is_empty() {
        uri = format!("{uri}?{}", shown.join("&"));
    }
    if parameters.next().is_some() {
        uri.push_str("&…");
    }
    uri
}

fn timestamp(time: OffsetDateTime) -> String {
    let format =
        format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z");
    time.to_offset(time::UtcOffset::UTC)
        .format(&format)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_query_that_could_be_secret_are_left_out() {
        let long = "x".repeat(5_000);
        let table = [
            ("/api/v1/secrets", None, "/api/v1/secrets".to_owned()),
            (
                "/api",
                Some("limit=5&labelSelector=key%3Dcanary&token=canary&canary&dryRun=All"),
                "/api?limit=5&labelSelector=…&token=…&…&dryRun=All".to_owned(),
            ),
        ];
        for (path, query, expected) in table {
            assert_eq!(shown_uri(path, query), expected);
        }
        let segments = "/a".repeat(5_000);
        for (path, query) in [
            (format!("/{long}"), None),
            (segments, None),
            ("/".to_owned(), Some(format!("{long}={long}"))),
            ("/".to_owned(), Some(format!("limit={long}"))),
            ("/".to_owned(), Some("a=b&".repeat(5_000))),
        ] {
            let shown = shown_uri(&path, query.as_deref());
            assert!(shown.len() < 500, "{shown}");
        }
    }
}
