//! Which rules each user and group has, kept object by object; and the decision.
//!
//! The index holds roles by name and bindings by subject. A binding leads to its role by name when it is
//! asked, so that a role may come, change and go without a look at its bindings.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Deserialize;
use serde_json::Value;

use super::ask::Ask;
use super::rule::Rule;
use crate::identity::{Identity, MASTERS, account_user};
use crate::object::Object;
use crate::selector::{LabelSelector, selector_text};

/// A role's namespace (empty for a ClusterRole) and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RoleKey {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// A role, as far as decisions go.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Role {
    labels: BTreeMap<String, String>,
    /// Labels of the ClusterRoles whose rules it has; then `rules` are those.
    selectors: Option<Vec<LabelSelector>>,
    pub(crate) rules: Vec<Rule>,
}

impl Role {
    /// Reads a Role or ClusterRole. What can't be read grants nothing.
    pub(crate) fn from_object(object: &Object) -> Self {
        let empty = Value::Null;
        let field = |name: &str| object.get(name).unwrap_or(&empty);
        let labels = field("metadata").get("labels").cloned();
        let selectors = field("aggregationRule").as_object().map(|aggregation| {
            let list = aggregation.get("clusterRoleSelectors");
            let list = list.and_then(Value::as_array).into_iter().flatten();
            list.filter_map(|selector| LabelSelector::parse(Some(&selector_text(selector))).ok())
                .collect()
        });
        Self {
            labels: serde_json::from_value(labels.unwrap_or_default()).unwrap_or_default(),
            rules: match selectors {
                Some(_) => Vec::new(),
                None => read_rules(field("rules")),
            },
            selectors,
        }
    }

    /// Whether its rules are gathered from others.
    pub(crate) fn is_aggregated(&self) -> bool {
        self.selectors.is_some()
    }
}

/// The rules of a role's field `rules`.
pub(crate) fn read_rules(rules: &Value) -> Vec<Rule> {
    let rules = rules.as_array().into_iter().flatten();
    rules
        .filter_map(|rule| Rule::deserialize(rule).ok())
        .collect()
}

/// A binding, as far as decisions go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) role: RoleKey,
    users: BTreeSet<String>,
    groups: BTreeSet<String>,
}

impl Binding {
    /// Reads a RoleBinding of a namespace, or a ClusterRoleBinding when that is empty.
    pub(crate) fn from_object(object: &Object, namespace: &str) -> Self {
        let text = |value: &Value, field: &str| {
            let text = value.get(field).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let mut binding = Self::default();
        if let Some(role) = object.get("roleRef") {
            let of_namespace = text(role, "kind") == "Role";
            if of_namespace && namespace.is_empty() {
                // Only a ClusterRole can be bound in the whole cluster.
                return binding;
            }
            binding.role = RoleKey {
                namespace: if of_namespace { namespace } else { "" }.to_owned(),
                name: text(role, "name"),
            };
        }
        let subjects = object.get("subjects").and_then(Value::as_array);
        for subject in subjects.into_iter().flatten() {
            let name = text(subject, "name");
            match text(subject, "kind").as_str() {
                "User" => binding.users.insert(name),
                "Group" => binding.groups.insert(name),
                "ServiceAccount" => {
                    let own = text(subject, "namespace");
                    let of = if own.is_empty() { namespace } else { &own };
                    binding.users.insert(account_user(of, &name))
                }
                _ => false,
            };
        }
        binding
    }
}

/// A subject's bindings: by namespace (empty for the cluster), then by name, with their roles.
type Bound = BTreeMap<String, BTreeMap<String, RoleKey>>;

/// Why something is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reason<'a> {
    /// The caller is of the group that may do everything.
    Master,
    /// A binding gives the right.
    Bound {
        /// The binding's namespace; empty for the cluster.
        namespace: &'a str,
        binding: &'a str,
        role: &'a RoleKey,
        /// `User` or `Group`, and its name.
        subject: (&'static str, &'a str),
    },
}

impl std::fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Master => write!(
                f,
                "the group {} may do everything",
                crate::identity::MASTERS
            ),
            Self::Bound {
                namespace,
                binding,
                role,
                subject: (kind, name),
            } => {
                let of = |namespace: &str| if namespace.is_empty() { "Cluster" } else { "" };
                let place = if namespace.is_empty() {
                    String::new()
                } else {
                    format!("{namespace}/")
                };
                write!(
                    f,
                    "RBAC: allowed by {}RoleBinding \"{place}{binding}\" of {}Role \"{}\" to {kind} \"{name}\"",
                    of(namespace),
                    of(&role.namespace),
                    role.name
                )
            }
        }
    }
}

/// All roles and bindings.
#[derive(Debug, Default)]
pub(crate) struct Index {
    roles: HashMap<RoleKey, Role>,
    /// By namespace (empty for the cluster) and name.
    bindings: HashMap<(String, String), Binding>,
    users: HashMap<String, Bound>,
    groups: HashMap<String, Bound>,
}

