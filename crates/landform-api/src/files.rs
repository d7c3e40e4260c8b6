//! Names of files that are passed over: hidden ones, and those that editors and tools leave for a moment.

/// Whether a name is hidden, or one that editors and tools use for a moment.
#[must_use]
pub fn is_passing(name: &str) -> bool {
    let ends = [".tmp", ".bak", ".orig", ".rej"];
    name.starts_with('.') || is_left_by_editor(name) || ends.iter().any(|end| name.ends_with(end))
}

/// Whether a name is one that only an editor gives, while a file is open or being saved.
#[must_use]
pub fn is_left_by_editor(name: &str) -> bool {
    let ends = ["~", ".swp", ".swx", ".swo"];
    name.starts_with(".#")
        || (name.starts_with('#') && name.ends_with('#'))
        || name == "4913"
        || name.contains("___jb_")
        || ends.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_editors_leave_for_a_moment_is_passed_over() {
        let of_editors = [
            "web.yaml~",
            ".#web.yaml",
            "#web.yaml#",
            ".web.yaml.swp",
            "4913",
            "web.yaml___jb_tmp___",
        ];
        for name in of_editors {
            assert!(is_passing(name) && is_left_by_editor(name), "{name}");
        }
        for name in ["web.yaml.tmp", ".git", ".landform", ".env"] {
            assert!(is_passing(name) && !is_left_by_editor(name), "{name}");
        }
        for name in ["web.yaml", "49133", "a#b.yaml", "tmp.yaml"] {
            assert!(!is_passing(name), "{name}");
        }
    }
}
