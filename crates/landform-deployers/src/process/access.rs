//! Access of a process to the API: a kubeconfig of its own, with the token of a service account.
//!
//! The kubeconfig names the file that the token is in. When half of the token's life is over a new one is
//! written there, and the process goes on: client-go and kube read the file again by themselves. Both files are
//! in the item's directory, so that a process that is adopted finds them where it was told.
//!
//! The files can be read by the user that the process runs as, and by no other. That user doesn't own their directory: in a
//! directory of its own a program could put links where Landform reads and writes.
//!
//! The token is in its file and nowhere else: in no status, error, event or log.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use http::header::CONTENT_TYPE;
use kube::Client;
use landform_engine::Right;
use landform_process::User;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::local::{Field, let_enter, private_directory, write_owned};
use crate::{DeployError, Job};

/// How long a token should hold. The API may give less.
const SECONDS: i64 = 24 * 3600;
/// Looked at no more often than this.
const SHORTEST: i64 = 10;
/// Of all files.
const MODE: u32 = 0o600;
/// The directory of it all, in that of the item.
pub(super) const DIRECTORY: &str = "access";

/// Where processes reach the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiAddress {
    /// As a kubeconfig has it: `https://127.0.0.1:7443`.
    pub server: String,
    /// The certificates, in PEM, that the server's own can be checked with; without them, those of the system.
    pub ca_certificate: Option<String>,
}

/// What a process wants to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Access {
    pub(crate) service_account: String,
    /// Empty until it is known which one the item is in.
    pub(crate) namespace: String,
}

impl Access {
    pub(super) fn read(field: &Field<'_>) -> Result<Self, DeployError> {
        field.only(&["serviceAccount", "namespace"])?;
        let name = |field: &Field<'_>| {
            let text = field.text()?;
            let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
            if text.is_empty() || text.starts_with('.') || !text.chars().all(fits) {
                return Err(field.problem("must be a name: letters, digits, '-' and '.'"));
            }
            Ok(text.to_owned())
        };
        let namespace = field.get("namespace");
        Ok(Self {
            service_account: name(&field.require("serviceAccount")?)?,
            namespace: namespace.map_or(Ok(String::new()), |field| name(&field))?,
        })
    }

    /// Where its files are. Another account has others: a predecessor that still runs keeps its own.
    fn directory(&self, item: &Path) -> PathBuf {
        let name = format!("{}_{}", self.namespace, self.service_account);
        item.join(DIRECTORY).join(name)
    }

    /// The right to its tokens.
    pub(super) fn right(&self) -> Right {
        let resource = "serviceaccounts/token";
        let (namespace, name) = (&self.namespace, &self.service_account);
        Right::new("create", "", resource, namespace, name)
    }

    /// What `KUBECONFIG` is set to.
    pub(crate) fn kubeconfig(&self, item: &Path) -> PathBuf {
        self.directory(item).join("kubeconfig")
    }
}

/// When a token was issued and when it ends, in seconds since 1970. Kept beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Times {
    issued: i64,
    expires: i64,
}

impl Times {
    fn renewal(self) -> i64 {
        self.issued + (self.expires - self.issued) / 2
    }

    /// Whether a new token is needed; also when the clock was set back.
    fn is_due(self, now: i64) -> bool {
        now >= self.renewal() || now < self.issued
    }

    fn wait(self, now: i64) -> Duration {
        let seconds = (self.renewal() - now).max(SHORTEST);
        Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
    }
}

/// Whether a token that still has most of its life before it is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Renew {
    Always,
    WhenDue,
}

/// Where the files are, and whose they are.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) item: &'a Path,
    /// The user that the process runs as, if that is another one than Landform's own.
    pub(super) user: Option<&'a User>,
}

/// Makes sure that the files are there and right. Says when to look again.
pub(super) async fn ensure(
    job: &Job<'_>,
    place: Place<'_>,
    access: &Access,
    api: &ApiAddress,
    renew: Renew,
) -> Result<Duration, DeployError> {
    let Place { item, user } = place;
    let directory = access.directory(item);
    let (token_file, times_file) = (directory.join("token"), directory.join("times.json"));
    private_directory(&directory).map_err(|error| not_written(&error))?;
    if let Some(user) = user {
        let entered = [item.join(DIRECTORY), directory];
        let entered = entered.iter().try_for_each(|path| let_enter(user, path));
        entered.map_err(|error| not_written(&error))?;
    }
    let now = i64::try_from(job.now_ms() / 1000).unwrap_or(i64::MAX);
    let known = fs::read(&times_file).ok();
    let known: Option<Times> = known.and_then(|text| serde_json::from_slice(&text).ok());
    // The token may be in a file of a user that the process had before.
    let is_there = fs::metadata(&token_file)
        .is_ok_and(|found| found.is_file() && found.uid() == owner_of(user));
    let known = known.filter(|times| renew == Renew::WhenDue && !times.is_due(now) && is_there);
    let times = match known {
        Some(times) => times,
        None => {
            job.require([access.right()]).await?;
            let (token, expires) = job.or_cancelled(issue(job.client()?, access)).await??;
            let times = Times {
                issued: now,
                expires,
            };
            write(&token_file, token.as_bytes(), user)?;
            let text = serde_json::to_vec(&times).unwrap_or_default();
            write(&times_file, &text, None)?;
            times
        }
    };
    let kubeconfig = kubeconfig(access, api, &token_file);
    write(&access.kubeconfig(item), kubeconfig.as_bytes(), user)?;
    Ok(times.wait(now))
}

