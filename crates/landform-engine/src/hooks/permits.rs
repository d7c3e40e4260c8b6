//! What a hook may see and write (C6).
//!
//! A hook is called by two people: who wrote the Reconciler decides what is done, who wrote the object decides with what. So
//! both must have the rights: the author of the Reconciler to everything that it may see and write of its kinds, the
//! writer of the object to what that refers to and to the children that are made for it. A Reconciler that names a
//! service account has children written with that account's rights instead of the object's writer's.

use landform_api::GroupVersionKind;
use landform_api::writer::Writer;
use landform_process::User;

use super::kinds::{Kinds, Served};
use super::references::{self, REFS_MAX, RefPath};
use super::spec::{KindName, ReconcilerSpec};
use crate::acting::{Actor, Right};
use crate::context::Context;
use crate::denied::Denied;
use crate::reconciler::Failure;

/// An error lists at most this many references that lead elsewhere.
const STRAYS_LISTED_MAX: usize = 10;

/// What the objects of a kind are told apart by: who wrote its Reconciler, and what that asks for.
pub(crate) struct Permits {
    reconciler: String,
    author: Actor,
    /// What the author must be allowed.
    needed: Vec<Right>,
    /// Who writes children, if not the actor of their owner.
    account: Option<Actor>,
}

impl Permits {
    pub(crate) fn new(name: &str, author: Actor, spec: &ReconcilerSpec, kinds: &Kinds) -> Self {
        let account = spec.service_account.as_ref();
        let account = account.map(|account| Writer::account(&account.namespace, &account.name));
        Self {
            reconciler: name.to_owned(),
            author,
            needed: needed(spec, kinds),
            account: account.map(Actor::Account),
        }
    }

    /// Who writes children: what they are is the work of both authors, so they have the rights that both have.
    pub(crate) fn writes_children(&self, context: &Context) -> Actor {
        match &self.account {
            Some(account) => account.clone(),
            None => context.together_with(&self.author),
        }
    }

    /// What the one who writes children has no right to, of all that may be done with them in the object's namespace.
    ///
    /// # Errors
    /// What the API answers.
    pub(crate) async fn lacks_children(
        &self,
        context: &Context,
        owned: &[(GroupVersionKind, Served)],
    ) -> Result<Option<Denied>, Failure> {
        let home = context.object().metadata.namespace.as_deref();
        let rights = owned.iter().flat_map(|(kind, served)| {
            let namespace = home.filter(|_| served.namespaced).unwrap_or_default();
            let right =
                |verb: &str| Right::new(verb, &kind.group, &served.resource.plural, namespace, "");
            ["create", "patch", "delete"].map(right)
        });
        let rights: Vec<Right> = rights.collect();
        let writer = self.writes_children(context);
        let lacks = context.missing_of(&writer, rights);
        let lacks = lacks.await?;
        Ok(match &self.account {
            Some(_) => {
                lacks.map(|denied| denied.of(&format!("the Reconciler {}", self.reconciler)))
            }
            None => lacks,
        })
    }

    /// What the author of the Reconciler has no right to.
    ///
    /// # Errors
    /// What the API answers.
    pub(crate) async fn author_lacks(&self, context: &Context) -> Result<Option<Denied>, Failure> {
        let lacks = context
            .missing_of(&self.author, self.needed.clone())
            .await?;
        Ok(lacks.map(|denied| self.about_author(denied)))
    }

    fn about_author(&self, denied: Denied) -> Denied {
        denied.of(&format!("the Reconciler {}", self.reconciler))
    }

    /// Whether the hook may be called for an object.
    ///
    /// # Errors
    /// What is missing, and who could grant it.
    pub(crate) async fn check(&self, context: &Context, paths: &[RefPath]) -> Result<(), Failure> {
        let found = references::find(paths, context.object());
        if found.too_many {
            return Err(Failure::Invalid(format!(
                "it names more than {REFS_MAX} objects by the paths of the Reconciler {}; the hook is not called",
                self.reconciler
            )));
        }
        let strays = found.strays;
        if !strays.is_empty() {
            let strays = strays.iter().take(STRAYS_LISTED_MAX).map(|(path, found)| {
                let namespace = found.namespace.as_deref().unwrap_or_default();
                format!(
                    "{path} names {} {namespace}/{}",
                    found.kind.kind, found.name
                )
            });
            return Err(Failure::Invalid(format!(
                "references stay in the object's namespace unless the Reconciler {} says anyNamespace: true for their \
                 path: {}",
                self.reconciler,
                strays.collect::<Vec<_>>().join("; ")
            )));
        }
        if let Some(denied) = self.author_lacks(context).await? {
            return Err(denied.into());
        }
        // Whether the object exists or not: an error for those only that do would tell which do. An object may name another
        // kind than the Reconciler does, so the rights to what it really refers to count for both.
        let seen = context
            .refs()
            .iter()
            .filter_map(|found| found.right.clone());
        let seen: Vec<Right> = seen.collect();
        if let Some(denied) = context.missing_of(&self.author, seen.clone()).await? {
            return Err(self.about_author(denied).into());
        }
        match context.missing(seen).await? {
            Some(denied) => Err(denied.into()),
            None => Ok(()),
        }
    }
}

fn needed(spec: &ReconcilerSpec, kinds: &Kinds) -> Vec<Right> {
    let rights = |kind: &landform_api::GroupVersionKind, verbs: &[&str]| -> Vec<Right> {
        let Some(served) = kinds.get(kind) else {
            return Vec::new();
        };
        let right = |verb: &&str| Right::new(verb, &kind.group, &served.resource.plural, "", "");
        verbs.iter().map(right).collect()
    };
    let of = spec.of.name();
    let mut needed = rights(&of, &["get", "list", "watch"]);
    if spec.finalize {
        // It holds their deletion.
        needed.extend(rights(&of, &["update"]));
    }
    if let Some(served) = kinds.get(&of).filter(|served| served.has_status) {
        let status = format!("{}/status", served.resource.plural);
        needed.push(Right::new("update", &of.group, &status, "", ""));
    }
    for entry in &spec.refs {
        needed.extend(rights(&entry.target(&spec.of), &["get"]));
    }
    for owned in spec.owns.iter().map(KindName::name) {
        needed.extend(rights(
            &owned,
            &["get", "list", "create", "patch", "delete"],
        ));
    }
    if spec.hook.command.is_some() {
        needed.push(Right::run("", &User::current().name));
    }
    if let Some(account) = &spec.service_account {
        needed.push(Right::impersonate(&account.namespace, &account.name));
    }
    needed
}
