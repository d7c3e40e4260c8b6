//! Every answer that is not a success: a Kubernetes `Status` with reason, code, causes and a message
//! that tells the person what to change.

use landform_api::FieldError;
use landform_api::budget::{self, PROBLEMS_LISTED_MAX, SHOWN_BYTES_MAX};
use serde_json::{Value, json};

/// A short result everywhere in this crate.
pub type Result<T, E = ApiError> = std::result::Result<T, E>;

/// Why a request was not carried out. The text form is `Status.reason`; each has one HTTP code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// 400: the request can't be understood.
    BadRequest,
    /// 401: no credentials, or none that count.
    Unauthorized,
    /// 403: understood, and not allowed.
    Forbidden,
    /// 404: no such object, resource or path.
    NotFound,
    /// 405: the resource has no such verb.
    MethodNotAllowed,
    /// 406: no form of answer that the client accepts.
    NotAcceptable,
    /// 409: an object of this name exists.
    AlreadyExists,
    /// 409: the object is not what the client thinks it is.
    Conflict,
    /// 410: the revision is no longer in the history.
    Expired,
    /// 413: larger than the server takes.
    RequestEntityTooLarge,
    /// 415: a body in a form that the server doesn't read.
    UnsupportedMediaType,
    /// 422: the object breaks a rule of its kind.
    Invalid,
    /// 429: too many requests at once.
    TooManyRequests,
    /// 500: our fault, or the disk's.
    InternalError,
    /// 503: not now (starting, stopping, disk full).
    ServiceUnavailable,
    /// 504: it took too long.
    Timeout,
    /// 507: there is no room for what would be stored.
    InsufficientStorage,
}

impl Reason {
    /// The name in `Status.reason`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BadRequest => "BadRequest",
            Self::Unauthorized => "Unauthorized",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "NotFound",
            Self::MethodNotAllowed => "MethodNotAllowed",
            Self::NotAcceptable => "NotAcceptable",
            Self::AlreadyExists => "AlreadyExists",
            Self::Conflict => "Conflict",
            Self::Expired => "Expired",
            Self::RequestEntityTooLarge => "RequestEntityTooLarge",
            Self::UnsupportedMediaType => "UnsupportedMediaType",
            Self::Invalid => "Invalid",
            Self::TooManyRequests => "TooManyRequests",
            Self::InternalError => "InternalError",
            Self::ServiceUnavailable => "ServiceUnavailable",
            Self::Timeout => "Timeout",
            Self::InsufficientStorage => "InsufficientStorage",
        }
    }

    /// The HTTP code.
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::NotAcceptable => 406,
            Self::AlreadyExists | Self::Conflict => 409,
            Self::Expired => 410,
            Self::RequestEntityTooLarge => 413,
            Self::UnsupportedMediaType => 415,
            Self::Invalid => 422,
            Self::TooManyRequests => 429,
            Self::InternalError => 500,
            Self::ServiceUnavailable => 503,
            Self::Timeout => 504,
            Self::InsufficientStorage => 507,
        }
    }
}

/// Which object a [`ApiError`] is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource (plural) or the kind, as Kubernetes puts it for the reason at hand.
    pub kind: String,
    /// The object's name.
    pub name: String,
    /// The object's uid, when it is known.
    pub uid: String,
}

/// One of several causes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// `FieldValueInvalid`, `ResourceVersionTooLarge`, …
    pub reason: String,
    /// What is wrong.
    pub message: String,
    /// Where.
    pub field: String,
}

/// A message to a client is cut here; lists of a hundred problems are shorter.
const MESSAGE_BYTES_MAX: usize = 64 * 1024;
/// A longer word is one that the sender wrote and that was not cut where it was put into the message: what we show of
/// such a text is shorter, also when every character of it is escaped.
const WORD_BYTES_MAX: usize = 6 * SHOWN_BYTES_MAX;
/// Names of objects are not longer.
const NAME_BYTES_MAX: usize = 253;

/// A message as clients get it: without long words of theirs, and not endless.
fn cut(message: String) -> String {
    let is_long = |word: &str| word.len() > WORD_BYTES_MAX;
    if message.len() <= WORD_BYTES_MAX {
        return message;
    }
    let mut out = String::with_capacity(message.len().min(MESSAGE_BYTES_MAX));
    for word in message.split_inclusive(' ') {
        if out.len() + word.len().min(WORD_BYTES_MAX) > MESSAGE_BYTES_MAX {
            out.push('…');
            break;
        }
        if is_long(word) {
            out.push_str(&budget::shown(word));
            out.push(' ');
        } else {
            out.push_str(word);
        }
    }
    out
}

/// A request that was not carried out.
#[derive(Clone, Debug)]
pub struct ApiError(Box<Details>);

#[derive(Clone, Debug)]
struct Details {
    reason: Reason,
    message: String,
    subject: Option<Subject>,
    causes: Vec<Cause>,
    retry_after_seconds: Option<u32>,
    continue_token: Option<String>,
    given_name: Option<String>,
}

