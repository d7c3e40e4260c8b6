//! `GET /apis/landform.dev/v1alpha1/customkinds`: every custom kind, and the objects of those that aren't served.
//!
//! A kind that isn't served can't be listed, but its objects are stored and own others or are owned. The garbage
//! collector reads them here when it begins and when definitions change: what it can't see it would forget.
//! Nothing of an object is shown but its metadata.

use std::sync::{Arc, Weak};

use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::error::Result;
use crate::registry::Definition;
use crate::request::query::Query;
use crate::server::{ApiServer, Shared};
use crate::verbs::present::metadata_only;
use crate::view::View;

/// The name of the view.
const NAME: &str = "customkinds";

/// After this many objects other tasks have their turn.
const AT_ONCE: usize = 256;

/// Holds the server weakly: the server holds its views.
struct CustomKinds(Weak<Shared>);

impl ApiServer {
    /// Makes the view readable.
    pub(crate) fn mount_custom_kinds(&self) {
        self.mount(NAME, Arc::new(CustomKinds(Arc::downgrade(&self.shared))));
    }

    async fn custom_kinds(&self) -> Result<Value> {
        let kinds = self.shared.registry.kinds();
        let mut shown = Vec::new();
        for definition in kinds.definitions().values() {
            shown.push(self.custom_kind(definition).await?);
        }
        Ok(json!({
            "apiVersion": "landform.dev/v1alpha1", "kind": "CustomKindList", "items": shown,
        }))
    }

    async fn custom_kind(&self, definition: &Definition) -> Result<Value> {
        let stored = &definition.stored;
        let mut objects = Vec::new();
        if !definition.is_served() {
            for records in self.records(stored, "").await?.chunks(AT_ONCE) {
                for record in records {
                    objects.push(metadata_only(&record.value, record.modified)?);
                }
                tokio::task::yield_now().await;
            }
        }
        Ok(json!({
            "group": stored.group, "version": stored.version, "kind": stored.kind, "plural": stored.plural,
            "namespaced": stored.namespaced, "served": definition.is_served(), "unserved": objects,
        }))
    }
}

impl View for CustomKinds {
    fn read<'a>(
        &'a self,
        path: &'a [&'a str],
        _query: &'a Query,
    ) -> BoxFuture<'a, Result<Option<Value>>> {
        Box::pin(async move {
            if !path.is_empty() {
                return Ok(None);
            }
            ApiServer::of(&self.0)?.custom_kinds().await.map(Some)
        })
    }
}
