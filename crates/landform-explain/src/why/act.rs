//! Who must do what about a root cause. Pure.

use serde_json::Value;

use landform_api::keys::ANNOTATION_SERVICE_ACCOUNT;
use landform_api::landscaper::keys::DELETE_WITHOUT_UNINSTALL;
use landform_api::writer::RIGHTS_MISSING;
use landform_engine::hooks::FINALIZER_PREFIX;

use super::judge::{Cause, HookCall, STOPPED, Sort, deleting, text};
use super::missing::Origin;
use super::{Rank, Wait, Who};
use crate::object::ObjectRef;

/// In what an item says that waits for a deployer elsewhere.
const NO_DEPLOYER: &str = "deployer of type";

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Advice {
    pub(super) rank: Rank,
    pub(super) who: Who,
    pub(super) act: String,
}

/// The hook that reconciles an object's kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hook {
    /// The name of its Reconciler.
    pub(super) reconciler: String,
    /// What is called: where a URL leads, or a program in backticks.
    pub(super) called: String,
    pub(super) timeout: String,
    pub(super) grace: String,
}

impl Hook {
    /// The hook of a Reconciler.
    pub(super) fn of(reconciler: &Value) -> Self {
        let hook = &reconciler["spec"]["hook"];
        let called = match hook["url"].as_str() {
            Some(url) => landform_engine::hooks::shown_url(url),
            // Arguments may be secret.
            None => format!("`{}`", hook["command"][0].as_str().unwrap_or_default()),
        };
        let time = |value: &Value, default: &str| text(value).unwrap_or(default.to_owned());
        Self {
            reconciler: text(&reconciler["metadata"]["name"]).unwrap_or_default(),
            called,
            timeout: time(&reconciler["spec"]["timeout"], "30s"),
            grace: time(&hook["grace"], "10s"),
        }
    }
}

impl std::fmt::Display for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the hook {} of Reconciler/{}",
            self.called, self.reconciler
        )
    }
}

/// The object that a person would change, and the file that it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Handle {
    pub(super) object: ObjectRef,
    pub(super) file: Option<String>,
    /// The file of the blueprint that concerns it, if that is named by path.
    pub(super) blueprint: Option<String>,
    /// Where the values stand that it imports and that its error names: each as `DataObject/x in the file x.yaml`.
    pub(super) values: Vec<String>,
    /// Whether the files of its project are read no more: only the object itself counts.
    pub(super) leaves: bool,
    /// When what has failed below it runs again, by its `spec.automaticReconcile`.
    pub(super) again: Option<String>,
}

/// The file of the nearest blueprint that is named by path, from an object up to its topmost owner. One that is inline is in the
/// file of the next.
pub(super) fn blueprint_file<'a>(chain: impl IntoIterator<Item = &'a Value>) -> Option<String> {
    let mut paths = chain.into_iter().filter_map(|object| {
        let installation = object["kind"] == "Installation";
        object["spec"]["blueprint"]["path"]
            .as_str()
            .filter(|_| installation)
    });
    let path = paths.next()?.trim_start_matches("./").trim_end_matches('/');
    Some(format!("{path}/blueprint.yaml"))
}

impl Handle {
    /// An object that is changed itself.
    pub(super) fn alone(object: &ObjectRef) -> Self {
        Self {
            object: object.clone(),
            file: None,
            blueprint: None,
            values: Vec::new(),
            leaves: false,
            again: None,
        }
    }

    /// What it imports, with the places of the values that the error names.
    fn imports(&self, word: &str) -> String {
        if self.values.is_empty() {
            return word.to_owned();
        }
        format!("{word} ({})", self.values.join(", "))
    }

    /// `Installation/web in the file web.yaml`.
    pub(super) fn place(&self) -> String {
        match &self.file {
            _ if self.leaves => format!(
                "{} itself by landform edit {} (the files of its project are read no more)",
                self.object,
                argument(&self.object)
            ),
            Some(file) => format!("{} in the file {file}", self.object),
            None => self.object.to_string(),
        }
    }
}

pub(super) fn person(act: String) -> Advice {
    Advice {
        rank: Rank::Person,
        who: Who::Person,
        act,
    }
}

fn landform(rank: Rank, act: String) -> Advice {
    Advice {
        rank,
        who: Who::Landform,
        act,
    }
}

/// Whether a text is an error about missing rights (C6).
pub(super) fn tells_of_rights(text: &str) -> bool {
    text.contains(RIGHTS_MISSING)
}

