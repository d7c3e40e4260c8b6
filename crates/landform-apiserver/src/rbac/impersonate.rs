//! Impersonation: a caller who has the right may make a request as somebody else.
//!
//! `kubectl --as` and `--as-group` do this. Each thing that is taken over needs the verb `impersonate`:
//! on `users` or `serviceaccounts`, on `groups`, and on `uids` and `userextras/KEY` of
//! `authentication.k8s.io`.

use std::collections::BTreeMap;

use http::HeaderMap;
use http::header::HeaderValue;

use super::ask::{Action, Ask};
use crate::error::{ApiError, Result};
use crate::identity::{AUTHENTICATED, Identity, account_groups, account_of};
use crate::request::path::percent_decode;
use crate::server::ApiServer;

const PREFIX: &str = "impersonate-";
const EXTRA_PREFIX: &str = "impersonate-extra-";
const ANONYMOUS: &str = "system:anonymous";

impl ApiServer {
    /// The caller that a request is made as: its own, or the one that its headers name.
    pub(crate) async fn acting(&self, caller: Identity, headers: &HeaderMap) -> Result<Identity> {
        let mut names = headers.keys().map(http::HeaderName::as_str);
        if !names.any(|name| name.starts_with(PREFIX)) {
            return Ok(caller);
        }
        let wanted = wanted(headers)?;
        for action in needed(&wanted) {
            self.authorize(&caller, &Ask::Action(action)).await?;
        }
        Ok(completed(wanted))
    }
}

/// Exactly what the headers name.
fn wanted(headers: &HeaderMap) -> Result<Identity> {
    let mut wanted = Identity::default();
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in headers {
        let Some(what) = name.as_str().strip_prefix(PREFIX) else {
            continue;
        };
        let value = text(what, value)?;
        match what {
            "user" => wanted.user = value,
            "group" => wanted.groups.push(value),
            "uid" => wanted.uid = value,
            _ => {
                let key = name.as_str().strip_prefix(EXTRA_PREFIX);
                let key = key.and_then(percent_decode).ok_or_else(|| {
                    ApiError::bad_request(format!(
                        "the header {name} is not understood: there are Impersonate-User, -Group, -Uid and -Extra-KEY"
                    ))
                })?;
                extra.entry(key.to_lowercase()).or_default().push(value);
            }
        }
    }
    wanted.extra = extra;
    if wanted.user.is_empty() {
        return Err(ApiError::bad_request(
            "impersonation needs a user: send Impersonate-User as well",
        ));
    }
    Ok(wanted)
}

fn text(what: &str, value: &HeaderValue) -> Result<String> {
    let value = std::str::from_utf8(value.as_bytes()).map_err(|_| {
        ApiError::bad_request(format!("the header {PREFIX}{what} is not plain text"))
    })?;
    Ok(value.to_owned())
}

/// The rights that the caller must have.
fn needed(wanted: &Identity) -> Vec<Action<'_>> {
    let impersonate = |group, resource, name: &'_ str| Action {
        verb: "impersonate",
        group,
        resource,
        name: name.to_owned().into(),
        ..Action::default()
    };
    let mut needed = vec![match account_of(&wanted.user) {
        Some((namespace, name)) => Action {
            namespace,
            ..impersonate("", "serviceaccounts", name)
        },
        None => impersonate("", "users", &wanted.user),
    }];
    for group in &wanted.groups {
        needed.push(impersonate("", "groups", group));
    }
    if !wanted.uid.is_empty() {
        needed.push(impersonate("authentication.k8s.io", "uids", &wanted.uid));
    }
    for (key, values) in &wanted.extra {
        for value in values {
            needed.push(Action {
                subresource: key,
                ..impersonate("authentication.k8s.io", "userextras", value)
            });
        }
    }
    needed
}

/// Adds the groups that such a user has by being one.
fn completed(mut wanted: Identity) -> Identity {
    if wanted.groups.is_empty()
        && let Some((namespace, _)) = account_of(&wanted.user)
    {
        wanted.groups = account_groups(namespace);
    }
    let everybody = if wanted.user == ANONYMOUS {
        "system:unauthenticated"
    } else {
        AUTHENTICATED
    };
    if !wanted.groups.iter().any(|group| group == everybody) {
        wanted.groups.push(everybody.into());
    }
    wanted
}
