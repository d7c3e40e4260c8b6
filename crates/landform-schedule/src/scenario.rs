//! Scenario files: commands, `----`, what is expected; blocks with an empty line between them.
//!
//! Everybody can read and write them. The parser knows nothing of the commands: a test gives a function
//! that carries out the commands of a block and says what happened. Lines that begin with `#` are comments.

/// Carries out the blocks of a scenario, one after the other, and returns the text with what really
/// happened in place of what was expected. A scenario has passed when nothing differs.
///
/// # Errors
/// The first error that carrying out a block gives, with the line of the block.
pub fn replay(
    text: &str,
    mut carry_out: impl FnMut(&[&str]) -> Result<Vec<String>, String>,
) -> Result<String, String> {
    let mut replayed = String::new();
    let mut commands: Vec<&str> = Vec::new();
    let mut expected = false;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_end();
        if line == "----" {
            let happened = carry_out(&commands).map_err(|error| format!("line {at}: {error}"))?;
            replayed += "----\n";
            for line in happened {
                replayed += &line;
                replayed.push('\n');
            }
            commands.clear();
            expected = true;
        } else if line.is_empty() {
            replayed.push('\n');
            expected = false;
        } else if !expected {
            if !line.starts_with('#') {
                commands.push(line);
            }
            replayed += line;
            replayed.push('\n');
        }
    }
    if commands.is_empty() {
        Ok(replayed)
    } else {
        Err(format!("nothing is expected of {commands:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::replay;

    fn echo(commands: &[&str]) -> Result<Vec<String>, String> {
        Ok(commands.iter().map(|line| format!("did {line}")).collect())
    }

    #[test]
    fn what_happened_takes_the_place_of_what_was_expected() {
        let text = "# why\none\ntwo\n----\nold\n\nthree\n----\n";
        let replayed = "# why\none\ntwo\n----\ndid one\ndid two\n\nthree\n----\ndid three\n";
        assert_eq!(replay(text, echo).as_deref(), Ok(replayed));
        assert_eq!(replay(replayed, echo).as_deref(), Ok(replayed));
    }

    #[test]
    fn commands_without_an_end_are_an_error() {
        assert!(replay("one\n----\ndid one\n\ntwo\n", echo).is_err());
    }
}
