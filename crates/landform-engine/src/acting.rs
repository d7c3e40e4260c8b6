//! With whose rights a run acts for its object (C6).
//!
//! The API server notes who wrote an object's content. A run's own client may do everything, because the machinery of a
//! kind (status, finalizers, executions, items) is Landform's. For what the object's text asks for there is
//! [`Context::acting`](crate::Context::acting), a client with the rights of the service account that the object names, or
//! else of its writer. Rights are looked up when it acts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::{Api, PostParams};
use kube::core::DynamicObject;
use kube::{Client, ResourceExt as _};
use landform_api::keys::{ANNOTATION_SERVICE_ACCOUNT, ANNOTATION_WRITER};
use landform_api::writer::Writer;

use crate::client::Guise;
use crate::reconciler::Failure;

/// An error lists at most this many rights.
const RIGHTS_LISTED_MAX: usize = 20;

/// With whose rights a run acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// The engine's own: a caller who may do everything wrote the object, or the API doesn't note writers.
    Engine,
    /// Those of the object's writer, or of the service account that it names.
    User(Writer),
}

/// A right: a verb on a resource. What is empty is not named.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// For instance `get`.
    pub verb: String,
    /// The resource's group; empty for the core group.
    pub group: String,
    /// The resource, by its plural.
    pub resource: String,
    /// Empty for the whole cluster.
    pub namespace: String,
    /// Empty for all objects.
    pub name: String,
}

impl Right {
    /// A verb on one object of a resource.
    #[must_use]
    pub fn new(verb: &str, group: &str, resource: &str, namespace: &str, name: &str) -> Self {
        Self {
            verb: verb.to_owned(),
            group: group.to_owned(),
            resource: resource.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// To run programs on the server's machine as this user of the system.
    #[must_use]
    pub fn run(namespace: &str, user: &str) -> Self {
        Self::new("run", "landform.dev", "processes", namespace, user)
    }

    /// To act as a service account.
    #[must_use]
    pub fn impersonate(namespace: &str, account: &str) -> Self {
        Self::new("impersonate", "", "serviceaccounts", namespace, account)
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if !self.name.is_empty() {
            write!(f, " {:?}", self.name)?;
        }
        if self.namespace.is_empty() {
            f.write_str(" in the whole cluster")
        } else {
            write!(f, " in the namespace {}", self.namespace)
        }
    }
}

impl Actor {
    /// What is noted as the writer of what this actor writes; none is one who may do everything.
    #[must_use]
    pub fn writer(&self) -> Option<&Writer> {
        match self {
            Self::Engine => None,
            Self::User(user) => Some(user),
        }
    }

    /// The actor that has the rights that both have.
    pub(crate) fn together_with(&self, other: &Self) -> Self {
        let joined = Writer::joined(self.writer().cloned(), other.writer().cloned());
        joined.map_or(Self::Engine, Self::User)
    }
}

/// Rights that an actor doesn't have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct Denied {
    /// All users whose rights are needed.
    users: Vec<String>,
    /// What these users wrote.
    written: String,
    /// With the users who don't have it.
    missing: BTreeMap<Right, BTreeSet<String>>,
}

impl Denied {
    fn text(&self) -> String {
        let count = self.missing.len();
        let listed = self.missing.iter().take(RIGHTS_LISTED_MAX);
        let listed: Vec<String> = listed
            .map(|(right, users)| match self.users.as_slice() {
                [_] => right.to_string(),
                _ => format!("{right} (for {})", quoted(users)),
            })
            .collect();
        let more = match count.saturating_sub(RIGHTS_LISTED_MAX) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        format!(
            "Landform acts with the rights of {}, who wrote {}, and these are missing: {}{more}. Grant them by a role and a \
             binding, of the whole cluster where it says so, or name a service account that has them in the annotation {ANNOTATION_SERVICE_ACCOUNT}",
            quoted(&self.users),
            self.written,
            listed.join("; ")
        )
    }

    /// The same about another object than the run's own.
    #[must_use]
    pub fn of(mut self, written: &str) -> Self {
        written.clone_into(&mut self.written);
        self
    }

    /// What is missing.
    pub fn missing(&self) -> impl Iterator<Item = &Right> {
        self.missing.keys()
    }
}

/// Names of users, as in a sentence.
fn quoted<'a>(users: impl IntoIterator<Item = &'a String>) -> String {
    let users: Vec<String> = users.into_iter().map(|user| format!("{user:?}")).collect();
    users.join(" and ")
}

