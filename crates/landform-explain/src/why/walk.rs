//! Follows what is waited for, object by object, and gathers the roots.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use landform_api::GroupKind;
use landform_api::project::{ANNOTATION_FILE, LABEL_PROJECT};
use serde_json::Value;

use super::act::{self, Advice, Handle, Hook};
use super::cache::Cache;
use super::judge::{self, Cause, Facts, Judged, Sort, Waiting, text};
use super::told::{nested, rank, sentence, template_name};
use super::unserved;
use super::{API_VERSION, Link, Rank, Root, State, Wait, Who, Why};
use super::{held, missing, values};
use crate::object::{self, ObjectRef};
use crate::reader::{ReadError, Reader};

/// So many objects are looked at.
const LINKS: usize = 3_000;
/// So many objects are asked about a second time when no root was found.
const ASKED: usize = 20;
/// The rule by which an installation that is being deleted waits for others that import from it, and its words.
const IN_THE_WAY: &str = "I31";
const IMPORTS: &str = "imports";
/// So many objects may be waited for by one.
const WAITS: usize = 50;

/// Explains an object.
///
/// # Errors
/// When the object doesn't exist, or something can't be read.
pub async fn explain(reader: &dyn Reader, object: &ObjectRef) -> Result<Why, ReadError> {
    let mut walk = Walk {
        cache: Cache::new(reader),
        links: Vec::new(),
        places: BTreeMap::new(),
        queue: VecDeque::new(),
        roots: Vec::new(),
        waited_for: Vec::new(),
        exports: BTreeMap::new(),
        cut_off: false,
    };
    walk.enter(object.clone());
    while let Some(link) = walk.queue.pop_front() {
        walk.step(link).await?;
    }
    walk.waited_for_in_vain().await?;
    if walk.roots.is_empty() {
        walk.ask_the_engine().await?;
    }
    Ok(walk.end(object))
}

struct Walk<'a> {
    cache: Cache<'a>,
    links: Vec<Link>,
    places: BTreeMap<(GroupKind, String, String), usize>,
    queue: VecDeque<usize>,
    roots: Vec<Root>,
    /// Links that are well, or whose state says nothing about why they are waited for.
    waited_for: Vec<usize>,
    /// What installations export, by namespace.
    exports: BTreeMap<String, missing::Exports>,
    cut_off: bool,
}