/// Removes the files of other accounts, once nothing runs that was told of them.
pub(super) fn forget_others(item: &Path, access: Option<&Access>) {
    let kept = access.map(|access| access.directory(item));
    for entry in fs::read_dir(item.join(DIRECTORY))
        .into_iter()
        .flatten()
        .flatten()
    {
        if Some(entry.path()) != kept {
            // They are worthless soon, and go with the item at the latest.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Asks the API for a token. Gives it and when it ends.
async fn issue(client: Client, access: &Access) -> Result<(String, i64), DeployError> {
    let Access {
        service_account,
        namespace,
    } = access;
    let body = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "metadata": {}, "spec": {"expirationSeconds": SECONDS},
    });
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{service_account}/token");
    let request = http::Request::post(path)
        .header(CONTENT_TYPE, "application/json")
        .body(body.to_string().into_bytes())
        .map_err(|_| not_issued("the request can't be made"))?;
    let answer: Value = client.request(request).await.map_err(refused)?;
    let text = |field: &str| {
        answer["status"][field]
            .as_str()
            .filter(|text| !text.is_empty())
    };
    let token = text("token").ok_or_else(|| not_issued("the API's answer has no token"))?;
    let expires = text("expirationTimestamp")
        .and_then(|text| OffsetDateTime::parse(text, &Rfc3339).ok())
        .ok_or_else(|| not_issued("the API's answer doesn't say when the token ends"))?;
    Ok((token.to_owned(), expires.unix_timestamp()))
}

fn refused(error: kube::Error) -> DeployError {
    match error {
        // Perhaps it comes yet: whoever writes the item often writes the account, too.
        kube::Error::Api(status) if status.code == 404 => DeployError::transient(
            "Access",
            "NoServiceAccount",
            "config.access: there is no such service account, or no such namespace",
        ),
        kube::Error::Api(status) if status.code == 403 => DeployError::transient(
            "Access",
            "Forbidden",
            "config.access: Landform's own credentials don't allow to create serviceaccounts/token",
        ),
        other => not_issued(&other.to_string()),
    }
}

fn not_issued(problem: &str) -> DeployError {
    let message = format!("config.access: no token was issued: {problem}");
    DeployError::transient("Access", "NoToken", message)
}

fn not_written(error: &io::Error) -> DeployError {
    let message = format!("the files of config.access can't be written: {error}");
    DeployError::transient("Access", "NotWritten", message)
}

fn owner_of(user: Option<&User>) -> u32 {
    user.map_or_else(|| User::current().id, |user| user.id)
}

/// Writes a file that only its user can read, unless it is as it should be.
fn write(file: &Path, content: &[u8], user: Option<&User>) -> Result<(), DeployError> {
    // A user may have made its own file as large as it likes.
    let same = fs::metadata(file).is_ok_and(|found| {
        let size = u64::try_from(content.len()).ok();
        let mode = found.permissions().mode() & 0o777;
        found.uid() == owner_of(user) && mode == MODE && Some(found.len()) == size
    });
    if same && fs::read(file).is_ok_and(|found| found == content) {
        return Ok(());
    }
    write_owned(file, content, MODE, user).map_err(|error| not_written(&error))
}

fn kubeconfig(access: &Access, api: &ApiAddress, token_file: &Path) -> String {
    let mut cluster = json!({"server": api.server});
    if let Some(certificate) = &api.ca_certificate {
        let encoded = base64::engine::general_purpose::STANDARD.encode(certificate);
        cluster["certificate-authority-data"] = json!(encoded);
    }
    let user = &access.service_account;
    landform_yaml::write(&json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "landform", "cluster": cluster}],
        "users": [{"name": user, "user": {"tokenFile": token_file}}],
        "contexts": [{"name": "landform", "context": {
            "cluster": "landform", "user": user, "namespace": access.namespace,
        }}],
        "current-context": "landform",
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_renewed_when_half_of_its_life_is_over() {
        let times = Times {
            issued: 1000,
            expires: 4600,
        };
        for (now, due, wait) in [
            (1000, false, 1800),
            (2795, false, 10),
            (2800, true, 10),
            (9000, true, 10),
            (900, true, 1900),
        ] {
            assert_eq!(times.is_due(now), due, "{now}");
            assert_eq!(times.wait(now), Duration::from_secs(wait), "{now}");
        }
    }

    #[test]
    fn a_kubeconfig_names_the_file_of_the_token_and_not_the_token() {
        let access = Access {
            service_account: "web".into(),
            namespace: "shop".into(),
        };
        let api = ApiAddress {
            server: "https://127.0.0.1:7443".into(),
            ca_certificate: Some("PEM".into()),
        };
        let text = kubeconfig(&access, &api, Path::new("/data/token"));
        let read: kube::config::Kubeconfig = serde_json::from_value(
            landform_yaml::parse_one(&text, &landform_yaml::Budget::FILE).unwrap(),
        )
        .unwrap();
        let user = read.auth_infos[0].auth_info.clone().unwrap();
        assert_eq!(user.token_file.as_deref(), Some("/data/token"));
        assert!(user.token.is_none());
        let context = read.contexts[0].context.clone().unwrap();
        assert_eq!(context.namespace.as_deref(), Some("shop"));
        let cluster = read.clusters[0].cluster.clone().unwrap();
        assert_eq!(cluster.server.as_deref(), Some("https://127.0.0.1:7443"));
        assert_eq!(cluster.certificate_authority_data.as_deref(), Some("UEVN"));
    }
}
