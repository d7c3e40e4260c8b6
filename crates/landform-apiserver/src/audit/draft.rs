//! From a request to its line: what is noted when it arrives, and what is known when it is answered.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::time::Instant;

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue, USER_AGENT};
use http::{Method, Request, StatusCode, Uri};
use serde::Deserialize;
use time::OffsetDateTime;

use super::entry::{Entry, Facts, GROUPS, Person, Subject, cut, shown_uri};
use super::{AuditLevel, AuditLog, PeerAddress};
use crate::error::{ApiError, Reason};
use crate::identity::Identity;
use crate::object::encode;
use crate::rbac::Ask;
use crate::request::path::{self, Target};
use crate::request::query::Query;
use crate::verbs::REVIEWS;
use crate::view::Viewed;

const IMPERSONATE_USER: HeaderName = HeaderName::from_static("impersonate-user");
const IMPERSONATE_GROUP: HeaderName = HeaderName::from_static("impersonate-group");

/// A request that was not answered yet. It holds no copy of what it may not need.
pub(crate) struct Draft {
    log: AuditLog,
    received: OffsetDateTime,
    started: Instant,
    method: Method,
    uri: Uri,
    user_agent: Option<HeaderValue>,
    /// The user and the groups that the caller asks to act as.
    wanted: Option<HeaderValue>,
    wanted_groups: Vec<HeaderValue>,
    source: Option<SocketAddr>,
    caller: Option<Identity>,
    acting: Option<Identity>,
}

/// How a request was answered.
pub(crate) struct Outcome<'a> {
    pub(crate) status: StatusCode,
    pub(crate) error: Option<&'a ApiError>,
    /// The stored form of what was created.
    pub(crate) created: Option<Created>,
    /// What the request renamed.
    pub(crate) renamed: Option<Renamed>,
    /// The view that was asked.
    pub(crate) view: Option<Viewed>,
}

/// The stored form of an object that a request created: an extension of its response, for the object's name.
#[derive(Clone)]
pub(crate) struct Created(pub(crate) Bytes);

/// The new name of an object, in the extensions of the answer to a rename.
#[derive(Clone)]
pub(crate) struct Renamed(pub(crate) String);

impl Draft {
    /// Notes a request that may get a line.
    pub(crate) fn begin<B>(log: Option<&AuditLog>, request: &Request<B>) -> Option<Self> {
        let log = log?;
        let headers = request.headers();
        let wanted = headers.get(IMPERSONATE_USER);
        let groups = headers.get_all(IMPERSONATE_GROUP).iter().take(GROUPS);
        let extensions = request.extensions();
        let own = extensions.get::<Identity>();
        if own.is_some_and(Identity::is_internal) && wanted.is_none() && !log.options().own {
            return None;
        }
        Some(Self {
            log: log.clone(),
            received: OffsetDateTime::now_utc(),
            started: Instant::now(),
            method: request.method().clone(),
            uri: request.uri().clone(),
            user_agent: headers.get(USER_AGENT).cloned(),
            wanted: wanted.cloned(),
            wanted_groups: groups.cloned().collect(),
            source: extensions.get::<PeerAddress>().map(|peer| peer.0),
            caller: own.cloned(),
            acting: None,
        })
    }

    /// Notes whom the request acts as, now that it may.
    pub(crate) fn acts_as(&mut self, identity: &Identity) {
        if self.wanted.is_some() {
            self.acting = Some(identity.clone());
        }
    }

    /// The request's path.
    pub(crate) fn path(&self) -> &str {
        self.uri.path()
    }

    /// Queues the line of a request that was answered, if it gets one. Returns the line's identifier.
    pub(crate) fn finish(self, outcome: &Outcome<'_>) -> Option<String> {
        let target = path::parse(self.uri.path());
        let refused = matches!(
            outcome.status,
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN
        );
        let level = self.log.options().level;
        let wanted = refused
            || self.writes(&target, outcome)
            || (level == AuditLevel::All && target != Target::Health);
        if !wanted {
            return None;
        }
        let id = self.log.next_id();
        let facts = Facts {
            received: self.received,
            duration: self.started.elapsed(),
            source: self.source,
            code: outcome.status.as_u16(),
            reason: outcome
                .error
                .map(ApiError::reason)
                .map_or("", Reason::as_str),
            certificate: None,
        };
        let line = || self.line(&id, &target, outcome, &facts);
        if outcome.status == StatusCode::UNAUTHORIZED {
            let source = self.source.map(|source| source.ip());
            self.log.submit_unauthorized(source, line);
        } else {
            self.log.submit(line());
        }
        Some(id)
    }

