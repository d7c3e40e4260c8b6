//! One line: an `Event` of `audit.k8s.io/v1` at level `Metadata`, or a note of what is missing.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use landform_api::budget;
use serde::Serialize;
use serde_json::json;
use time::OffsetDateTime;
use time::macros::format_description;

use crate::identity::Identity;

/// At most this many groups of a user are named.
pub(super) const GROUPS: usize = 32;
/// At most this many parameters of a query are named.
const PARAMETERS: usize = 20;
/// A path is cut after this many segments.
const SEGMENTS: usize = 12;

/// What the value of a parameter must be to stand in the log. Whatever else a client sends there is free text, which may
/// be a secret by mistake.
enum Known {
    /// One of these.
    Word(&'static [&'static str]),
    /// A number, such as a time or a version.
    Number,
}

const TRUTH: Known = Known::Word(&["true", "false", "1", "0"]);

/// Parameters whose values say how a request is meant, with the values that are logged. Of all others, and of other
/// values, only the name is logged.
const KNOWN: [(&str, Known); 14] = [
    ("allowWatchBookmarks", TRUTH),
    ("dryRun", Known::Word(&["All"])),
    (
        "fieldValidation",
        Known::Word(&["Ignore", "Strict", "Warn"]),
    ),
    ("follow", TRUTH),
    ("force", TRUTH),
    ("gracePeriodSeconds", Known::Number),
    ("limit", Known::Number),
    ("orphanDependents", TRUTH),
    ("pretty", TRUTH),
    (
        "propagationPolicy",
        Known::Word(&["Background", "Cascade", "Foreground", "Orphan"]),
    ),
    ("resourceVersion", Known::Number),
    (
        "resourceVersionMatch",
        Known::Word(&["Exact", "NotOlderThan"]),
    ),
    ("timeoutSeconds", Known::Number),
    ("watch", TRUTH),
];

impl Known {
    fn holds(&self, value: &str) -> bool {
        match self {
            Self::Word(words) => words.contains(&value),
            Self::Number => {
                value.len() <= 20
                    && !value.is_empty()
                    && value.bytes().all(|byte| byte.is_ascii_digit())
            }
        }
    }
}

/// Whether a parameter with this value says only how a request is meant.
fn is_harmless(key: &str, value: &str) -> bool {
    let mut known = KNOWN.iter();
    known.any(|(name, known)| *name == key && known.holds(value))
}

/// A request that was answered. It borrows what the request brought: the line is the only copy.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry<'a> {
    kind: &'static str,
    api_version: &'static str,
    level: &'static str,
    #[serde(rename = "auditID")]
    pub(super) id: &'a str,
    stage: &'static str,
    #[serde(rename = "requestURI")]
    pub(super) uri: String,
    pub(super) verb: Cow<'a, str>,
    pub(super) user: Person<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) impersonated_user: Option<Person<'a>>,
    #[serde(rename = "sourceIPs", skip_serializing_if = "Option::is_none")]
    source: Option<[IpAddr; 1]>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) user_agent: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) object_ref: Option<Subject<'a>>,
    response_status: Status,
    request_received_timestamp: String,
    stage_timestamp: String,
    pub(super) annotations: Annotations<'a>,
}

/// When a request came, how long it took, from where it came and how it was answered.
pub(super) struct Facts {
    pub(super) received: OffsetDateTime,
    pub(super) duration: Duration,
    pub(super) source: Option<SocketAddr>,
    pub(super) code: u16,
    pub(super) reason: &'static str,
    /// What is wrong with the certificate of a client that was cut off in the handshake.
    pub(super) certificate: Option<&'static str>,
}

#[derive(Serialize)]
struct Status {
    code: u16,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'static str,
}

