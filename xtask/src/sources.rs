//! The tests in our sources, found by reading them line by line.

use std::path::Path;

use crate::{Outcome, repository};

/// A test function.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Test {
    /// The package that it belongs to.
    pub package: String,
    /// Its modules, from the root of the crate or of the integration test.
    pub modules: Vec<String>,
    /// Its own name.
    pub name: String,
    /// Whether it stands in a `proptest!` block.
    pub property: bool,
}

impl Test {
    /// The name as a test runner shows it, with the package before it.
    #[must_use]
    pub fn path(&self) -> String {
        let modules = self.modules.iter().map(String::as_str);
        let parts = std::iter::once(self.package.as_str()).chain(modules);
        parts
            .chain([self.name.as_str()])
            .collect::<Vec<_>>()
            .join("::")
    }
}

/// All tests of the workspace.
///
/// # Errors
/// When the sources can't be read.
pub fn tests() -> Outcome<Vec<Test>> {
    let mut all = Vec::new();
    for (file, text) in repository::texts("rs")? {
        if let Some((package, modules)) = place(&file) {
            all.extend(tests_in(&package, &modules, &text));
        }
    }
    all.sort();
    Ok(all)
}

/// The package of a file and the modules that its path stands for.
fn place(file: &Path) -> Option<(String, Vec<String>)> {
    let mut parts: Vec<&str> = file.iter().filter_map(|part| part.to_str()).collect();
    if parts.first() == Some(&"crates") {
        parts.remove(0);
    }
    let [package, folder @ ("src" | "tests"), rest @ ..] = parts.as_slice() else {
        return None;
    };
    let mut modules: Vec<String> = rest.iter().map(|part| part.replace(".rs", "")).collect();
    let last = modules.last().map(String::as_str);
    if last == Some("mod") || last == Some("main") || (*folder == "src" && last == Some("lib")) {
        modules.pop();
    }
    Some(((*package).to_owned(), modules))
}

fn tests_in(package: &str, modules: &[String], text: &str) -> Vec<Test> {
    let mut found = Vec::new();
    let mut inner: Vec<(usize, &str)> = Vec::new();
    let mut property_block: Option<usize> = None;
    let mut attribute = false;
    for line in text.lines() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        if code.starts_with('}') {
            inner.retain(|(start, _)| *start < indent);
            property_block = property_block.filter(|start| *start < indent);
        }
        if let Some(name) = between(code, "mod ", " {") {
            inner.push((indent, name));
        } else if code.starts_with("proptest! {") {
            property_block = Some(indent);
        } else if code.starts_with("#[test]") || code.starts_with("#[tokio::test") {
            attribute = true;
        } else if let Some(name) = between(code, "fn ", "(")
            && std::mem::take(&mut attribute)
        {
            let inner = inner.iter().map(|(_, name)| (*name).to_owned());
            found.push(Test {
                package: package.to_owned(),
                modules: modules.iter().cloned().chain(inner).collect(),
                name: name.to_owned(),
                property: property_block.is_some(),
            });
        }
    }
    found
}

/// The name between two marks, when the first mark stands at the start or after `pub` or `async`.
fn between<'a>(code: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let code = code.strip_prefix("pub ").unwrap_or(code);
    let code = code.strip_prefix("async ").unwrap_or(code);
    let (name, _) = code.strip_prefix(before)?.split_once(after)?;
    let name_ok = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    name_ok.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{Test, place, tests_in};
    use std::path::Path;

    #[test]
    fn finds_tests_with_their_modules() {
        // In quotes line by line, or else these would be found as tests of this file.
        let lines = [
            "#[test]",
            "fn one() {}",
            "fn helper() {}",
            "mod inner {",
            "    #[tokio::test(flavor = \"current_thread\")]",
            "    #[expect(unused)]",
            "    async fn two() {",
            "    }",
            "    proptest! {",
            "        #[test]",
            "        fn three(x in 0..3) {}",
            "    }",
            "    #[test]",
            "    fn four() {}",
            "}",
            "#[test]",
            "fn five() {}",
        ];
        let text = lines.join("\n");
        let found = tests_in("p", &["m".to_owned()], &text);
        let shown: Vec<_> = found
            .iter()
            .map(|test| (test.path(), test.property))
            .collect();
        let expected = [
            ("p::m::one", false),
            ("p::m::inner::two", false),
            ("p::m::inner::three", true),
            ("p::m::inner::four", false),
            ("p::m::five", false),
        ];
        assert_eq!(
            shown,
            expected.map(|(path, property)| (path.to_owned(), property))
        );
    }

    #[test]
    fn paths_of_files_become_modules() {
        let table = [
            (
                "crates/landform-store/src/lib.rs",
                Some("landform-store::t"),
            ),
            (
                "crates/landform-store/src/memory/mod.rs",
                Some("landform-store::memory::t"),
            ),
            (
                "crates/landform-yaml/tests/yaml/main.rs",
                Some("landform-yaml::yaml::t"),
            ),
            (
                "crates/landform-yaml/tests/yaml/meaning.rs",
                Some("landform-yaml::yaml::meaning::t"),
            ),
            ("xtask/src/main.rs", Some("xtask::t")),
            ("ui/build.rs", None),
        ];
        for (file, expected) in table {
            let path = place(Path::new(file)).map(|(package, modules)| {
                Test {
                    package,
                    modules,
                    name: "t".to_owned(),
                    property: false,
                }
                .path()
            });
            assert_eq!(path.as_deref(), expected, "for {file}");
        }
    }
}
