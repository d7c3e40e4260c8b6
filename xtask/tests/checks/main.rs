//! Checks over the whole repository that are no matter of one crate.

mod dependencies;
mod dist;
mod docs;
mod licences;
mod rules;
mod tidy;

/// Fails with all findings at once, so that a person fixes them in one go.
fn expect_none(findings: &[String], what_to_do: &str) {
    assert!(
        findings.is_empty(),
        "{what_to_do}:\n- {}\n",
        findings.join("\n- ")
    );
}
