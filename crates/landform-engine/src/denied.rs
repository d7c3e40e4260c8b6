//! What is told when rights are missing (C6): whose, which, and what can be done about it.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::Client;
use kube::api::Api;
use landform_api::keys::ANNOTATION_SERVICE_ACCOUNT;
use landform_api::writer::{ACCOUNT_PREFIX, RIGHTS_MISSING, Writer};

use crate::acting::Right;
use crate::reconciler::Failure;

/// Missing rights are asked for again after this time: no event says that one was granted.
pub const RIGHTS_RECHECK: std::time::Duration = std::time::Duration::from_secs(30);
/// An error lists at most this many rights.
const RIGHTS_LISTED_MAX: usize = 20;

/// What a user without rights is to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capacity {
    /// Who wrote it.
    Writer,
    /// The service account that it names.
    Account,
    /// Who named that account.
    Namer,
}

/// Rights that an actor doesn't have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct Denied {
    users: Vec<String>,
    capacity: Capacity,
    /// The object that the user acts for.
    object: String,
    missing: BTreeSet<Right>,
    /// Who of several users lacks which right.
    lacking: Vec<(Right, String)>,
    /// Of a service account: it doesn't exist.
    unknown: bool,
    /// The object's namespace, when that is being deleted: no role can be made in it.
    ending: Option<String>,
}

impl Denied {
    /// These rights are missing for an object in this namespace. Looks up what the advice depends on: nothing of
    /// other namespaces, which the reader may not know.
    pub(crate) async fn new(
        client: &Client,
        who: &Writer,
        capacity: Capacity,
        home: Option<&str>,
        missing: BTreeSet<Right>,
    ) -> Self {
        let mut home = home.filter(|home| missing.iter().any(|right| right.namespace == *home));
        if let Some(namespace) = home
            && !is_ending(client, namespace).await
        {
            home = None;
        }
        Self {
            users: who.each().into_iter().map(|who| who.user).collect(),
            capacity,
            object: "this object".to_owned(),
            unknown: capacity == Capacity::Account && is_unknown(client, &who.user).await,
            missing,
            lacking: Vec::new(),
            ending: home.map(ToOwned::to_owned),
        }
    }

    /// The same, with who lacks which right.
    pub(crate) fn lacked_by(mut self, lacking: Vec<(Right, String)>) -> Self {
        self.lacking = lacking;
        self
    }

    /// A right, and who of several users lacks it.
    fn listed(&self, right: &Right) -> String {
        if self.users.len() < 2 {
            return right.to_string();
        }
        let users = self.lacking.iter().filter(|(lacked, _)| lacked == right);
        let users: Vec<String> = users.map(|(_, user)| format!("{user:?}")).collect();
        format!("{right} (for {})", users.join(" and "))
    }

    /// The same about another object than the run's own.
    #[must_use]
    pub fn of(mut self, object: &str) -> Self {
        object.clone_into(&mut self.object);
        self
    }

    /// What is missing.
    #[must_use]
    pub fn missing(&self) -> &BTreeSet<Right> {
        &self.missing
    }

    fn text(&self) -> String {
        let listed = self.missing.iter().take(RIGHTS_LISTED_MAX);
        let listed: Vec<String> = listed.map(|right| self.listed(right)).collect();
        let more = match self.missing.len().saturating_sub(RIGHTS_LISTED_MAX) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        format!(
            "{}, {RIGHTS_MISSING} {}{more}. {}{}",
            self.whose(),
            listed.join("; "),
            self.grant(),
            self.instead()
        )
    }

    fn whose(&self) -> String {
        let object = &self.object;
        let users: Vec<String> = self.users.iter().map(|user| format!("{user:?}")).collect();
        let user = users.join(" and ");
        match self.capacity {
            Capacity::Writer => {
                format!("Landform acts with the rights of {user}, who wrote {object}")
            }
            Capacity::Namer => {
                format!("{user}, who named the service account of {object}, needs rights to it")
            }
            Capacity::Account => {
                let unknown = if self.unknown {
                    " and that doesn't exist"
                } else {
                    ""
                };
                format!(
                    "Landform acts with the rights of {user}, the service account that {object} names{unknown}"
                )
            }
        }
    }

    /// Which roles and bindings grant what is missing.
    fn grant(&self) -> String {
        const EVERYWHERE: &str = "a ClusterRole and a ClusterRoleBinding";
        const HERE: &str = "a Role and a RoleBinding";
        if let Some(ending) = &self.ending {
            return format!(
                "The namespace {ending} is being deleted, and no role can be made in it: grant them with {EVERYWHERE}"
            );
        }
        let everywhere = |right: &&Right| right.namespace.is_empty();
        match self.missing.iter().filter(everywhere).count() {
            0 => format!("Grant them with {HERE} in that namespace"),
            count if count == self.missing.len() => format!("Grant them with {EVERYWHERE}"),
            _ => format!(
                "Grant them with {HERE} in the namespace, and with {EVERYWHERE} those in the whole cluster"
            ),
        }
    }