impl From<Denied> for Failure {
    /// A right may be granted at any time, and nothing tells of it.
    fn from(denied: Denied) -> Self {
        Self::Transient(denied.to_string())
    }
}

/// The writer that the API server noted; none when that one may do everything, or writers aren't noted.
pub(crate) fn writer_of(object: &DynamicObject, noted: bool) -> Option<Writer> {
    let note = object.annotations().get(ANNOTATION_WRITER);
    note.filter(|_| noted).map(|note| Writer::read(note))
}

/// With whose rights Landform acts for an object.
///
/// # Errors
/// When the object names a service account that its writer may not act as, or that is no name.
pub(crate) async fn actor_of(
    client: &Client,
    object: &DynamicObject,
    noted: bool,
) -> Result<Actor, Failure> {
    let writer = writer_of(object, noted);
    let own = |writer: Option<Writer>| writer.map_or(Actor::Engine, Actor::User);
    let Some(named) = object.annotations().get(ANNOTATION_SERVICE_ACCOUNT) else {
        return Ok(own(writer));
    };
    let (namespace, name) = account(named, object.metadata.namespace.as_deref())?;
    let account = Actor::User(Writer::account(namespace, name));
    let Some(writer) = writer else {
        return Ok(account);
    };
    let right = Right::impersonate(namespace, name);
    match missing(client, &writer, [right]).await? {
        None => Ok(account),
        // What the writer may take away must not stay because of an account that is out of reach.
        Some(_) if object.metadata.deletion_timestamp.is_some() => Ok(Actor::User(writer)),
        Some(denied) => Err(denied.into()),
    }
}

/// Rights that are looked up outside of a run, as often as they are asked for.
#[derive(Clone)]
pub struct RightsLater {
    pub(crate) client: Client,
    pub(crate) object: Arc<DynamicObject>,
    pub(crate) noted: bool,
    pub(crate) rights: BTreeSet<Right>,
}

impl RightsLater {
    /// Which of the rights the object's actor doesn't have now.
    ///
    /// # Errors
    /// What the API answers.
    pub async fn missing(&self) -> Result<Option<Denied>, Failure> {
        match actor_of(&self.client, &self.object, self.noted).await? {
            Actor::Engine => Ok(None),
            Actor::User(user) => missing(&self.client, &user, self.rights.clone()).await,
        }
    }
}

/// Namespace and name of the service account that an annotation names.
fn account<'a>(named: &'a str, namespace: Option<&'a str>) -> Result<(&'a str, &'a str), Failure> {
    let wrong = |what: String| {
        Failure::Invalid(format!(
            "the annotation {ANNOTATION_SERVICE_ACCOUNT}: {named:?} {what}"
        ))
    };
    let is_name = |text: &str| crate::key::is_name(text) && !text.contains(':');
    match (namespace, named.split_once('/')) {
        (Some(namespace), None) if is_name(named) => Ok((namespace, named)),
        (Some(_), _) => Err(wrong(
            "must be the name of a service account in the object's namespace".into(),
        )),
        (None, Some((namespace, name))) if is_name(namespace) && is_name(name) => {
            Ok((namespace, name))
        }
        (None, _) => Err(wrong("must be NAMESPACE/NAME of a service account".into())),
    }
}

/// Which of these rights a user, or one of several, doesn't have.
pub(crate) async fn missing(
    client: &Client,
    who: &Writer,
    rights: impl IntoIterator<Item = Right>,
) -> Result<Option<Denied>, Failure> {
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    let mut missing: BTreeMap<Right, BTreeSet<String>> = BTreeMap::new();
    let each = who.each();
    for right in rights.into_iter().collect::<BTreeSet<_>>() {
        for who in &each {
            let review = SubjectAccessReview {
                spec: SubjectAccessReviewSpec {
                    user: Some(who.user.clone()),
                    groups: Some(who.all_groups()),
                    resource_attributes: Some(attributes(&right)),
                    ..SubjectAccessReviewSpec::default()
                },
                ..SubjectAccessReview::default()
            };
            let answer = reviews.create(&PostParams::default(), &review).await?;
            if !answer.status.is_some_and(|status| status.allowed) {
                let users = missing.entry(right.clone()).or_default();
                users.insert(who.user.clone());
            }
        }
    }
    Ok((!missing.is_empty()).then(|| Denied {
        users: each.into_iter().map(|who| who.user).collect(),
        written: "this object".to_owned(),
        missing,
    }))
}

