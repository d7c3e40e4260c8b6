//! Looks up what people name, and says what there is when it isn't there.

use semver::Version;

use super::Refusal;
use crate::index::{Index, NoOffering, Offering};
use crate::model::{Bundle, Channel, Package};

/// How many names an error lists.
const LISTED: usize = 12;

/// A package by its name.
pub(super) fn package<'a>(index: &'a Index, name: &str) -> Result<Offering<'a>, Refusal> {
    index.offering(name, None).map_err(|error| match error {
        NoOffering::Absent { .. } => {
            let names = index.packages().map(AsRef::as_ref);
            absent(&format!("there is no package {name:?}"), name, names)
        }
        NoOffering::Tie { .. } => Refusal {
            error: error.to_string(),
            fixes: vec!["give one of the catalogs a higher priority".to_owned()],
            ..Refusal::default()
        },
    })
}

/// A channel by its name, or the default one.
pub(super) fn channel<'a>(
    package: &'a Package,
    name: Option<&str>,
) -> Result<&'a Channel, Refusal> {
    if let Some(channel) = package.channel(name) {
        return Ok(channel);
    }
    let names = package.channels.keys().map(AsRef::as_ref);
    match name {
        Some(name) => {
            let what = format!("package {} has no channel {name:?}", package.name);
            Err(absent(&what, name, names))
        }
        None if package.channels.is_empty() => Err(Refusal {
            error: format!("package {} has no channels", package.name),
            ..Refusal::default()
        }),
        None => {
            let what = format!("package {} has no default channel", package.name);
            Err(Refusal {
                fixes: vec!["name a channel with --channel".to_owned()],
                absent: false,
                ..absent(&what, "", names)
            })
        }
    }
}

/// A bundle of a channel by its version or name; else one of the package.
pub(super) fn bundle<'a>(
    package: &'a Package,
    channel: &'a Channel,
    named: &str,
) -> Option<&'a Bundle> {
    let of_channel = channel.entries.iter().rev();
    let of_channel = of_channel.filter_map(|entry| package.bundles.get(entry.bundle?));
    let all: Vec<&Bundle> = of_channel.chain(package.bundles.iter().rev()).collect();
    let version = version(named);
    let exact =
        |bundle: &&&Bundle| *bundle.name == *named || Some(&bundle.version) == version.as_ref();
    let same = |bundle: &&&Bundle| {
        version
            .as_ref()
            .is_some_and(|version| bundle.version.cmp_precedence(version).is_eq())
    };
    all.iter()
        .find(exact)
        .or_else(|| all.iter().find(same))
        .copied()
}

/// A version as people write it, also with a `v`.
pub(super) fn version(text: &str) -> Option<Version> {
    Version::parse(text.strip_prefix('v').unwrap_or(text)).ok()
}

/// That a package has no such version, and which ones the channel has.
pub(super) fn no_version(package: &Package, channel: &Channel, named: &str) -> Refusal {
    // A version that looks alike is no better than others, so there is no hint.
    let versions: Vec<String> = channel
        .entries
        .iter()
        .rev()
        .filter_map(|entry| Some(package.bundles.get(entry.bundle?)?.version.to_string()))
        .collect();
    let what = format!(
        "package {} has no version {named:?} in the channel {}",
        package.name, channel.name
    );
    absent(&what, "", versions.iter().map(String::as_str))
}

/// That something isn't there, with what is: the likeliest first.
pub(super) fn absent<'a>(what: &str, named: &str, names: impl Iterator<Item = &'a str>) -> Refusal {
    let mut exists: Vec<&str> = names.collect();
    let total = exists.len();
    let limit = named.len() / 3 + 1;
    let near = |name: &&str| -> Option<usize> {
        let within = !named.is_empty() && (name.contains(named) || named.contains(*name));
        if within {
            Some(0)
        } else {
            Some(distance(name, named)).filter(|found| *found <= limit)
        }
    };
    let mut likely: Vec<(usize, &str)> = exists
        .iter()
        .filter_map(|name| Some((near(name)?, *name)))
        .collect();
    likely.sort();
    let likely: Vec<String> = likely
        .iter()
        .take(3)
        .map(|(_, name)| (*name).to_owned())
        .collect();
    let mut error = what.to_owned();
    if !likely.is_empty() && !named.is_empty() {
        error.push_str(&format!(". Did you mean {}?", likely.join(" or ")));
    }
    // A question has its mark already.
    let stop = if error.ends_with('?') { "" } else { "." };
    let more = total.saturating_sub(LISTED);
    exists.truncate(LISTED);
    match (total, more) {
        (0, _) => error.push_str(&format!("{stop} There are none at all")),
        // A long list helps nobody who has a hint.
        (total, more)
            if !likely.is_empty() && !named.is_empty() && (more > 0 || total == likely.len()) => {}
        (_, 0) => error.push_str(&format!("{stop} There are: {}", exists.join(", "))),
        (_, more) => error.push_str(&format!(
            "{stop} There are: {} and {more} more",
            exists.join(", ")
        )),
    }
    let exists = if likely.is_empty() {
        exists.into_iter().map(str::to_owned).collect()
    } else {
        likely
    };
    Refusal {
        error,
        exists,
        absent: true,
        ..Refusal::default()
    }
}

/// How many letters have to be changed, added or taken away.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (number, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = number + 1;
        for (place, same) in other.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *same);
            diagonal = row[place + 1];
            row[place + 1] = changed.min(row[place] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_counted() {
        assert_eq!(distance("lantern", "lantern"), 0);
        assert_eq!(distance("lantern", "latern"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn a_hint_comes_before_what_there_is() {
        let names = ["anchor", "lantern", "tidewater"];
        let refusal = absent("no package \"latern\"", "latern", names.into_iter());
        assert_eq!(
            refusal.error,
            "no package \"latern\". Did you mean lantern? There are: anchor, lantern, tidewater"
        );
        assert_eq!(refusal.exists, ["lantern"]);
        let refusal = absent("none", "zzzzzz", names.into_iter());
        assert_eq!(refusal.exists.len(), 3);
        assert!(
            absent("none", "z", std::iter::empty())
                .error
                .ends_with("There are none at all")
        );
    }
}
