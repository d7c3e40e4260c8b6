//! READMEs as scripts: their commands are run as they stand there.

/// All commands of a section. Where the kubeconfig is, the test knows better.
pub(crate) fn script(page: &str, section: &str) -> String {
    let whole = whole_script(page, section);
    let lines: Vec<_> = whole
        .lines()
        .filter(|line| !line.starts_with("export KUBECONFIG="))
        .collect();
    lines.join("\n")
}

/// All commands of a section, also those that say where the kubeconfig is.
pub(crate) fn whole_script(page: &str, section: &str) -> String {
    let (_, rest) = page
        .split_once(&format!("## {section}\n"))
        .expect("the page has a section of this title");
    let text = rest.split("\n## ").next().unwrap();
    let blocks = text.split("```sh\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap());
    blocks.collect()
}