impl Index {
    /// Whether all who make a request may do something, and why the first of them may.
    pub(crate) fn decide<'a>(&'a self, who: &'a Identity, ask: &Ask<'_>) -> Option<Reason<'a>> {
        if who.is_master() {
            return Some(Reason::Master);
        }
        if who
            .each()
            .any(|one| self.decide_for_one(one, ask).is_none())
        {
            return None;
        }
        self.decide_for_one(who, ask)
    }

    /// Whether the caller may do something, whatever those may who make the request as well.
    pub(crate) fn decide_for_one<'a>(
        &'a self,
        who: &'a Identity,
        ask: &Ask<'_>,
    ) -> Option<Reason<'a>> {
        if who.groups.iter().any(|group| group == MASTERS) {
            return Some(Reason::Master);
        }
        let mut held = self.held(who, ask.namespace());
        held.find(|(_, rule)| rule.allows(ask))
            .map(|(reason, _)| reason)
    }

    /// Every rule that a caller has in a namespace, whatever those have who make the request as well; only those of the whole
    /// cluster when it is empty.
    pub(crate) fn held<'a>(
        &'a self,
        who: &'a Identity,
        namespace: &str,
    ) -> impl Iterator<Item = (Reason<'a>, &'a Rule)> {
        let user = self.users.get_key_value(&who.user);
        let user = user.map(|(name, bound)| (("User", name.as_str()), bound));
        let groups = who.groups.iter().filter_map(|group| {
            let (name, bound) = self.groups.get_key_value(group)?;
            Some((("Group", name.as_str()), bound))
        });
        let namespace = namespace.to_owned();
        user.into_iter()
            .chain(groups)
            .flat_map(move |(subject, bound)| {
                let cluster = bound.get_key_value("");
                let own = bound
                    .get_key_value(&namespace)
                    .filter(|(namespace, _)| !namespace.is_empty());
                let places = cluster.into_iter().chain(own);
                places.flat_map(move |(namespace, bindings)| {
                    bindings.iter().map(move |(binding, role)| {
                        let reason = Reason::Bound {
                            namespace,
                            binding,
                            role,
                            subject,
                        };
                        (reason, role)
                    })
                })
            })
            .flat_map(|(reason, role)| {
                let rules = self.rules(role).unwrap_or_default();
                rules.iter().map(move |rule| (reason.clone(), rule))
            })
    }

    /// The rules of a role, gathered ones too.
    pub(crate) fn rules(&self, role: &RoleKey) -> Option<&[Rule]> {
        self.roles.get(role).map(|role| role.rules.as_slice())
    }

    /// The ClusterRoles whose rules are gathered from others.
    pub(crate) fn aggregated(&self) -> impl Iterator<Item = &str> {
        let roles = self.roles.iter();
        roles
            .filter(|(key, role)| key.namespace.is_empty() && role.is_aggregated())
            .map(|(key, _)| key.name.as_str())
    }

    /// Adds, changes or removes a role. [`Index::gather`] must follow before the next decision.
    pub(crate) fn put_role(&mut self, key: RoleKey, role: Option<Role>) {
        match role {
            Some(role) => self.roles.insert(key, role),
            None => self.roles.remove(&key),
        };
    }

    /// Adds, changes or removes a binding.
    pub(crate) fn put_binding(&mut self, namespace: &str, name: &str, binding: Option<Binding>) {
        let key = (namespace.to_owned(), name.to_owned());
        if let Some(old) = self.bindings.remove(&key) {
            for user in &old.users {
                unbind(&mut self.users, user, namespace, name);
            }
            for group in &old.groups {
                unbind(&mut self.groups, group, namespace, name);
            }
        }
        let Some(binding) = binding else {
            return;
        };
        for user in &binding.users {
            bind(&mut self.users, user, namespace, name, &binding.role);
        }
        for group in &binding.groups {
            bind(&mut self.groups, group, namespace, name, &binding.role);
        }
        self.bindings.insert(key, binding);
    }

    /// Gathers the rules of aggregated ClusterRoles anew.
    pub(crate) fn gather(&mut self) {
        let names: Vec<String> = self.aggregated().map(str::to_owned).collect();
        for name in names {
            let rules = self.gathered(&name);
            let key = RoleKey {
                namespace: String::new(),
                name,
            };
            if let Some(role) = self.roles.get_mut(&key) {
                role.rules = rules;
            }
        }
    }

    /// The rules of all plain ClusterRoles that one selects, also by way of others that gather. Sorted by
    /// the names of those roles, each rule once.
    fn gathered(&self, name: &str) -> Vec<Rule> {
        let mut seen = BTreeSet::from([name]);
        let mut waiting = vec![name];
        let mut plain = BTreeMap::new();
        while let Some(name) = waiting.pop() {
            let key = RoleKey {
                namespace: String::new(),
                name: name.to_owned(),
            };
            let Some(role) = self.roles.get(&key) else {
                continue;
            };
            let Some(selectors) = &role.selectors else {
                plain.insert(name, &role.rules);
                continue;
            };
            for (key, other) in &self.roles {
                let fits = key.namespace.is_empty()
                    && selectors.iter().any(|wanted| wanted.matches(&other.labels));
                if fits && seen.insert(&key.name) {
                    waiting.push(&key.name);
                }
            }
        }
        let mut rules: Vec<Rule> = Vec::new();
        for rule in plain.into_values().flatten() {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
        rules
    }
}

fn bind(
    subjects: &mut HashMap<String, Bound>,
    subject: &str,
    namespace: &str,
    name: &str,
    role: &RoleKey,
) {
    let bound = subjects.entry(subject.to_owned()).or_default();
    let bindings = bound.entry(namespace.to_owned()).or_default();
    bindings.insert(name.to_owned(), role.clone());
}

fn unbind(subjects: &mut HashMap<String, Bound>, subject: &str, namespace: &str, name: &str) {
    let Some(bound) = subjects.get_mut(subject) else {
        return;
    };
    if let Some(bindings) = bound.get_mut(namespace) {
        bindings.remove(name);
        if bindings.is_empty() {
            bound.remove(namespace);
        }
    }
    if bound.is_empty() {
        subjects.remove(subject);
    }
}
