//! List: objects of one consistent state, in pages, filtered by selectors.

use std::time::Instant;

use base64::Engine as _;
use http::Response;
use landform_store::{Page, RangeQuery, Record, Revision};
use serde::{Deserialize, Serialize};

use super::frame::Limits;
use super::{Place, present};
use crate::body::Body;
use crate::error::{ApiError, Reason, Result};
use crate::object::meta::Peek;
use crate::registry::{Presentation, Resource};
use crate::selector::{FieldSelector, LabelSelector};
use crate::server::{ApiServer, Call};

/// A list that is made as a whole (a table, YAML) has at most this many bytes.
const WHOLE_BYTES_MAX: usize = 64 << 20;

/// Which objects of a resource a request is about.
pub(crate) struct Selection {
    /// The one name that the path names, if it does.
    name: Option<String>,
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

impl Selection {
    pub(crate) fn from_call(call: &Call, place: &Place) -> Result<Self> {
        Ok(Self {
            name: place.name.clone(),
            labels: LabelSelector::parse(call.query.get("labelSelector"))?,
            fields: FieldSelector::parse(
                call.query.get("fieldSelector"),
                &place.resource.selectable,
            )?,
        })
    }

    /// Whether everything is selected.
    pub(crate) fn is_everything(&self) -> bool {
        self.name.is_none() && self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether objects are decoded to be selected.
    pub(crate) fn decodes(&self) -> bool {
        !self.fields.only_needs_key()
    }

    /// Whether a record is selected.
    pub(crate) fn matches(&self, resource: &Resource, record: &Record) -> bool {
        if !self.labels.is_empty() {
            let peek = Peek::of(&record.value);
            if !self.labels.matches(&peek.metadata.labels) {
                return false;
            }
        }
        let (namespace, name) = resource.names_in_key(&record.key);
        if self.name.as_deref().is_some_and(|wanted| wanted != name) {
            return false;
        }
        if self.fields.is_empty() {
            return true;
        }
        if self.fields.only_needs_key() {
            return self.fields.matches(namespace, name, || None);
        }
        let mut object = serde_json::from_slice(&record.value).unwrap_or_default();
        if resource.presentation == Presentation::NewEvents {
            crate::kinds::event::from_core(&mut object);
        }
        let object = serde_json::Value::Object(object);
        self.fields.matches(namespace, name, || Some(&object))
    }
}

/// Where a list goes on: opaque to clients.
#[derive(Debug, Serialize, Deserialize)]
struct Continue {
    /// The revision of the whole list; zero goes on with whatever is there now.
    revision: u64,
    /// The last key of the page before.
    after: String,
}

impl Continue {
    fn encode(&self) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text)
    }

    fn decode(token: &str) -> Result<Self> {
        base64::engine::general_purpose::URL_SAFE_NO_PAD
            .decode(token)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .ok_or_else(|| {
                ApiError::bad_request(
                    "the continue token is not valid: use the one of the list's metadata, unchanged",
                )
            })
    }
}

/// The revision that a list must show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Newest,
    NotOlderThan(Revision),
    Exactly(Revision),
}

