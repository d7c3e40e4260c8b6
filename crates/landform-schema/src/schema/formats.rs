//! The string formats that a schema may name, and the numeric ranges of built-in integers.
//!
//! A format that isn't listed here is documentation only, as in Kubernetes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A format that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Byte,
    Cidr,
    Date,
    DateTime,
    Duration,
    Email,
    Hostname,
    Ipv4,
    Ipv6,
    Mac,
    Uri,
    Uuid,
    /// A DNS label.
    ShortName,
    /// A DNS subdomain.
    LongName,
    HexColor,
    /// A signed 32-bit integer (checked for built-in kinds only).
    Int32,
    /// A signed 64-bit integer (checked for built-in kinds only).
    Int64,
    /// An amount such as `1.5Gi`.
    Quantity,
}

impl Format {
    /// The checked string format of this name in a custom resource's schema.
    pub(crate) fn of_custom_resource(name: &str) -> Option<Self> {
        Some(match name {
            "byte" => Self::Byte,
            "cidr" => Self::Cidr,
            "date" => Self::Date,
            "date-time" | "datetime" => Self::DateTime,
            "duration" => Self::Duration,
            "email" => Self::Email,
            "hostname" => Self::Hostname,
            "ipv4" => Self::Ipv4,
            "ipv6" => Self::Ipv6,
            "mac" => Self::Mac,
            "uri" => Self::Uri,
            "uuid" | "uuid3" | "uuid4" | "uuid5" => Self::Uuid,
            "k8s-short-name" => Self::ShortName,
            "k8s-long-name" => Self::LongName,
            "hexcolor" => Self::HexColor,
            _ => return None,
        })
    }

    /// The name that messages use.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Byte => "byte",
            Self::Cidr => "cidr",
            Self::Date => "date",
            Self::DateTime => "date-time",
            Self::Duration => "duration",
            Self::Email => "email",
            Self::Hostname => "hostname",
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
            Self::Mac => "mac",
            Self::Uri => "uri",
            Self::Uuid => "uuid",
            Self::ShortName => "k8s-short-name",
            Self::LongName => "k8s-long-name",
            Self::HexColor => "hexcolor",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Quantity => "quantity",
        }
    }

    /// Whether this text has the format. Numeric formats accept every text.
    pub(crate) fn matches(self, text: &str) -> bool {
        match self {
            Self::Byte => is_base64(text),
            Self::Cidr => is_cidr(text),
            Self::Date => is_date(text),
            Self::DateTime => is_date_time(text),
            Self::Duration => is_duration(text),
            Self::Email => is_email(text),
            Self::Hostname => is_hostname(text),
            Self::Ipv4 => text.parse::<Ipv4Addr>().is_ok(),
            Self::Ipv6 => text.parse::<Ipv6Addr>().is_ok(),
            Self::Mac => is_mac(text),
            Self::Uri => is_uri(text),
            Self::Uuid => is_uuid(text),
            Self::ShortName => is_dns_label(text),
            Self::LongName => text.len() <= 253 && text.split('.').all(is_dns_label),
            Self::HexColor => is_hex_color(text),
            Self::Quantity => is_quantity(text),
            Self::Int32 | Self::Int64 => true,
        }
    }
}

/// Standard base64 with padding; line breaks are ignored, as Go's decoder does.
fn is_base64(text: &str) -> bool {
    let mut length = 0_usize;
    let mut padding = 0_usize;
    for byte in text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')) {
        length += 1;
        match byte {
            b'=' => padding += 1,
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' if padding == 0 => {}
            _ => return false,
        }
    }
    length.is_multiple_of(4) && padding <= 2
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let longest = match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    all_digits(bits) && bits.parse::<u8>().is_ok_and(|bits| bits <= longest)
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A number of exactly this many digits, within these bounds.
fn number_in(text: &str, digits: usize, low: u32, high: u32) -> bool {
    text.len() == digits
        && all_digits(text)
        && text
            .parse::<u32>()
            .is_ok_and(|number| (low..=high).contains(&number))
}

