//! The library: Go's own functions and those of sprig, one module for each section of its manual.

mod builtin;
mod compare;
mod conversion;
pub(crate) mod dates;
mod defaults;
mod dicts;
mod encoding;
mod lists;
mod math;
mod paths;
mod printf;
mod reflection;
mod regexes;
mod sequences;
mod string_lists;
mod strings;
mod versions;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::OnceLock;

use crate::print;
use crate::run::{Answer, Problem, Run};
use crate::value::{Map, Value};

/// One call of a function.
pub(crate) struct Call<'a> {
    pub(crate) run: &'a Run<'a>,
    pub(crate) name: &'a str,
    pub(crate) arguments: &'a [Value],
}

type Function = fn(&Call<'_>) -> Answer;

/// A function with the number of arguments that it takes.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    name: &'static str,
    least: usize,
    most: usize,
    function: Function,
}

/// Any number of arguments.
const MANY: usize = usize::MAX;

const fn entry(name: &'static str, least: usize, most: usize, function: Function) -> Entry {
    Entry {
        name,
        least,
        most,
        function,
    }
}

impl Entry {
    pub(crate) fn call(&self, call: &Call<'_>) -> Answer {
        let given = call.arguments.len();
        if (self.least..=self.most).contains(&given) {
            return (self.function)(call);
        }
        let Entry { least, most, .. } = *self;
        let takes = match most {
            MANY => format!("at least {least}"),
            most if most == least => least.to_string(),
            most => format!("{least} to {most}"),
        };
        let plural = if most == 1 { "argument" } else { "arguments" };
        Err(Problem::value(format!(
            "`{}` takes {takes} {plural}, and {given} are given",
            call.name
        )))
    }
}

const SECTIONS: &[&[Entry]] = &[
    builtin::FUNCTIONS,
    compare::FUNCTIONS,
    conversion::FUNCTIONS,
    dates::FUNCTIONS,
    defaults::FUNCTIONS,
    dicts::FUNCTIONS,
    encoding::FUNCTIONS,
    lists::FUNCTIONS,
    math::FUNCTIONS,
    paths::FUNCTIONS,
    reflection::FUNCTIONS,
    regexes::FUNCTIONS,
    sequences::FUNCTIONS,
    string_lists::FUNCTIONS,
    strings::FUNCTIONS,
    versions::FUNCTIONS,
];

fn library() -> &'static BTreeMap<&'static str, Entry> {
    static LIBRARY: OnceLock<BTreeMap<&'static str, Entry>> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let all = SECTIONS.iter().flat_map(|section| section.iter());
        all.map(|entry| (entry.name, *entry)).collect()
    })
}

pub(crate) fn find(name: &str) -> Option<Entry> {
    library().get(name).copied()
}

/// The names of all functions, in order.
#[must_use]
pub fn names() -> Vec<&'static str> {
    let lazy = ["and", "or"];
    let mut names: Vec<_> = library().keys().copied().chain(lazy).collect();
    names.sort_unstable();
    names
}

/// The functions of Go and sprig that don't exist here on purpose.
const LEFT_OUT: &[(&[&str], &str)] = &[
    (
        &["env", "expandenv"],
        "templates don't see the environment of the server",
    ),
    (
        &[
            "randAlphaNum",
            "randAlpha",
            "randNumeric",
            "randAscii",
            "randBytes",
            "randInt",
            "shuffle",
            "uuidv4",
        ],
        "the output must be the same each time; give such values as data",
    ),
    (
        &[
            "genPrivateKey",
            "genCA",
            "genCAWithKey",
            "genSelfSignedCert",
            "genSelfSignedCertWithKey",
            "genSignedCert",
            "genSignedCertWithKey",
            "buildCustomCert",
            "encryptAES",
            "decryptAES",
            "bcrypt",
            "htpasswd",
            "derivePassword",
        ],
        "keys, certificates and passwords are made by chance or cost too much; give them as data",
    ),
    (&["getHostByName"], "templates don't reach the network"),
    (&["call"], "values can't be functions here"),
];

/// Why a function that others have is not here.
pub(crate) fn why_left_out(name: &str) -> Option<&'static str> {
    let found = LEFT_OUT.iter().find(|(names, _)| names.contains(&name));
    found.map(|(_, reason)| *reason)
}

impl Call<'_> {
    pub(crate) fn argument(&self, at: usize) -> &Value {
        self.arguments.get(at).unwrap_or(&Value::Nil)
    }

    fn mismatch(&self, at: usize, expected: &str) -> Problem {
        let given = self.argument(at).kind();
        let article = if expected.starts_with("int") {
            "an"
        } else {
            "a"
        };
        Problem::value(format!(
            "`{}` wants {article} {expected} as argument {}, and gets a {given}",
            self.name,
            at + 1
        ))
    }

    /// An error of this function; the text must not hold values.
    pub(crate) fn problem(&self, message: impl AsRef<str>) -> Problem {
        Problem::value(format!("`{}`: {}", self.name, message.as_ref()))
    }

    pub(crate) fn text(&self, at: usize) -> Answer<&str> {
        match self.argument(at) {
            Value::Text(text) => Ok(text),
            _ => Err(self.mismatch(at, "string")),
        }
    }

    pub(crate) fn list(&self, at: usize) -> Answer<&[Value]> {
        match self.argument(at) {
            Value::List(list) => Ok(list.items()),
            _ => Err(self.mismatch(at, "list")),
        }
    }

    pub(crate) fn map(&self, at: usize) -> Answer<&Map> {
        match self.argument(at) {
            Value::Map(map) => Ok(map),
            _ => Err(self.mismatch(at, "map")),
        }
    }

    /// An integer of a function that is strict about it.
    pub(crate) fn int(&self, at: usize) -> Answer<i64> {
        match self.argument(at) {
            Value::Int(value) => Ok(*value),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "such floats are exact integers"
            )]
            Value::Float(value) if value.fract() == 0.0 && value.abs() < 9e15 => Ok(*value as i64),
            _ => Err(self.mismatch(at, "int")),
        }
    }

    /// A number of elements or characters: not negative.
    pub(crate) fn size(&self, at: usize) -> Answer<usize> {
        let value = self.int(at)?;
        usize::try_from(value).map_err(|_| self.problem(format!("argument {} is negative", at + 1)))
    }

    /// An integer of a function that takes anything, as sprig's `toInt64`.
    pub(crate) fn cast_int(&self, at: usize) -> i64 {
        conversion::to_int(self.argument(at))
    }

    pub(crate) fn cast_float(&self, at: usize) -> f64 {
        conversion::to_float(self.argument(at))
    }

    /// The argument as text, whatever it is.
    pub(crate) fn shown(&self, at: usize) -> Answer<Rc<str>> {
        shown(self.run, self.argument(at))
    }

    /// All arguments as texts, without those that are nil.
    fn all_shown(&self) -> Answer<Vec<Rc<str>>> {
        let present = self.arguments.iter();
        let present = present.filter(|argument| !matches!(argument, Value::Nil));
        present.map(|argument| shown(self.run, argument)).collect()
    }
}

pub(crate) fn shown(run: &Run<'_>, value: &Value) -> Answer<Rc<str>> {
    match value {
        Value::Text(text) => Ok(Rc::clone(text)),
        other => print::print(run, other).map(Rc::from),
    }
}
