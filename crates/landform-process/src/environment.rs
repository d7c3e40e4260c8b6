//! The environment of programs that Landform starts.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// Variables of Landform's own environment that programs get.
const INHERITED: [&str; 4] = ["PATH", "HOME", "LANG", "TZ"];

/// All that a program gets: a few variables of Landform's own, and what it is given.
#[must_use]
pub fn environment(variables: &BTreeMap<String, String>) -> BTreeMap<OsString, OsString> {
    let inherited = INHERITED
        .into_iter()
        .filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
    let given = variables
        .iter()
        .map(|(name, value)| (name.into(), value.into()));
    inherited.chain(given).collect()
}
