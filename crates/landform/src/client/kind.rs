//! The kind that a word means: singular, plural, short name or KIND.GROUP, as kubectl has it.

use futures::future::{join_all, try_join};
use http::Request;
use kube::Client;
use serde_json::Value;

use crate::AnyError;
use crate::client::{get, plain};

/// Both forms of discovery: everything at once, or group by group where a server is too old for that.
const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// A kind in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) namespaced: bool,
}

impl Kind {
    /// Where objects of the kind are: in one namespace, or (when it is empty) everywhere.
    pub(crate) fn list_path(&self, namespace: &str) -> String {
        let root = if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        };
        if self.namespaced && !namespace.is_empty() {
            format!("{root}/namespaces/{namespace}/{}", self.plural)
        } else {
            format!("{root}/{}", self.plural)
        }
    }

    /// Where an object is.
    pub(crate) fn path(&self, namespace: &str, name: &str) -> String {
        format!("{}/{name}", self.list_path(namespace))
    }

    /// How views name an object.
    pub(crate) fn view_path(&self, namespace: &str, name: &str) -> String {
        let or = |text: &str, other: &str| {
            if text.is_empty() {
                other.to_owned()
            } else {
                text.to_owned()
            }
        };
        let (group, namespace) = (or(&self.group, "core"), or(namespace, "-"));
        format!("{group}/{}/{namespace}/{name}", self.kind)
    }

    /// The word that names the kind in output: `configmap`, `deployment.apps`.
    pub(crate) fn word(&self) -> String {
        let kind = self.kind.to_lowercase();
        if self.group.is_empty() {
            kind
        } else {
            format!("{kind}.{}", self.group)
        }
    }

    /// Group and version as manifests write them.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    fn is_called(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        let names = [&self.plural, &self.singular, &self.kind];
        let mut names = names.into_iter().chain(&self.short_names);
        names.any(|name| name.to_lowercase() == word)
    }

    fn means(&self, word: &str) -> bool {
        match word.split_once('.') {
            None => self.is_called(word),
            Some((short, group)) => {
                let group = group.to_lowercase();
                (group == self.group || group == format!("{}.{}", self.version, self.group))
                    && self.is_called(short)
            }
        }
    }
}

/// The kinds that a server has: the core group's first, each group's preferred version before others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds(Vec<Kind>);

/// A kind with what can be done with its objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) kind: Kind,
    pub(crate) verbs: Vec<String>,
    pub(crate) categories: Vec<String>,
}

impl Listed {
    fn is_stored(&self) -> bool {
        // Rules can name more than there are objects of.
        self.verbs.iter().any(|verb| verb == "list")
    }
}

impl Kinds {
    /// The kinds that a server stores objects of.
    pub(crate) async fn load(client: &Client) -> Result<Self, AnyError> {
        let all = Self::everything(client).await?.into_iter();
        Ok(Self(
            all.filter(Listed::is_stored)
                .map(|listed| listed.kind)
                .collect(),
        ))
    }