    /// Whether the request can change something: questions that are POSTed don't.
    fn writes(&self, target: &Target, outcome: &Outcome<'_>) -> bool {
        let reads = matches!(self.method, Method::GET | Method::HEAD | Method::OPTIONS);
        let is_review = matches!(target, Target::Objects(path) if REVIEWS
            .iter()
            .any(|(group, plural, ..)| *group == path.group && *plural == path.resource));
        !reads && !is_review && outcome.view.is_none()
    }

    /// Whom the caller wanted to act as.
    fn wanted(&self) -> Option<Person<'_>> {
        if self.wanted.is_none() && self.wanted_groups.is_empty() {
            return None;
        }
        let shown = |value: &HeaderValue| cut(&text(value)).into_owned();
        let user = self.wanted.as_ref().map(shown);
        let groups = self.wanted_groups.iter().map(shown);
        Some(Person::named(user, groups.collect()))
    }

    fn line(&self, id: &str, target: &Target, outcome: &Outcome<'_>, facts: &Facts) -> String {
        let query = Query::parse(self.uri.query()).unwrap_or_default();
        let is_watch = matches!(target, Target::Objects(path)
            if path.legacy_watch || query.flag("watch").unwrap_or(false));
        let path = self.uri.path();
        let view = outcome.view.as_ref();
        let ask = Ask::of(&self.method, target, path, &query, is_watch, view);
        let created = outcome.created.as_ref().and_then(Created::name);
        let mut entry = Entry::new(id, facts);
        entry.uri = shown_uri(path, self.uri.query());
        entry.user = self.caller.as_ref().map(Person::of).unwrap_or_default();
        entry.impersonated_user = match &self.acting {
            Some(acting) => Some(Person::of(acting)),
            None => self.wanted(),
        };
        let agent = self.user_agent.as_ref().map(text).unwrap_or_default();
        entry.user_agent = cut(&agent);
        match &ask {
            Ask::Action(action) => {
                let version = match target {
                    Target::Objects(path) if outcome.view.is_none() => path.version.as_str(),
                    _ => "",
                };
                // What a refused impersonation is about is whom it would have acted as, and not the request's object.
                let of_object = self.wanted.is_none() || self.acting.is_some();
                let named = outcome.error.filter(|_| of_object);
                let given = named.and_then(ApiError::given_name);
                let renames = action.subresource == "rename";
                entry.annotations.new_name = match &outcome.renamed {
                    Some(Renamed(name)) => Some(cut(name)),
                    None => given.filter(|_| renames).map(cut),
                };
                let named = given.or(named.map(ApiError::subject_name));
                let name = Some(action.name.as_ref())
                    .filter(|name| !name.is_empty())
                    .or(created.as_deref())
                    .or(named)
                    .unwrap_or_default();
                entry.verb = action.verb.into();
                entry.object_ref = Some(Subject {
                    api_group: cut(action.group),
                    api_version: cut(version),
                    resource: cut(action.resource),
                    subresource: cut(action.subresource),
                    namespace: cut(action.namespace),
                    name: cut(name),
                });
            }
            Ask::Path { verb, .. } => entry.verb = cut(verb),
        }
        entry.to_line()
    }
}

fn text(value: &HeaderValue) -> Cow<'_, str> {
    String::from_utf8_lossy(value.as_bytes())
}

impl Created {
    /// The object's name, read from its metadata alone.
    fn name(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Named {
            name: String,
        }
        let stored = &self.0;
        let rest = encode::opening(stored)?.rest.len();
        // The metadata begins with the brace before its fields.
        let metadata = stored.get(stored.len() - rest - 1..)?;
        let mut values = serde_json::Deserializer::from_slice(metadata).into_iter::<Named>();
        values.next()?.ok().map(|named| named.name)
    }
}
