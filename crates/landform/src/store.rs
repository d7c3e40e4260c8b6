//! `landform store`: looks after the data on disk. Backups work beside a running server, the rest needs it stopped.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use landform_apiserver::Remark;
use landform_store::embedded::{self, RestoreOptions};
use landform_store::seal::Sealing;
use landform_store::{Error, Key, Record};

use crate::output::harmless::harmless;
use crate::store_key::KeyArgs;
use crate::{AnyError, data_dir};

/// What to do with the data.
#[derive(Subcommand)]
pub(crate) enum StoreCommand {
    /// Reads everything and says whether it is what was written.
    Check(Where),
    /// Copies the newest state to one file.
    Backup {
        #[command(flatten)]
        place: Where,
        /// The file to write.
        file: PathBuf,
    },
    /// Makes a store from a backup.
    Restore {
        #[command(flatten)]
        place: Where,
        /// The file that `backup` wrote.
        file: PathBuf,
        /// Replace the store that is there.
        #[arg(long)]
        replace: bool,
    },
    /// Drops the history and gives the space back to the disk.
    Compact(Where),
    /// Encrypts Secrets with a new key. Former keys stay in the key file, for backups that were made with them.
    RotateKey(Where),
    /// Goes on with a store that has lost its newest writes, or can't prove that it has not; says what it keeps.
    AcceptLoss(Where),
}

/// Which store.
#[derive(Args)]
pub(crate) struct Where {
    /// The data directory of the server [default: landform under the user's data home].
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    #[command(flatten)]
    key: KeyArgs,
}

impl Where {
    /// The store's directory, and what is encrypted in it.
    fn store(&self) -> Result<(PathBuf, Sealing), AnyError> {
        let data_dir = data_dir::resolve(self.data_dir.clone())?;
        let sealing = self.key.sealing(&data_dir)?;
        Ok((data_dir::store_dir(&data_dir), sealing))
    }
}

/// What is unusual about a record, and how to be rid of it.
fn remark(record: &Record) -> Option<String> {
    let Remark {
        what,
        can_be_deleted,
    } = landform_apiserver::remark(&record.value)?;
    let Key { bucket, name } = &record.key;
    let (namespace, name) = match name.split_once('/') {
        Some((namespace, name)) => (format!(" -n {namespace}"), name),
        None => (String::new(), &**name),
    };
    let advice = if can_be_deleted {
        format!(
            "; with the server running, `landform delete {bucket}/{name}{namespace}` deletes it"
        )
    } else {
        String::new()
    };
    Some(format!("{bucket} {name}{namespace} {what}{advice}"))
}

pub(crate) fn run(command: StoreCommand) -> Result<ExitCode, AnyError> {
    match command {
        StoreCommand::Check(place) => {
            let (dir, sealing) = place.store()?;
            let report = embedded::check_with(&dir, Some(&sealing), remark)?;
            println!("{}", harmless(&report.to_string()));
            return Ok(if report.is_sound() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            });
        }
        StoreCommand::Backup { place, file } => {
            let (dir, sealing) = place.store()?;
            let revision = embedded::backup(&dir, &file, Some(&sealing))?;
            println!(
                "wrote the state of revision {revision} to {}",
                file.display()
            );
        }
        StoreCommand::Restore {
            place,
            file,
            replace,
        } => {
            let (dir, sealing) = place.store()?;
            let options = RestoreOptions {
                replace,
                ..RestoreOptions::default()
            };
            let revision = embedded::restore(&file, &dir, &options, Some(&sealing))?;
            println!(
                "restored {} into {}; it goes on at revision {revision}",
                file.display(),
                dir.display()
            );
        }
        StoreCommand::Compact(place) => {
            let (dir, sealing) = place.store()?;
            let (before, after) = embedded::compact(&dir, Some(&sealing))?;
            println!("compacted: {before} bytes before, {after} bytes now");
        }
        StoreCommand::RotateKey(place) => rotate_key(&place)?,
        StoreCommand::AcceptLoss(place) => {
            let (dir, sealing) = place.store()?;
            let kept = embedded::accept_loss(&dir, Some(&sealing))?;
            match kept.loss {
                Some(loss) => println!(
                    "accepted: {loss}\nkept {} objects as of revision {}; it goes on at revision {}",
                    kept.objects, kept.newest, kept.revision
                ),
                None => println!("nothing is lost, and nothing was changed"),
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn rotate_key(place: &Where) -> Result<(), AnyError> {
    let (dir, sealing) = place.store()?;
    let data_dir = data_dir::resolve(place.data_dir.clone())?;
    let file = place.key.rotate(&data_dir)?;
    let new = file.as_ref().map(|file| {
        let file = file.display();
        format!("a new key is in {file}: keep a copy of that file\n")
    });
    print!("{}", new.unwrap_or_default());
    match embedded::rekey(&dir, &sealing) {
        Ok(()) => println!("Secrets in {} are encrypted with it now", dir.display()),
        Err(Error::Locked { .. }) if file.is_some() => println!(
            "the server that uses {} encrypts Secrets with it when it starts next",
            dir.display()
        ),
        Err(error) => return Err(error.into()),
    }
    Ok(())
}
