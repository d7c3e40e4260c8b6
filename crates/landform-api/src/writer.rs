//! Who wrote an object, and who may act for it (C6).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

#[cfg(doc)]
use crate::keys::{ANNOTATION_MAKER, ANNOTATION_NAMER, ANNOTATION_WRITER};

/// The group that may do everything, whatever the rules say.
pub const MASTERS: &str = "system:masters";
/// The group of all callers that have credentials.
pub const AUTHENTICATED: &str = "system:authenticated";
/// What the user names of service accounts begin with.
pub const ACCOUNT_PREFIX: &str = "system:serviceaccount:";
/// The group of all service accounts; with a colon and a namespace, of those in it.
pub const ACCOUNTS: &str = "system:serviceaccounts";

/// A note lists at most this many writers.
pub const WRITERS_MAX: usize = 32;

/// In every error about missing rights, before the list of them: it tells such an error from others.
pub const RIGHTS_MISSING: &str = "and these are missing:";

/// Who last changed an object's content, as the API server notes it in [`ANNOTATION_WRITER`].
///
/// An object without a note was written by a member of [`MASTERS`] or by Landform itself, which both may do everything.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Writer {
    /// The user's name.
    pub user: String,
    /// The user's groups, but for [`AUTHENTICATED`], which every writer is in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Who else wrote parts of the content: what acts for the object needs the rights of each of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub and: Vec<Writer>,
}

impl Writer {
    /// The writer with this name and groups; none when the groups may do everything.
    #[must_use]
    pub fn of(user: &str, groups: &[String]) -> Option<Self> {
        if groups.iter().any(|group| group == MASTERS) {
            return None;
        }
        let counts = |group: &&String| *group != AUTHENTICATED;
        Some(Self {
            user: user.to_owned(),
            groups: groups.iter().filter(counts).cloned().collect(),
            and: Vec::new(),
        })
    }

    /// A member of [`MASTERS`], for a note that must name one.
    #[must_use]
    pub fn master() -> Self {
        Self {
            user: MASTERS.to_owned(),
            groups: vec![MASTERS.to_owned()],
            and: Vec::new(),
        }
    }

    /// This writer, unless it may do everything.
    #[must_use]
    pub fn unless_master(self) -> Option<Self> {
        Self::of(&self.user, &self.groups)
    }

    /// The writer of a content of which parts are the one's and parts the other's; none is one who may do everything, and
    /// takes no right away.
    #[must_use]
    pub fn joined(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        let all = one.into_iter().chain(other);
        // In one order, so that the same writers make the same note.
        let each: BTreeSet<Self> = all.flat_map(|writer| writer.each()).collect();
        let mut each = each.into_iter();
        let mut first = each.next()?;
        first.and = each.collect();
        Some(first)
    }

    /// Each of the writers by itself.
    #[must_use]
    pub fn each(&self) -> Vec<Self> {
        let alone = |writer: &Self| Self {
            and: Vec::new(),
            ..writer.clone()
        };
        let others = self.and.iter().flat_map(Self::each);
        std::iter::once(alone(self)).chain(others).collect()
    }

    /// The same, or a writer without rights when there are more than [`WRITERS_MAX`]. Replacing the object as a whole ends that.
    #[must_use]
    pub fn limited(self) -> Self {
        if self.and.len() < WRITERS_MAX {
            return self;
        }
        Self {
            user: "system:too-many-writers".to_owned(),
            groups: Vec::new(),
            and: Vec::new(),
        }
    }

    /// A service account.
    #[must_use]
    pub fn account(namespace: &str, name: &str) -> Self {
        Self {
            user: format!("{ACCOUNT_PREFIX}{namespace}:{name}"),
            groups: vec![ACCOUNTS.to_owned(), format!("{ACCOUNTS}:{namespace}")],
            and: Vec::new(),
        }
    }

    /// The writer that a note names. A note that can't be read, which the server never writes, is of a writer that may
    /// do nothing.
    #[must_use]
    pub fn read(note: &str) -> Self {
        serde_json::from_str(note).unwrap_or_else(|_| Self {
            user: "system:unknown".to_owned(),
            groups: Vec::new(),
            and: Vec::new(),
        })
    }