fn attributes(right: &Right) -> ResourceAttributes {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let (resource, subresource) = right
        .resource
        .split_once('/')
        .unwrap_or((&right.resource, ""));
    ResourceAttributes {
        verb: given(&right.verb),
        group: given(&right.group),
        resource: given(resource),
        subresource: given(subresource),
        namespace: given(&right.namespace),
        name: given(&right.name),
        ..ResourceAttributes::default()
    }
}

/// What makes a request one of this actor's.
///
/// # Errors
/// When the user's name can't stand in a header.
pub(crate) fn guise(actor: &Actor) -> Result<Guise, Failure> {
    let Actor::User(who) = actor else {
        return Ok(Guise::default());
    };
    let mut headers = HeaderMap::new();
    let mut add = |name: &'static str, text: &str| {
        let value = HeaderValue::from_bytes(text.as_bytes()).map_err(|_| {
            Failure::Invalid(format!(
                "{:?} can't be acted for: {text:?} can't stand in a header of HTTP",
                who.user
            ))
        })?;
        headers.append(HeaderName::from_static(name), value);
        Ok::<(), Failure>(())
    };
    add("impersonate-user", &who.user)?;
    for group in &who.groups {
        add("impersonate-group", group)?;
    }
    Ok(Guise {
        headers,
        together: who.and.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn c6_a_note_counts_only_where_the_server_writes_it() {
        let note = Writer::of("jane", &[]).unwrap().note();
        let object = json!({"metadata": {"name": "a", "annotations": {ANNOTATION_WRITER: note}}});
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        assert_eq!(writer_of(&object, true).unwrap().user, "jane");
        assert_eq!(writer_of(&object, false), None);
    }

    #[test]
    fn c6_accounts_are_named_as_their_objects_allow() {
        let table = [
            ("web", Some("shop"), Some(("shop", "web"))),
            ("other/web", Some("shop"), None),
            ("shop/web", Some("shop"), None),
            ("other/web", None, Some(("other", "web"))),
            ("web", None, None),
            ("", Some("shop"), None),
            ("a:b", Some("shop"), None),
            ("a/b/c", None, None),
        ];
        for (named, namespace, expected) in table {
            assert_eq!(account(named, namespace).ok(), expected, "{named}");
        }
    }

    #[test]
    fn c6_an_error_lists_all_that_is_missing() {
        let jane = || BTreeSet::from(["jane".to_owned()]);
        let missing = BTreeMap::from([
            (Right::run("shop", "root"), jane()),
            (Right::new("create", "", "configmaps", "shop", ""), jane()),
            (
                Right::new("patch", "apps", "deployments", "", "web"),
                jane(),
            ),
        ]);
        let denied = Denied {
            users: vec!["jane".to_owned()],
            written: String::new(),
            missing,
        };
        let both = Denied {
            users: vec!["bob".to_owned(), "jane".to_owned()],
            ..denied.clone()
        };
        let text = both.to_string();
        for part in [
            "the rights of \"bob\" and \"jane\", who wrote",
            "create configmaps in the namespace shop (for \"jane\")",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let text = denied.of("the Reconciler web").to_string();
        for part in [
            "\"jane\", who wrote the Reconciler web",
            "create configmaps in the namespace shop",
            "patch deployments.apps \"web\" in the whole cluster",
            "run processes.landform.dev \"root\" in the namespace shop",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn c6_a_name_that_breaks_headers_is_refused() {
        let who = |user: &str| Actor::User(Writer::of(user, &["dev".to_owned()]).unwrap());
        assert_eq!(guise(&who("jäne")).unwrap().headers.len(), 2);
        assert!(guise(&who("jane\r\nimpersonate-group: x")).is_err());
        let both = guise(&who("jane").together_with(&who("bob"))).unwrap();
        assert_eq!(both.headers["impersonate-user"], "bob");
        assert_eq!(
            both.together,
            [Writer::of("jane", &["dev".to_owned()]).unwrap()]
        );
        assert!(guise(&Actor::Engine).unwrap().headers.is_empty());
    }
}
