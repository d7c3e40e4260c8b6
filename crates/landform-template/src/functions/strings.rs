//! Strings. Where sprig counts bytes (`trunc`, `substr`, `abbrev`), characters are counted here, so
//! that no character is cut in two.

use super::{Call, Entry, MANY, entry};
use crate::print::quote;
use crate::run::Answer;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Entry] = &[
    entry("trim", 1, 1, |call| call.run.text(call.text(0)?.trim())),
    entry("trimAll", 2, 2, trim_all),
    entry("trimall", 2, 2, trim_all),
    entry("trimSuffix", 2, 2, |call| {
        let (suffix, text) = (call.text(0)?, call.text(1)?);
        call.run.text(text.strip_suffix(suffix).unwrap_or(text))
    }),
    entry("trimPrefix", 2, 2, |call| {
        let (prefix, text) = (call.text(0)?, call.text(1)?);
        call.run.text(text.strip_prefix(prefix).unwrap_or(text))
    }),
    entry("upper", 1, 1, |call| {
        call.run.text(call.text(0)?.to_uppercase())
    }),
    entry("lower", 1, 1, |call| {
        call.run.text(call.text(0)?.to_lowercase())
    }),
    entry("title", 1, 1, |call| {
        call.run.text(starts_of_words(call.text(0)?, |c| {
            c.to_uppercase().collect()
        }))
    }),
    entry("untitle", 1, 1, |call| {
        call.run.text(starts_of_words(call.text(0)?, |c| {
            c.to_lowercase().collect()
        }))
    }),
    entry("swapcase", 1, 1, |call| {
        let swapped = call.text(0)?.chars().map(|c| -> String {
            if c.is_uppercase() {
                c.to_lowercase().collect()
            } else {
                c.to_uppercase().collect()
            }
        });
        call.run.text(swapped.collect::<String>())
    }),
    entry("repeat", 2, 2, |call| {
        let (count, text) = (call.size(0)?, call.text(1)?);
        call.run.allocate(text.len().saturating_mul(count))?;
        call.run.text(text.repeat(count))
    }),
    entry("substr", 3, 3, substr),
    entry("trunc", 2, 2, trunc),
    entry("nospace", 1, 1, |call| {
        let kept = call.text(0)?.chars().filter(|c| !c.is_whitespace());
        call.run.text(kept.collect::<String>())
    }),
    entry("abbrev", 2, 2, |call| {
        let (width, text) = (call.int(0)?, call.text(1)?);
        call.run.text(abbreviated(text, 0, width))
    }),
    entry("abbrevboth", 3, 3, |call| {
        let (left, right, text) = (call.int(0)?, call.int(1)?, call.text(2)?);
        call.run.text(abbreviated(text, left, right))
    }),
    entry("initials", 1, 1, |call| {
        let words = call.text(0)?.split_whitespace();
        let initials = words.filter_map(|word| word.chars().next());
        call.run.text(initials.collect::<String>())
    }),
    entry("wrap", 2, 2, |call| {
        let (width, text) = (call.size(0)?, call.text(1)?);
        call.run.text(wrapped(text, width, "\n", false))
    }),
    entry("wrapWith", 3, 3, |call| {
        let (width, separator, text) = (call.size(0)?, call.text(1)?, call.text(2)?);
        let breaks = text.len() / width.max(1) + 1;
        call.run.allocate(separator.len().saturating_mul(breaks))?;
        call.run.text(wrapped(text, width, separator, true))
    }),
    entry("contains", 2, 2, |call| {
        Ok(Value::Bool(call.text(1)?.contains(call.text(0)?)))
    }),
    entry("hasPrefix", 2, 2, |call| {
        Ok(Value::Bool(call.text(1)?.starts_with(call.text(0)?)))
    }),
    entry("hasSuffix", 2, 2, |call| {
        Ok(Value::Bool(call.text(1)?.ends_with(call.text(0)?)))
    }),
    entry("quote", 0, MANY, |call| {
        let quoted: Vec<_> = call.all_shown()?.iter().map(|text| quote(text)).collect();
        call.run.text(quoted.join(" "))
    }),
    entry("squote", 0, MANY, |call| {
        let quoted = call.all_shown()?;
        let quoted: Vec<_> = quoted.iter().map(|text| format!("'{text}'")).collect();
        call.run.text(quoted.join(" "))
    }),
    entry("cat", 0, MANY, |call| {
        call.run.text(call.all_shown()?.join(" "))
    }),
    entry("indent", 2, 2, |call| call.run.text(indented(call)?)),
    entry("nindent", 2, 2, |call| {
        call.run.text(format!("\n{}", indented(call)?))
    }),
    entry("replace", 3, 3, |call| {
        let (old, new, text) = (call.text(0)?, call.text(1)?, call.text(2)?);
        let places = text.matches(old).count();
        call.run
            .allocate(text.len() + new.len().saturating_mul(places))?;
        call.run.text(text.replace(old, new))
    }),
    entry("plural", 3, 3, |call| {
        let (one, many, count) = (call.text(0)?, call.text(1)?, call.int(2)?);
        call.run.text(if count == 1 { one } else { many })
    }),
    entry("snakecase", 1, 1, |call| {
        call.run.text(words(call.text(0)?).join("_"))
    }),
    entry("kebabcase", 1, 1, |call| {
        call.run.text(words(call.text(0)?).join("-"))
    }),
    entry("camelcase", 1, 1, |call| {
        let parts = words(call.text(0)?);
        let parts = parts
            .iter()
            .map(|word| starts_of_words(word, |c| c.to_uppercase().collect()));
        call.run.text(parts.collect::<String>())
    }),
];

