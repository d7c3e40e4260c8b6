//! The functions that expressions can call.

mod collections;
mod convert;
mod format;
mod lazy;
mod merge;
mod text;

use crate::ast::{Item, Span};
use crate::error::Complaint;
use crate::instance::Outcome;
use crate::machine::{Context, Machine};
use crate::meter::{Answer, Meter};
use crate::value::Value;

/// How a function gets its arguments.
#[derive(Clone, Copy)]
pub(crate) enum Function {
    /// As values.
    Plain(for<'d> fn(&Meter, &[Value<'d>]) -> Answer<Value<'d>>),
    /// As values, and it calls other functions or makes nodes.
    Machine(
        for<'d> fn(&mut Machine<'d>, &[Value<'d>], Span, &Context<'d>) -> Outcome<'d, Value<'d>>,
    ),
    /// As expressions, which it evaluates itself or not at all.
    Lazy(for<'d> fn(&mut Machine<'d>, &'d [Item], Span, &Context<'d>) -> Outcome<'d, Value<'d>>),
}

pub(crate) fn find(name: &str) -> Option<Function> {
    let function = match name {
        "abs" => Function::Plain(convert::abs),
        "asjson" => Function::Plain(convert::as_json),
        "asyaml" => Function::Plain(convert::as_yaml),
        "base64" => Function::Plain(text::base64),
        "base64_decode" => Function::Plain(text::base64_decode),
        "basename" => Function::Plain(text::basename),
        "bool" => Function::Plain(convert::boolean),
        "catch" => Function::Lazy(lazy::catch),
        "ceil" => Function::Plain(convert::ceil),
        "compact" => Function::Plain(collections::compact),
        "contains" => Function::Plain(collections::contains),
        "deepmerge" => Function::Plain(merge::deep_merge),
        "defined" => Function::Lazy(lazy::defined),
        "dirname" => Function::Plain(text::dirname),
        "element" => Function::Plain(collections::element),
        "error" => Function::Plain(format::error),
        "float" => Function::Plain(convert::float),
        "floor" => Function::Plain(convert::floor),
        "format" => Function::Plain(format::format),
        "hash" => Function::Plain(text::hash),
        "index" => Function::Plain(collections::index),
        "integer" => Function::Plain(convert::integer),
        "intersect" => Function::Plain(collections::intersect),
        "join" => Function::Plain(text::join),
        "keys" => Function::Plain(collections::keys),
        "lastindex" => Function::Plain(collections::last_index),
        "length" => Function::Plain(collections::length),
        "list_to_map" => Function::Plain(collections::list_to_map),
        "lower" => Function::Plain(text::lower),
        "makemap" => Function::Plain(collections::make_map),
        "match" => Function::Plain(text::find_match),
        "merge" => Function::Machine(merge::merge),
        "optional" => Function::Lazy(lazy::optional),
        "parse" => Function::Plain(convert::parse),
        "read" => Function::Machine(convert::read),
        "replace" => Function::Plain(text::replace),
        "replace_match" => Function::Plain(text::replace_match),
        "require" => Function::Plain(convert::require),
        "reverse" => Function::Plain(collections::reverse),
        "round" => Function::Plain(convert::round),
        "sort" => Function::Machine(collections::sort),
        "split" => Function::Plain(text::split),
        "split_match" => Function::Plain(text::split_match),
        "string" => Function::Plain(convert::string),
        "stub" => Function::Lazy(lazy::stub),
        "substr" => Function::Plain(text::substr),
        "trim" => Function::Plain(text::trim),
        "type" => Function::Plain(convert::type_name),
        "uniq" => Function::Plain(collections::uniq),
        "upper" => Function::Plain(text::upper),
        "valid" => Function::Lazy(lazy::valid),
        _ => return None,
    };
    Some(function)
}

