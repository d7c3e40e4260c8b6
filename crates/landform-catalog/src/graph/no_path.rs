//! Why there is no way from one version to another, and what would make one.

use std::fmt;
use std::sync::Arc;

use semver::Version;

use super::Walk;

/// There is no way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoPath {
    /// Where from.
    pub from: Version,
    /// Where to.
    pub to: Version,
    /// The channel that was walked.
    pub channel: Arc<str>,
    /// What is in the way.
    pub obstacle: Obstacle,
    /// Channels of the package that do have a way.
    pub elsewhere: Vec<Arc<str>>,
}

/// What is in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// It would go down.
    Downgrade,
    /// The channel doesn't have the version.
    NotInChannel,
    /// A higher version says that nobody should go there.
    Skipped {
        /// The higher version.
        by: Version,
    },
    /// The steps from the one don't meet those to the other.
    Apart {
        /// The highest version below the target that can be reached.
        reached: Option<Version>,
        /// The lowest version from which the target can be reached; the target itself if there is none.
        leading: Version,
        /// What `leading` replaces, when the catalog doesn't have it.
        missing: Option<Arc<str>>,
    },
}

impl NoPath {
    pub(super) fn new(
        walk: &Walk<'_>,
        from: (&str, &Version),
        to: &Version,
        obstacle: Obstacle,
    ) -> Self {
        let mut elsewhere = Vec::new();
        if obstacle != Obstacle::Downgrade {
            let others = walk.package.channels.values();
            for channel in others.filter(|other| other.name != walk.channel.name) {
                let reachable = Walk::new(walk.package, channel).reachable(from);
                let mut versions = reachable.iter().map(|bundle| &bundle.version);
                if versions.any(|version| version.cmp_precedence(to).is_eq()) {
                    elsewhere.push(channel.name.clone());
                }
            }
        }
        Self {
            from: from.1.clone(),
            to: to.clone(),
            channel: walk.channel.name.clone(),
            obstacle,
            elsewhere,
        }
    }

    /// Why, as a sentence without a full stop.
    #[must_use]
    pub fn reason(&self) -> String {
        let Self {
            from, to, channel, ..
        } = self;
        match &self.obstacle {
            Obstacle::Downgrade => format!("{to} is lower than {from}, and no way goes down"),
            Obstacle::NotInChannel => format!("the channel {channel} has no version {to}"),
            Obstacle::Skipped { by } => {
                format!("{by} skips {to} in the channel {channel}, so nobody goes there")
            }
            Obstacle::Apart {
                reached,
                leading,
                missing,
            } => {
                let mut text = match reached {
                    None => format!("nothing in the channel {channel} replaces {from}"),
                    Some(reached) => {
                        format!("in the channel {channel} the way from {from} ends at {reached}")
                    }
                };
                if leading != to {
                    text.push_str(&format!(", and {to} can only be reached from {leading} on"));
                }
                if let Some(missing) = missing {
                    text.push_str(&format!(
                        "; {leading} replaces {missing}, which the catalog doesn't have"
                    ));
                }
                text
            }
        }
    }

    /// What would make a way, as a sentence without a full stop.
    #[must_use]
    pub fn fix(&self) -> String {
        let Self { from, to, .. } = self;
        let mut fixes = Vec::new();
        if !self.elsewhere.is_empty() {
            fixes.push(format!(
                "choose the channel {}, which has a way",
                self.elsewhere.join(" or ")
            ));
        }
        match &self.obstacle {
            Obstacle::Downgrade => fixes.push(format!(
                "roll back if {to} ran before, or remove {from} and install {to}"
            )),
            Obstacle::NotInChannel if fixes.is_empty() => {
                fixes.push(format!(
                    "name a version that the channel {} has",
                    self.channel
                ));
            }
            Obstacle::NotInChannel => {}
            Obstacle::Skipped { by } => fixes.push(format!("go to {by} instead")),
            Obstacle::Apart {
                reached,
                leading,
                missing,
            } => {
                let start = reached.as_ref().unwrap_or(from);
                if let Some(missing) = missing {
                    fixes.push(format!(
                        "add {missing} to the catalog as one that replaces {start}"
                    ));
                }
                fixes.push(format!(
                    "let {leading} replace {start} too, by skips or a range"
                ));
                if let Some(reached) = reached {
                    fixes.push(format!("go to {reached}, the nearest that can be reached"));
                }
            }
        }
        fixes.join("; or ")
    }
}

impl fmt::Display for NoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "there is no way from {} to {}: {}. To get there, {}.",
            self.from,
            self.to,
            self.reason(),
            self.fix()
        )
    }
}

impl std::error::Error for NoPath {}