    /// The note that names this writer.
    #[must_use]
    pub fn note(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// All groups, [`AUTHENTICATED`] among them.
    #[must_use]
    pub fn all_groups(&self) -> Vec<String> {
        let mut groups = self.groups.clone();
        groups.push(AUTHENTICATED.to_owned());
        groups
    }
}

/// Who stands behind an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Authors {
    /// Who wrote the content; none for those who may do everything.
    pub writer: Option<Writer>,
    /// Who named the service account that acts for it, as [`ANNOTATION_NAMER`] notes it; none when that is the writer.
    pub namer: Option<Writer>,
}

impl Authors {
    /// The same, with one more who wrote a part of the content.
    #[must_use]
    pub fn and(self, other: Option<Writer>) -> Self {
        Self {
            writer: Writer::joined(self.writer, other),
            namer: self.namer,
        }
    }
}

/// In the extensions of a request that a part of the server makes: what is written is the work of these authors, because
/// it is made for an object of theirs. Requests from outside of the process have no extensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnBehalf(pub Authors);

/// In the extensions of a request that a part of the server makes as a user: it needs the rights of these as well, and what
/// it writes is the work of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Together(pub Vec<Writer>);

/// In the extensions of a request that a part of the server makes: nothing stays of the content that was there, so that it is
/// all the work of this request's writer. Without it a patch by a part of the server adds to the work of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WholeContent;

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn c6_a_note_leads_back_to_its_writer() {
        let jane = Writer::of("jäne \"q\"", &groups(&["dev", AUTHENTICATED])).unwrap();
        assert_eq!(jane.groups, ["dev"]);
        assert_eq!(Writer::read(&jane.note()), jane);
        assert_eq!(jane.all_groups(), ["dev", AUTHENTICATED]);
        let account = Writer::account("shop", "web");
        assert_eq!(account.user, "system:serviceaccount:shop:web");
        assert_eq!(Writer::read(&account.note()), account);
    }

    #[test]
    fn c6_joined_writers_are_each_of_them_once_and_in_one_order() {
        let writer = |user: &str| Writer::of(user, &groups(&["dev"]));
        let both = Writer::joined(writer("jane"), writer("bob")).unwrap();
        assert_eq!(
            both.each(),
            [writer("bob").unwrap(), writer("jane").unwrap()]
        );
        assert_eq!(
            Writer::joined(writer("bob"), Some(both.clone())),
            Some(both.clone())
        );
        assert_eq!(Writer::read(&both.note()), both);
        // Who may do everything takes no right away.
        assert_eq!(Writer::joined(writer("jane"), None), writer("jane"));
        assert_eq!(Writer::joined(None, Some(both.clone())), Some(both));
        assert_eq!(Writer::joined(None, None), None);
    }

    #[test]
    fn c6_who_may_do_everything_is_not_noted() {
        assert_eq!(Writer::of("root", &groups(&["dev", MASTERS])), None);
        assert!(Writer::of("root", &groups(&["dev"])).is_some());
    }

    #[test]
    fn c6_a_note_that_cant_be_read_is_of_a_writer_without_rights() {
        for note in ["", "{}", "jane", "{\"user\": 1}"] {
            let writer = Writer::read(note);
            assert_eq!(writer.user, "system:unknown", "{note}");
            assert!(writer.groups.is_empty());
        }
    }
}

/// In the extensions of a request that a part of the server makes: what it creates is made for the object with this uid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeFor(pub String);

/// In the extensions of a request beside [`MadeFor`]: what the request changes is made for that object from now on, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakesOver;

/// For which object Landform made another one, as the API server notes it in [`ANNOTATION_MAKER`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Maker {
    /// The uid of the object that it was made for.
    pub uid: String,
    /// With whose rights it was made; none when these were the rights to everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer: Option<Writer>,
}

impl Maker {
    /// The maker that a note names; none when the note can't be read.
    #[must_use]
    pub fn read(note: &str) -> Option<Self> {
        serde_json::from_str(note).ok()
    }

    /// The note that names this maker.
    #[must_use]
    pub fn note(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
