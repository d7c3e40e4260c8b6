//! Plays the operator that is installed: makes its resources, and takes them over where it should itself.

use std::time::Duration;

use kube::Client;
use kube::api::{Api, ListParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use landform_api::catalog::API_VERSION;
use landform_operators::adoption::{self, Version};
use serde_json::json;

use super::{LABEL, RESOURCES};

/// It looks around so often.
const PAUSE: Duration = Duration::from_secs(10);

/// Runs for as long as the process does.
pub(super) async fn run(client: Client) {
    let place = |group: &str, version: &str, kind: &str, plural: &str| {
        let kind = GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        Api::<DynamicObject>::default_namespaced_with(client.clone(), &resource)
    };
    let (group, version) = API_VERSION.split_once('/').unwrap_or_default();
    let operator = Operator {
        versions: place(group, version, "OperatorVersion", "operatorversions"),
        app_types: place(group, version, "AppType", "apptypes"),
        maps: place("", "v1", "ConfigMap", "configmaps"),
    };
    loop {
        // What fails is tried again at the next look.
        let _ = operator.look().await;
        tokio::time::sleep(PAUSE).await;
    }
}

struct Operator {
    versions: Api<DynamicObject>,
    app_types: Api<DynamicObject>,
    maps: Api<DynamicObject>,
}

impl Operator {
    async fn look(&self) -> Result<(), kube::Error> {
        let all = ListParams::default();
        let app_types = self.app_types.list(&all).await?.items;
        let wanted = app_types
            .iter()
            .any(|found| found.metadata.deletion_timestamp.is_none());
        let versions = self.versions.list(&all).await?.items;
        let runs = |found: &&DynamicObject| {
            found.data["status"]["phase"] == "Succeeded"
                && found.metadata.deletion_timestamp.is_none()
        };
        let Some(me) = versions.iter().rfind(runs).filter(|_| wanted) else {
            return Ok(());
        };
        let (name, uid) = (me.metadata.name.as_deref(), me.metadata.uid.as_deref());
        let (name, uid) = (name.unwrap_or_default(), uid.unwrap_or_default());
        if versions.len() == 1 {
            self.make(name, uid).await?;
        }
        let version = me.data["spec"]["version"].as_str().unwrap_or_default();
        let settings = self.maps.get_opt(&format!("etcd-{version}")).await?;
        let stalled = settings.is_some_and(|found| found.data["data"]["stalled"] == "true");
        if me.data["spec"]["upgrade"]["adoption"] != "operator" || stalled {
            return Ok(());
        }
        let family: Vec<_> = versions
            .iter()
            .filter_map(|found| found.metadata.uid.as_deref())
            .collect();
        for old in &versions {
            let replaced = old.data["status"]["phase"] == "Replacing";
            let Some(from) = old.metadata.uid.as_deref().filter(|_| replaced) else {
                continue;
            };
            for resource in RESOURCES {
                let me = Version { name, uid };
                let _ = adoption::adopt(&self.maps, resource, from, &me, &family).await;
            }
        }
        Ok(())
    }

    /// Makes what isn't there.
    async fn make(&self, name: &str, uid: &str) -> Result<(), kube::Error> {
        for resource in RESOURCES {
            if self.maps.get_opt(resource).await?.is_some() {
                continue;
            }
            let object = json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {
                    "name": resource, "labels": {"app": LABEL},
                    "ownerReferences": [{
                        "apiVersion": API_VERSION, "kind": "OperatorVersion", "name": name, "uid": uid,
                        "controller": true, "blockOwnerDeletion": true,
                    }],
                },
            });
            if let Ok(object) = serde_json::from_value(object) {
                self.maps.create(&PostParams::default(), &object).await?;
            }
        }
        Ok(())
    }
}
