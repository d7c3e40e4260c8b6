//! Go's layouts: the time 2006-01-02 15:04:05 written in the way that is wanted.

use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time, UtcOffset, Weekday};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part<'a> {
    Literal(&'a str),
    Year,
    ShortYear,
    Month,
    MonthPadded,
    MonthName,
    MonthShort,
    Day,
    DayPadded,
    DaySpaced,
    DayOfYear,
    WeekdayName,
    WeekdayShort,
    Hour24,
    Hour12,
    Hour12Padded,
    Minute,
    MinutePadded,
    Second,
    SecondPadded,
    Fraction {
        digits: usize,
        trims: bool,
    },
    Upper,
    Lower,
    Zone,
    /// `-0700` and its relatives: colon, minutes shown, `Z` for UTC.
    Offset {
        colon: bool,
        minutes: bool,
        z: bool,
    },
}

/// The marks of a layout, longer ones before those that they begin with.
const MARKS: &[(&str, Part<'static>)] = &[
    ("2006", Part::Year),
    ("January", Part::MonthName),
    ("Jan", Part::MonthShort),
    ("Monday", Part::WeekdayName),
    ("Mon", Part::WeekdayShort),
    ("MST", Part::Zone),
    ("002", Part::DayOfYear),
    ("01", Part::MonthPadded),
    ("02", Part::DayPadded),
    ("03", Part::Hour12Padded),
    ("04", Part::MinutePadded),
    ("05", Part::SecondPadded),
    ("06", Part::ShortYear),
    ("15", Part::Hour24),
    ("_2", Part::DaySpaced),
    ("PM", Part::Upper),
    ("pm", Part::Lower),
    (
        "-07:00",
        Part::Offset {
            colon: true,
            minutes: true,
            z: false,
        },
    ),
    (
        "-0700",
        Part::Offset {
            colon: false,
            minutes: true,
            z: false,
        },
    ),
    (
        "-07",
        Part::Offset {
            colon: false,
            minutes: false,
            z: false,
        },
    ),
    (
        "Z07:00",
        Part::Offset {
            colon: true,
            minutes: true,
            z: true,
        },
    ),
    (
        "Z0700",
        Part::Offset {
            colon: false,
            minutes: true,
            z: true,
        },
    ),
    ("1", Part::Month),
    ("2", Part::Day),
    ("3", Part::Hour12),
    ("4", Part::Minute),
    ("5", Part::Second),
];

fn parts(layout: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut at, mut literal) = (0, 0);
    while at < layout.len() {
        let rest = &layout[at..];
        let mark = MARKS.iter().find(|(mark, _)| rest.starts_with(mark));
        let found = match mark {
            Some((mark, part)) => Some((mark.len(), *part)),
            None => fraction(rest),
        };
        let Some((length, part)) = found else {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        };
        if literal < at {
            parts.push(Part::Literal(&layout[literal..at]));
        }
        parts.push(part);
        at += length;
        literal = at;
    }
    if literal < layout.len() {
        parts.push(Part::Literal(&layout[literal..]));
    }
    parts
}

/// `.000` or `.999`, not followed by another digit.
fn fraction(rest: &str) -> Option<(usize, Part<'static>)> {
    let digits = rest.strip_prefix(['.', ','])?;
    let kind = digits.chars().next().filter(|c| matches!(c, '0' | '9'))?;
    let count = digits.len() - digits.trim_start_matches(kind).len();
    let ends = !digits[count..].starts_with(|c: char| c.is_ascii_digit());
    let part = Part::Fraction {
        digits: count.min(9),
        trims: kind == '9',
    };
    ends.then_some((count + 1, part))
}

pub(super) fn format(layout: &str, moment: OffsetDateTime) -> String {
    let mut out = String::new();
    for part in parts(layout) {
        out.push_str(&written(part, moment));
    }
    out
}

