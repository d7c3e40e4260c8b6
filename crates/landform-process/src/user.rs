//! The users of the system that programs run as.

use std::fs;

/// A user of the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name; the number when there is none.
    pub name: String,
    /// The number.
    pub id: u32,
    /// The number of the first group.
    pub group: u32,
    /// The home directory.
    pub home: String,
}

impl User {
    /// The user with a name, by the system's own list.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        listed().into_iter().find(|user| user.name == name)
    }

    /// The user that this process runs as.
    #[must_use]
    pub fn current() -> Self {
        let (id, group) = (
            rustix::process::geteuid().as_raw(),
            rustix::process::getegid().as_raw(),
        );
        let found = listed().into_iter().find(|user| user.id == id);
        found.unwrap_or_else(|| Self {
            name: id.to_string(),
            id,
            group,
            home: "/".to_owned(),
        })
    }

    /// The name of the user with a number; the number when there is none.
    #[must_use]
    pub fn name_of(id: u32) -> String {
        let found = listed().into_iter().find(|user| user.id == id);
        found.map_or_else(|| id.to_string(), |user| user.name)
    }

    /// Whether this process may become other users.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.id == 0
    }
}

fn listed() -> Vec<User> {
    parse(&fs::read_to_string("/etc/passwd").unwrap_or_default())
}

/// `NAME:PASSWORD:ID:GROUP:COMMENT:HOME:SHELL`, one a line.
fn parse(text: &str) -> Vec<User> {
    let user = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?.to_owned();
        let id = fields.nth(1)?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let home = fields.nth(1).unwrap_or("/").to_owned();
        Some(User {
            name,
            id,
            group,
            home,
        })
    };
    text.lines().filter_map(user).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_read_line_by_line() {
        let users =
            parse("root:x:0:0:root:/root:/bin/sh\n\n# no user\nbroken:x:a:b\nweb:x:33:34::/srv:\n");
        let found: Vec<_> = users
            .iter()
            .map(|user| (user.name.as_str(), user.id, user.group, user.home.as_str()))
            .collect();
        assert_eq!(found, [("root", 0, 0, "/root"), ("web", 33, 34, "/srv")]);
    }

    #[test]
    fn this_process_has_a_user() {
        let user = User::current();
        assert_eq!(user.id, rustix::process::geteuid().as_raw());
        assert!(!user.name.is_empty());
    }
}
