//! Whatever Landform puts right in an object: what others wrote in it never acts with more than their rights (C6).

use std::collections::BTreeMap;

use http::{Method, Request};
use http_body_util::Full;
use landform_api::writer::{Authors, OnBehalf, Together, WholeContent, Writer};
use landform_apiserver::{AUTHENTICATED, Identity, MASTERS};
use serde_json::{Value, json};

use crate::harness::{Answer, Api, MAPS};
use crate::writer_notes::{NOTE, WIDGETS, prepared};

const USERS: [&str; 3] = ["root", "jane", "bob"];

/// A way to write an object.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    ClientPatch,
    ClientReplace,
    /// Landform merges fields, for an object that the user wrote.
    Merge,
    /// Landform merges fields with the user's rights.
    MergeAs,
    /// Landform merges fields, and drops all others.
    Whole,
    WholeAs,
    /// Landform labels it, for an object that the user wrote.
    Label,
    /// Landform writes the object that it read again, with another label.
    ReplaceSame,
}

const WAYS: [Way; 8] = [
    Way::ClientPatch,
    Way::ClientReplace,
    Way::Merge,
    Way::MergeAs,
    Way::Whole,
    Way::WholeAs,
    Way::Label,
    Way::ReplaceSame,
];

fn writer(user: &str) -> Option<Writer> {
    (user != "root").then(|| Writer::of(user, &[]).unwrap())
}

fn client(api: &Api, user: &str) -> Api {
    match user {
        "root" => api.by(Identity::new("root", [MASTERS, AUTHENTICATED])),
        _ => api.by(Identity::new(user, [AUTHENTICATED])),
    }
}

/// A request by a part of the server.
fn own(method: Method, path: &str, body: &Value) -> Request<Full<bytes::Bytes>> {
    let kind = if method == Method::PATCH {
        "application/merge-patch+json"
    } else {
        "application/json"
    };
    let request = Request::builder().method(method).uri(path);
    let request = request.header("content-type", kind);
    request.body(Full::new(body.to_string().into())).unwrap()
}

/// Gives a request a user, either as the one that it is made for or as the one that makes it.
fn of_user<T>(mut request: Request<T>, user: &str, acting: bool) -> Request<T> {
    match writer(user) {
        Some(_) if acting => {
            let headers = request.headers_mut();
            headers.insert("impersonate-user", user.parse().unwrap());
        }
        Some(writer) => drop(request.extensions_mut().insert(OnBehalf(by(writer)))),
        None => {}
    }
    request
}

fn noted(object: &Value) -> Vec<String> {
    let note = object["metadata"]["annotations"][NOTE].as_str();
    let note = note.map(Writer::read);
    let each = note.iter().flat_map(Writer::each);
    each.map(|writer| writer.user).collect()
}

/// One widget, and who wrote its fields.
struct Watched<'a> {
    api: &'a Api,
    path: String,
    parts: BTreeMap<String, String>,
    count: usize,
}

impl Watched<'_> {
    async fn write(&mut self, way: Way, user: &str) {
        self.count += 1;
        let live = self.api.get(&self.path).await.ok();
        let (field, value) = (format!("of-{user}"), json!(self.count));
        let fields = json!({"spec": {&field: value}});
        let label = json!({"metadata": {"labels": {"count": self.count.to_string()}}});
        let answer = match way {
            Way::ClientPatch => {
                client(self.api, user)
                    .patch(&self.path, "merge", fields)
                    .await
            }
            Way::ClientReplace => {
                let mut object = live.clone();
                object["spec"][&field] = value;
                client(self.api, user).put(&self.path, object).await
            }
            Way::Merge | Way::MergeAs => {
                let request = own(Method::PATCH, &self.path, &fields);
                self.api
                    .call(of_user(request, user, way == Way::MergeAs))
                    .await
            }
            Way::Whole | Way::WholeAs => {
                let others = live["spec"].as_object().unwrap().keys();
                let mut change: Value = others.map(|name| (name.clone(), Value::Null)).collect();
                change[&field] = value;
                let mut request = own(Method::PATCH, &self.path, &json!({"spec": change}));
                request.extensions_mut().insert(WholeContent);
                self.api
                    .call(of_user(request, user, way == Way::WholeAs))
                    .await
            }
            Way::Label => {
                let request = own(Method::PATCH, &self.path, &label);
                self.api.call(of_user(request, user, false)).await
            }
            Way::ReplaceSame => {
                let mut object = live.clone();
                object["metadata"]["labels"] = label["metadata"]["labels"].clone();
                let request = own(Method::PUT, &self.path, &object);
                self.api.call(of_user(request, user, false)).await
            }
        };
        answer.ok();
        match way {
            // Who sends all of it vouches for all of it.
            Way::ClientReplace => {
                self.parts.insert(field, user.to_owned());
                for author in self.parts.values_mut() {
                    user.clone_into(author);
                }
            }
            Way::ClientPatch | Way::Merge | Way::MergeAs => {
                self.parts.insert(field, user.to_owned());
            }
            Way::Whole | Way::WholeAs => {
                self.parts = BTreeMap::from([(field, user.to_owned())]);
            }
            Way::Label | Way::ReplaceSame => {}
        }
    }

    /// All who wrote a part of it are noted.
    async fn check(&self, done: &[(Way, &str)]) {
        let object = self.api.get(&self.path).await.ok();
        let fields = object["spec"].as_object().unwrap().keys();
        assert!(fields.eq(self.parts.keys()), "{done:?}: {object}");
        let noted = noted(&object);
        for author in self.parts.values().filter(|author| *author != "root") {
            assert!(
                noted.contains(author),
                "{done:?}: {author} is not noted: {object}"
            );
        }
        let last = done.last().map(|(way, user)| (*way, *user));
        if let Some((Way::Whole | Way::WholeAs | Way::ClientReplace, user)) = last {
            let alone: Vec<&str> = [user].into_iter().filter(|user| *user != "root").collect();
            assert_eq!(noted, alone, "{done:?}");
        }
    }
}

