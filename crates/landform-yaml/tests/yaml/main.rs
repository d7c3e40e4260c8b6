//! The behaviour of landform-yaml: tables of what texts mean, and properties over any text.

#![expect(clippy::unwrap_used, reason = "a test that can't go on may panic")]

mod allowed;
mod documents;
mod meaning;
mod placed;
mod properties;
mod refused;
mod written;

use landform_api::Budget;
use landform_yaml::{Error, parse_one};
use serde_json::Value;

/// Reads one document with the ordinary limits.
fn read(text: &str) -> Result<Value, Error> {
    parse_one(text, &Budget::FILE)
}