impl Walk<'_> {
    /// The place of an object in the chain; a new one is looked at later.
    fn enter(&mut self, object: ObjectRef) -> Option<usize> {
        let key = (
            object.group_kind(),
            object.namespace.clone(),
            object.name.clone(),
        );
        if let Some(link) = self.places.get(&key) {
            return Some(*link);
        }
        if self.links.len() >= LINKS {
            self.cut_off = true;
            return None;
        }
        let link = self.links.len();
        self.places.insert(key, link);
        self.links.push(Link {
            state: State {
                object: Some(object),
                ..State::default()
            },
            waits_for: Vec::new(),
        });
        self.queue.push_back(link);
        Some(link)
    }

    fn name(&self, link: usize) -> Option<ObjectRef> {
        self.links.get(link)?.state.object.clone()
    }

    async fn step(&mut self, link: usize) -> Result<(), ReadError> {
        let Some(name) = self.name(link) else {
            return Ok(());
        };
        let found = match self.cache.get(&name).await {
            Ok(Some(found)) => Ok(found),
            Ok(None) => Err(None),
            Err(error @ ReadError::NoSuchKind { .. }) => Err(Some(error)),
            Err(ReadError::Forbidden(_)) if link != 0 => {
                self.hidden(link, &name);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let object = match found {
            Ok(object) => object,
            Err(no_kind) => return self.unseen(link, &name, no_kind).await,
        };
        let reader = self.cache.reader;
        let deleting = judge::deleting(&object);
        let engine = if judge::needs_engine(&object) {
            reader.engine(&name).await
        } else {
            None
        };
        let asked_for = link == 0 && object["metadata"]["ownerReferences"].is_array();
        let deletion = if deleting || asked_for {
            reader.deletion(&name).await
        } else {
            None
        };
        let facts = Facts {
            name: &name,
            object: &object,
            engine: engine.as_ref(),
            deletion: deletion.as_ref(),
        };
        let mut judged = judge::judge(&facts);
        if link != 0 && !deleting && self.is_only_in_the_way(link) {
            // What it waits for itself changes nothing for those that it keeps from going.
            judged = Judged {
                state: judged.state,
                well: true,
                ..Judged::default()
            };
        }
        if deleting {
            let within = unserved::within(self.cache.custom_kinds().await, &object);
            if !within.is_empty() {
                judged.causes.retain(|cause| cause.sort != Sort::Waits);
                // The collector may have seen some of it, before they were marked.
                let known =
                    |waiting: &Waiting| within.iter().any(|own| own.object == waiting.object);
                judged.waits.retain(|waiting| !known(waiting));
                judged.waits.extend(within);
            }
        }
        if link == 0 && !deleting {
            held::by_project(&mut self.cache, &name, &object, &mut judged).await?;
        }
        if judged.look_below {
            self.look_below(&name, &object, &mut judged).await?;
        }
        if let Some(since) = reader.phase_since(&name).filter(|_| !deleting) {
            judged.state.since = Some(since);
        }
        self.take(link, &object, judged).await
    }

    /// Puts a judgement into the chain.
    async fn take(&mut self, link: usize, object: &Value, judged: Judged) -> Result<(), ReadError> {
        if judged.well && link != 0 {
            self.waited_for.push(link);
        }
        if let Some(found) = self.links.get_mut(link) {
            found.state = judged.state;
        }
        for waiting in judged.waits.into_iter().take(WAITS) {
            self.wait(link, waiting).await?;
        }
        if judged.causes.is_empty() {
            return Ok(());
        }
        let handle = self.handle(object).await?;
        for cause in judged.causes {
            let hook = self.hook(object).await?;
            let advice = act::about(&cause, object, &handle, hook.as_ref());
            self.root(link, cause, advice);
        }
        Ok(())
    }

    async fn wait(&mut self, link: usize, waiting: Waiting) -> Result<(), ReadError> {
        let mut object = waiting.object;
        if object.api_version.ends_with('/') {
            match self.cache.reader.kind(object.group(), &object.kind).await {
                Ok(kind) => object.api_version = kind.api_version,
                // It is found out when it is looked at whether the kind isn't served or doesn't exist.
                Err(ReadError::NoSuchKind { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let known = self.links.len();
        let Some(on) = self.enter(object) else {
            return Ok(());
        };
        let in_the_way =
            waiting.rule.as_deref() == Some(IN_THE_WAY) && waiting.reason.contains(IMPORTS);
        if on < known && in_the_way && !self.waited_for.contains(&on) {
            self.waited_for.push(on);
        }
        if let Some(link) = self.links.get_mut(link) {
            link.waits_for.push(Wait {
                link: on,
                rule: waiting.rule,
                reason: waiting.reason,
            });
        }
        Ok(())
    }

    fn root(&mut self, link: usize, cause: Cause, advice: Advice) {
        let Some(found) = self.links.get(link) else {
            return;
        };
        let Some(object) = found.state.object.clone() else {
            return;
        };
        let error = found.state.error.as_ref();
        let since = error.and_then(|error| error.since.clone());
        self.roots.push(Root {
            link,
            object,
            rank: advice.rank,
            rule: cause.rule,
            reason: cause.reason,
            message: cause.message,
            since: since.or_else(|| found.state.since.clone()),
            next_retry: found.state.next_retry.clone(),
            who: advice.who,
            act: advice.act,
        });
    }

    /// An object that the caller may not read: the chain ends there.
    fn hidden(&mut self, link: usize, name: &ObjectRef) {
        let wait = self.waiter(link).map(|(_, wait)| wait.clone());
        if let Some(found) = self.links.get_mut(link) {
            found.state.phase = Some("Hidden".to_owned());
        }
        let reason = wait.as_ref().map(|wait| wait.reason.clone());
        let reason = reason.unwrap_or_default();
        if act::tells_of_rights(&reason) {
            // It is waited for because of a right, and not because of what it is.
            self.waited_for.push(link);
            return;
        }
        let (mut cause, advice) = act::about_hidden(name);
        cause.rule = wait.and_then(|wait| wait.rule);
        self.root(link, cause, advice);
    }

    /// An object; none when it doesn't exist, or the caller may not read it.
    async fn shown(&mut self, name: &ObjectRef) -> Result<Option<Arc<Value>>, ReadError> {
        match self.cache.get(name).await {
            Err(ReadError::Forbidden(_)) => Ok(None),
            other => other,
        }
    }

    /// An object that can't be read: its kind isn't served, its kind isn't there, or it isn't.
    async fn unseen(
        &mut self,
        link: usize,
        name: &ObjectRef,
        no_kind: Option<ReadError>,
    ) -> Result<(), ReadError> {
        let custom = self.cache.custom_kinds().await;
        let told = if let Some(stored) = unserved::find(custom, name) {
            unserved::about(name, &stored)
        } else {
            match no_kind {
                None => return self.missing(link, name).await,
                Some(error) if link == 0 => return Err(error),
                Some(_) => unserved::about_undefined(name),
            }
        };
        let (mut cause, advice) = told;
        let waiter = self.waiter(link);
        cause.rule = waiter.and_then(|(_, wait)| wait.rule.clone());
        if let Some(found) = self.links.get_mut(link) {
            found.state.phase = Some(cause.reason.clone());
        }
        self.root(link, cause, advice);
        Ok(())
    }

    /// An object that nobody has made: whoever exports it is to blame, or the one who waits for it.
    async fn missing(&mut self, link: usize, name: &ObjectRef) -> Result<(), ReadError> {
        let exportable = missing::can_be_exported(&name.kind);
        if link == 0 && !exportable {
            return Err(ReadError::NotFound(name.to_string()));
        }
        if let Some(found) = self.links.get_mut(link) {
            found.state.missing = true;
        }
        let mut origin = missing::Origin::default();
        if let Some(kind) = object::known("Installation").filter(|_| exportable) {
            if !self.exports.contains_key(&name.namespace) {
                let installations = self.cache.list(&kind, &name.namespace).await?;
                let exports = missing::Exports::of(&installations);
                self.exports.insert(name.namespace.clone(), exports);
            }
            let exports = self.exports.get(&name.namespace);
            origin = exports
                .map(|exports| exports.origin(&name.kind, &name.name))
                .unwrap_or_default();
        }
        for exporter in &origin.exporters {
            if let Some(object) = ObjectRef::known("Installation", &name.namespace, exporter) {
                let waiting = Waiting {
                    object,
                    rule: None,
                    reason: format!("it exports {name}"),
                };
                self.wait(link, waiting).await?;
            }
        }
        let waiter = self.waiter(link);
        let awaits_end = |(waiter, wait): &(usize, &Wait)| {
            let rule = wait.rule.as_deref().unwrap_or_default();
            let goes = self
                .links
                .get(*waiter)
                .is_some_and(|link| link.state.deleting);
            rule == "R15"
                || (goes && matches!(rule, "I31" | "I33" | "E10") && !exportable)
                || (goes && rule.starts_with('G'))
        };
        if let Some((waiter, _)) = waiter.filter(awaits_end) {
            // What waits for its end has not looked since.
            let waiter = self.name(waiter).unwrap_or_else(|| name.clone());
            let (cause, advice) = act::about_gone(name, &waiter);
            self.root(link, cause, advice);
            return Ok(());
        }
        if origin.exporters.is_empty() {
            let waiting = match self.waiter(link) {
                Some((waiter, _)) => self.handle_of(waiter).await?,
                None => None,
            };
            let (message, advice) = act::about_missing(name, &origin, waiting.as_ref());
            let rule = self.waiter(link).and_then(|(_, wait)| wait.rule.clone());
            let cause = Cause {
                sort: Sort::Waits,
                rule,
                reason: "Missing".to_owned(),
                message,
            };
            let since = self.waiter(link).and_then(|(waiter, _)| {
                let state = &self.links.get(waiter)?.state;
                state.since.clone()
            });
            self.root(link, cause, advice);
            if let Some(root) = self.roots.last_mut() {
                root.since = since;
            }
        }
        Ok(())
    }

    /// The first link that waits for a link, and how; one that can't go because of it comes before others.
    fn waiter(&self, link: usize) -> Option<(usize, &Wait)> {
        let waiters = || self.waiters(link);
        let kept = waiters().find(|(_, wait)| wait.rule.as_deref() == Some(IN_THE_WAY));
        kept.or_else(|| waiters().next())
    }

    /// All links that wait for a link, and how.
    fn waiters(&self, link: usize) -> impl Iterator<Item = (usize, &Wait)> {
        let links = self.links.iter().enumerate();
        links.filter_map(move |(waiter, found)| {
            let wait = found.waits_for.iter().find(|wait| wait.link == link)?;
            Some((waiter, wait))
        })
    }

    /// Whether a link is waited for only by those that can't go before it has gone.
    fn is_only_in_the_way(&self, link: usize) -> bool {
        let name = self.name(link);
        name.is_some_and(|name| name.kind == "Installation")
            && self.waiters(link).all(|(_, wait)| {
                wait.rule.as_deref() == Some(IN_THE_WAY) && wait.reason.contains(IMPORTS)
            })
    }

    /// Nested objects that are to blame for a failure, in the words of the one that failed by them.
    async fn look_below(
        &mut self,
        name: &ObjectRef,
        object: &Value,
        judged: &mut Judged,
    ) -> Result<(), ReadError> {
        let status = &object["status"];
        let said = judged
            .state
            .error
            .as_ref()
            .map(|error| error.message.clone());
        let said = said.unwrap_or_default();
        let mut found = Vec::new();
        for nested in nested(name, status) {
            let Some(value) = self.shown(&nested).await? else {
                continue;
            };
            let phase = value["status"]["phase"].as_str().unwrap_or_default();
            if matches!(phase, "Failed" | "Aborted") {
                found.push((nested, value));
            }
        }
        // A message ends in that of the one that it is about: that part comes by itself.
        for (nested, value) in found {
            let own = text(&value["status"]["lastError"]["message"]).unwrap_or_default();
            let reason = said.strip_suffix(&own).map_or(said.as_str(), |said| said);
            let about =
                said.contains(nested.name.as_str()) || said.contains(&template_name(&value));
            let reason = if about {
                reason.trim_end_matches(": ")
            } else {
                "it has not succeeded"
            };
            judged.waits.push(Waiting {
                object: nested,
                rule: Some(
                    if name.kind == "Installation" {
                        "I16"
                    } else {
                        "E9"
                    }
                    .to_owned(),
                ),
                reason: reason.to_owned(),
            });
        }
        if judged.waits.is_empty() {
            // It has been repaired in the meantime, or is gone: what is left is what was said.
            let reason = judged
                .state
                .error
                .as_ref()
                .map(|error| error.reason.clone());
            judged.causes.push(Cause {
                sort: Sort::Failed,
                rule: None,
                reason: reason.unwrap_or_default(),
                message: said,
            });
        }
        Ok(())
    }

    /// Where the imports stand that the error of an installation names.
    async fn values(&mut self, object: &Value) -> Result<Vec<String>, ReadError> {
        let mut found = Vec::new();
        for name in values::named(object) {
            if let Some(value) = self.shown(&name).await? {
                found.extend(values::place(&value));
            }
        }
        Ok(found)
    }

    /// What a person would change to move an object: its topmost owner, and the nearest file.
    async fn handle(&mut self, object: &Value) -> Result<Handle, ReadError> {
        let owners = self.cache.owners(object).await?;
        let file = |object: &Value| {
            let metadata = &object["metadata"];
            let file = text(&metadata["annotations"][ANNOTATION_FILE])?;
            Some((file, text(&metadata["labels"][LABEL_PROJECT])))
        };
        let nearest = file(object).or_else(|| owners.iter().find_map(|owner| file(owner)));
        let (nearest, project) = nearest.unzip();
        let leaves = match project.flatten() {
            Some(project) => self.cache.is_leaving(&project).await?,
            None => false,
        };
        let top = owners
            .last()
            .map_or_else(|| ObjectRef::of(object), |top| ObjectRef::of(top));
        let root = owners.last().map_or(object, |owner| owner);
        let above = owners.iter().map(|owner| &**owner);
        let blueprint = act::blueprint_file(std::iter::once(object).chain(above));
        let again = if judge::is_reconciled_again(root) {
            let engine = self.cache.reader.engine(&top).await;
            engine.and_then(|engine| text(&engine["nextRun"]))
        } else {
            None
        };
        Ok(Handle {
            object: top,
            file: nearest.filter(|_| !leaves),
            blueprint: blueprint.filter(|_| !leaves),
            values: if leaves {
                Vec::new()
            } else {
                self.values(object).await?
            },
            leaves,
            again,
        })
    }

    async fn handle_of(&mut self, link: usize) -> Result<Option<Handle>, ReadError> {
        let Some(name) = self.name(link) else {
            return Ok(None);
        };
        let Some(object) = self.shown(&name).await? else {
            return Ok(None);
        };
        self.handle(&object).await.map(Some)
    }

    /// The hook that reconciles an object's kind.
    async fn hook(&mut self, object: &Value) -> Result<Option<Hook>, ReadError> {
        let name = ObjectRef::of(object);
        if object::known_in(name.group(), &name.kind).is_some() {
            return Ok(None);
        }
        let Some(kind) = object::known("Reconciler") else {
            return Ok(None);
        };
        let all = self.cache.list(&kind, "").await?;
        let found = all.iter().find(|found| {
            let of = &found["spec"]["for"];
            of["kind"] == name.kind.as_str()
                && of["group"].as_str().unwrap_or_default() == name.group()
        });
        Ok(found.map(|found| Hook::of(found)))
    }

    /// Everything waits for something else: the engine knows what runs, and circles that no status tells of.
    async fn ask_the_engine(&mut self) -> Result<(), ReadError> {
        for link in 0..self.links.len().min(ASKED) {
            let Some(name) = self.name(link) else {
                continue;
            };
            let Some(object) = self.shown(&name).await? else {
                continue;
            };
            let engine = self.cache.reader.engine(&name).await;
            let deletion = if judge::deleting(&object) {
                self.cache.reader.deletion(&name).await
            } else {
                None
            };
            let facts = Facts {
                name: &name,
                object: &object,
                engine: engine.as_ref(),
                deletion: deletion.as_ref(),
            };
            let judged = judge::judge(&facts);
            let handle = self.handle(&object).await?;
            for cause in judged.causes {
                let hook = self.hook(&object).await?;
                let advice = act::about(&cause, &object, &handle, hook.as_ref());
                self.root(link, cause, advice);
            }
        }
        Ok(())
    }

    /// Objects that are well and yet waited for: why they are is with those that wait.
    async fn waited_for_in_vain(&mut self) -> Result<(), ReadError> {
        for link in std::mem::take(&mut self.waited_for) {
            let Some((waiter, wait)) = self.waiter(link) else {
                continue;
            };
            let wait = wait.clone();
            let goes = self.links.get(link).is_some_and(|link| link.state.deleting);
            if goes && wait.rule.as_deref() == Some(IN_THE_WAY) {
                continue;
            }
            let (Some(name), Some(handle)) = (self.name(link), self.handle_of(waiter).await?)
            else {
                continue;
            };
            let own = self
                .handle_of(link)
                .await?
                .unwrap_or_else(|| Handle::alone(&name));
            let advice = act::about_well(&name, &own, &wait, &handle);
            let waiting = self.name(waiter).map(|name| name.to_string());
            let cause = Cause {
                sort: Sort::Waits,
                rule: wait.rule,
                reason: "WaitedFor".to_owned(),
                message: format!(
                    "{} waits for {name}: {}",
                    waiting.unwrap_or_default(),
                    wait.reason
                ),
            };
            self.root(link, cause, advice);
        }
        Ok(())
    }

    fn end(mut self, object: &ObjectRef) -> Why {
        let well = self.roots.is_empty() && self.links.iter().all(|link| link.waits_for.is_empty());
        if self.roots.is_empty() && !well {
            let cause = Cause {
                sort: Sort::Waits,
                rule: None,
                reason: "InWork".to_owned(),
                message: "everything that it waits for waits as well".to_owned(),
            };
            let advice = Advice {
                rank: Rank::InWork,
                who: Who::Landform,
                act: "wait and ask again; if nothing moves, look at: landform trace".to_owned(),
            };
            self.root(0, cause, advice);
        }
        rank(&mut self.roots);
        let first = self.links.first().map(|link| link.state.clone());
        Why {
            api_version: API_VERSION.to_owned(),
            kind: "Why".to_owned(),
            object: object.clone(),
            message: sentence(object, &first.unwrap_or_default(), well),
            well,
            chain: self.links,
            roots: self.roots,
            cut_off: self.cut_off,
        }
    }
}
