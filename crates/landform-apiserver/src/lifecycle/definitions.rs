//! Definitions: one that is being deleted takes its objects with it; one whose names were taken is
//! looked at again when another one has gone.

use landform_api::keys::FINALIZER_CRD;

use super::is_settled;
use crate::error::Result;
use crate::object::rules::Part;
use crate::object::{Object, meta};
use crate::server::ApiServer;
use crate::verbs::Change;
use crate::verbs::Place;
use crate::verbs::write::WriteOptions;

impl ApiServer {
    pub(super) async fn look_at_definition(&self, definition: &Object) -> Result<()> {
        let name = meta::name(definition).to_owned();
        let marked = meta::is_marked(definition);
        if marked && !meta::finalizers(definition).contains(&FINALIZER_CRD) {
            return Ok(());
        }
        if marked && !self.empty_definition(&name).await? {
            return Ok(());
        }
        let place = Place {
            resource: self.definitions(),
            namespace: String::new(),
            name: Some(name.clone()),
        };
        let result = self
            .modify(
                &place,
                Part::Main,
                &WriteOptions::OWN,
                Vec::new(),
                |found| {
                    let mut object = found.old.clone();
                    if meta::is_marked(&object) {
                        meta::remove_finalizer(&mut object, FINALIZER_CRD);
                    } else {
                        self.settle(&place.resource, &mut object);
                    }
                    Ok(if object == *found.old {
                        Change::Keep
                    } else {
                        Change::Marked(object)
                    })
                },
            )
            .await;
        match result {
            Ok(_) => {}
            Err(error) if is_settled(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Deletes the objects of a definition; says whether none is left.
    async fn empty_definition(&self, name: &str) -> Result<bool> {
        let kinds = self.shared.registry.kinds();
        let Some(definition) = kinds.definitions().get(name) else {
            return Ok(true);
        };
        Ok(self.empty(&definition.stored, "").await?.is_none())
    }
}
