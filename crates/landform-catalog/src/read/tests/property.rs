//! Whatever comes in, nothing panics, and the order of files has no effect.

use proptest::prelude::*;

use super::data;
use crate::model::Content;
use crate::read::read;

/// All fixtures, with their paths.
fn fixtures() -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut next = vec![data("")];
    while let Some(directory) = next.pop() {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            let path = entry.path();
            let named = path
                .extension()
                .is_some_and(|found| found == "yaml" || found == "json");
            if path.is_dir() {
                next.push(path);
            } else if named {
                found.push((
                    path.to_string_lossy().into_owned(),
                    std::fs::read(&path).unwrap(),
                ));
            }
        }
    }
    found.sort();
    found
}

fn text(content: &Content) -> String {
    format!("{content:#?}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read([("a.yaml", bytes)]);
    }

    #[test]
    fn any_words_of_the_formats_are_read(words in prop::collection::vec(prop::sample::select(vec![
        "schema: olm.bundle\n", "schema: olm.channel\n", "schema: olm.package\n", "package: p\n", "name: p\n",
        "entries:\n", "- name: p\n", "  skipRange: '>1'\n", "properties:\n", "- type: olm.package\n",
        "  value: {packageName: p, version: 1.0.0}\n", "---\n", "{", "}", "[", "\n{", "\"a\":", "1,",
        "kind: ClusterServiceVersion\n", "apiVersion: operators.coreos.com/v1alpha1\n", "spec:\n",
        "  version: 1.0.0\n", "kind: OperatorVersion\n", "apiVersion: catalog.landform.dev/v1alpha1\n",
        "annotations: {operators.operatorframework.io.bundle.package.v1: p}\n", "dependencies: [{}]\n",
        "updateGraph: semver-mode\n", "metadata: {name: p}\n", "\u{feff}", "é",
    ]), 0..40)) {
        let text = words.concat();
        let _ = read([("p/1/manifests/a.yaml", text.as_str()), ("p/b.yaml", text.as_str())]);
    }

    #[test]
    fn damaged_fixtures_are_read(file in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut files = fixtures();
        let file = file.index(files.len());
        let at = at.index(files[file].1.len());
        files[file].1[at] = byte;
        let content = read(files.clone());
        // At most what is in the damaged file is lost.
        prop_assert!(content.packages.len() >= 3, "{:?}", content.problems);
    }

    #[test]
    fn the_order_of_files_has_no_effect(seed in any::<u64>()) {
        let files = fixtures();
        let mut shuffled = files.clone();
        let mut state = seed;
        for last in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            shuffled.swap(last, usize::try_from(state >> 33).unwrap() % (last + 1));
        }
        prop_assert_eq!(text(&read(files)), text(&read(shuffled)));
    }
}