fn is_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let (Some(year), Some(month), Some(day)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    if !number_in(year, 4, 0, 9999) || !number_in(month, 2, 1, 12) || day.len() != 2 {
        return false;
    }
    let (year, month): (u32, u32) = (year.parse().unwrap_or(0), month.parse().unwrap_or(0));
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 31,
    };
    number_in(day, 2, 1, days)
}

/// A moment as RFC 3339 writes it.
fn is_date_time(text: &str) -> bool {
    let Some(split) = text.find(['T', 't', ' ']) else {
        return false;
    };
    let (date, time) = (&text[..split], &text[split + 1..]);
    let Some(zone_at) = time.find(['Z', 'z', '+', '-']) else {
        return false;
    };
    let (clock, zone) = (&time[..zone_at], &time[zone_at..]);
    let (clock, fraction) = clock
        .split_once('.')
        .map_or((clock, None), |(c, f)| (c, Some(f)));
    is_date(date)
        && is_clock(clock, true)
        && fraction.is_none_or(all_digits)
        && match zone.as_bytes().first() {
            Some(b'Z' | b'z') => zone.len() == 1,
            _ => is_clock(&zone[1..], false),
        }
}

fn is_clock(text: &str, seconds: bool) -> bool {
    let mut parts = text.split(':');
    let hours = parts.next().is_some_and(|part| number_in(part, 2, 0, 23));
    let minutes = parts.next().is_some_and(|part| number_in(part, 2, 0, 59));
    let last = !seconds || parts.next().is_some_and(|part| number_in(part, 2, 0, 60));
    hours && minutes && last && parts.next().is_none()
}

/// A span of time as Go writes it (`1h30m`), or a number with a spelled-out unit (`2 days`).
fn is_duration(text: &str) -> bool {
    let body = text.strip_prefix(['-', '+']).unwrap_or(text);
    if body == "0" {
        return true;
    }
    let mut rest = body;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let number = &rest[..digits];
        if number.parse::<f64>().is_err() {
            return false;
        }
        rest = rest[digits..].trim_start_matches(' ');
        let unit = rest
            .find(|c: char| c.is_ascii_digit() || c == ' ')
            .unwrap_or(rest.len());
        if !is_unit_of_time(&rest[..unit]) {
            return false;
        }
        rest = rest[unit..].trim_start_matches(' ');
    }
    !body.is_empty()
}

fn is_unit_of_time(unit: &str) -> bool {
    matches!(
        unit,
        "ns" | "us"
            | "µs"
            | "μs"
            | "ms"
            | "s"
            | "m"
            | "h"
            | "d"
            | "w"
            | "sec"
            | "secs"
            | "second"
            | "seconds"
            | "min"
            | "mins"
            | "minute"
            | "minutes"
            | "hr"
            | "hrs"
            | "hour"
            | "hours"
            | "day"
            | "days"
            | "week"
            | "weeks"
            | "milli"
            | "millis"
            | "micro"
            | "micros"
            | "nano"
            | "nanos"
    )
}

fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let bad = |c: char| c.is_whitespace() || c.is_control() || "()<>[]:;,\\\"".contains(c);
    !local.is_empty()
        && !local.starts_with('.')
        && !local.ends_with('.')
        && !local.contains("..")
        && !local.contains(bad)
        && !domain.is_empty()
        && !domain.contains(bad)
        && !domain.contains('@')
}

fn is_hostname(text: &str) -> bool {
    let name = text.strip_suffix('.').unwrap_or(text);
    !name.is_empty()
        && text.len() <= 255
        && name.split('.').all(|label| {
            !label.is_empty()
                && label.len() <= 63
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label
                    .chars()
                    .all(|c| c.is_alphanumeric() || c == '-' || c == '_')
        })
}

