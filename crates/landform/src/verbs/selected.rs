//! Which objects a change is about: named ones, those of files, or all of a kind that selectors fit.

use clap::Args;
use kube::Client;
use serde_json::Value;

use crate::AnyError;
use crate::client::kind::Kinds;
use crate::client::object::{self, FileArgs, Place, Words};
use crate::client::{get, in_query, is_everywhere, is_of_system};
use crate::exit::misused;

/// How objects are found.
#[derive(Args)]
pub(crate) struct SelectArgs {
    #[command(flatten)]
    files: FileArgs,
    /// All objects of the kind in the namespace; in the directory of a project that is up, in all of its namespaces.
    #[arg(long)]
    all: bool,
    /// All objects of the kind whose labels fit, for instance `app=shop,tier!=db`.
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<String>,
    /// All objects of the kind whose fields fit, for instance `metadata.name=db`.
    #[arg(long, value_name = "FIELDS")]
    field_selector: Option<String>,
    /// In all namespaces.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
}

/// An object as it is, and where.
pub(super) struct Selected {
    pub(super) place: Place,
    pub(super) object: Value,
}

impl SelectArgs {
    fn selects(&self) -> bool {
        self.all || self.selector.is_some() || self.field_selector.is_some()
    }

    /// The objects. One that is named and isn't there is an error in the place of it.
    pub(super) async fn find(
        &self,
        client: &Client,
        words: &[String],
    ) -> Result<Vec<Result<Selected, AnyError>>, AnyError> {
        if !self.selects() {
            if self.all_namespaces {
                return misused("-A goes with --all, -l or --field-selector");
            }
            let mut found = Vec::new();
            for place in object::places(client, words, &self.files).await? {
                found.push(match get(client, &place.path()).await {
                    Ok(Some(object)) => Ok(Selected { place, object }),
                    Ok(None) => Err(place.missing().into()),
                    Err(error) => Err(error),
                });
            }
            return Ok(found);
        }
        let kinds = match object::words(words)? {
            Words::Kinds(kinds) if self.files.files.is_empty() => kinds,
            _ => {
                return misused(
                    "--all, -l and --field-selector look for objects: name a kind and no object",
                );
            }
        };
        let known = Kinds::load(client).await?;
        let everywhere = self.all_namespaces || is_everywhere();
        let namespace = if everywhere {
            ""
        } else {
            client.default_namespace()
        };
        let mut found = Vec::new();
        for word in kinds {
            let kind = known.find(&word)?;
            let listed = get(client, &self.path(&kind.list_path(namespace))).await?;
            let mut listed = listed.unwrap_or_default();
            for mut object in listed["items"]
                .as_array_mut()
                .map(std::mem::take)
                .unwrap_or_default()
            {
                let text = |name: &str| {
                    object["metadata"][name]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned()
                };
                let (namespace, name) = (text("namespace"), text("name"));
                if !self.all_namespaces && is_everywhere() && is_of_system(&namespace) {
                    continue;
                }
                object["apiVersion"] = kind.api_version().into();
                object["kind"] = kind.kind.clone().into();
                let place = Place::new(kind.clone(), &namespace, &name);
                found.push(Ok(Selected { place, object }));
            }
        }
        Ok(found)
    }

    fn path(&self, list: &str) -> String {
        let selectors = [
            ("labelSelector", &self.selector),
            ("fieldSelector", &self.field_selector),
        ];
        let selectors = selectors
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name}={}", in_query(value.as_ref()?))));
        let query = selectors.collect::<Vec<_>>().join("&");
        if query.is_empty() {
            list.to_owned()
        } else {
            format!("{list}?{query}")
        }
    }
}
