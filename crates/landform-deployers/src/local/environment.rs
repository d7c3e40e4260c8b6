//! The words and the environment of programs that deployers start.

use std::collections::BTreeMap;

use super::{Field, Hidden, MARK};
use crate::DeployError;

/// Reads variables from a configuration.
pub(crate) fn read_environment(
    field: Option<Field<'_>>,
) -> Result<Hidden<BTreeMap<String, String>>, DeployError> {
    let mut variables = BTreeMap::new();
    for (name, field) in field.map_or(Ok(Vec::new()), |field| field.entries())? {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(field.problem("is no name of a variable"));
        }
        if name == MARK {
            return Err(field.problem("is set by Landform"));
        }
        variables.insert(name.to_owned(), field.scalar()?);
    }
    Ok(Hidden(variables))
}

/// A program with its arguments, from `command` and `args`.
pub(crate) fn read_command(root: &Field<'_>) -> Result<Hidden<Vec<String>>, DeployError> {
    let field = root.require("command")?;
    let mut command = field.scalars()?;
    if command.first().is_none_or(String::is_empty) {
        return Err(field.problem("names no program"));
    }
    if let Some(arguments) = root.get("args") {
        command.extend(arguments.scalars()?);
    }
    Ok(Hidden(command))
}
