//! An object that is in no file any more, and whose project holds its deletion back until a person agrees.

use landform_api::project::{self, ANNOTATION_FILE, HeldDeletions, LABEL_PROJECT};
use serde_json::Value;

use super::cache::Cache;
use super::judge::{self, Judged, Waiting, text};
use crate::object::ObjectRef;
use crate::reader::ReadError;

/// Adds to a judgement that the object waits for the consent that its project needs. What that is, and how it is given,
/// is told of the project.
pub(super) async fn by_project(
    cache: &mut Cache<'_>,
    name: &ObjectRef,
    object: &Value,
    judged: &mut Judged,
) -> Result<(), ReadError> {
    let metadata = &object["metadata"];
    let project = text(&metadata["labels"][LABEL_PROJECT]);
    // A label can be copied; the file is noted only on what stands in one.
    let project = project.filter(|_| metadata["annotations"][ANNOTATION_FILE].is_string());
    let project = project.and_then(|project| ObjectRef::known(project::KIND, "", &project));
    let Some(project) = project else {
        return Ok(());
    };
    let found = match cache.get(&project).await {
        Ok(Some(found)) => found,
        // A cluster without this project, or without any, or a caller who may not see it.
        Ok(None) | Err(ReadError::NoSuchKind { .. } | ReadError::Forbidden(_)) => return Ok(()),
        Err(error) => return Err(error),
    };
    let held = serde_json::from_value(found["status"]["heldDeletions"].clone());
    let is_held = |held: HeldDeletions| held.names(&name.kind, &name.namespace, &name.name);
    if judge::deleting(&found) || !held.is_ok_and(is_held) {
        return Ok(());
    }
    judged.well = false;
    judged.state.file = None;
    if judged.state.phase.is_none() {
        judged.state.phase = Some("Held".to_owned());
        judged.state.since = None;
    }
    judged.waits.push(Waiting {
        reason: format!(
            "no file has it any more, and {project} holds its deletion back until a person agrees"
        ),
        object: project,
        rule: Some("R15".to_owned()),
    });
    Ok(())
}