fn namespace_option(object: &Value) -> String {
    let namespace = object["metadata"]["namespace"].as_str();
    namespace.map_or_else(String::new, |namespace| format!(" -n {namespace}"))
}

/// An object as the commands of Landform take it, with its namespace unless that is the one of commands without.
pub(super) fn argument(object: &ObjectRef) -> String {
    match object.namespace.as_str() {
        "" | "default" => object.to_string(),
        namespace => format!("{object} -n {namespace}"),
    }
}

/// What to do about missing rights; `then` is how it goes on.
fn grant(then: &str) -> Advice {
    person(format!(
        "grant the rights that the error lists, as it says, or have an administrator do that; {then}"
    ))
}

/// What to do about an object that is refused something for want of rights.
fn about_rights(cause: &Cause, object: &Value) -> Advice {
    let own = ObjectRef::of(object);
    match &cause.sort {
        Sort::Hook { now, .. } => match now {
            HookCall::Ended { again: Some(again) } => {
                grant(&format!("the hook is called then, at {again}"))
            }
            _ => grant("the hook is called then, after some minutes at most"),
        },
        _ if deleting(object) => grant(
            "Landform tries to remove it again by itself; or let it go without that, as the error says",
        ),
        Sort::Configuration | Sort::Failed | Sort::Timeout if !is_reconciler(object) => {
            grant(&format!("then run: landform retry {}", argument(&own)))
        }
        Sort::Retried { again: Some(again) } => {
            grant(&format!("Landform tries again by itself, next at {again}"))
        }
        _ => grant("Landform looks again by itself, after some minutes at most"),
    }
}

/// The reason of a command that has failed: what it needs may be anywhere.
const COMMAND_FAILED: &str = "CommandFailed";

/// What to do about something that is wrong with an object itself.
pub(super) fn about(cause: &Cause, object: &Value, handle: &Handle, hook: Option<&Hook>) -> Advice {
    let mut advice = without_automatic(cause, object, handle, hook);
    let ended = matches!(
        cause.sort,
        Sort::Configuration | Sort::Failed | Sort::Timeout
    );
    if let Some(again) = handle.again.as_ref().filter(|_| ended) {
        advice.act = format!(
            "{}; it is also tried again by itself, next at {again} (spec.automaticReconcile of {})",
            advice.act, handle.object
        );
    }
    advice
}

