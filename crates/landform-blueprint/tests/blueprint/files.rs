//! Where files come from, and what is refused.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use landform_blueprint::{FileLimits, Files, FilesError};
use serde_json::json;

fn limits() -> FileLimits {
    FileLimits::default()
}

fn tar(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, content) in entries {
        let mut header = tar::Header::new_gnu();
        // Written directly: the builder refuses paths that lead out.
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append(&header, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn all_sources_give_the_same_files() {
    let inline = json!({"blueprint.yaml": "a: 1", "dir": {"inner": {"file": "x"}}});
    let inline = Files::from_inline(&inline, &limits()).unwrap();
    let archive = tar(&[("./blueprint.yaml", b"a: 1"), ("dir/inner/file", b"x")]);
    assert_eq!(Files::from_tar(&archive, &limits()).unwrap(), inline);
    assert_eq!(Files::from_tar(&gzip(&archive), &limits()).unwrap(), inline);
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(directory.path().join("dir/inner")).unwrap();
    std::fs::write(directory.path().join("blueprint.yaml"), "a: 1").unwrap();
    std::fs::write(directory.path().join("dir/inner/file"), "x").unwrap();
    let read = Files::from_directory(directory.path(), &limits()).unwrap();
    assert!(read.iter().eq(inline.iter()));
    std::fs::write(directory.path().join("b.tar"), gzip(&archive)).unwrap();
    let read = Files::from_path(&directory.path().join("b.tar"), &limits()).unwrap();
    assert_eq!(read.get("/dir/../dir/inner/./file"), Some(&b"x"[..]));
    assert_eq!(read.get("../blueprint.yaml"), None);
    assert_eq!(
        read.list("dir").unwrap().into_iter().collect::<Vec<_>>(),
        [("inner", true)]
    );
    assert_eq!(read.list("none"), None);
}

#[test]
fn structures_are_no_files() {
    let inline = json!({"blueprint.yaml": {"imports": [1]}});
    let error = Files::from_inline(&inline, &limits())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("blueprint.yaml/imports") && error.contains("has to be a string"),
        "{error}"
    );
    assert!(Files::from_inline(&json!([]), &limits()).is_err());
}

#[test]
fn archives_stay_inside_and_small() {
    for path in ["../out", "a/../../out", "/../out"] {
        let error = Files::from_tar(&tar(&[(path, b"x")]), &limits()).unwrap_err();
        assert!(
            matches!(error, FilesError::Escape { .. }),
            "{path}: {error}"
        );
    }
    assert!(
        Files::from_tar(&tar(&[("/etc/passwd", b"x")]), &limits())
            .unwrap()
            .get("etc/passwd")
            .is_some()
    );
    let small = FileLimits {
        max_bytes: 100,
        max_files: 3,
        max_depth: 2,
    };
    let bomb = gzip(&tar(&[("zeros", &[0; 1_000_000])]));
    assert!(matches!(
        Files::from_tar(&bomb, &small).unwrap_err(),
        FilesError::Limit { .. }
    ));
    let many = tar(&[("a", b""), ("b", b""), ("c", b""), ("d", b"")]);
    assert!(matches!(
        Files::from_tar(&many, &small).unwrap_err(),
        FilesError::Limit { .. }
    ));
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    let mut builder = tar::Builder::new(Vec::new());
    builder
        .append_link(&mut header, "link", "/etc/passwd")
        .unwrap();
    let error = Files::from_tar(&builder.into_inner().unwrap(), &limits()).unwrap_err();
    assert!(
        error.to_string().contains("links and devices are refused"),
        "{error}"
    );
    assert!(Files::from_tar(&gzip(b"no archive")[..9], &limits()).is_err());
}

#[test]
#[cfg(unix)]
fn links_in_a_directory_stay_inside() {
    use std::os::unix::fs::symlink;
    let directory = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "x").unwrap();
    std::fs::write(directory.path().join("real"), "x").unwrap();
    symlink("real", directory.path().join("link")).unwrap();
    let read = Files::from_directory(directory.path(), &limits()).unwrap();
    assert_eq!(read.get("link"), Some(&b"x"[..]));
    symlink(outside.path().join("secret"), directory.path().join("out")).unwrap();
    let error = Files::from_directory(directory.path(), &limits()).unwrap_err();
    assert!(matches!(error, FilesError::Escape { .. }), "{error}");
    std::fs::remove_file(directory.path().join("out")).unwrap();
    symlink(".", directory.path().join("again")).unwrap();
    symlink(".", directory.path().join("and-again")).unwrap();
    let error = Files::from_directory(directory.path(), &limits()).unwrap_err();
    assert!(matches!(error, FilesError::Limit { .. }), "{error}");
}
