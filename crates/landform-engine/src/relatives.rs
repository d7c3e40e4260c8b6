//! Among whom an object's deletes and renames go first (R8b).

use kube::core::DynamicObject;
use landform_api::GroupKind;
use landform_schedule::Order;

use crate::driver::Driver;
use crate::key::Key;
use crate::reconciler;

impl Driver {
    /// The order of an object, from that of its kind.
    pub(crate) fn order(
        &self,
        key: &Key,
        object: &DynamicObject,
        order: reconciler::Order,
    ) -> Order<Key> {
        match order {
            reconciler::Order::Strict => Order::Strict,
            reconciler::Order::Free => Order::Free,
            reconciler::Order::Related => Order::Related {
                owners: self.owners(key, object),
                names: self.provisions.names(key),
            },
        }
    }

    /// The objects that own an object and that the machine knows.
    fn owners(&self, key: &Key, object: &DynamicObject) -> Vec<Key> {
        let references = object.metadata.owner_references.iter().flatten();
        let owners = references.filter_map(|owner| {
            let (group, _) = landform_api::kind::split_api_version(&owner.api_version)?;
            let kind = GroupKind {
                group: group.to_owned(),
                kind: owner.kind.clone(),
            };
            let followed = self.kinds.get(&kind)?;
            followed.reconciler.as_ref()?;
            let resource = self.resources.of(&kind);
            let namespaced = resource.is_none_or(|found| found.namespaced);
            let namespace = if namespaced { &*key.namespace } else { "" };
            Some(Key::new(followed.key.clone(), namespace, &owner.name))
        });
        owners.collect()
    }
}