impl ApiError {
    /// An error with a message and nothing else.
    #[must_use]
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self(Box::new(Details {
            reason,
            message: cut(message.into()),
            subject: None,
            causes: Vec::new(),
            retry_after_seconds: None,
            continue_token: None,
            given_name: None,
        }))
    }

    /// 400.
    #[must_use]
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(Reason::BadRequest, message)
    }

    /// 500.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Reason::InternalError, message)
    }

    /// 404 for an object.
    #[must_use]
    pub fn not_found(group: &str, resource: &str, name: &str) -> Self {
        Self::new(
            Reason::NotFound,
            format!("{} \"{name}\" not found", qualified(resource, group)),
        )
        .about(group, resource, name)
    }

    /// 404 for something new in a namespace that isn't there. It begins as Kubernetes says it.
    #[must_use]
    pub fn no_such_namespace(name: &str) -> Self {
        let why = format!(
            "namespaces \"{name}\" not found: create it first, as an object of kind Namespace with apiVersion v1 and this name"
        );
        Self::new(Reason::NotFound, why).about("", "namespaces", name)
    }

    /// 404 for a path that leads nowhere.
    #[must_use]
    pub fn no_such_path() -> Self {
        Self::new(
            Reason::NotFound,
            "the server could not find the requested resource",
        )
    }

    /// 409 for a create whose name is taken.
    #[must_use]
    pub fn already_exists(group: &str, resource: &str, name: &str) -> Self {
        Self::new(
            Reason::AlreadyExists,
            format!("{} \"{name}\" already exists", qualified(resource, group)),
        )
        .about(group, resource, name)
    }

    /// 409 for a write that is based on something outdated.
    #[must_use]
    pub fn conflict(group: &str, resource: &str, name: &str, why: &str) -> Self {
        Self::new(
            Reason::Conflict,
            format!(
                "Operation cannot be fulfilled on {} \"{name}\": {why}",
                qualified(resource, group)
            ),
        )
        .about(group, resource, name)
    }

    /// 403 for something that isn't allowed, on an object or (without a name) on a resource.
    #[must_use]
    pub fn forbidden(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let mut what = qualified(resource, group);
        if !name.is_empty() {
            what = format!("{what} \"{name}\"");
        }
        let message = format!("{what} is forbidden: {why}");
        Self::new(Reason::Forbidden, message).about(group, resource, name)
    }

    /// 422 with a cause for each field.
    #[must_use]
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let listed = errors.get(..PROBLEMS_LISTED_MAX).unwrap_or(errors);
        // Those who look for problems stop at this number, too.
        let more = if errors.len() >= PROBLEMS_LISTED_MAX {
            ", and perhaps more"
        } else {
            ""
        };
        let list = match listed {
            [one] => one.to_string(),
            many => format!(
                "[{}{more}]",
                many.iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        };
        let name = budget::shown(name);
        let mut error = Self::new(
            Reason::Invalid,
            format!("{} \"{name}\" is invalid: {list}", qualified(kind, group)),
        )
        .about(group, kind, &name);
        error.0.causes = listed
            .iter()
            .map(|error| {
                let whole = error.to_string();
                let message = whole
                    .strip_prefix(&format!("{}: ", error.path))
                    .map_or_else(|| whole.clone(), str::to_owned);
                Cause {
                    reason: error.reason.as_str().into(),
                    message,
                    field: error.path.to_string(),
                }
            })
            .collect();
        error
    }

    /// 410: list again and watch from there.
    #[must_use]
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(Reason::Expired, message)
    }

    /// Names the object that this is about.
    #[must_use]
    pub fn about(mut self, group: &str, kind: &str, name: &str) -> Self {
        self.0.subject = Some(Subject {
            group: group.into(),
            kind: kind.into(),
            name: shown_name(name),
            uid: String::new(),
        });
        self
    }

    /// Adds a cause.
    #[must_use]
    pub fn caused_by(mut self, reason: &str, message: &str, field: &str) -> Self {
        self.0.causes.push(Cause {
            reason: reason.into(),
            message: cut(message.into()),
            field: budget::shown(field).into_owned(),
        });
        self
    }

    /// Tells the client when to try again.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.0.retry_after_seconds = Some(seconds);
        self
    }

    /// Hands out a token with which an expired list can go on, though not consistently.
    #[must_use]
    pub fn continue_with(mut self, token: String) -> Self {
        self.0.continue_token = Some(token);
        self
    }

    /// Why.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.0.reason
    }

    /// The name of the object that this is about; empty when it is about none.
    #[must_use]
    pub(crate) fn subject_name(&self) -> &str {
        self.0.subject.as_ref().map_or("", |subject| &subject.name)
    }

    /// Notes the name that the request gave an object, for the audit log: the error may be about another object.
    #[must_use]
    pub(crate) fn of_given(mut self, name: &str) -> Self {
        self.0.given_name = Some(name.to_owned());
        self
    }

    /// The name that the request gave an object, if that was read.
    #[must_use]
    pub(crate) fn given_name(&self) -> Option<&str> {
        self.0.given_name.as_deref()
    }

    /// In words.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The seconds of a `Retry-After` header.
    #[must_use]
    pub fn retry_after_seconds(&self) -> Option<u32> {
        self.0.retry_after_seconds
    }

    /// The `Status` object.
    #[must_use]
    pub fn to_status(&self) -> Value {
        let details = &*self.0;
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": details.message,
            "reason": details.reason.as_str(),
            "code": details.reason.code(),
        });
        if let Some(token) = &details.continue_token {
            status["metadata"]["continue"] = json!(token);
        }
        let mut more = serde_json::Map::new();
        if let Some(subject) = &details.subject {
            for (key, value) in [
                ("name", &subject.name),
                ("group", &subject.group),
                ("kind", &subject.kind),
                ("uid", &subject.uid),
            ] {
                if !value.is_empty() {
                    more.insert(key.into(), json!(value));
                }
            }
        }
        if !details.causes.is_empty() {
            let causes = details.causes.iter().map(|cause| {
                let mut entry = json!({"reason": cause.reason, "message": cause.message});
                if !cause.field.is_empty() {
                    entry["field"] = json!(cause.field);
                }
                entry
            });
            more.insert("causes".into(), causes.collect());
        }
        if let Some(seconds) = details.retry_after_seconds {
            more.insert("retryAfterSeconds".into(), json!(seconds));
        }
        if !more.is_empty() {
            status["details"] = Value::Object(more);
        }
        status
    }
}