fn by(writer: Writer) -> Authors {
    Authors {
        writer: Some(writer),
        namer: None,
    }
}

#[tokio::test]
async fn c6_a_note_is_never_stronger_than_the_weakest_author_of_what_is_there() {
    let (api, _) = prepared().await;
    let steps: Vec<(Way, &str)> = WAYS
        .iter()
        .flat_map(|way| USERS.map(|user| (*way, user)))
        .collect();
    // Every order of two writes of an object of every author.
    for (number, creator) in USERS.iter().enumerate() {
        for (at, first) in steps.iter().enumerate() {
            for (then, second) in steps.iter().enumerate() {
                let name = format!("w-{number}-{at}-{then}");
                let widget = json!({
                    "apiVersion": "example.com/v1", "kind": "Widget",
                    "metadata": {"name": name}, "spec": {"first": 1},
                });
                client(&api, creator).post(WIDGETS, widget).await.ok();
                let mut watched = Watched {
                    api: &api,
                    path: format!("{WIDGETS}/{name}"),
                    parts: BTreeMap::from([("first".to_owned(), (*creator).to_owned())]),
                    count: 0,
                };
                let mut done = vec![(Way::ClientReplace, *creator)];
                for (way, user) in [*first, *second] {
                    watched.write(way, user).await;
                    done.push((way, user));
                    watched.check(&done).await;
                }
                api.delete(&watched.path).await;
            }
        }
    }
}

#[tokio::test]
async fn c6_the_account_that_acts_is_part_of_what_landform_merges() {
    const ACCOUNT: &str = "landform.dev/service-account";
    let (api, jane) = prepared().await;
    let widget = json!({
        "apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": "a", "annotations": {ACCOUNT: "strong"}}, "spec": {},
    });
    jane.post(WIDGETS, widget).await.ok();
    let path = format!("{WIDGETS}/a");
    for change in [
        json!({"spec": {"a": 1}}),
        json!({"metadata": {"annotations": {ACCOUNT: null}}}),
    ] {
        let changed = api.call(own(Method::PATCH, &path, &change)).await.ok();
        assert_eq!(noted(&changed), ["jane"], "{change}");
    }
}

/// Together with Jane, who may do everything in the namespace, as a user of this name.
async fn with_jane(api: &Api, user: &str, path: &str, body: Value) -> Answer {
    let mut request = of_user(own(Method::POST, path, &body), user, true);
    let jane = Writer::of("jane", &["dev".to_owned()]).unwrap();
    request.extensions_mut().insert(Together(vec![jane]));
    api.call(request).await
}

#[tokio::test]
async fn c6_two_who_act_together_have_the_rights_that_both_have() {
    const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let (api, jane) = prepared().await;
    let rules = json!([
        {"verbs": ["create"], "apiGroups": [""], "resources": ["configmaps"]},
        {"verbs": ["create"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"]},
    ]);
    let role = json!({"metadata": {"name": "few"}, "rules": rules});
    api.post(&format!("{RBAC}/roles"), role).await.ok();
    let binding = json!({
        "metadata": {"name": "few"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "few"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "amy"}],
    });
    api.post(&format!("{RBAC}/rolebindings"), binding)
        .await
        .ok();
    let named = |name: &str| json!({"metadata": {"name": name}});
    // What both may do they do, and it is the work of both.
    let made = with_jane(&api, "amy", MAPS, named("both")).await.ok();
    assert_eq!(noted(&made), ["amy", "jane"]);
    // What one may not do isn't done, whichever that is.
    let secrets = "/api/v1/namespaces/default/secrets";
    let refused = with_jane(&api, "amy", secrets, named("s")).await;
    assert!(
        refused.failed().2.contains("User \"amy\" cannot create"),
        "{refused:?}"
    );
    let elsewhere = "/api/v1/namespaces/kube-system/configmaps";
    let refused = with_jane(&api, "jane", elsewhere, named("m")).await;
    assert_eq!(refused.code, 403, "{refused:?}");
    // Nor do they grant together what one of them doesn't have.
    let rules = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}]);
    let role = json!({"metadata": {"name": "more"}, "rules": rules});
    let refused = with_jane(&api, "amy", &format!("{RBAC}/roles"), role).await;
    assert!(
        refused.failed().2.contains("not currently held"),
        "{refused:?}"
    );
    let binding = json!({
        "metadata": {"name": "more"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "all"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "amy"}],
    });
    let refused = with_jane(&api, "amy", &format!("{RBAC}/rolebindings"), binding).await;
    assert!(
        refused.failed().2.contains("not currently held"),
        "{refused:?}"
    );
    // A member of system:masters is not one together with others.
    let mut request = own(Method::POST, secrets, &named("s"));
    let amy = Writer::of("amy", &[]).unwrap();
    request.extensions_mut().insert(Together(vec![amy]));
    assert_eq!(api.call(request).await.code, 403);
    // Only parts of the server say any of this.
    let patch = json!({"spec": {"a": 1}});
    let widget = json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {},
    });
    jane.post(WIDGETS, widget).await.ok();
    let mut request = own(Method::PATCH, &format!("{WIDGETS}/a"), &patch);
    request.extensions_mut().insert(Together(Vec::new()));
    request.extensions_mut().insert(WholeContent);
    request
        .extensions_mut()
        .insert(OnBehalf(by(Writer::of("root", &[]).unwrap())));
    assert_eq!(noted(&jane.call(request).await.ok()), ["jane"]);
}
