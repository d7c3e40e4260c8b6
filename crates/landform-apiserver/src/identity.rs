//! Who makes a request: a name, groups, and what else is known of the caller.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use landform_api::writer::{ACCOUNT_PREFIX, ACCOUNTS, Writer};
pub use landform_api::writer::{AUTHENTICATED, MASTERS};

/// The name of the server's own parts.
const INTERNAL: &str = "system:landform";

/// Who makes a request. A clone costs nothing: each part that handles a request keeps one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity(Arc<Caller>);

/// What is known of who makes a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// The user's name.
    pub user: String,
    /// The user's groups.
    pub groups: Vec<String>,
    /// What tells this user from others of the same name; empty when nothing does.
    pub uid: String,
    /// Whatever else the credentials say.
    pub extra: BTreeMap<String, Vec<String>>,
    /// Who makes the request as well: it is allowed what each of them is allowed (C6).
    pub together: Vec<Identity>,
}

impl From<Caller> for Identity {
    fn from(caller: Caller) -> Self {
        Self(Arc::new(caller))
    }
}

impl Deref for Identity {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.0
    }
}

impl DerefMut for Identity {
    fn deref_mut(&mut self) -> &mut Caller {
        Arc::make_mut(&mut self.0)
    }
}

impl Identity {
    /// A user with these groups.
    #[must_use]
    pub fn new<G: Into<String>>(
        user: impl Into<String>,
        groups: impl IntoIterator<Item = G>,
    ) -> Self {
        Caller {
            user: user.into(),
            groups: groups.into_iter().map(Into::into).collect(),
            ..Caller::default()
        }
        .into()
    }

    /// A part of the server itself.
    #[must_use]
    pub fn internal() -> Self {
        Self::new(INTERNAL, [MASTERS])
    }

    /// Whether this is a part of the server itself. No credentials of this name are ever given out.
    pub(crate) fn is_internal(&self) -> bool {
        self.user == INTERNAL && self.is_master()
    }

    /// The name under which this caller is counted wherever users have limits. All service accounts of a namespace are
    /// one: who may create accounts there could otherwise have any number of shares.
    #[must_use]
    pub fn counted_as(&self) -> Cow<'_, str> {
        match account_of(&self.user) {
            Some((namespace, _)) => Cow::Owned(format!("{ACCOUNTS}:{namespace}")),
            None => Cow::Borrowed(&self.user),
        }
    }

    /// A service account.
    #[must_use]
    pub fn service_account(namespace: &str, name: &str) -> Self {
        let mut groups = account_groups(namespace);
        groups.push(AUTHENTICATED.into());
        Self::new(account_user(namespace, name), groups)
    }

    /// Who wrote an object, as a caller.
    pub(crate) fn of_writer(writer: &Writer) -> Self {
        Self::new(&writer.user, writer.all_groups())
    }

    /// What is noted on what this caller writes; none when everything is allowed (C6).
    pub(crate) fn writer(&self) -> Option<Writer> {
        let each = self.each().map(|who| Writer::of(&who.user, &who.groups));
        each.fold(None, Writer::joined)
    }

    /// All who make the request, each by itself.
    pub(crate) fn each(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.together)
    }

    /// Whether everything is allowed, without a look at any rule.
    #[must_use]
    pub fn is_master(&self) -> bool {
        let is_one = |who: &Self| who.groups.iter().any(|group| group == MASTERS);
        self.each().all(is_one)
    }
}

/// The user name of a service account.
pub(crate) fn account_user(namespace: &str, name: &str) -> String {
    format!("{ACCOUNT_PREFIX}{namespace}:{name}")
}

/// The groups that a service account is in besides [`AUTHENTICATED`].
pub(crate) fn account_groups(namespace: &str) -> Vec<String> {
    vec![ACCOUNTS.into(), format!("{ACCOUNTS}:{namespace}")]
}

/// Namespace and name of a service account, when a user name is one's.
pub(crate) fn account_of(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(ACCOUNT_PREFIX)?.split_once(':')?;
    (!namespace.is_empty() && !name.is_empty() && !name.contains(':')).then_some((namespace, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_service_accounts_lead_back_to_them() {
        let account = Identity::service_account("shop", "web");
        assert_eq!(account.user, "system:serviceaccount:shop:web");
        assert_eq!(
            account.groups,
            [
                "system:serviceaccounts",
                "system:serviceaccounts:shop",
                "system:authenticated"
            ]
        );
        assert!(!account.is_master());
        assert!(Identity::internal().is_master());
        assert_eq!(account_of(&account.user), Some(("shop", "web")));
        assert_eq!(account.counted_as(), "system:serviceaccounts:shop");
        let other = Identity::service_account("shop", "minted");
        assert_eq!(other.counted_as(), account.counted_as());
        let elsewhere = Identity::service_account("bank", "web");
        assert_ne!(elsewhere.counted_as(), account.counted_as());
        assert_eq!(Identity::new("jane", ["tenants"]).counted_as(), "jane");
        for other in [
            "jane",
            "system:serviceaccount:shop",
            "system:serviceaccount:shop:",
            "system:serviceaccount::web",
            "system:serviceaccount:a:b:c",
        ] {
            assert_eq!(account_of(other), None, "{other}");
        }
    }
}
