//! What becomes of the kinds that an app type owns: no owner reference shows them in the preview.

use kube::Client;
use landform_api::catalog::{AppType, DefinitionPolicy, keys};
use serde::Deserialize as _;
use serde_json::Value;

use crate::AnyError;
use crate::client::get;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A paragraph about the kinds of an app type; empty when it owns none.
pub(super) async fn told(
    client: &Client,
    path: &str,
    namespace: &str,
    name: &str,
) -> Result<String, AnyError> {
    let found = get(client, path).await?.unwrap_or_default();
    let app_type = AppType::deserialize(&found).unwrap_or_default();
    let owner = format!("AppType/{namespace}/{name}");
    let definitions = get(client, DEFINITIONS).await?.unwrap_or_default();
    let definitions = definitions["items"].as_array().into_iter().flatten();
    let mut owned = Vec::new();
    for definition in definitions {
        if definition["metadata"]["annotations"][keys::OWNER] == owner.as_str() {
            owned.push(counted(client, definition).await?);
        }
    }
    if owned.is_empty() {
        return Ok(String::new());
    }
    let owned = owned.join(", ");
    Ok(match app_type.spec.definitions {
        DefinitionPolicy::Keep => format!("Its kinds stay, with their objects: {owned}.\n"),
        DefinitionPolicy::Delete => format!(
            "Its kinds go first, with their objects in ALL namespaces: {owned}. Should another app type of the package \
             be left, they stay and become that one's.\n"
        ),
    })
}

/// A definition's name, with the number of its objects.
async fn counted(client: &Client, definition: &Value) -> Result<String, AnyError> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let spec = &definition["spec"];
    let versions = spec["versions"].as_array().into_iter().flatten();
    let mut served = versions.filter(|version| version["served"] == true);
    let version = served
        .next()
        .map(|version| text(&version["name"]))
        .unwrap_or_default();
    let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
    let list = get(client, &format!("/apis/{group}/{version}/{plural}?limit=1")).await?;
    let list = list.unwrap_or_default();
    let shown = list["items"].as_array().map_or(0, Vec::len) as u64;
    let more = list["metadata"]["remainingItemCount"].as_u64().unwrap_or(0);
    let name = text(&definition["metadata"]["name"]);
    Ok(match shown + more {
        1 => format!("{name} (1 object)"),
        count => format!("{name} ({count} objects)"),
    })
}