fn is_dns_label(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 63
        && !text.starts_with('-')
        && !text.ends_with('-')
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// Six or eight octets with `:`, `-`, or pairs of octets with `.`.
fn is_mac(text: &str) -> bool {
    let hex = |part: &str, width: usize| {
        part.len() == width && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    for (separator, width, counts) in [
        (':', 2, [6, 8, 20]),
        ('-', 2, [6, 8, 20]),
        ('.', 4, [3, 4, 10]),
    ] {
        if text.contains(separator) {
            let count = text.split(separator).count();
            return counts.contains(&count) && text.split(separator).all(|part| hex(part, width));
        }
    }
    false
}

/// An absolute URI, or a path from the root.
fn is_uri(text: &str) -> bool {
    if text.is_empty() || text.chars().any(|c| c.is_control() || c == ' ') {
        return false;
    }
    if text.starts_with('/') {
        return true;
    }
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let scheme_ok = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    scheme_ok && !rest.is_empty()
}

fn is_uuid(text: &str) -> bool {
    let bare = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let groups = [8, 4, 4, 4, 12];
    let mut parts = text.split('-');
    let dashed = groups.iter().all(|length| {
        parts.next().is_some_and(|part| {
            part.len() == *length && part.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    });
    bare || (dashed && parts.next().is_none())
}

fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A number with an optional binary, decimal or exponent suffix.
fn is_quantity(text: &str) -> bool {
    let body = text.strip_prefix(['-', '+']).unwrap_or(text);
    let end = body
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(body.len());
    let (number, suffix) = body.split_at(end);
    let digits = number.bytes().filter(u8::is_ascii_digit).count();
    let dots = number.len() - digits;
    if digits == 0 || dots > 1 {
        return false;
    }
    let exponent = suffix
        .strip_prefix(['e', 'E'])
        .map(|e| e.strip_prefix(['-', '+']).unwrap_or(e));
    matches!(
        suffix,
        "" | "Ki"
            | "Mi"
            | "Gi"
            | "Ti"
            | "Pi"
            | "Ei"
            | "n"
            | "u"
            | "m"
            | "k"
            | "M"
            | "G"
            | "T"
            | "P"
            | "E"
    ) || exponent.is_some_and(all_digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_accepts_and_refuses() {
        let table: &[(Format, &[&str], &[&str])] = &[
            (
                Format::Byte,
                &["", "aGk=", "aGkx", "aG\nk="],
                &["aGk", "a=k=", "a-b_"],
            ),
            (
                Format::Cidr,
                &["10.0.0.0/8", "fd00::/64"],
                &["10.0.0.0", "10.0.0.0/33", "x/8"],
            ),
            (
                Format::Date,
                &["2024-02-29"],
                &["2023-02-29", "2024-2-1", "2024-13-01", "x"],
            ),
            (
                Format::DateTime,
                &["2024-01-02T03:04:05Z", "2024-01-02T03:04:05.123+02:00"],
                &[
                    "2024-01-02",
                    "2024-01-02T25:00:00Z",
                    "2024-01-02T03:04:05",
                    "now",
                ],
            ),
            (
                Format::Duration,
                &["0", "1h30m", "-5ms", "2 days"],
                &["", "5", "1x", "h"],
            ),
            (Format::Email, &["a@b.c"], &["a", "@b", "a b@c"]),
            (Format::Hostname, &["a", "a.b-c.d"], &["", "-a", "a..b"]),
            (Format::Ipv4, &["1.2.3.4"], &["1.2.3", "::1"]),
            (Format::Ipv6, &["::1"], &["1.2.3.4"]),
            (Format::Mac, &["01:23:45:67:89:ab"], &["01:23", "x"]),
            (
                Format::Uri,
                &["http://a/b", "/a", "urn:x:y"],
                &["", "a b", "nothing"],
            ),
            (
                Format::Uuid,
                &["123e4567-e89b-12d3-a456-426614174000"],
                &["123e4567", "123e4567-e89b-12d3-a456-42661417400g"],
            ),
            (Format::ShortName, &["a-1"], &["A", "a.b", ""]),
            (Format::LongName, &["a.b-c"], &["a..b", "A"]),
            (Format::HexColor, &["#fff", "a1b2c3"], &["#ff", "#ggg"]),
            (
                Format::Quantity,
                &["1", "0.5", "500m", "1.5Gi", "1e3", "-2", "2E"],
                &["", "m", "1 Gi", "1GiB", "1.2.3", "e3"],
            ),
        ];
        for (format, good, bad) in table {
            for text in *good {
                assert!(
                    format.matches(text),
                    "{} should accept {text:?}",
                    format.name()
                );
            }
            for text in *bad {
                assert!(
                    !format.matches(text),
                    "{} should refuse {text:?}",
                    format.name()
                );
            }
        }
    }
}
