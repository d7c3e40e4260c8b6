//! Which settings hold: those that `landform.yaml` says, and for a moment those that it said, when some of them
//! are missing (R15b). Pure.

use landform_api::duration;
use landform_api::project::{ProjectSpec, SettingsSaid};

use crate::settings::Settings;

/// The settings in force, and since when `landform.yaml` lacks some of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settling {
    in_force: Option<Settings>,
    missed_since: Option<u64>,
    /// What was said before the start: the values themselves are not known any more.
    stored: Option<SettingsSaid>,
    /// What was said before those that are in force, while objects are left that stand for it.
    former: Option<SettingsSaid>,
}

/// What holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Holds {
    /// These settings; those of before until this time, if something is missing.
    These(Settings, Option<u64>),
    /// Those of before the start until this time, which are not known: nothing can be done until then.
    Unknown(u64),
}

impl Settling {
    /// The settings that were last in force.
    pub(crate) fn in_force(&self) -> Option<&Settings> {
        self.in_force.as_ref()
    }

    /// What settings said before a start.
    pub(crate) fn remember(&mut self, said: &SettingsSaid) {
        if self.in_force.is_none() {
            self.stored = Some(said.clone());
        }
    }

    /// No object is left that stands for former settings only.
    pub(crate) fn nothing_is_left_behind(&mut self) {
        self.former = None;
    }

    /// Takes in what the file says now. To say again what objects stand for that are there is no loss.
    pub(crate) fn take(&mut self, read: Settings, spec: &ProjectSpec, now_ms: u64) -> Holds {
        let said = self.in_force.as_ref().map(Settings::said);
        let said = said.or_else(|| self.stored.clone());
        let returns = self
            .former
            .as_ref()
            .is_some_and(|former| read.keeps(former));
        if let Some(said) = said.filter(|said| !read.keeps(said)) {
            let since = *self.missed_since.get_or_insert(now_ms);
            let until = since.saturating_add(grace_ms(&said, spec));
            if until > now_ms && !returns {
                return match &self.in_force {
                    Some(before) => Holds::These(before.clone(), Some(until)),
                    None => Holds::Unknown(until),
                };
            }
            self.former = Some(said);
        }
        self.missed_since = None;
        self.in_force = Some(read.clone());
        Holds::These(read, None)
    }
}

/// The grace of settings that are known by what they said.
fn grace_ms(said: &SettingsSaid, spec: &ProjectSpec) -> u64 {
    let settings = Settings {
        grace: said.grace.as_deref().and_then(duration::parse),
        ..Settings::default()
    };
    settings.with(spec).grace_ms()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn settings(namespace: Option<&str>, value: Option<&str>, ignore: &[&str]) -> Settings {
        let values = value.map(|name| (name.to_owned(), json!(1)));
        Settings {
            namespace: namespace.map(ToOwned::to_owned),
            values: values.into_iter().collect(),
            ignore: ignore.iter().map(|&text| text.to_owned()).collect(),
            ..Settings::default()
        }
    }

    #[test]
    fn r15b_settings_that_are_missing_hold_for_the_grace_and_others_at_once() {
        let full = settings(Some("shop"), Some("size"), &["drafts"]);
        let table = [
            ("nothing is left", Settings::default(), true),
            (
                "another namespace",
                settings(Some("web"), Some("size"), &["drafts"]),
                true,
            ),
            ("no value", settings(Some("shop"), None, &["drafts"]), true),
            (
                "no exception",
                settings(Some("shop"), Some("size"), &[]),
                true,
            ),
            (
                "one more",
                settings(Some("shop"), Some("size"), &["drafts", "old"]),
                false,
            ),
            ("the same", full.clone(), false),
        ];
        let spec = ProjectSpec::default();
        for (case, read, is_kept) in table {
            let mut settling = Settling::default();
            let first = settling.take(full.clone(), &spec, 0);
            assert_eq!(first, Holds::These(full.clone(), None));
            let held = settling.take(read.clone(), &spec, 1_000);
            let expected = if is_kept { &full } else { &read };
            let until = is_kept.then_some(3_000);
            assert_eq!(held, Holds::These(expected.clone(), until), "{case}");
            if is_kept {
                // A different loss doesn't begin anew, and what comes back ends it.
                let mut other = settling.clone();
                let none = other.take(Settings::default(), &spec, 2_000);
                assert_eq!(none, Holds::These(full.clone(), Some(3_000)), "{case}");
                let back = other.take(full.clone(), &spec, 2_999);
                assert_eq!(back, Holds::These(full.clone(), None), "{case}");
            }
            let later = settling.take(read.clone(), &spec, 3_000);
            assert_eq!(later, Holds::These(read, None), "{case}");
            if is_kept {
                // What was said comes back at once as long as objects stand for it, and later like anything else.
                let mut other = settling.clone();
                let back = other.take(full.clone(), &spec, 3_001);
                assert_eq!(back, Holds::These(full.clone(), None), "{case}");
            }
        }
    }

    #[test]
    fn r15b_the_grace_is_that_of_the_settings_in_force() {
        let mut before = settings(Some("shop"), None, &[]);
        before.grace = Some(std::time::Duration::ZERO);
        let mut settling = Settling::default();
        let spec = ProjectSpec::default();
        settling.take(before.clone(), &spec, 0);
        let none = Settings::default();
        assert_eq!(
            settling.clone().take(none.clone(), &spec, 1),
            Holds::These(none.clone(), None)
        );
        // What the object says comes on top.
        let spec = ProjectSpec {
            grace: Some("10s".into()),
            ..ProjectSpec::default()
        };
        let held = Holds::These(before, Some(10_001));
        assert_eq!(settling.take(none, &spec, 1), held);
    }

    #[test]
    fn r15b_what_was_said_before_a_start_has_the_same_grace() {
        let spec = ProjectSpec::default();
        let full = settings(Some("shop"), Some("size"), &["drafts"]);
        let mut settling = Settling::default();
        settling.remember(&full.said());
        let none = Settings::default();
        assert_eq!(
            settling.take(none.clone(), &spec, 1_000),
            Holds::Unknown(3_000)
        );
        let back = settling.clone().take(full.clone(), &spec, 2_999);
        assert_eq!(back, Holds::These(full.clone(), None));
        let later = settling.take(none.clone(), &spec, 3_000);
        assert_eq!(later, Holds::These(none.clone(), None));
        // Nothing stands for the former settings any more: to say them again is like any other change.
        settling.nothing_is_left_behind();
        let back = settling.take(full, &spec, 3_001);
        assert_eq!(back, Holds::These(none, Some(5_001)));
    }
}