/// The same, as if nothing were reconciled automatically.
fn without_automatic(
    cause: &Cause,
    object: &Value,
    handle: &Handle,
    hook: Option<&Hook>,
) -> Advice {
    if tells_of_rights(&cause.message) {
        return about_rights(cause, object);
    }
    if cause.message.contains(ANNOTATION_SERVICE_ACCOUNT) {
        return about_account(object);
    }
    let (place, named) = (handle.place(), argument(&handle.object));
    match &cause.sort {
        Sort::Configuration if is_project(object) => {
            person("fix the file; the project is read again when it is saved".to_owned())
        }
        Sort::Timeout if cause.reason == "PickupTimeout" => {
            let retry = argument(&ObjectRef::of(object));
            about_deployer(object, &format!("then run: landform retry {retry}"))
        }
        Sort::Waits if cause.message.contains(NO_DEPLOYER) && object["kind"] == "DeployItem" => {
            about_deployer(object, "it goes on by itself then")
        }
        Sort::Configuration | Sort::Timeout | Sort::Failed | Sort::Aborted if is_going(object) => {
            about_removal(object, "then")
        }
        Sort::Retried { again: Some(again) } if is_going(object) => about_removal(
            object,
            &format!("Landform tries again at {again}, or at once when you"),
        ),
        Sort::Configuration if handle.object == ObjectRef::of(object) => {
            let blueprint = handle.blueprint.as_ref();
            let blueprint = blueprint.map(|file| format!(", the blueprint in the file {file}"));
            let blueprint = blueprint.unwrap_or_default();
            let imports = handle.imports("what it imports");
            person(format!(
                "fix {place}{blueprint}, or {imports}; Landform goes on by itself when that changes"
            ))
        }
        Sort::Configuration => {
            let blueprint = handle.blueprint.as_ref();
            let blueprint = blueprint.map(|file| format!(" in the file {file}"));
            let blueprint = blueprint.unwrap_or_default();
            let otherwise = if cause.reason == COMMAND_FAILED {
                format!("; if the cause is elsewhere, remove it and run: landform retry {named}")
            } else {
                String::new()
            };
            let imports = handle.imports("the imports");
            person(format!(
                "fix the blueprint{blueprint} or {imports} of {place}; Landform goes on by itself when they change{otherwise}"
            ))
        }
        Sort::Cycle => person(format!(
            "take one reference out of the circle, for instance in {place}; Landform goes on by itself then"
        )),
        Sort::Timeout => person(format!(
            "find out why it took so long, or allow more time in {place}; then run: landform reconcile {named}"
        )),
        Sort::Aborted => person(format!(
            "run when it may go on: landform reconcile --force {named}"
        )),
        Sort::Failed if let Some(hook) = hook => person(format!(
            "remove the cause, in {place} if it is there; {hook} is called again when {}, or something that it refers to, changes",
            handle.object
        )),
        Sort::Failed | Sort::Retried { .. } if is_reconciler(object) => {
            about_reconciler(object, &place)
        }
        Sort::Failed => person(format!(
            "remove the cause, in {place} if it is there; then run: landform reconcile {named}"
        )),
        Sort::Blocked { unblock } if unblock.is_empty() => person(format!("change {place}")),
        // What a person has stopped is in no file.
        Sort::Blocked { unblock } if cause.reason == STOPPED => person(unblock.clone()),
        Sort::Blocked { unblock } => match &handle.file {
            Some(file) => person(format!(
                "{unblock} ({} is in the file {file})",
                handle.object
            )),
            None => person(unblock.clone()),
        },
        Sort::Ignored { annotation } => {
            let own = ObjectRef::of(object);
            let option = namespace_option(object);
            let (kind, name) = (own.kind.to_lowercase(), &own.name);
            let then = if object["status"]["phase"] == "Failed" && !deleting(object) {
                format!(
                    "; then fix what has failed, and run: landform retry {}",
                    argument(&own)
                )
            } else {
                String::new()
            };
            person(format!(
                "remove the annotation; Landform goes on by itself then: kubectl annotate {kind} {name}{option} {annotation}-{then}"
            ))
        }
        Sort::Finalizer { name, responsible } => Advice {
            rank: Rank::Person,
            who: Who::Controller,
            act: format!(
                "{responsible} has to remove the finalizer {name}: see whether it runs; if it never will again, remove the finalizer from {} yourself",
                ObjectRef::of(object)
            ),
        },
        Sort::Hook { reconciler, now } => about_hook(reconciler, now, object, hook),
        Sort::Retried { again } if let Some(hook) = hook => {
            let when = again.as_ref().map(|again| format!(" at {again}"));
            let when = when.unwrap_or_default();
            landform(
                Rank::Outside,
                format!("remove the cause that the error names; {hook} is called again{when}"),
            )
        }
        Sort::Retried { again } => {
            let when = match (again, deadline(object)) {
                (Some(again), _) => format!("Landform tries again at {again}"),
                (None, Some(until)) => format!("Landform tries again by itself until {until}"),
                (None, None) => "Landform tries again by itself".to_owned(),
            };
            let target = object["spec"]["target"]["name"].as_str();
            let act = match target.filter(|_| cause.reason == "Unreachable") {
                Some(target) => format!("{when}; see that Target/{target} can be reached"),
                None => format!("remove the cause that the error names; {when}"),
            };
            landform(Rank::Outside, act)
        }
        Sort::Running { since } => {
            let since = since.as_deref().unwrap_or("a moment ago");
            match hook {
                Some(hook) => landform(
                    Rank::Outside,
                    format!("{hook} was called at {since} and has not answered: see what it does"),
                ),
                None => landform(Rank::InWork, about_work(object, since)),
            }
        }
        Sort::Stuck if let Some(hook) = hook => landform(
            Rank::Outside,
            format!(
                "wait: {hook} was told to stop and is still at work; it gets {} for that (spec.hook.grace)",
                hook.grace
            ),
        ),
        Sort::Stuck => landform(
            Rank::Outside,
            "wait until the run returns; if it never does, restart Landform".to_owned(),
        ),
        Sort::Waits if object["status"]["phase"] == "Pending" => person(format!(
            "bring what {place} needs; Landform goes on by itself then"
        )),
        Sort::Waits => landform(
            Rank::Outside,
            "Landform goes on by itself as soon as that is done".to_owned(),
        ),
        Sort::NotSeen => landform(Rank::InWork, "wait: Landform looks at it next".to_owned()),
        Sort::Silent => person(format!(
            "run: landform reconcile {}",
            argument(&ObjectRef::of(object))
        )),
        Sort::Held { token } => person(format!(
            "agree by the annotation {}={token} on {}, or bring the files back",
            landform_api::project::ANNOTATION_APPROVED_DELETIONS,
            handle.object
        )),
    }
}

