//! Regular expressions as Go reads them.
//!
//! Authors write for Go's RE2. The `regex` crate is close, with a few differences that this file
//! takes away: classes such as `\w` are ASCII in Go, brackets inside brackets are literal, and
//! `\Q…\E` quotes. Neither engine can be made to take exponential time.

use std::iter::Peekable;
use std::str::Chars;

use landform_pattern::{Price, Refused};
use regex::{Regex, RegexBuilder};

/// Patterns that need more memory when compiled are refused.
const LARGEST: usize = 4 * 1024 * 1024;
/// The memory that all patterns of a schema may take together when they are compiled.
const LARGEST_TOGETHER: usize = 64 * 1024 * 1024;

/// What patterns take that are compiled for one schema.
#[derive(Default)]
pub(crate) struct Room {
    taken: usize,
}

impl Room {
    /// Compiles a pattern if there is room for it. It is asked before anything is compiled, because compiling takes the time
    /// and the memory.
    pub(crate) fn compile(&mut self, text: &str) -> Result<Pattern, String> {
        let price = match Price::of(&translate(text)) {
            Ok(price) => price,
            Err(Refused::TooLarge) => return Err("it is too large".to_owned()),
            // The compiler says better what is wrong.
            Err(Refused::Malformed) => {
                let problem = compile(text).err();
                return Err(problem.unwrap_or_else(|| "it is nested too deeply".to_owned()));
            }
        };
        self.taken = self.taken.saturating_add(price.bytes());
        if self.taken > LARGEST_TOGETHER {
            return Err("it and the patterns before it are too large together".to_owned());
        }
        let regex = compile(text)?;
        Ok(Pattern { regex, price })
    }
}

/// A pattern of a schema. It is searched for by many threads.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    price: Price,
}

impl Pattern {
    /// The steps that it takes to look for it in a text.
    pub(crate) fn steps(&self, text: &str) -> usize {
        self.price.steps_of(text.len())
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    pub(crate) fn as_str(&self) -> &str {
        self.regex.as_str()
    }
}

/// Compiles a pattern.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = translate(pattern);
    RegexBuilder::new(&translated)
        .size_limit(LARGEST)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
            other => other
                .to_string()
                .lines()
                .last()
                .unwrap_or("it can't be parsed")
                .to_owned(),
        })
}

/// Spells a pattern of Go's for the `regex` crate.
pub(crate) fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(c) = rest.next() {
        match c {
            '\\' => escape(&mut rest, in_class, &mut out),
            '[' if !in_class => {
                in_class = true;
                out.push('[');
                if rest.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                // A bracket that closes right away is a member of the class.
                if rest.next_if_eq(&']').is_some() {
                    out.push_str("\\]");
                }
            }
            '[' if rest.peek() == Some(&':') => named_class(&mut rest, &mut out),
            '[' => out.push_str("\\["),
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            // Set operations of the `regex` crate, which are plain characters in Go.
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(c);
            }
            '-' if in_class && rest.next_if_eq(&'-').is_some() => {
                // One of them is the sign of a range: the second if nothing stands before.
                let alone = rest.peek() == Some(&']');
                out.push_str(match out.ends_with(['[', '^']) {
                    true if alone => "\\-\\-",
                    true => "\\--",
                    false => "-\\-",
                });
            }
            other => out.push(other),
        }
    }
    out
}

/// `[:alpha:]` inside a class.
fn named_class(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    out.push('[');
    while let Some(c) = rest.next() {
        out.push(c);
        if c == ':' && rest.next_if_eq(&']').is_some() {
            out.push(']');
            return;
        }
        if c == ']' {
            return;
        }
    }
}

fn escape(rest: &mut Peekable<Chars<'_>>, in_class: bool, out: &mut String) {
    let Some(c) = rest.next() else {
        out.push('\\');
        return;
    };
    let class = match c {
        'd' | 'D' => Some("0-9"),
        'w' | 'W' => Some("0-9A-Za-z_"),
        's' | 'S' => Some("\\t\\n\\f\\r "),
        _ => None,
    };
    match (c, class) {
        (_, Some(members)) if c.is_ascii_uppercase() => out.push_str(&format!("[^{members}]")),
        (_, Some(members)) if in_class => out.push_str(members),
        (_, Some(members)) => out.push_str(&format!("[{members}]")),
        ('b' | 'B', None) if !in_class => out.push_str(&format!("(?-u:\\{c})")),
        ('Q', None) => quoted(rest, out),
        (other, None) => {
            out.push('\\');
            out.push(other);
        }
    }
}

/// Everything up to `\E` stands for itself.
fn quoted(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    while let Some(c) = rest.next() {
        if c == '\\' && rest.next_if_eq(&'E').is_some() {
            return;
        }
        out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_in_go() {
        let table = [
            (r"^\d+$", "12", true),
            (r"^\d+$", "١٢", false),
            (r"^\w+$", "ä", false),
            (r"^[\w.-]+$", "a.b-c_1", true),
            (r"^[^\s]+$", "a b", false),
            (r"^\S+$", "ab", true),
            (r"^[\D]$", "a", true),
            (r"^[[]$", "[", true),
            (r"^[]a]+$", "]a", true),
            (r"^[^]]$", "]", false),
            (r"^[[:alpha:]_]+$", "ab_", true),
            (r"^[a&&b]+$", "a&b", true),
            (r"^[+--]+$", "+,-", true),
            (r"^[--/]+$", "-./", true),
            (r"^[--]+$", "-", true),
            (r"^[a~~]+$", "a~", true),
            (r"^\Qa.b\E$", "a.b", true),
            (r"^\Qa.b\E$", "axb", false),
            (r"\bfoo\b", "a foo b", true),
            (
                r"^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+$",
                "/a%20b",
                true,
            ),
            (
                r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$",
                "a-b.c",
                true,
            ),
            (r"^\/a\.b$", "/a.b", true),
            (r"(?i)^abc$", "ABC", true),
            (r"^[\w\s]{1,253}$", "a b", true),
        ];
        for (pattern, text, matches) in table {
            let compiled = compile(pattern).expect(pattern);
            assert_eq!(compiled.is_match(text), matches, "{pattern} on {text:?}");
        }
    }

    #[test]
    fn what_cannot_be_compiled_is_refused() {
        for pattern in ["(", "[a", "a{5,2}", "(?=a)", r"\", "(((a{100}){100}){100})"] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
    }
}
