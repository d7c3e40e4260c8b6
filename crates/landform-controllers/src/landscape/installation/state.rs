//! The state of templates between two renderings: in the status, and what is secret of it in a Secret.

use std::collections::{BTreeMap, BTreeSet};

use landform_api::landscaper::installation::InstallationStatus;
use landform_api::landscaper::names;
use landform_blueprint::Guarded;
use landform_engine::{Context, Failure};
use serde::Deserialize as _;
use serde_json::json;

use super::given::keeper;
use super::observe::World;
use crate::landscape::kept;

/// The state as the last rendering left it.
pub(super) async fn read(context: &Context, world: &World) -> Result<Guarded, Failure> {
    let shown = world.status.template_state.clone();
    let Some(reference) = &world.status.template_state_ref else {
        return Ok(Guarded::plain(shown));
    };
    let whole = keeper(context, world).read(reference).await?;
    let whole = whole.and_then(|whole| BTreeMap::deserialize(whole).ok());
    // Without the Secret the state is lost, as it would be with the status.
    let mut state = Guarded::default();
    for (name, value) in whole.unwrap_or_default() {
        let seen = shown.get(&name).cloned().unwrap_or_default();
        state.insert(name, value, seen);
    }
    Ok(state)
}

/// Notes the state for the next rendering.
pub(super) async fn write(
    context: &Context,
    world: &World,
    state: &Guarded,
    status: &mut InstallationStatus,
) -> Result<(), Failure> {
    let keeper = keeper(context, world);
    let before = status.template_state_ref.take();
    if state.shown.is_empty() {
        if let Some(before) = before {
            keeper.forget(&before.name).await?;
        }
        status.template_state.clone_from(&state.values);
        return Ok(());
    }
    let uid = world.metadata.uid.as_deref().unwrap_or_default();
    let content = kept::Content {
        name: names::state_secret(uid),
        value: &json!(state.values),
        used: before
            .into_iter()
            .map(|before| before.key)
            .collect::<BTreeSet<_>>(),
        written_anew: false,
    };
    status.template_state_ref = Some(keeper.keep(content).await?);
    let names = state.values.keys();
    let shown = names.filter_map(|name| Some((name.clone(), state.shown(name)?.clone())));
    status.template_state = shown.collect();
    Ok(())
}