fn trim_all(call: &Call<'_>) -> Answer {
    let (cut, text) = (call.text(0)?, call.text(1)?);
    call.run.text(text.trim_matches(|c| cut.contains(c)))
}

/// Changes the first character of each word.
fn starts_of_words(text: &str, change: impl Fn(char) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut previous = ' ';
    for c in text.chars() {
        if !previous.is_alphanumeric() && previous != '_' && previous != '\'' {
            out.push_str(&change(c));
        } else {
            out.push(c);
        }
        previous = c;
    }
    out
}

fn substr(call: &Call<'_>) -> Answer {
    let (start, end, text) = (call.int(0)?, call.int(1)?, call.text(2)?);
    let start = usize::try_from(start).unwrap_or(0);
    let end = usize::try_from(end).unwrap_or(usize::MAX);
    let part = text.chars().skip(start).take(end.saturating_sub(start));
    call.run.text(part.collect::<String>())
}

fn trunc(call: &Call<'_>) -> Answer {
    let (count, text) = (call.int(0)?, call.text(1)?);
    let length = text.chars().count();
    let size = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let skipped = if count < 0 {
        length.saturating_sub(size)
    } else {
        0
    };
    call.run
        .text(text.chars().skip(skipped).take(size).collect::<String>())
}

/// Cuts a text to a width and marks where something is missing; `offset` is where to begin.
fn abbreviated(text: &str, offset: i64, width: i64) -> String {
    let chars: Vec<char> = text.chars().collect();
    let length = chars.len() as i64;
    if width < 4 || (offset > 0 && width < 7) || length <= width {
        return text.to_owned();
    }
    let part = |from: i64, to: i64| -> String {
        let from = usize::try_from(from.max(0)).unwrap_or(0);
        let to = usize::try_from(to.clamp(0, length)).unwrap_or(0);
        chars.get(from..to).unwrap_or_default().iter().collect()
    };
    let room = width - 3;
    let offset = offset.min(length).min(length - room);
    if offset <= 4 {
        return part(0, room) + "...";
    }
    if offset + room < length {
        return format!("...{}...", part(offset, offset + room - 3));
    }
    format!("...{}", part(length - room, length))
}

fn wrapped(text: &str, width: usize, separator: &str, breaks_words: bool) -> String {
    let chars: Vec<char> = text.chars().collect();
    let width = width.max(1);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while chars.len() - at > width {
        if chars[at] == ' ' {
            at += 1;
            continue;
        }
        let window = &chars[at..=at + width];
        let space = match window.iter().rposition(|c| *c == ' ') {
            Some(space) => Some(at + space),
            None if breaks_words => None,
            None => {
                let after = chars[at + width..].iter().position(|c| *c == ' ');
                match after {
                    Some(space) => Some(at + width + space),
                    None => break,
                }
            }
        };
        let end = space.unwrap_or(at + width);
        out.extend(&chars[at..end]);
        out.push_str(separator);
        at = space.map_or(end, |space| space + 1);
    }
    out.extend(&chars[at..]);
    out
}

fn indented(call: &Call<'_>) -> Answer<String> {
    let (spaces, text) = (call.size(0)?, call.text(1)?);
    let lines = text.matches('\n').count() + 1;
    call.run
        .allocate(text.len() + spaces.saturating_mul(lines))?;
    let pad = " ".repeat(spaces);
    Ok(pad.clone() + &text.replace('\n', &format!("\n{pad}")))
}

/// The words of a name in any of the usual notations, in lower case.
fn words(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut words: Vec<String> = Vec::new();
    let mut begins = true;
    for (at, c) in chars.iter().enumerate() {
        if c.is_whitespace() || *c == '_' || *c == '-' {
            begins = true;
            continue;
        }
        let before = at.checked_sub(1).map(|at| chars[at]);
        let after = chars.get(at + 1);
        let after_lower = before.is_some_and(|c| c.is_lowercase() || c.is_numeric());
        // `HTTPServer`: the last capital of a row belongs to what follows.
        let ends_row =
            before.is_some_and(char::is_uppercase) && after.is_some_and(|c| c.is_lowercase());
        begins |= c.is_uppercase() && (after_lower || ends_row);
        if begins {
            words.push(String::new());
            begins = false;
        }
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    words
}
