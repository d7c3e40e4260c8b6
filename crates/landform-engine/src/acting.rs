//! With whose rights a run acts for its object (C6).
//!
//! The API server notes who wrote an object's content. A run's own client may do everything, because the machinery of a
//! kind (status, finalizers, executions, items) is Landform's. For what the object's text asks for there is
//! [`Context::acting`](crate::Context::acting), a client with the rights of the service account that the object names, or
//! else of its writer. Rights are looked up when it acts.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::{Api, PostParams};
use kube::core::DynamicObject;
use kube::{Client, ResourceExt as _};
use landform_api::keys::{ANNOTATION_NAMER, ANNOTATION_SERVICE_ACCOUNT, ANNOTATION_WRITER};
use landform_api::writer::{Authors, Writer};

use crate::client::Guise;
use crate::denied::{Capacity, Denied};
use crate::reconciler::Failure;

/// With whose rights a run acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// The engine's own: a caller who may do everything wrote the object, or the API doesn't note writers.
    Engine,
    /// Those of the object's writer.
    User(Writer),
    /// Those of the service account that the object names.
    Account(Writer),
}

impl Actor {
    /// Whose rights these are; none for the engine's own.
    pub(crate) fn who(&self) -> Option<&Writer> {
        match self {
            Self::Engine => None,
            Self::User(who) | Self::Account(who) => Some(who),
        }
    }
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

    /// Resource and subresource.
    fn parts(&self) -> (&str, &str) {
        self.resource
            .split_once('/')
            .unwrap_or((&self.resource, ""))
    }

    /// To act as a service account.
    #[must_use]
    pub fn impersonate(namespace: &str, account: &str) -> Self {
        Self::new("impersonate", "", "serviceaccounts", namespace, account)
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (resource, subresource) = self.parts();
        write!(f, "{} {resource}", self.verb)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if !subresource.is_empty() {
            write!(f, "/{subresource}")?;
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
        self.who()
    }

    /// The actor that has the rights that both have.
    pub(crate) fn together_with(&self, other: &Self) -> Self {
        match (self.who(), other.who()) {
            (None, _) => other.clone(),
            (_, None) => self.clone(),
            (one, another) => {
                let joined = Writer::joined(one.cloned(), another.cloned());
                joined.map_or(Self::Engine, Self::User)
            }
        }
    }
}

/// The authors that the API server noted; none where authors aren't noted.
pub(crate) fn authors_of(object: &DynamicObject, noted: bool) -> Authors {
    let read = |key: &str| {
        let note = object.annotations().get(key);
        note.filter(|_| noted).map(|note| Writer::read(note))
    };
    Authors {
        writer: read(ANNOTATION_WRITER),
        namer: read(ANNOTATION_NAMER),
    }
}

/// With whose rights Landform acts for an object.
///
/// # Errors
/// When the object names a service account that the one who named it may not act as, or that is no name.
pub(crate) async fn actor_of(
    client: &Client,
    object: &DynamicObject,
    noted: bool,
) -> Result<Actor, Failure> {
    let Authors { writer, namer } = authors_of(object, noted);
    let own = |writer: Option<Writer>| writer.map_or(Actor::Engine, Actor::User);
    let Some(named) = object.annotations().get(ANNOTATION_SERVICE_ACCOUNT) else {
        return Ok(own(writer));
    };
    let (namespace, name) = account(named, object.metadata.namespace.as_deref())?;
    let account = Actor::Account(Writer::account(namespace, name));
    let (namer, capacity) = match namer {
        Some(namer) => (namer.unless_master(), Capacity::Namer),
        None => (writer.clone(), Capacity::Writer),
    };
    let Some(namer) = namer else {
        return Ok(account);
    };
    let right = Right::impersonate(namespace, name);
    let asked = Question {
        client,
        who: &namer,
        capacity,
        home: object.metadata.namespace.as_deref(),
    };
    match asked.missing([right]).await? {
        None => Ok(account),
        // What the writer may take away must not stay because of an account that is out of reach.
        Some(_) if object.metadata.deletion_timestamp.is_some() => Ok(own(writer)),
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
        let actor = actor_of(&self.client, &self.object, self.noted).await?;
        let home = self.object.metadata.namespace.as_deref();
        missing_of(&self.client, &actor, home, self.rights.clone()).await
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

/// Which of these rights the actor of an object in this namespace doesn't have.
pub(crate) async fn missing_of(
    client: &Client,
    actor: &Actor,
    home: Option<&str>,
    rights: impl IntoIterator<Item = Right>,
) -> Result<Option<Denied>, Failure> {
    let (who, capacity) = match actor {
        Actor::Engine => return Ok(None),
        Actor::User(who) => (who, Capacity::Writer),
        Actor::Account(who) => (who, Capacity::Account),
    };
    let asked = Question {
        client,
        who,
        capacity,
        home,
    };
    asked.missing(rights).await
}

/// Who is asked about, and for an object in which namespace.
struct Question<'a> {
    client: &'a Client,
    who: &'a Writer,
    capacity: Capacity,
    home: Option<&'a str>,
}

impl Question<'_> {
    async fn missing(
        &self,
        rights: impl IntoIterator<Item = Right>,
    ) -> Result<Option<Denied>, Failure> {
        let Self { client, who, .. } = self;
        let reviews: Api<SubjectAccessReview> = Api::all((*client).clone());
        let (mut missing, mut lacking) = (BTreeSet::new(), Vec::new());
        let each = who.each();
        let mut asked = Vec::new();
        for right in rights.into_iter().collect::<BTreeSet<_>>() {
            for who in &each {
                asked.push((right.clone(), who));
            }
        }
        for (right, who) in asked {
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
                lacking.push((right.clone(), who.user.clone()));
                missing.insert(right);
            }
        }
        if missing.is_empty() {
            return Ok(None);
        }
        let denied = Denied::new(client, who, self.capacity, self.home, missing);
        Ok(Some(denied.await.lacked_by(lacking)))
    }
}

fn attributes(right: &Right) -> ResourceAttributes {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let (resource, subresource) = right.parts();
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
    let Some(who) = actor.who() else {
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
        assert_eq!(authors_of(&object, true).writer.unwrap().user, "jane");
        assert_eq!(authors_of(&object, false), Authors::default());
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