fn written(part: Part<'_>, moment: OffsetDateTime) -> String {
    let month = moment.month();
    let hour12 = match moment.hour() % 12 {
        0 => 12,
        hour => hour,
    };
    let month_name = month.to_string();
    let weekday = moment.weekday().to_string();
    match part {
        Part::Literal(text) => text.to_owned(),
        Part::Year => format!("{:04}", moment.year()),
        Part::ShortYear => format!("{:02}", moment.year().rem_euclid(100)),
        Part::Month => u8::from(month).to_string(),
        Part::MonthPadded => format!("{:02}", u8::from(month)),
        Part::MonthShort => month_name.chars().take(3).collect(),
        Part::MonthName => month_name,
        Part::Day => moment.day().to_string(),
        Part::DayPadded => format!("{:02}", moment.day()),
        Part::DaySpaced => format!("{:2}", moment.day()),
        Part::DayOfYear => format!("{:03}", moment.ordinal()),
        Part::WeekdayShort => weekday.chars().take(3).collect(),
        Part::WeekdayName => weekday,
        Part::Hour24 => format!("{:02}", moment.hour()),
        Part::Hour12 => hour12.to_string(),
        Part::Hour12Padded => format!("{hour12:02}"),
        Part::Minute => moment.minute().to_string(),
        Part::MinutePadded => format!("{:02}", moment.minute()),
        Part::Second => moment.second().to_string(),
        Part::SecondPadded => format!("{:02}", moment.second()),
        Part::Fraction { digits, trims } => {
            let all = format!("{:09}", moment.nanosecond());
            let kept = &all[..digits];
            match if trims {
                kept.trim_end_matches('0')
            } else {
                kept
            } {
                "" => String::new(),
                kept => format!(".{kept}"),
            }
        }
        Part::Upper => if moment.hour() < 12 { "AM" } else { "PM" }.to_owned(),
        Part::Lower => if moment.hour() < 12 { "am" } else { "pm" }.to_owned(),
        Part::Zone if moment.offset().is_utc() => "UTC".to_owned(),
        Part::Zone => offset_text(
            moment.offset(),
            false,
            moment.offset().minutes_past_hour() != 0,
        ),
        Part::Offset { z: true, .. } if moment.offset().is_utc() => "Z".to_owned(),
        Part::Offset { colon, minutes, .. } => offset_text(moment.offset(), colon, minutes),
    }
}

fn offset_text(offset: UtcOffset, colon: bool, minutes: bool) -> String {
    let sign = if offset.is_negative() { '-' } else { '+' };
    let (hours, past, _) = offset.as_hms();
    let separator = if colon { ":" } else { "" };
    let mut text = format!("{sign}{:02}", hours.abs());
    if minutes {
        text.push_str(&format!("{separator}{:02}", past.abs()));
    }
    text
}

/// `+02:00`, `-0530`, `+02`, `Z`.
pub(super) fn offset(text: &str) -> Option<UtcOffset> {
    if text == "Z" {
        return Some(UtcOffset::UTC);
    }
    let negative = text.starts_with('-');
    let digits = text.strip_prefix(['+', '-'])?.replace(':', "");
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) || !matches!(digits.len(), 2 | 4) {
        return None;
    }
    let hours: i8 = digits[..2].parse().ok()?;
    let minutes: i8 = digits
        .get(2..)
        .filter(|rest| !rest.is_empty())
        .map_or(Ok(0), str::parse)
        .ok()?;
    let sign = if negative { -1 } else { 1 };
    UtcOffset::from_hms(sign * hours, sign * minutes, 0).ok()
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn digits(&mut self, least: usize, most: usize) -> Option<u32> {
        let count = self
            .rest
            .bytes()
            .take(most)
            .take_while(u8::is_ascii_digit)
            .count();
        if count < least {
            return None;
        }
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        digits.parse().ok()
    }

    /// Which of the names the text goes on with, from 0; the first letters suffice for short ones.
    fn name(&mut self, names: impl Iterator<Item = String>, short: bool) -> Option<u32> {
        for (at, name) in names.enumerate() {
            let name: String = if short {
                name.chars().take(3).collect()
            } else {
                name
            };
            let start = self.rest.get(..name.len())?;
            if start.eq_ignore_ascii_case(&name) {
                self.rest = &self.rest[name.len()..];
                return u32::try_from(at).ok();
            }
        }
        None
    }
}