/// A name that an object may have, or the beginning of another text.
fn shown_name(name: &str) -> String {
    if name.len() <= NAME_BYTES_MAX {
        name.to_owned()
    } else {
        budget::shown(name).into_owned()
    }
}

/// `deployments.apps`, or only the resource in the core group.
fn qualified(resource: &str, group: &str) -> String {
    if group.is_empty() {
        resource.to_owned()
    } else {
        format!("{resource}.{group}")
    }
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for ApiError {}

impl From<landform_store::Error> for ApiError {
    fn from(error: landform_store::Error) -> Self {
        use landform_store::Error;
        match &error {
            Error::Compacted { .. } => Self::expired(format!(
                "The provided resource version is too old: {error}. List again without one."
            )),
            Error::Future { asked, newest } => Self::new(
                Reason::Timeout,
                format!("Too large resource version: {asked}, current: {newest}"),
            )
            .caused_by("ResourceVersionTooLarge", "Too large resource version", "")
            .retry_after(1),
            Error::Full { bytes, bytes_max } => crate::room::full(*bytes, *bytes_max),
            Error::DiskFull { .. } | Error::ReadOnly { .. } | Error::Closed => {
                Self::new(Reason::ServiceUnavailable, error.to_string()).retry_after(5)
            }
            Error::DuplicateKey(_)
            | Error::Locked { .. }
            | Error::Damaged { .. }
            | Error::Sealed { .. }
            | Error::Io { .. } => {
                tracing::error!(error = &error as &dyn std::error::Error, "the store failed");
                Self::internal(format!("the store failed: {error}"))
            }
        }
    }
}

impl From<landform_store::WatchError> for ApiError {
    fn from(error: landform_store::WatchError) -> Self {
        match error {
            landform_store::WatchError::Compacted { asked, oldest } => {
                Self::expired(format!("too old resource version: {asked} ({oldest})"))
            }
            landform_store::WatchError::Closed => {
                Self::new(Reason::ServiceUnavailable, "the server is shutting down").retry_after(1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use landform_api::{FieldPath, FieldReason};

    #[test]
    fn an_invalid_object_lists_a_cause_for_each_field() {
        let errors = [
            FieldError::new(&FieldPath::of("spec.a"), FieldReason::Required, "say which"),
            FieldError::new(&FieldPath::of("spec.b"), FieldReason::Forbidden, "not here"),
        ];
        let status = ApiError::invalid("apps", "Deployment", "web", &errors).to_status();
        assert_eq!(
            status["message"],
            "Deployment.apps \"web\" is invalid: [spec.a: Required value: say which, spec.b: Forbidden: not here]"
        );
        assert_eq!(status["code"], 422);
        assert_eq!(status["details"]["causes"][0]["field"], "spec.a");
        assert_eq!(
            status["details"]["causes"][0]["message"],
            "Required value: say which"
        );
        assert_eq!(
            status["details"]["causes"][1]["reason"],
            "FieldValueForbidden"
        );
    }

    #[test]
    fn a_missing_object_is_named_with_its_group() {
        let error = ApiError::not_found("apps", "deployments", "web");
        assert_eq!(error.message(), "deployments.apps \"web\" not found");
        assert_eq!(error.to_status()["details"]["kind"], "deployments");
    }
}
