//! `landform get -w`: what is there, and then every change, a line each.

use std::process::ExitCode;

use futures::StreamExt as _;
use http::Request;
use kube::Client;
use kube::core::WatchEvent;
use serde_json::Value;

use super::{GetArgs, Question, is_empty, items, name_line, path};
use crate::client::{get_as, plain};
use crate::exit;
use crate::output::color::{Paint, Tone, When};
use crate::output::table::{self, Shown};
use crate::output::{self, Format};
use crate::{AnyError, say_open};

pub(super) async fn watch(
    client: &Client,
    question: &Question,
    args: &GetArgs,
) -> Result<ExitCode, AnyError> {
    let kind = question.kind();
    let list = match question {
        Question::All(_) => path(client, question, args),
        // One object is watched as the only one of its list.
        Question::One(place) => format!(
            "{}?fieldSelector=metadata.name%3D{}",
            kind.list_path(&place.namespace),
            place.name
        ),
    };
    let accept = match args.output.form() {
        None | Some(Format::Wide) => table::ACCEPT,
        Some(_) => "application/json",
    };
    let mut show = Show {
        question,
        args,
        widths: Vec::new(),
    };
    let mut first = true;
    loop {
        let Some(answer) = get_as(client, &list, accept).await? else {
            return Err(format!("the server has no {} any more", kind.plural).into());
        };
        if first
            && is_empty(&answer)
            && let Question::One(place) = question
        {
            return Err(place.missing().into());
        }
        // After a gap everything is shown anew.
        first = false;
        if !show.answer(&answer)? {
            return Ok(exit::OK);
        }
        let revision = answer["metadata"]["resourceVersion"].as_str();
        let joint = if list.contains('?') { '&' } else { '?' };
        let watched = format!(
            "{list}{joint}watch=true&resourceVersion={}",
            revision.unwrap_or_default()
        );
        let request = Request::get(watched).header("accept", accept);
        let request = request.body(Vec::new())?;
        let events = client.request_events::<Value>(request).await;
        let mut events = Box::pin(events.map_err(plain)?);
        while let Some(event) = events.next().await {
            let object = match event {
                Ok(
                    WatchEvent::Added(object)
                    | WatchEvent::Modified(object)
                    | WatchEvent::Deleted(object),
                ) => object,
                Ok(WatchEvent::Bookmark(_)) => continue,
                Ok(WatchEvent::Error(status)) if status.code == 410 => break,
                Ok(WatchEvent::Error(status)) => return Err(status.message.clone().into()),
                Err(kube::Error::Api(status)) if status.code == 410 => break,
                Err(error) => return Err(plain(error)),
            };
            if !show.answer(&object)? {
                return Ok(exit::OK);
            }
        }
    }
}

struct Show<'a> {
    question: &'a Question,
    args: &'a GetArgs,
    widths: Vec<usize>,
}

impl Show<'_> {
    /// Shows rows or objects; false when nobody reads any more.
    fn answer(&mut self, answer: &Value) -> Result<bool, AnyError> {
        let kind = self.question.kind();
        let text = match self.args.output.form() {
            Some(Format::Name) => {
                let items = items(kind, answer);
                items.iter().map(|item| name_line(kind, item)).collect()
            }
            Some(format @ (Format::Json | Format::Yaml | Format::Made(_))) => {
                let start = if format == Format::Yaml { "---\n" } else { "" };
                let mut text = String::new();
                for item in items(kind, answer) {
                    text.push_str(start);
                    text.push_str(&output::one(&output::readable(item), format)?);
                }
                text
            }
            None | Some(Format::Wide) => self.rows(answer),
        };
        say_open(&text)
    }

    fn rows(&mut self, answer: &Value) -> String {
        let paint = Paint::new(self.args.output.color.color);
        let shown = Shown {
            wide: self.args.output.form() == Some(Format::Wide),
            namespaces: self.args.everywhere() && self.question.kind().namespaced,
            kind: "",
        };
        let Some(mut table) = table::of_server(answer, shown) else {
            return String::new();
        };
        let mut text = String::new();
        if self.args.no_headers {
            table.titles.clear();
        }
        if self.widths.is_empty() && !table.titles.is_empty() {
            // Names to come may be longer than those that are there.
            self.widths = table.widths();
            let titles = std::mem::take(&mut table.titles);
            let head = table::Table {
                titles: Vec::new(),
                rows: vec![titles],
            };
            text = head.lines(&self.widths, Paint::new(When::Never));
            text = paint.tone(Tone::Bold, text.trim_end_matches('\n'));
            text.push('\n');
        }
        text + &table.lines(&self.widths, paint)
    }
}
