//! Writes down what aggregated ClusterRoles have gathered, for people and clients to read.
//!
//! Decisions don't wait for this: the index gathers for itself.

use serde_json::json;

use crate::error::{Reason, Result};
use crate::object::rules::Part;
use crate::server::ApiServer;
use crate::verbs::write::WriteOptions;
use crate::verbs::{Change, Place};

impl ApiServer {
    /// Makes the rules of every aggregated ClusterRole what it selects by now.
    pub(crate) async fn write_gathered(&self) -> Result<()> {
        let mut names: Vec<String> = {
            let rules = self.rules().await?;
            rules.aggregated().map(str::to_owned).collect()
        };
        names.sort();
        for name in names {
            let key = super::RoleKey {
                namespace: String::new(),
                name: name.clone(),
            };
            let rules = json!(self.rules().await?.rules(&key).unwrap_or_default());
            let place = Place {
                resource: self.builtin(super::GROUP, "clusterroles"),
                namespace: String::new(),
                name: Some(name),
            };
            let written = self
                .modify(
                    &place,
                    Part::Main,
                    &WriteOptions::OWN,
                    Vec::new(),
                    |found| {
                        let mut object = found.shown();
                        let is_aggregated = object.get("aggregationRule").is_some();
                        if !is_aggregated || object.get("rules") == Some(&rules) {
                            return Ok(Change::Keep);
                        }
                        object.insert("rules".into(), rules.clone());
                        Ok(Change::Sent(object))
                    },
                )
                .await;
            match written {
                Ok(_) => {}
                Err(error) if matches!(error.reason(), Reason::NotFound | Reason::Conflict) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