/// How long an object is worked on, and how that can be ended.
fn about_work(object: &Value, since: &str) -> String {
    let wait = format!("wait: Landform works on it since {since}");
    if object["kind"] != "DeployItem" {
        return wait;
    }
    let until = deadline(object).map(|until| format!(", until {until} at the latest"));
    format!(
        "{wait}{}; to stop it, run: landform abort {}",
        until.unwrap_or_default(),
        argument(&ObjectRef::of(object))
    )
}

/// Whether an object is a deploy item that is being removed.
fn is_going(object: &Value) -> bool {
    object["kind"] == "DeployItem" && deleting(object)
}

/// What to do about an item that could not be removed (I35b).
fn about_removal(object: &Value, when: &str) -> Advice {
    let own = ObjectRef::of(object);
    person(format!(
        "remove the cause that the error names; {when} run: landform retry {}; or leave what it has deployed: kubectl annotate deployitem {}{} {DELETE_WITHOUT_UNINSTALL}=true",
        argument(&own),
        own.name,
        namespace_option(object)
    ))
}

/// What to do about a hook that has not let go of a marked object. `hook` is the one that reconciles the kind now.
fn about_hook(reconciler: &str, now: &HookCall, object: &Value, hook: Option<&Hook>) -> Advice {
    let Some(hook) = hook.filter(|hook| hook.reconciler == reconciler) else {
        return Advice {
            rank: Rank::Person,
            who: Who::Person,
            act: format!(
                "no Reconciler/{reconciler} reconciles the kind any more: create it again so that its hook can clean up, or remove the finalizer {FINALIZER_PREFIX}{reconciler} from {} yourself",
                ObjectRef::of(object)
            ),
        };
    };
    let or_let_go = format!(
        "; to let all objects of the kind go without it, set spec.finalize to false with `landform edit reconciler/{reconciler}`"
    );
    match now {
        HookCall::Running { .. } => landform(
            Rank::Outside,
            format!(
                "see what {hook} does; a call is given up after {} (spec.timeout), has {} to end then (spec.hook.grace), and is made again{or_let_go}",
                hook.timeout, hook.grace
            ),
        ),
        HookCall::Ended { again: Some(again) } => landform(
            Rank::Outside,
            format!(
                "see what keeps {hook} from being done; it is called again at {again}{or_let_go}"
            ),
        ),
        HookCall::Ended { again: None } => person(format!(
            "see what keeps {hook} from being done; it is called again when {} or something that it owns or refers to changes{or_let_go}",
            ObjectRef::of(object)
        )),
        HookCall::Unknown => landform(
            Rank::InWork,
            format!("wait: {hook} is called when it is the object's turn{or_let_go}"),
        ),
    }
}

