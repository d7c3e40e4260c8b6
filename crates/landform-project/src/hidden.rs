//! Everything that an API has: the kinds that it serves, and the objects of those that it doesn't (G12b).
//!
//! No list has the objects of a kind that isn't served, but they are stored: what is decided without them would
//! lose them.

use http::Request;
use kube::Client;
use landform_api::GroupVersionKind;
use landform_api::project::LABEL_PROJECT;
use serde::Deserialize;
use serde_json::Value;

use crate::apply::{ApplyError, Kinds, Served};
use crate::object::ObjectId;

/// All kinds at one moment.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) served: Vec<Served>,
    /// The objects of kinds that aren't served.
    pub(crate) hidden: Vec<Hidden>,
}

/// An object whose kind isn't served.
#[derive(Debug)]
pub(crate) struct Hidden {
    pub(crate) kind: Served,
    pub(crate) metadata: Value,
}

impl Hidden {
    pub(crate) fn id(&self) -> ObjectId {
        let text = |field: &str| self.metadata[field].as_str().unwrap_or_default();
        let kind = self.kind.kind.clone().into();
        ObjectId::of(&kind, text("namespace"), text("name"))
    }

    /// The project that it belongs to.
    pub(crate) fn project(&self) -> Option<&str> {
        self.metadata["labels"][LABEL_PROJECT].as_str()
    }
}

/// A custom kind as the server's view has it.
#[derive(Deserialize)]
struct CustomKind {
    group: String,
    version: String,
    kind: String,
    plural: String,
    namespaced: bool,
    served: bool,
    unserved: Vec<Stored>,
}

#[derive(Deserialize)]
struct Stored {
    metadata: Value,
}

#[derive(Default, Deserialize)]
struct CustomKinds {
    items: Vec<CustomKind>,
}

/// Finds out what there is.
///
/// # Errors
/// When that can't be known at the moment.
pub(crate) async fn discover(client: &Client, kinds: &Kinds) -> Result<Known, ApplyError> {
    let served = kinds.all(client).await?;
    let mut hidden = Vec::new();
    for custom in custom_kinds(client).await?.items {
        let is_listed = served
            .iter()
            .any(|served| served.kind.group == custom.group && served.kind.kind == custom.kind);
        // Of a kind that is in neither list nothing would be known.
        if custom.served != is_listed {
            let message = format!("the kind {} changes at the moment", custom.kind);
            return Err(ApplyError::Transient(message));
        }
        let kind = Served {
            kind: GroupVersionKind::new(&custom.group, &custom.version, &custom.kind),
            plural: custom.plural,
            namespaced: custom.namespaced,
            listed: false,
        };
        hidden.extend(custom.unserved.into_iter().map(|stored| Hidden {
            kind: kind.clone(),
            metadata: stored.metadata,
        }));
    }
    Ok(Known { served, hidden })
}

/// What Landform's own server says; another one has no such view.
async fn custom_kinds(client: &Client) -> Result<CustomKinds, ApplyError> {
    let request = Request::get("/apis/landform.dev/v1alpha1/customkinds").body(Vec::new());
    let request = request.map_err(|error| ApplyError::Transient(error.to_string()))?;
    match client.request(request).await {
        Ok(found) => Ok(found),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(CustomKinds::default()),
        Err(error) => Err(error.into()),
    }
}
