//! Which settings hold: those that `landform.yaml` says, and for a moment those that it said, when some of them
//! are missing (R15b). Pure.

use landform_api::project::ProjectSpec;

use crate::settings::Settings;

/// The settings in force, and since when `landform.yaml` lacks some of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settling {
    in_force: Option<Settings>,
    missed_since: Option<u64>,
}

impl Settling {
    /// The settings that were last in force.
    pub(crate) fn in_force(&self) -> Option<&Settings> {
        self.in_force.as_ref()
    }

    /// Takes in what the file says now. Returns what holds, and until when something that is missing is kept.
    pub(crate) fn take(
        &mut self,
        read: Settings,
        spec: &ProjectSpec,
        now_ms: u64,
    ) -> (Settings, Option<u64>) {
        if let Some(before) = self.in_force.clone().filter(|before| !read.keeps(before)) {
            let since = *self.missed_since.get_or_insert(now_ms);
            let until = since.saturating_add(before.clone().with(spec).grace_ms());
            if until > now_ms {
                return (before, Some(until));
            }
        }
        self.missed_since = None;
        self.in_force = Some(read.clone());
        (read, None)
    }
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
            assert_eq!(settling.take(full.clone(), &spec, 0).1, None);
            let (held, until) = settling.take(read.clone(), &spec, 1_000);
            let expected = if is_kept { &full } else { &read };
            assert_eq!(&held, expected, "{case}");
            assert_eq!(until, is_kept.then_some(3_000), "{case}");
            if is_kept {
                // A different loss doesn't begin anew, and what comes back ends it.
                let mut other = settling.clone();
                let none = other.take(Settings::default(), &spec, 2_000);
                assert_eq!(none, (full.clone(), Some(3_000)), "{case}");
                let back = other.take(full.clone(), &spec, 2_999);
                assert_eq!(back, (full.clone(), None), "{case}");
            }
            let later = settling.take(read.clone(), &spec, 3_000);
            assert_eq!(later, (read, None), "{case}");
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
            (none.clone(), None)
        );
        // What the object says comes on top.
        let spec = ProjectSpec {
            grace: Some("10s".into()),
            ..ProjectSpec::default()
        };
        assert_eq!(settling.take(none, &spec, 1), (before, Some(10_001)));
    }
}
