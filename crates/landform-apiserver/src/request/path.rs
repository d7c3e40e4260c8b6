//! Paths: what a URL names, without knowing which kinds exist.

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// `/healthz`, `/livez`, `/readyz`, and their single checks.
    Health,
    /// `/metrics`.
    Metrics,
    /// `/version`.
    Version,
    /// `/`: the list of paths.
    Index,
    /// `/api`.
    CoreVersions,
    /// `/apis`.
    Groups,
    /// `/apis/GROUP`.
    Group(String),
    /// `/api/v1` or `/apis/GROUP/VERSION`.
    Resources(String, String),
    /// `/openapi/v2`.
    OpenApiV2,
    /// `/openapi/v3`.
    OpenApiV3Index,
    /// `/openapi/v3/api/v1`, `/openapi/v3/apis/GROUP/VERSION`: the part after `v3/`.
    OpenApiV3(String),
    /// Objects.
    Objects(ObjectsPath),
    /// Nothing that the server knows.
    Unknown,
}

/// A path to objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectsPath {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The plural.
    pub resource: String,
    /// The namespace, when the path names one.
    pub namespace: Option<String>,
    /// The object, when the path names one.
    pub name: Option<String>,
    /// The subresource, when the path names one.
    pub subresource: Option<String>,
    /// The old form `/watch/` in front of the resource.
    pub legacy_watch: bool,
}

/// Takes a path apart. Percent-escapes in segments are decoded; a bad escape leads nowhere.
#[must_use]
pub fn parse(path: &str) -> Target {
    let Some(segments) = segments(path) else {
        return Target::Unknown;
    };
    let parts: Vec<&str> = segments.iter().map(String::as_str).collect();
    match parts.as_slice() {
        [] => Target::Index,
        ["healthz" | "livez" | "readyz", ..] => Target::Health,
        ["metrics"] => Target::Metrics,
        ["version"] => Target::Version,
        ["api"] => Target::CoreVersions,
        ["apis"] => Target::Groups,
        ["apis", group] => Target::Group((*group).into()),
        ["api", version] => Target::Resources(String::new(), (*version).into()),
        ["apis", group, version] => Target::Resources((*group).into(), (*version).into()),
        ["openapi", "v2"] => Target::OpenApiV2,
        ["openapi", "v3"] => Target::OpenApiV3Index,
        ["openapi", "v3", rest @ ..] => Target::OpenApiV3(rest.join("/")),
        ["api", version, rest @ ..] => objects("", version, rest),
        ["apis", group, version, rest @ ..] => objects(group, version, rest),
        _ => Target::Unknown,
    }
}

fn objects(group: &str, version: &str, rest: &[&str]) -> Target {
    let (legacy_watch, rest) = match rest {
        ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
        rest => (false, rest),
    };
    let base = ObjectsPath {
        group: group.into(),
        version: version.into(),
        legacy_watch,
        ..ObjectsPath::default()
    };
    let owned = |text: &str| Some(text.to_owned());
    let path = match rest {
        // A namespace itself, and its own subresources.
        ["namespaces", name] if group.is_empty() => ObjectsPath {
            resource: "namespaces".into(),
            name: owned(name),
            ..base
        },
        [
            "namespaces",
            name,
            subresource @ ("status" | "finalize" | "rename"),
        ] if group.is_empty() => ObjectsPath {
            resource: "namespaces".into(),
            name: owned(name),
            subresource: owned(subresource),
            ..base
        },
        ["namespaces", namespace, resource] => ObjectsPath {
            resource: (*resource).into(),
            namespace: owned(namespace),
            ..base
        },
        ["namespaces", namespace, resource, name] => ObjectsPath {
            resource: (*resource).into(),
            namespace: owned(namespace),
            name: owned(name),
            ..base
        },
        ["namespaces", namespace, resource, name, subresource] => ObjectsPath {
            resource: (*resource).into(),
            namespace: owned(namespace),
            name: owned(name),
            subresource: owned(subresource),
            ..base
        },
        [resource] => ObjectsPath {
            resource: (*resource).into(),
            ..base
        },
        [resource, name] => ObjectsPath {
            resource: (*resource).into(),
            name: owned(name),
            ..base
        },
        [resource, name, subresource] => ObjectsPath {
            resource: (*resource).into(),
            name: owned(name),
            subresource: owned(subresource),
            ..base
        },
        _ => return Target::Unknown,
    };
    Target::Objects(path)
}

fn segments(path: &str) -> Option<Vec<String>> {
    path.split('/')
        .filter(|segment| !segment.is_empty())
        .map(percent_decode)
        .collect()
}

/// Decodes `%41`; `None` for a broken escape or text that isn't UTF-8.
#[must_use]
pub fn percent_decode(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let high = char::from(bytes.next()?).to_digit(16)?;
            let low = char::from(bytes.next()?).to_digit(16)?;
            out.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn object(path: &str) -> (String, Option<String>, Option<String>, Option<String>) {
        match parse(path) {
            Target::Objects(p) => (
                format!("{}/{}/{}", p.group, p.version, p.resource),
                p.namespace,
                p.name,
                p.subresource,
            ),
            other => panic!("{path} is {other:?}"),
        }
    }

    #[test]
    fn paths_to_objects() {
        let some = |text: &str| Some(text.to_owned());
        for (path, resource, namespace, name, subresource) in [
            ("/api/v1/namespaces", "/v1/namespaces", None, None, None),
            (
                "/api/v1/namespaces/a",
                "/v1/namespaces",
                None,
                some("a"),
                None,
            ),
            (
                "/api/v1/namespaces/a/finalize",
                "/v1/namespaces",
                None,
                some("a"),
                some("finalize"),
            ),
            (
                "/api/v1/namespaces/a/configmaps",
                "/v1/configmaps",
                some("a"),
                None,
                None,
            ),
            (
                "/api/v1/namespaces/a/configmaps/b",
                "/v1/configmaps",
                some("a"),
                some("b"),
                None,
            ),
            ("/api/v1/configmaps", "/v1/configmaps", None, None, None),
            (
                "/apis/x.io/v2/namespaces/a/things/b/status",
                "x.io/v2/things",
                some("a"),
                some("b"),
                some("status"),
            ),
            (
                "/apis/x.io/v2/clusters/b/scale",
                "x.io/v2/clusters",
                None,
                some("b"),
                some("scale"),
            ),
            (
                "/apis/rbac/v1/clusterroles/a%3Ab",
                "rbac/v1/clusterroles",
                None,
                some("a:b"),
                None,
            ),
        ] {
            assert_eq!(
                object(path),
                (resource.to_owned(), namespace, name, subresource),
                "{path}"
            );
        }
    }

    #[test]
    fn paths_that_are_not_objects() {
        assert_eq!(parse("/"), Target::Index);
        assert_eq!(parse("/readyz/ping"), Target::Health);
        assert_eq!(parse("/apis/apps"), Target::Group("apps".into()));
        assert_eq!(
            parse("/api/v1"),
            Target::Resources(String::new(), "v1".into())
        );
        assert_eq!(
            parse("/openapi/v3/apis/apps/v1"),
            Target::OpenApiV3("apis/apps/v1".into())
        );
        assert_eq!(parse("/api/v1/a/b/c/d/e/f"), Target::Unknown);
        assert_eq!(parse("/api/v1/configmaps/%zz"), Target::Unknown);
        assert_eq!(parse("/favicon.ico"), Target::Unknown);
    }

    proptest! {
        #[test]
        fn no_path_panics(path in ".*") {
            let _ = parse(&path);
        }
    }
}
