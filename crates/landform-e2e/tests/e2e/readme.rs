//! READMEs as scripts: their commands are run as they stand there.

/// All commands of a section. Where the kubeconfig is, the test knows better.
pub(crate) fn script(readme: &str, section: &str) -> String {
    let (_, rest) = readme.split_once(&format!("## {section}\n")).unwrap();
    let text = rest.split("\n## ").next().unwrap();
    let blocks = text.split("```sh\n").skip(1);
    let lines: Vec<_> = blocks
        .flat_map(|block| block.split("```").next().unwrap().lines())
        .filter(|line| !line.starts_with("export KUBECONFIG="))
        .collect();
    lines.join("\n")
}
