//! `landform approve project/NAME`: somebody agrees to the deletions that a project holds back.

use std::process::ExitCode;

use kube::api::{Api, Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use landform_api::project::{self, ANNOTATION_APPROVED_DELETIONS, Project};
use serde::Deserialize as _;
use serde_json::json;

use crate::client::{ClientArgs, plain};
use crate::{AnyError, say};

/// The project that an argument means; none when it means something else.
pub(crate) fn project_in(argument: &str) -> Option<&str> {
    let (kind, name) = argument.split_once('/')?;
    let kinds = ["project", "projects", "proj"];
    kinds
        .contains(&kind.to_lowercase().as_str())
        .then_some(name)
}

/// Agrees to exactly the deletions that the project's status names.
pub(crate) async fn approve(server: &ClientArgs, name: &str) -> Result<ExitCode, AnyError> {
    let client = server.connect().await?;
    let kind = GroupVersionKind::gvk(project::GROUP, project::VERSION, project::KIND);
    let resource = ApiResource::from_gvk_with_plural(&kind, "projects");
    let api: Api<DynamicObject> = Api::all_with(client, &resource);
    let found = api.get_opt(name).await.map_err(plain)?;
    let found = found.ok_or_else(|| format!("there is no project {name}"))?;
    let Some(held) = Project::deserialize(&found.data)?.status.held_deletions else {
        return Err(format!(
            "the project {name} holds no deletions back: there is nothing to approve"
        )
        .into());
    };
    let annotation =
        json!({"metadata": {"annotations": {ANNOTATION_APPROVED_DELETIONS: held.token}}});
    api.patch(name, &PatchParams::default(), &Patch::Merge(annotation))
        .await
        .map_err(plain)?;
    let text = format!(
        "The project {name} may delete {} of its {} objects: {}{}\n{}",
        held.count,
        held.of,
        held.first.join(", "),
        if held.count > held.first.len() {
            ", …"
        } else {
            ""
        },
        held.others
            .iter()
            .map(|other| format!("{other}\n"))
            .collect::<String>()
    );
    say(&text)?;
    Ok(ExitCode::SUCCESS)
}
