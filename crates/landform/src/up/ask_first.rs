//! `landform up --plan`: what the files would change, on the data of the last time, before anything is done.

use std::io::IsTerminal as _;

use landform_apiserver::Identity;
use landform_plan::render::{self, Colours};
use landform_plan::{Question, plan};

use super::home::Home;
use crate::confirm::confirmed;
use crate::output::color::{Paint, When};
use crate::output::harmless::one_lined;
use crate::serve::{Options, Running, StoreKind};
use crate::{AnyError, engine, say};

/// Shows the plan and asks. True when it is agreed to, or when nothing would change.
pub(super) async fn is_meant(home: &Home) -> Result<bool, AnyError> {
    // Nothing reconciles yet: the files are only compared.
    let running = Running::start(Options {
        data_dir: home.data_dir.clone(),
        kubeconfig: None,
        store: StoreKind::Embedded,
        controllers: None,
        listener: home.listener(None).await?,
        audit: None,
        store_quota: None,
        key: home.key.clone(),
    })
    .await
    .map_err(|error| home.in_use(error))?;
    let planned = make(home, &running).await;
    running.stop().await;
    let planned = planned?;
    let colours = if Paint::new(When::Auto).is_on() {
        Colours::Ansi
    } else {
        Colours::None
    };
    say(&render::plan(&one_lined(&planned)?, colours))?;
    if planned.is_empty() {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() {
        return Err(format!(
            "nobody can be asked here, so nothing was changed: run landform up {} without --plan to do this",
            home.shown()
        )
        .into());
    }
    confirmed("Do this?")
}

async fn make(home: &Home, running: &Running) -> Result<landform_plan::Plan, AnyError> {
    let client = running.client();
    let question = Question {
        // They are read where they are.
        blueprints: None,
        ..crate::plan::of_project(&client, &home.directory)
            .await?
            .question
    };
    let settings = engine::ControllerArgs::for_project(Some(home.directory.clone())).for_plans();
    // The files belong to the user of this machine.
    let who = Identity::internal();
    Ok(plan(&*running.store(), question, &settings, &who).await?)
}