pub(super) fn parse(layout: &str, text: &str) -> Option<OffsetDateTime> {
    let mut reader = Reader { rest: text };
    let (mut year, mut month, mut day) = (0_i32, 1_u32, 1_u32);
    let (mut hour, mut minute, mut second, mut nanosecond) = (0, 0, 0, 0);
    let mut afternoon = None;
    let mut offset = UtcOffset::UTC;
    let months = || {
        (1..=12)
            .filter_map(|month| Month::try_from(month).ok())
            .map(|m| m.to_string())
    };
    let weekdays = || {
        let monday = Weekday::Monday;
        (0..7).map(move |at| monday.nth_next(at).to_string())
    };
    for part in parts(layout) {
        match part {
            Part::Literal(literal) => reader.rest = reader.rest.strip_prefix(literal)?,
            Part::Year => year = i32::try_from(reader.digits(4, 4)?).ok()?,
            Part::ShortYear => {
                let short = i32::try_from(reader.digits(2, 2)?).ok()?;
                year = if short >= 69 {
                    1900 + short
                } else {
                    2000 + short
                };
            }
            Part::Month => month = reader.digits(1, 2)?,
            Part::MonthPadded => month = reader.digits(2, 2)?,
            Part::MonthName => month = reader.name(months(), false)? + 1,
            Part::MonthShort => month = reader.name(months(), true)? + 1,
            Part::Day => day = reader.digits(1, 2)?,
            Part::DayPadded => day = reader.digits(2, 2)?,
            Part::DaySpaced => {
                reader.rest = reader.rest.trim_start_matches(' ');
                day = reader.digits(1, 2)?;
            }
            Part::DayOfYear => return None,
            Part::WeekdayName => drop(reader.name(weekdays(), false)?.to_string()),
            Part::WeekdayShort => drop(reader.name(weekdays(), true)?.to_string()),
            Part::Hour24 | Part::Hour12Padded => hour = reader.digits(2, 2)?,
            Part::Hour12 => hour = reader.digits(1, 2)?,
            Part::Minute => minute = reader.digits(1, 2)?,
            Part::MinutePadded => minute = reader.digits(2, 2)?,
            Part::Second => second = reader.digits(1, 2)?,
            Part::SecondPadded => {
                second = reader.digits(2, 2)?;
                if let Some(rest) = reader.rest.strip_prefix('.')
                    && rest.starts_with(|c: char| c.is_ascii_digit())
                {
                    nanosecond = nanoseconds(&mut reader)?;
                }
            }
            Part::Fraction { .. } => {
                if reader.rest.starts_with('.') {
                    nanosecond = nanoseconds(&mut reader)?;
                }
            }
            Part::Upper | Part::Lower => {
                let (mark, rest) = reader.rest.split_at_checked(2)?;
                afternoon = Some(match mark {
                    "AM" | "am" => false,
                    "PM" | "pm" => true,
                    _ => return None,
                });
                reader.rest = rest;
            }
            Part::Zone => {
                reader.rest = ["UTC", "GMT"]
                    .iter()
                    .find_map(|zone| reader.rest.strip_prefix(zone))?;
            }
            Part::Offset { colon, minutes, z } => {
                if z && reader.rest.starts_with('Z') {
                    reader.rest = &reader.rest[1..];
                    continue;
                }
                let length = 3 + if minutes { 2 + usize::from(colon) } else { 0 };
                let (given, rest) = reader.rest.split_at_checked(length)?;
                offset = self::offset(given)?;
                reader.rest = rest;
            }
        }
    }
    if !reader.rest.is_empty() {
        return None;
    }
    hour = match (afternoon, hour) {
        (Some(true), 12) => 12,
        (Some(true), hour) => hour + 12,
        (Some(false), 12) => 0,
        (_, hour) => hour,
    };
    let small = |value: u32| u8::try_from(value).ok();
    let date =
        Date::from_calendar_date(year, Month::try_from(small(month)?).ok()?, small(day)?).ok()?;
    let time =
        Time::from_hms_nano(small(hour)?, small(minute)?, small(second)?, nanosecond).ok()?;
    Some(PrimitiveDateTime::new(date, time).assume_offset(offset))
}

/// `.25` as nanoseconds.
fn nanoseconds(reader: &mut Reader<'_>) -> Option<u32> {
    let digits = reader.rest.strip_prefix('.')?;
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = digits.split_at(count);
    reader.rest = rest;
    let nine: String = digits
        .chars()
        .chain(std::iter::repeat('0'))
        .take(9)
        .collect();
    nine.parse().ok()
}
