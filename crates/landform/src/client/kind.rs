//! The kind that a word means: singular, plural, short name or KIND.GROUP, as kubectl has it.

use kube::Client;
use serde_json::Value;

use crate::AnyError;
use crate::client::get;

/// A kind in the version that the server prefers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    pub(crate) namespaced: bool,
}

impl Kind {
    /// Where an object is.
    pub(crate) fn path(&self, namespace: &str, name: &str) -> String {
        let root = if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        };
        if self.namespaced {
            format!("{root}/namespaces/{namespace}/{}/{name}", self.plural)
        } else {
            format!("{root}/{}/{name}", self.plural)
        }
    }

    /// Where the deletion view has it.
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
}

/// Looks for the kind, in the core group first, then group by group.
pub(crate) async fn find(client: &Client, word: &str) -> Result<Kind, AnyError> {
    if let Some(list) = get(client, "/api/v1").await?
        && let Some(kind) = pick(&list, "", "v1", word)
    {
        return Ok(kind);
    }
    let groups = get(client, "/apis").await?.unwrap_or_default();
    for group in groups["groups"].as_array().into_iter().flatten() {
        let name = group["name"].as_str().unwrap_or_default();
        let version = group["preferredVersion"]["version"]
            .as_str()
            .unwrap_or_default();
        let list = get(client, &format!("/apis/{name}/{version}")).await?;
        if let Some(kind) = list.and_then(|list| pick(&list, name, version, word)) {
            return Ok(kind);
        }
    }
    Err(format!("the server doesn't have a kind {word:?}").into())
}

/// The resource of a list that a word means.
fn pick(list: &Value, group: &str, version: &str, word: &str) -> Option<Kind> {
    let word = word.to_lowercase();
    let (short, of_group) = match word.split_once('.') {
        Some((short, of_group)) => (short.to_owned(), Some(of_group.to_owned())),
        None => (word, None),
    };
    if of_group
        .is_some_and(|of_group| of_group != group && of_group != format!("{version}.{group}"))
    {
        return None;
    }
    let resources = list["resources"].as_array()?;
    let text =
        |resource: &Value, field: &str| resource[field].as_str().unwrap_or_default().to_owned();
    let means = |resource: &&Value| {
        let names = [
            text(resource, "name"),
            text(resource, "singularName"),
            text(resource, "kind"),
        ];
        let shorts = resource["shortNames"].as_array().into_iter().flatten();
        let shorts = shorts.filter_map(|name| name.as_str().map(str::to_owned));
        !text(resource, "name").contains('/')
            && names
                .into_iter()
                .chain(shorts)
                .any(|name| name.to_lowercase() == short)
    };
    let found = resources.iter().find(means)?;
    Some(Kind {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: text(found, "kind"),
        plural: text(found, "name"),
        namespaced: found["namespaced"].as_bool().unwrap_or(false),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_word_means_a_kind_as_kubectl_reads_it() {
        let list = json!({"resources": [
            {"name": "deployments/scale", "singularName": "", "kind": "Scale", "namespaced": true},
            {"name": "deployments", "singularName": "deployment", "kind": "Deployment",
             "namespaced": true, "shortNames": ["deploy"]},
        ]});
        for (word, found) in [
            ("deployment", true),
            ("Deployment", true),
            ("deployments", true),
            ("deploy", true),
            ("deployment.apps", true),
            ("deployments.v1.apps", true),
            ("deployment.extensions", false),
            ("scale", false),
            ("depl", false),
        ] {
            assert_eq!(pick(&list, "apps", "v1", word).is_some(), found, "{word}");
        }
        let kind = pick(&list, "apps", "v1", "deploy").unwrap();
        assert_eq!(
            kind.path("team", "web"),
            "/apis/apps/v1/namespaces/team/deployments/web"
        );
        assert_eq!(kind.view_path("team", "web"), "apps/Deployment/team/web");
    }
}
