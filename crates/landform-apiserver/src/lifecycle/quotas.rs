//! Quotas: their status says what is allowed and how much of it is used.

use serde_json::{Map, Value, json};

use super::is_settled;
use crate::error::Result;
use crate::object::rules::Part;
use crate::object::{Object, meta};
use crate::quotas::{BUCKET, limits};
use crate::server::ApiServer;
use crate::verbs::write::{WriteOptions, decoded};
use crate::verbs::{Change, Place};

impl ApiServer {
    /// Writes the status of a namespace's quotas, where it is not true any more.
    pub(super) async fn look_at_quotas(&self, namespace: &str) -> Result<()> {
        let resource = self.builtin("", BUCKET);
        for record in self.records(&resource, &format!("{namespace}/")).await? {
            let quota = decoded(&record)?;
            let status = self.quota_status(&quota, namespace).await?;
            if quota.get("status") == Some(&status) {
                continue;
            }
            let place = Place {
                resource: resource.clone(),
                namespace: namespace.to_owned(),
                name: Some(meta::name(&quota).to_owned()),
            };
            let written = self
                .modify(
                    &place,
                    Part::Status,
                    &WriteOptions::OWN,
                    Vec::new(),
                    |found| {
                        let mut object = found.shown();
                        object.insert("status".into(), status.clone());
                        Ok(Change::Sent(object))
                    },
                )
                .await;
            match written {
                Err(error) if !is_settled(&error) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    async fn quota_status(&self, quota: &Object, namespace: &str) -> Result<Value> {
        let (mut hard, mut used) = (Map::new(), Map::new());
        for limit in limits(quota) {
            let count = match self.counted_kind(&limit) {
                Some(resource) => self.count_in(&resource, namespace).await?,
                None => 0,
            };
            hard.insert(limit.name.clone(), json!(limit.hard.to_string()));
            used.insert(limit.name, json!(count.to_string()));
        }
        Ok(json!({"hard": hard, "used": used}))
    }
}