    /// What helps without new rights.
    fn instead(&self) -> String {
        let to_account = |right: &Right| right.verb == "impersonate";
        // Items have a user of their own; the commands of Reconcilers, which take the right everywhere, have none.
        let to_root = |right: &Right| {
            !right.namespace.is_empty() && *right == Right::run(&right.namespace, "root")
        };
        let mut instead = match self.capacity {
            _ if self.missing.iter().all(to_account) => {
                format!(", or remove the annotation {ANNOTATION_SERVICE_ACCOUNT}")
            }
            Capacity::Writer | Capacity::Namer => format!(
                ", or name a service account that has them in the annotation {ANNOTATION_SERVICE_ACCOUNT}"
            ),
            Capacity::Account => ", or name a service account that has them".to_owned(),
        };
        if self.missing.iter().any(to_root) {
            instead.push_str(
                ". A program with another `user` in its configuration takes the right to that user instead of root",
            );
        }
        instead
    }
}

impl From<Denied> for Failure {
    /// A right may be granted at any time, and nothing tells of it.
    fn from(denied: Denied) -> Self {
        Self::Transient(denied.to_string())
    }
}

/// What can't be found out is not claimed.
async fn is_ending(client: &Client, namespace: &str) -> bool {
    let found = Api::<Namespace>::all(client.clone()).get(namespace).await;
    found.is_ok_and(|found| found.metadata.deletion_timestamp.is_some())
}

async fn is_unknown(client: &Client, user: &str) -> bool {
    let account = user.strip_prefix(ACCOUNT_PREFIX);
    let Some((namespace, name)) = account.and_then(|account| account.split_once(':')) else {
        return false;
    };
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    matches!(accounts.get_opt(name).await, Ok(None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied(capacity: Capacity, missing: &[Right]) -> Denied {
        Denied {
            users: vec!["jane".to_owned()],
            capacity,
            object: "this object".to_owned(),
            missing: missing.iter().cloned().collect(),
            lacking: Vec::new(),
            unknown: false,
            ending: None,
        }
    }

    #[track_caller]
    fn says(denied: &Denied, parts: &[&str]) {
        let text = denied.to_string();
        for part in parts {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    fn map() -> Right {
        Right::new("create", "", "configmaps", "shop", "")
    }

    #[test]
    fn c6_an_error_lists_all_that_is_missing() {
        let missing = [
            Right::run("shop", "root"),
            map(),
            Right::new("patch", "apps", "deployments", "", "web"),
            Right::new("update", "example.com", "toys/status", "", ""),
        ];
        says(
            &denied(Capacity::Writer, &missing).of("the Reconciler web"),
            &[
                "\"jane\", who wrote the Reconciler web",
                "create configmaps in the namespace shop",
                "patch deployments.apps \"web\" in the whole cluster",
                "update toys.example.com/status in the whole cluster",
                "run processes.landform.dev \"root\" in the namespace shop",
                "`user` in its configuration",
            ],
        );
    }

    #[test]
    fn c6_the_advice_is_one_that_works() {
        let cluster = Right::new("patch", "apps", "deployments", "", "web");
        let mut ending = denied(Capacity::Writer, &[map()]);
        ending.ending = Some("shop".to_owned());
        let mut unknown = denied(Capacity::Account, &[map()]);
        unknown.unknown = true;
        let account = Right::impersonate("shop", "web");
        let table: [(Denied, &[&str]); 6] = [
            (
                denied(Capacity::Writer, &[map()]),
                &[
                    "Grant them with a Role and a RoleBinding in that namespace, or name",
                    "landform.dev/service-account",
                ],
            ),
            (
                denied(Capacity::Account, std::slice::from_ref(&cluster)),
                &[
                    "the service account that this object names, and",
                    "Grant them with a ClusterRole and a ClusterRoleBinding, or",
                ],
            ),
            (
                denied(Capacity::Writer, &[map(), cluster]),
                &["ClusterRoleBinding those in the whole cluster"],
            ),
            (
                ending,
                &[
                    "The namespace shop is being deleted",
                    "grant them with a ClusterRole and",
                ],
            ),
            (unknown, &["names and that doesn't exist, and these"]),
            (
                denied(Capacity::Namer, &[account]),
                &[
                    "\"jane\", who named the service account of this object",
                    "or remove the annotation landform.dev/service-account",
                ],
            ),
        ];
        for (denied, parts) in table {
            says(&denied, parts);
        }
    }
}
