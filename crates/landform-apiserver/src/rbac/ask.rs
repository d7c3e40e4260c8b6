//! What a request wants to do, in the words of rules.

use std::borrow::Cow;

use http::Method;

use crate::error::{ApiError, Reason};
use crate::identity::Identity;
use crate::request::path::{ObjectsPath, Target};
use crate::request::query::Query;
use crate::selector::FieldSelector;
use crate::view::{GROUP as VIEWS, Viewed};

/// What a request wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ask<'a> {
    /// Something of a resource.
    Action(Action<'a>),
    /// A path that is no resource.
    Path { verb: Cow<'a, str>, path: &'a str },
}

/// A verb on a resource. What is empty is not named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Action<'a> {
    pub(crate) verb: &'a str,
    pub(crate) group: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: Cow<'a, str>,
}

impl<'a> Ask<'a> {
    /// What a request asks for. `view` is the one that its path leads to.
    pub(crate) fn of(
        method: &'a Method,
        target: &'a Target,
        path: &'a str,
        query: &Query,
        is_watch: bool,
        view: Option<&'a Viewed>,
    ) -> Self {
        if let Some(view) = view {
            // Not a path: `system:discovery` lets everybody read below /apis, and a view shows objects.
            return Self::Action(Action {
                verb: verb_of(method, true, false),
                group: VIEWS,
                resource: view.name,
                namespace: &view.namespace,
                ..Action::default()
            });
        }
        match target {
            Target::Objects(objects) => Self::Action(action(method, objects, query, is_watch)),
            _ => Self::Path {
                verb: method.as_str().to_ascii_lowercase().into(),
                path,
            },
        }
    }

    /// Where the right is needed; empty for the whole cluster.
    pub(crate) fn namespace(&self) -> &str {
        match self {
            Self::Action(action) => action.namespace,
            Self::Path { .. } => "",
        }
    }

    /// The answer to somebody who may not.
    pub(crate) fn forbidden(&self, who: &Identity) -> ApiError {
        let user = &who.user;
        match self {
            Self::Path { verb, path } => ApiError::new(
                Reason::Forbidden,
                format!("forbidden: User \"{user}\" cannot {verb} path \"{path}\""),
            ),
            Self::Action(action) => {
                let Action {
                    verb,
                    group,
                    resource,
                    subresource,
                    namespace,
                    name,
                } = action;
                let part = if subresource.is_empty() {
                    String::new()
                } else {
                    format!("/{subresource}")
                };
                let place = if namespace.is_empty() {
                    "at the cluster scope".to_owned()
                } else {
                    format!("in the namespace \"{namespace}\"")
                };
                let why = format!(
                    "User \"{user}\" cannot {verb} resource \"{resource}{part}\" in API group \"{group}\" {place}"
                );
                ApiError::forbidden(group, resource, name, &why)
            }
        }
    }
}

fn action<'a>(
    method: &Method,
    objects: &'a ObjectsPath,
    query: &Query,
    is_watch: bool,
) -> Action<'a> {
    let verb = verb_of(method, objects.name.is_some(), is_watch);
    let mut name = Cow::Borrowed(objects.name.as_deref().unwrap_or_default());
    if name.is_empty() && matches!(verb, "list" | "watch") {
        // A list that can only show one object needs the right to that one alone.
        let demanded = FieldSelector::name_in(query.get("fieldSelector"));
        name = Cow::Owned(demanded.unwrap_or_default());
    }
    // A namespace is inside of itself: a role in it may allow to get it.
    let is_namespace = objects.group.is_empty() && objects.resource == "namespaces";
    let namespace = match &objects.name {
        Some(name) if is_namespace => Some(name),
        _ => objects.namespace.as_ref(),
    };
    Action {
        verb,
        group: &objects.group,
        resource: &objects.resource,
        subresource: objects.subresource.as_deref().unwrap_or_default(),
        namespace: namespace.map(String::as_str).unwrap_or_default(),
        name,
    }
}

fn verb_of(method: &Method, named: bool, is_watch: bool) -> &'static str {
    match *method {
        Method::GET | Method::HEAD if is_watch => "watch",
        Method::GET | Method::HEAD if named => "get",
        Method::GET | Method::HEAD => "list",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if named => "delete",
        Method::DELETE => "deletecollection",
        // No rule but one for all verbs allows a method that the server doesn't know.
        _ => "unknown",
    }
}