/// Why a function of Spiff is not there.
pub(crate) fn refused(name: &str) -> Option<&'static str> {
    let reason = match name {
        "exec" | "exec_uncached" | "pipe" | "pipe_uncached" => "templates start no programs",
        "env" => "templates don't see the environment of the server",
        "write" | "tempfile" | "mkdir" | "archive" => "templates write no files",
        "read_uncached"
        | "lookup_file"
        | "lookup_dir"
        | "list_files"
        | "list_dirs"
        | "list_files_uncached" => "`read` reads files of the blueprint",
        "rand" | "bcrypt" | "md5crypt" | "x509genkey" | "x509cert" | "wggenkey" | "encrypt"
        | "decrypt" => {
            "the same template has to give the same result each time; give such values as imports"
        }
        "bcrypt_check" | "md5crypt_check" | "x509publickey" | "x509parsecert" | "wgpublickey"
        | "md5" => "there is no such function here",
        "static_ips" | "ipset" | "min_ip" | "max_ip" | "num_ip" | "contains_ip" => {
            "there is no arithmetic with addresses"
        }
        "eval" => "expressions are those that are written in the template",
        "tagdef" => "there are no tags",
        "validate" | "check" => "write a JSON schema for the import",
        "parseurl" => "use `match`",
        _ if name.starts_with("semver") => "there are no functions for versions",
        _ => return None,
    };
    Some(reason)
}

/// The names of all functions, for the documentation's test.
pub(crate) const NAMES: &[&str] = &[
    "abs",
    "asjson",
    "asyaml",
    "base64",
    "base64_decode",
    "basename",
    "bool",
    "catch",
    "ceil",
    "compact",
    "contains",
    "deepmerge",
    "defined",
    "dirname",
    "element",
    "error",
    "float",
    "floor",
    "format",
    "hash",
    "index",
    "integer",
    "intersect",
    "join",
    "keys",
    "lastindex",
    "length",
    "list_to_map",
    "lower",
    "makemap",
    "match",
    "merge",
    "optional",
    "parse",
    "read",
    "replace",
    "replace_match",
    "require",
    "reverse",
    "round",
    "sort",
    "split",
    "split_match",
    "string",
    "stub",
    "substr",
    "trim",
    "type",
    "uniq",
    "upper",
    "valid",
];

/// The argument at a position.
fn argument<'v, 'd>(arguments: &'v [Value<'d>], at: usize) -> Answer<&'v Value<'d>> {
    arguments
        .get(at)
        .ok_or_else(|| Complaint::value(format!("argument {} is missing", at + 1)))
}

fn at_most(arguments: &[Value<'_>], most: usize) -> Answer<()> {
    if arguments.len() <= most {
        return Ok(());
    }
    Err(Complaint::value(format!(
        "it takes at most {most} arguments, and gets {}",
        arguments.len()
    )))
}

fn wrong(at: usize, needed: &str, value: &Value<'_>) -> Complaint {
    Complaint::value(format!(
        "argument {} has to be {needed}, and is {}",
        at + 1,
        value.kind()
    ))
}

fn text_at<'v>(arguments: &'v [Value<'_>], at: usize) -> Answer<&'v str> {
    match argument(arguments, at)? {
        Value::Text(text) => Ok(text),
        other => Err(wrong(at, "a string", other)),
    }
}

fn integer_at(arguments: &[Value<'_>], at: usize) -> Answer<i64> {
    match argument(arguments, at)? {
        Value::Int(number) => {
            i64::try_from(*number).map_err(|_| Complaint::value("this number is too large"))
        }
        other => Err(wrong(at, "an integer", other)),
    }
}

/// An integer that may be missing.
fn optional_integer(arguments: &[Value<'_>], at: usize) -> Answer<Option<i64>> {
    match arguments.get(at) {
        Some(_) => integer_at(arguments, at).map(Some),
        None => Ok(None),
    }
}

fn list_at<'v, 'd>(arguments: &'v [Value<'d>], at: usize) -> Answer<&'v crate::value::List<'d>> {
    match argument(arguments, at)? {
        Value::List(list) => Ok(list),
        other => Err(wrong(at, "a list", other)),
    }
}

fn map_at<'v, 'd>(arguments: &'v [Value<'d>], at: usize) -> Answer<&'v crate::value::Map<'d>> {
    match argument(arguments, at)? {
        Value::Map(map) => Ok(map),
        other => Err(wrong(at, "a map", other)),
    }
}