/// What to do about a Reconciler that doesn't do what it should: its condition says why. Nothing needs to be run
/// afterwards.
fn about_reconciler(object: &Value, place: &str) -> Advice {
    let conditions = object["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    let ready = conditions.find(|condition| condition["type"] == "Ready");
    let reason = ready.and_then(|ready| ready["reason"].as_str());
    let kind = object["spec"]["for"]["kind"].as_str().unwrap_or("its kind");
    person(match reason {
        Some("HookUnreachable") => format!(
            "start what serves the hook, or correct it in {place}; objects of the kind {kind} whose call failed are called again by themselves, after five minutes at most"
        ),
        Some("KindTaken") => {
            format!("delete the other Reconciler, or {place}; Landform goes on by itself then")
        }
        Some("KindNotServed" | "HoldsUnserved") => {
            "serve a version of what the message names again: run landform edit crd/NAME and set served to true in spec.versions; Landform goes on by itself then".to_owned()
        }
        Some("KindNotFound") => format!(
            "bring the definition of the kind that is missing, or correct {place}; Landform goes on by itself then"
        ),
        Some("Forbidden") => {
            return grant("Landform looks again by itself, within half a minute");
        }
        _ => format!("correct {place}; Landform goes on by itself when it changes"),
    })
}

/// What to do about an object whose end is waited for and that is gone already.
pub(super) fn about_gone(name: &ObjectRef, waiting: &ObjectRef) -> (Cause, Advice) {
    let cause = Cause {
        sort: Sort::NotSeen,
        rule: None,
        reason: "Gone".to_owned(),
        message: format!("{waiting} waits for the end of {name}, which is gone"),
    };
    let act = format!("wait: {waiting} is looked at again by itself");
    (cause, landform(Rank::InWork, act))
}

/// What to do about an object that doesn't exist.
pub(super) fn about_missing(
    name: &ObjectRef,
    origin: &Origin,
    waiting: Option<&Handle>,
) -> (String, Advice) {
    let place = if name.namespace.is_empty() {
        String::new()
    } else {
        format!(" in the namespace {}", name.namespace)
    };
    let exportable = super::missing::can_be_exported(&name.kind);
    let message = if exportable {
        format!("{name} doesn't exist, and no installation{place} exports it")
    } else {
        format!("{name} doesn't exist")
    };
    let by_export = if exportable {
        ", let an installation export it"
    } else {
        ""
    };
    let mut act = format!("create {name}{place}{by_export}");
    if let Some(handle) = waiting {
        act = format!("{act}, or change {}", handle.place());
    }
    if let Some((similar, exporter)) = &origin.similar {
        act = format!("{act}; did you mean {similar}, which Installation/{exporter} exports?");
    }
    (message, person(act))
}

/// What to do about an object that the caller may not see.
pub(super) fn about_hidden(name: &ObjectRef) -> (Cause, Advice) {
    let cause = Cause {
        sort: Sort::Waits,
        rule: None,
        reason: "Hidden".to_owned(),
        message: format!("{name} is waited for, and you have no right to read it"),
    };
    let act = format!("ask for the right to get {name}, or an administrator what is wrong with it");
    (cause, person(act))
}

/// What to do about an item that no deployer of this server is for.
fn about_deployer(object: &Value, then: &str) -> Advice {
    person(format!(
        "this server doesn't deploy items of type {} in the namespace {}: an administrator can change that with its option --deployer, or start another deployer of that type; or correct the type in the blueprint; {then}",
        object["spec"]["type"].as_str().unwrap_or_default(),
        object["metadata"]["namespace"].as_str().unwrap_or_default()
    ))
}

/// What to do about an annotation that names no service account.
fn about_account(object: &Value) -> Advice {
    let own = ObjectRef::of(object);
    let (kind, name, option) = (own.kind.to_lowercase(), &own.name, namespace_option(object));
    person(format!(
        "correct the annotation, or remove it; Landform goes on by itself then: kubectl annotate {kind} {name}{option} {ANNOTATION_SERVICE_ACCOUNT}-"
    ))
}

/// What to do about an object that is waited for although nothing is wrong with it.
/// `own` is what a person would change to move the object itself.
pub(super) fn about_well(
    object: &ObjectRef,
    own: &Handle,
    wait: &Wait,
    waiting: &Handle,
) -> Advice {
    if tells_of_rights(&wait.reason) {
        let waiting = argument(&waiting.object);
        return grant(&format!(
            "Landform looks again within half a minute, or at once with: landform reconcile {waiting}"
        ));
    }
    match (wait.rule.as_deref(), object.kind.as_str()) {
        (Some("I31"), _) => person(format!(
            "delete {object} first, or change its imports, so that {} can go",
            waiting.object
        )),
        (Some("R15b"), _) => landform(
            Rank::InWork,
            format!("wait: {object} is deleted by itself; to keep it, bring it back into a file"),
        ),
        (_, "DataObject" | "Target") if own.object != *object => person(format!(
            "change what exports {object}: {}, or change {}",
            own.place(),
            waiting.place()
        )),
        (_, "Secret" | "ConfigMap" | "DataObject" | "Target") => {
            person(format!("change {object}, or {}", waiting.place()))
        }
        _ => landform(
            Rank::InWork,
            format!("wait: {} is looked at again by itself", waiting.object),
        ),
    }
}

/// Until when a deploy item is tried again.
fn deadline(object: &Value) -> Option<String> {
    use time::format_description::well_known::Rfc3339;
    if object["kind"] != "DeployItem" || object["status"]["phase"] == "Deleting" {
        return None;
    }
    let begun = object["status"]["lastReconcileTime"].as_str()?;
    let begun = time::OffsetDateTime::parse(begun, &Rfc3339).ok()?;
    let timeout = object["spec"]["timeout"].as_str();
    let timeout = timeout.and_then(landform_api::duration::timeout);
    let until = begun.checked_add(timeout.unwrap_or(ITEM_TIMEOUT).try_into().ok()?)?;
    until.format(&Rfc3339).ok()
}

/// How long a deploy item may take that doesn't say it.
const ITEM_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(600);

fn is_reconciler(object: &Value) -> bool {
    object["kind"] == "Reconciler" && ObjectRef::of(object).group() == landform_api::project::GROUP
}

fn is_project(object: &Value) -> bool {
    matches!(object["kind"].as_str(), Some("Project" | "Catalog"))
}

#[cfg(test)]
mod tests;
