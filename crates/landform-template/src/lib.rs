//! Go's text/template with the functions of sprig, for templates that strangers write.
//!
//! - **Deterministic.** Maps are walked in the order of their keys; there is no chance, no
//!   environment and no clock but the one that the caller gives.
//! - **Limited.** Steps, memory, output and depth of a run are counted ([`Limits`]); no template
//!   hangs its caller, takes its memory or its stack.
//! - **Errors show the place**: name, line, column and the lines around it ([`TemplateError`]), and
//!   never a value of the data.
//! - `<no value>` in the output is an error.
//!
//! `docs/templates.md` lists the functions, the differences from Go and what is left out.
//!
//! ```
//! use landform_template::{Environment, Template};
//! use serde_json::json;
//!
//! let template = Template::parse("greeting", r#"Hello {{ .name | default "you" | upper }}"#)?;
//! let text = template.render(&json!({"name": "Ada"}), &Environment::default())?;
//! assert_eq!(text, "Hello ADA");
//! # Ok::<(), landform_template::TemplateError>(())
//! ```

mod ast;
mod check;
mod environment;
mod error;
mod evaluate;
mod functions;
mod json;
mod lex;
mod parse;
mod print;
mod run;
mod value;

use serde_json::Value as Json;

pub use environment::{Environment, ExtraFunction, Limits};
pub use error::{ErrorKind, TemplateError};
pub use functions::names as function_names;

/// A template whose text was understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    name: String,
    text: String,
    /// Lines and columns that stand before the text, when it is a part of a file.
    before: (usize, usize),
    tree: parse::Tree,
}

impl Template {
    /// Reads a template. The name is shown in errors; use the path of its file where there is one.
    ///
    /// # Errors
    /// When the text is no template or uses a variable that is not set before.
    pub fn parse(name: &str, text: &str) -> Result<Self, TemplateError> {
        Template::parse_within(name, text, 0, 0)
    }

    /// Reads a template that is a part of a file, such as a text in YAML: errors then show the place
    /// in the file. All its lines have to be indented by the same number of columns there.
    ///
    /// # Errors
    /// As for [`Template::parse`].
    pub fn parse_within(
        name: &str,
        text: &str,
        lines_before: usize,
        columns_before: usize,
    ) -> Result<Self, TemplateError> {
        let mut template = Template {
            name: name.to_owned(),
            text: text.to_owned(),
            before: (lines_before, columns_before),
            tree: parse::Tree::default(),
        };
        template.tree = parse::parse(text).map_err(|fault| template.error(fault))?;
        Ok(template)
    }

    /// Shows a fault in this template's text.
    pub(crate) fn error(&self, fault: error::Fault) -> TemplateError {
        fault.in_text(&self.name, &self.text, self.before)
    }

    /// The name that was given to [`Template::parse`].
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Checks that all functions and templates exist that are named anywhere in the text.
    ///
    /// # Errors
    /// At the first name that doesn't exist.
    pub fn check(&self, environment: &Environment) -> Result<(), TemplateError> {
        check::check(&self.tree, environment).map_err(|fault| self.error(fault))
    }

    /// Runs the template on the data.
    ///
    /// # Errors
    /// When something in the template fails or a limit is passed. No value of the data is in the
    /// error.
    pub fn render(&self, data: &Json, environment: &Environment) -> Result<String, TemplateError> {
        evaluate::render(self, data, environment)
    }
}