#[derive(Serialize)]
pub(super) struct Annotations<'a> {
    #[serde(rename = "authorization.k8s.io/decision")]
    decision: &'static str,
    #[serde(rename = "landform.dev/duration-us")]
    duration: String,
    #[serde(
        rename = "landform.dev/new-name",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) new_name: Option<Cow<'a, str>>,
    #[serde(
        rename = "landform.dev/source-port",
        skip_serializing_if = "Option::is_none"
    )]
    port: Option<String>,
    #[serde(
        rename = "landform.dev/certificate",
        skip_serializing_if = "Option::is_none"
    )]
    certificate: Option<&'static str>,
}

/// Which object a request is about; empty texts are left out.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Subject<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) api_group: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) api_version: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) resource: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) subresource: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) namespace: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) name: Cow<'a, str>,
}

/// A name and its groups, cut to what is shown.
#[derive(Default, Serialize)]
pub(super) struct Person<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    uid: Cow<'a, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    groups: Vec<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<Extra<'a>>,
}

/// What else there is to say of a person.
#[derive(Serialize)]
struct Extra<'a> {
    /// Who makes the request as well (C6).
    #[serde(rename = "landform.dev/together-with")]
    together: Vec<Cow<'a, str>>,
}

impl<'a> Person<'a> {
    pub(super) fn of(identity: &'a Identity) -> Self {
        let groups = identity.groups.iter().take(GROUPS);
        let together = identity.together.iter().take(GROUPS);
        Self {
            username: Some(cut(&identity.user)),
            uid: cut(&identity.uid),
            groups: groups.map(|group| cut(group)).collect(),
            extra: (!identity.together.is_empty()).then(|| Extra {
                together: together.map(|other| cut(&other.user)).collect(),
            }),
        }
    }

    pub(super) fn named(user: Option<String>, groups: Vec<String>) -> Self {
        Self {
            username: user.map(Cow::Owned),
            groups: groups.into_iter().map(Cow::Owned).collect(),
            ..Self::default()
        }
    }
}

impl<'a> Entry<'a> {
    pub(super) fn new(id: &'a str, facts: &Facts) -> Self {
        let source = facts.source;
        Self {
            kind: "Event",
            api_version: "audit.k8s.io/v1",
            level: "Metadata",
            id,
            stage: "ResponseComplete",
            uri: String::new(),
            verb: Cow::default(),
            user: Person::default(),
            impersonated_user: None,
            source: source.map(|source| [source.ip()]),
            user_agent: Cow::default(),
            object_ref: None,
            response_status: Status {
                code: facts.code,
                reason: facts.reason,
            },
            request_received_timestamp: timestamp(facts.received),
            stage_timestamp: timestamp(facts.received + facts.duration),
            annotations: Annotations {
                decision: match facts.code {
                    401 | 403 => "forbid",
                    _ => "allow",
                },
                duration: facts.duration.as_micros().to_string(),
                new_name: None,
                port: source.map(|source| source.port().to_string()),
                certificate: facts.certificate,
            },
        }
    }

    pub(super) fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
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
pub(super) fn cut(text: &str) -> Cow<'_, str> {
    budget::shown(text)
}

/// A path and a query without what could be secret.
pub(super) fn shown_uri(path: &str, query: Option<&str>) -> String {
    let mut segments = path.split('/');
    let shown: Vec<_> = segments.by_ref().take(SEGMENTS).map(cut).collect();
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
            Some((key, value)) if is_harmless(key, value) => format!("{key}={value}"),
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
        // A value that isn't one of the parameter's own is free text.
        for (key, _) in KNOWN {
            for value in ["canary", "12canary", "-1", "%31", "All,canary", "", "0x1f"] {
                let shown = shown_uri("/api", Some(&format!("{key}={value}")));
                assert_eq!(shown, format!("/api?{key}=…"), "{value}");
            }
        }
        let meant = "fieldManager=canary&gracePeriodSeconds=0&propagationPolicy=Orphan&watch=1&resourceVersion=77";
        assert_eq!(
            shown_uri("/api", Some(meant)),
            format!("/api?{}", meant.replace("canary", "…"))
        );
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
