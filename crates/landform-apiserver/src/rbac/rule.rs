//! One rule of a role: what it allows, and whether it covers another rule.

use serde::{Deserialize, Serialize};

use super::ask::{Action, Ask};

/// One rule: verbs on resources, or verbs on paths that are no resources.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Rule {
    pub(crate) verbs: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) api_groups: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) resources: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) resource_names: Vec<String>,
    #[serde(rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub(crate) non_resource_urls: Vec<String>,
}

impl Rule {
    /// A rule that allows everything: one for resources, one for paths.
    pub(crate) fn everything() -> [Self; 2] {
        let all = || vec!["*".to_owned()];
        [
            Self {
                verbs: all(),
                api_groups: all(),
                resources: all(),
                ..Self::default()
            },
            Self {
                verbs: all(),
                non_resource_urls: all(),
                ..Self::default()
            },
        ]
    }

    /// Whether this rule allows what is asked.
    pub(crate) fn allows(&self, ask: &Ask<'_>) -> bool {
        match ask {
            Ask::Action(action) => {
                one_of(&self.verbs, action.verb)
                    && one_of(&self.api_groups, action.group)
                    && self.has_resource(action)
                    && self.has_name(&action.name)
            }
            Ask::Path { verb, path } => {
                one_of(&self.verbs, verb)
                    && self.non_resource_urls.iter().any(|url| fits(url, path))
            }
        }
    }

    fn has_resource(&self, action: &Action<'_>) -> bool {
        self.resources
            .iter()
            .any(|text| text == "*" || names(text, action.resource, action.subresource))
    }

    /// A rule with names never allows a request that names nothing.
    fn has_name(&self, name: &str) -> bool {
        self.resource_names.is_empty() || self.resource_names.iter().any(|known| known == name)
    }

    /// Whether this rule alone allows everything that a piece allows.
    pub(crate) fn covers(&self, piece: &Piece<'_>) -> bool {
        match *piece {
            Piece::Resource {
                verb,
                group,
                resource,
                name,
            } => {
                let (plain, part) = resource.split_once('/').unwrap_or((resource, ""));
                let has_resource = self
                    .resources
                    .iter()
                    .any(|text| text == "*" || text == resource || names(text, plain, part));
                let has_name =
                    self.resource_names.is_empty() || name.is_some_and(|name| self.has_name(name));
                one_of(&self.verbs, verb)
                    && one_of(&self.api_groups, group)
                    && has_resource
                    && has_name
            }
            Piece::Path { verb, url } => {
                one_of(&self.verbs, verb)
                    && self
                        .non_resource_urls
                        .iter()
                        .any(|own| own == url || fits(own, url))
            }
        }
    }

    /// How many pieces this rule has.
    pub(crate) fn count(&self) -> usize {
        let resources = self
            .api_groups
            .len()
            .saturating_mul(self.resources.len())
            .saturating_mul(self.resource_names.len().max(1));
        self.verbs
            .len()
            .saturating_mul(resources.saturating_add(self.non_resource_urls.len()))
    }

    /// The rule, one verb on one thing at a time.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        self.verbs.iter().flat_map(move |verb| {
            let paths = self
                .non_resource_urls
                .iter()
                .map(move |url| Piece::Path { verb, url });
            let resources = self.api_groups.iter().flat_map(move |group| {
                self.resources.iter().flat_map(move |resource| {
                    let piece = move |name| Piece::Resource {
                        verb,
                        group,
                        resource,
                        name,
                    };
                    let all = self.resource_names.is_empty().then(|| piece(None));
                    let named = self
                        .resource_names
                        .iter()
                        .map(move |name| piece(Some(name.as_str())));
                    all.into_iter().chain(named)
                })
            });
            paths.chain(resources)
        })
    }
}

/// One verb on one thing: what a rule is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Piece<'a> {
    Resource {
        verb: &'a str,
        group: &'a str,
        /// With its subresource, as rules write it.
        resource: &'a str,
        /// None: whatever its name.
        name: Option<&'a str>,
    },
    Path {
        verb: &'a str,
        url: &'a str,
    },
}

impl std::fmt::Display for Piece<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Resource {
                verb,
                group,
                resource,
                name,
            } => {
                write!(f, "{{APIGroups:[{group:?}], Resources:[{resource:?}], ")?;
                if let Some(name) = name {
                    write!(f, "ResourceNames:[{name:?}], ")?;
                }
                write!(f, "Verbs:[{verb:?}]}}")
            }
            Self::Path { verb, url } => {
                write!(f, "{{NonResourceURLs:[{url:?}], Verbs:[{verb:?}]}}")
            }
        }
    }
}

fn one_of(list: &[String], wanted: &str) -> bool {
    list.iter().any(|entry| entry == "*" || entry == wanted)
}

/// Whether a rule's text (`pods`, `pods/log`, `*/scale`) names a resource, or a subresource of it.
fn names(text: &str, resource: &str, subresource: &str) -> bool {
    match text.split_once('/') {
        None => subresource.is_empty() && text == resource,
        Some((of, part)) => {
            !subresource.is_empty() && part == subresource && (of == "*" || of == resource)
        }
    }
}

/// Whether a rule's path (`/metrics`, `/healthz/*`, `*`) fits a path.
fn fits(url: &str, path: &str) -> bool {
    match url.strip_suffix('*') {
        Some(start) => path.starts_with(start),
        None => url == path,
    }
}