    /// All that a server has. Asks it in two requests where it knows aggregated discovery.
    pub(crate) async fn everything(client: &Client) -> Result<Vec<Listed>, AnyError> {
        let ask = |path: &'static str| async move {
            let request = Request::get(path).header("accept", AGGREGATED);
            let answer: Result<Value, _> = client.request(request.body(Vec::new())?).await;
            answer.map_err(plain)
        };
        let (core, groups) = try_join(ask("/api"), ask("/apis")).await?;
        if core["kind"] == "APIGroupDiscoveryList" {
            let mut kinds = aggregated(&core);
            kinds.extend(aggregated(&groups));
            return Ok(kinds);
        }
        let mut versions = vec![(String::new(), "v1".to_owned())];
        for group in list(&groups["groups"]) {
            let preferred = text(&group["preferredVersion"]["version"]);
            let mut all: Vec<String> = list(&group["versions"])
                .map(|version| text(&version["version"]))
                .collect();
            all.sort_by_key(|version| *version != preferred);
            let name = text(&group["name"]);
            versions.extend(all.into_iter().map(|version| (name.clone(), version)));
        }
        let reads = versions.iter().map(|(group, version)| async move {
            let path = if group.is_empty() {
                format!("/api/{version}")
            } else {
                format!("/apis/{group}/{version}")
            };
            // A group whose server is away must not hide the others.
            get(client, &path).await.ok().flatten().unwrap_or_default()
        });
        let lists = join_all(reads).await;
        let kinds = versions.iter().zip(&lists);
        let kinds = kinds.flat_map(|((group, version), list)| plain_list(list, group, version));
        Ok(kinds.collect())
    }

    /// All names by which a kind can be called.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|kind| {
            [kind.singular.as_str(), kind.plural.as_str()]
                .into_iter()
                .chain(kind.short_names.iter().map(String::as_str))
        })
    }

    /// The kind that a word means.
    pub(crate) fn find(&self, word: &str) -> Result<Kind, AnyError> {
        if let Some(kind) = self.0.iter().find(|kind| kind.means(word)) {
            return Ok(kind.clone());
        }
        let near = self.near(word);
        let hint = if near.is_empty() {
            "`landform get crd` lists the custom ones".to_owned()
        } else {
            format!("did you mean {}?", near.join(" or "))
        };
        Err(format!("the server doesn't have a kind {word:?}: {hint}").into())
    }

    /// The kind of a manifest.
    pub(crate) fn of_manifest(&self, api_version: &str, kind: &str) -> Option<Kind> {
        let mut kinds = self.0.iter();
        let found = kinds.find(|known| known.kind == kind && known.api_version() == api_version);
        found.cloned()
    }

    /// Kinds with a name that somebody may have wanted to write.
    fn near(&self, word: &str) -> Vec<String> {
        let word = word.split('.').next().unwrap_or(word).to_lowercase();
        let limit = (word.chars().count() / 3).max(1);
        let mut near: Vec<(usize, String)> = Vec::new();
        for kind in &self.0 {
            let names = [kind.plural.clone(), kind.singular.clone()];
            let best = names.iter().map(|name| distance(&word, name)).min();
            if let Some(best) = best.filter(|best| *best <= limit) {
                near.push((best, kind.singular.clone()));
            }
        }
        near.sort();
        near.dedup();
        near.into_iter().take(3).map(|(_, name)| name).collect()
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The kinds of an aggregated answer.
fn aggregated(answer: &Value) -> Vec<Listed> {
    let mut kinds = Vec::new();
    for group in list(&answer["items"]) {
        for version in list(&group["versions"]) {
            for resource in list(&version["resources"]) {
                let kind = Kind {
                    group: text(&group["metadata"]["name"]),
                    version: text(&version["version"]),
                    kind: text(&resource["responseKind"]["kind"]),
                    plural: text(&resource["resource"]),
                    singular: text(&resource["singularResource"]),
                    short_names: list(&resource["shortNames"]).map(text).collect(),
                    namespaced: resource["scope"] == "Namespaced",
                };
                kinds.push(Listed {
                    kind,
                    verbs: list(&resource["verbs"]).map(text).collect(),
                    categories: list(&resource["categories"]).map(text).collect(),
                });
            }
        }
    }
    kinds
}

/// The kinds of one group and version.
fn plain_list(answer: &Value, group: &str, version: &str) -> Vec<Listed> {
    let resources = list(&answer["resources"]);
    let whole = resources.filter(|resource| !text(&resource["name"]).contains('/'));
    let kinds = whole.map(|resource| Listed {
        kind: Kind {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: text(&resource["kind"]),
            plural: text(&resource["name"]),
            singular: text(&resource["singularName"]),
            short_names: list(&resource["shortNames"]).map(text).collect(),
            namespaced: resource["namespaced"].as_bool().unwrap_or(false),
        },
        verbs: list(&resource["verbs"]).map(text).collect(),
        categories: list(&resource["categories"]).map(text).collect(),
    });
    kinds.collect()
}

/// How many letters must be changed, added or left out to come from one word to the other.
pub(crate) fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, letter) in left.chars().enumerate() {
        let mut next = vec![at + 1];
        for (column, other) in right.iter().enumerate() {
            let above = row.get(column + 1).copied().unwrap_or_default() + 1;
            let before = next.last().copied().unwrap_or_default() + 1;
            let changed =
                row.get(column).copied().unwrap_or_default() + usize::from(letter != *other);
            next.push(above.min(before).min(changed));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn stored(all: Vec<Listed>) -> Kinds {
        let all = all.into_iter().filter(Listed::is_stored);
        Kinds(all.map(|listed| listed.kind).collect())
    }

    fn kinds() -> Kinds {
        let list = json!({"resources": [
            {"name": "deployments/scale", "singularName": "", "kind": "Scale", "namespaced": true},
            {"name": "deployments", "singularName": "deployment", "kind": "Deployment",
             "namespaced": true, "shortNames": ["deploy"], "verbs": ["get", "list"]},
            {"name": "depths", "singularName": "depth", "kind": "Depth", "namespaced": true, "verbs": ["get"]},
        ]});
        stored(plain_list(&list, "apps", "v1"))
    }

    #[test]
    fn a_word_means_a_kind_as_kubectl_reads_it() {
        for (word, found) in [
            ("deployment", true),
            ("Deployment", true),
            ("deployments", true),
            ("deploy", true),
            ("deployment.apps", true),
            ("deployments.v1.apps", true),
            ("deployment.extensions", false),
            ("scale", false),
            ("depth", false),
            ("depl", false),
        ] {
            assert_eq!(kinds().find(word).is_ok(), found, "{word}");
        }
        let kind = kinds().find("deploy").unwrap();
        assert_eq!(
            kind.path("team", "web"),
            "/apis/apps/v1/namespaces/team/deployments/web"
        );
        assert_eq!(kind.list_path(""), "/apis/apps/v1/deployments");
        assert_eq!(kind.view_path("team", "web"), "apps/Deployment/team/web");
        assert_eq!(kinds().of_manifest("apps/v1", "Deployment"), Some(kind));
        assert_eq!(kinds().of_manifest("apps/v2", "Deployment"), None);
    }

    #[test]
    fn an_aggregated_answer_says_the_same() {
        let answer = json!({"kind": "APIGroupDiscoveryList", "items": [{
            "metadata": {"name": "apps"},
            "versions": [{"version": "v1", "resources": [
                {"resource": "deployments", "singularResource": "deployment", "scope": "Namespaced",
                 "responseKind": {"kind": "Deployment"}, "shortNames": ["deploy"], "verbs": ["get", "list"]},
                {"resource": "reviews", "singularResource": "review", "scope": "Cluster",
                 "responseKind": {"kind": "Review"}, "verbs": ["create"]},
            ]}],
        }]});
        assert_eq!(stored(aggregated(&answer)), kinds());
    }

    #[test]
    fn a_word_with_a_slip_is_answered_with_what_was_meant() {
        let error = kinds().find("deploymnet").unwrap_err().to_string();
        assert!(error.ends_with("did you mean deployment?"), "{error}");
        let error = kinds().find("zebra").unwrap_err().to_string();
        assert!(error.contains("landform get crd"), "{error}");
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