fn wanted(call: &Call) -> Result<Wanted> {
    let version = call.query.get("resourceVersion");
    let matching = call.query.get("resourceVersionMatch");
    let forbidden = |why: &str| {
        Err(ApiError::new(
            Reason::Invalid,
            format!("resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden {why}"),
        ))
    };
    if call.query.get("continue").is_some() {
        if matching.is_some() {
            return forbidden("when continue is provided");
        }
        if version.is_some_and(|version| version != "0") {
            return Err(ApiError::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
    }
    match (version, matching) {
        (None, Some(_)) => forbidden("unless resourceVersion is provided"),
        (None, None) => Ok(Wanted::Newest),
        (Some("0"), Some("Exact")) => forbidden("\"Exact\" for resourceVersion \"0\""),
        (Some(text), None | Some("NotOlderThan")) => Ok(Wanted::NotOlderThan(revision(text)?)),
        (Some(text), Some("Exact")) => Ok(Wanted::Exactly(revision(text)?)),
        (Some(_), Some(other)) => Err(ApiError::new(
            Reason::Invalid,
            format!(
                "resourceVersionMatch: Unsupported value: {other:?}: supported values: \"Exact\", \"NotOlderThan\""
            ),
        )),
    }
}

/// A resourceVersion as a number.
pub(crate) fn revision(text: &str) -> Result<Revision> {
    text.parse().map(Revision).map_err(|_| {
        ApiError::bad_request(format!(
            "resourceVersion: Invalid value: {text:?}: it must be one that this server gave out"
        ))
    })
}

impl ApiServer {
    pub(super) async fn list(&self, call: &Call, place: &Place) -> Result<Response<Body>> {
        let selection = Selection::from_call(call, place)?;
        let limit = call
            .query
            .number("limit")?
            .and_then(|n| usize::try_from(n).ok())
            .filter(|n| *n > 0);
        let token = call
            .query
            .get("continue")
            .map(Continue::decode)
            .transpose()?;
        let at = match (wanted(call)?, &token) {
            (_, Some(token)) => Some(Revision(token.revision)).filter(|r| *r > Revision::ZERO),
            (Wanted::Newest, None) => None,
            (Wanted::NotOlderThan(revision), None) => {
                self.reach(revision).await?;
                None
            }
            (Wanted::Exactly(revision), None) => {
                self.reach(revision).await?;
                Some(revision)
            }
        };
        let after = token.as_ref().map(|token| token.after.clone());
        let page = self.select(place, &selection, limit, after, at).await;
        let (page, more) = page.map_err(|error| expired_token(error, token.as_ref()))?;
        let last = page
            .records
            .last()
            .map(|record| record.key.name.to_string());
        let token = more.then(|| {
            Continue {
                revision: page.revision.0,
                after: last.unwrap_or_default(),
            }
            .encode()
        });
        let remaining = selection.is_everything().then_some(page.remaining);
        let limits = Limits {
            answers: &self.shared.answers,
            until: Instant::now() + self.shared.config.request_timeout,
            bytes: WHOLE_BYTES_MAX,
        };
        present::many(call, place, page, token, remaining, &limits)
    }

    /// The selected records of one state, up to a limit, and whether there are more.
    pub(crate) async fn select(
        &self,
        place: &Place,
        selection: &Selection,
        limit: Option<usize>,
        after: Option<String>,
        at: Option<Revision>,
    ) -> Result<(Page, bool)> {
        let prefix = prefix(place, selection);
        let query = |after: Option<String>, at: Option<Revision>| RangeQuery {
            bucket: place.resource.bucket.clone(),
            prefix: prefix.clone(),
            after,
            limit,
            at,
        };
        let mut page = self.shared.store.range(query(after, at)).await?;
        if selection.is_everything() {
            let more = page.remaining > 0;
            return Ok((page, more));
        }
        let mut selected = Vec::new();
        loop {
            let last = page
                .records
                .last()
                .map(|record| record.key.name.to_string());
            for record in std::mem::take(&mut page.records) {
                if selection.matches(&place.resource, &record) {
                    if limit == Some(selected.len()) {
                        page.records = selected;
                        return Ok((page, true));
                    }
                    selected.push(record);
                }
            }
            if page.remaining == 0 {
                page.records = selected;
                return Ok((page, false));
            }
            page = self
                .shared
                .store
                .range(query(last, Some(page.revision)))
                .await?;
        }
    }

    /// Waits until a revision exists here; a revision that doesn't come soon gets an error.
    pub(crate) async fn reach(&self, revision: Revision) -> Result<()> {
        let newest = self.shared.store.revision();
        if revision <= newest {
            return Ok(());
        }
        Err(landform_store::Error::Future {
            asked: revision,
            newest,
        }
        .into())
    }

    /// Checks the resourceVersion of a get: not older than that.
    pub(crate) async fn not_older_than(&self, call: &Call) -> Result<()> {
        match call.query.get("resourceVersion") {
            Some(text) => self.reach(revision(text)?).await,
            None => Ok(()),
        }
    }
}

/// The part of the keys that is known: a namespace, or even a name.
pub(crate) fn prefix(place: &Place, selection: &Selection) -> String {
    let name = place.name.as_deref().or(selection.fields.demanded_name());
    match (place.resource.namespaced, place.namespace.as_str(), name) {
        (true, "", _) => String::new(),
        (true, namespace, name) => format!("{namespace}/{}", name.unwrap_or_default()),
        (false, _, name) => name.unwrap_or_default().to_owned(),
    }
}

/// A token whose state is gone: the client may start again, or go on with what is there now.
fn expired_token(error: ApiError, token: Option<&Continue>) -> ApiError {
    match token {
        Some(token) if error.reason() == Reason::Expired => ApiError::expired(
            "the state that this list began with is no longer in the history: list again from the start, or go on with the token in this answer, which shows the rest as it is now, so that objects that changed in between may be missed or seen twice",
        )
        .continue_with(Continue { revision: 0, after: token.after.clone() }.encode()),
        _ => error,
    }
}
