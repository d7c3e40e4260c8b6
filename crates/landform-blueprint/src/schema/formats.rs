//! The formats that are checked; others say nothing.

use std::net::{Ipv4Addr, Ipv6Addr};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

pub(super) fn fits(format: &str, text: &str) -> Option<bool> {
    Some(match format {
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "date-time" => OffsetDateTime::parse(text, &Rfc3339).is_ok(),
        "date" => OffsetDateTime::parse(&format!("{text}T00:00:00Z"), &Rfc3339).is_ok(),
        "time" => OffsetDateTime::parse(&format!("2000-01-01T{text}"), &Rfc3339).is_ok(),
        "hostname" => hostname(text),
        "email" => text.split_once('@').is_some_and(|(user, host)| {
            !user.is_empty() && !user.contains(char::is_whitespace) && hostname(host)
        }),
        "uri" => uri(text),
        "regex" => super::text::is_pattern(text),
        "uuid" => {
            let parts: Vec<_> = text.split('-').map(str::len).collect();
            parts == [8, 4, 4, 4, 12]
                && text
                    .bytes()
                    .all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
        }
        _ => return None,
    })
}

fn hostname(text: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

fn uri(text: &str) -> bool {
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    }) && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}
