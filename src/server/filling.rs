//! The filling of a new data directory.

use std::io::Write;
use std::time::Duration;

use stet_actors::repository::Repository;
use stet_auth::{Grant, PasswordRules, User, UserGroup};
use stet_config::Config;
use stet_domain::command::CallerIdentity;
use stet_domain::error::{Code, Error};
use stet_domain::id::DatabaseId;
use stet_web::app::App;

use super::{Failure, unusable};
use crate::exit::Exit;
use crate::sample::Sample;

/// The number of attempts to create the root folders while the store's queue is full, and the pause
/// between two: ten seconds in all.
const ROOTS_TRIED: u32 = 100;
const ROOTS_PAUSE: Duration = Duration::from_millis(100);

/// Creates the missing root folders of all databases.
pub(super) async fn make_roots(app: &App, repository: &Repository) -> Result<(), Failure> {
    let databases: Vec<DatabaseId> = app.config.databases.iter().map(|database| DatabaseId(database.id)).collect();
    // Rows left by a killed server may have to be checkpointed before changes are accepted.
    for _ in 0..ROOTS_TRIED {
        match repository.make_roots(&databases).await {
            Err(error) if error.code == Code::Overloaded => tokio::time::sleep(ROOTS_PAUSE).await,
            made => return Ok(made?),
        }
    }
    Ok(repository.make_roots(&databases).await?)
}

/// Checks that the data directory was filled completely: without a password of [`ADMIN`] nobody
/// could log in.
///
/// # Errors
/// [`Exit::Data`].
pub(super) fn check_filled(app: &App) -> Result<(), Failure> {
    let unusable = |error: Error| unusable(&app.config.data.directory, &error.into());
    if app.directory.user(ADMIN).map_err(unusable)?.is_some_and(|admin| admin.has_password()) {
        return Ok(());
    }
    let message = format!(
        "{} was not filled completely: `{ADMIN}` has no password. Empty it and start again",
        app.config.data.directory.display()
    );
    Err(Failure::new(Exit::Data, message))
}

/// The passwords from the environment for the users of a new data directory.
pub(super) struct FirstPasswords {
    /// Password of [`ADMIN`]; without one, a random one is set.
    admin: Option<String>,
    /// Password of the sample's other users; without one, they can't log in.
    sample: Option<String>,
}

impl FirstPasswords {
    /// Reads the passwords from the environment. An empty one counts as missing.
    ///
    /// # Errors
    /// [`Exit::Usage`] for a password that breaks the rules for its user, or is not Unicode; the
    /// message names the variable.
    pub fn given(config: &Config) -> Result<FirstPasswords, Failure> {
        let sample = Sample::read()?;
        let others = |name: &&str| *name != ADMIN && config.sample.enabled;
        let users: Vec<&str> = sample.users().iter().map(|user| user.name.as_str()).filter(others).collect();
        Ok(FirstPasswords {
            admin: first_password("STET_ADMIN_PASSWORD", &[ADMIN], config)?,
            sample: first_password("STET_SAMPLE_PASSWORD", &users, config)?,
        })
    }
}

/// Returns the password in an environment variable for these users, if there are any users.
fn first_password(variable: &str, users: &[&str], config: &Config) -> Result<Option<String>, Failure> {
    let Some(given) = std::env::var_os(variable).filter(|given| !given.is_empty() && !users.is_empty()) else {
        return Ok(None);
    };
    let unusable =
        |why: &str| Failure::new(Exit::Usage, format!("the environment variable {variable} can't be used: {why}"));
    let given = given.into_string().map_err(|_| unusable("it is not Unicode text"))?;
    for user in users {
        let accepted = PasswordRules::of(&config.auth).accept(user, &given);
        accepted.map_err(|error| unusable(error.message.trim_end_matches('.')))?;
    }
    Ok(Some(given))
}

/// Fills an empty data directory.
pub(super) async fn fill(app: &App, repository: &Repository, passwords: FirstPasswords) -> Result<(), Failure> {
    make_roots(app, repository).await?;
    let sample = Sample::read()?;
    if app.config.sample.enabled {
        sample.write(&app.newsroom).await?;
    }
    make_users(app, &sample, passwords).await
}

/// The user that every new data directory has.
const ADMIN: &str = "admin";

/// Creates users and groups. The password of `admin` is set last.
async fn make_users(app: &App, sample: &Sample, given: FirstPasswords) -> Result<(), Failure> {
    let changing = app.directory.by(CallerIdentity::system());
    for group in sample.groups() {
        let grants = group.privileges.iter();
        let privileges =
            grants.map(|grant| Grant { privilege: grant.privilege, folder: grant.folder.clone() }).collect();
        let group = UserGroup { name: group.name.as_str().into(), description: group.description.clone(), privileges };
        changing.put_group(group).await?;
    }
    let mut passwords = Vec::new();
    for sample in sample.users().iter().filter(|user| user.name == ADMIN || app.config.sample.enabled) {
        let mut user = User::new(&sample.name);
        user.full_name.clone_from(&sample.full_name);
        user.description.clone_from(&sample.description);
        user.groups = sample.groups.iter().map(|group| group.as_str().into()).collect();
        user.home.clone_from(&sample.home);
        user.work.clone_from(&sample.work);
        user.team.clone_from(&sample.team);
        user.home_email.clone_from(&sample.home_email);
        user.business_email.clone_from(&sample.business_email);
        user.disabled = sample.disabled || (sample.name != ADMIN && given.sample.is_none());
        changing.put_user(user).await?;
        if let (true, Some(shared)) = (sample.name != ADMIN, &given.sample) {
            passwords.push(changing.set_password(&sample.name, shared));
        }
    }
    for set in futures_util::future::join_all(passwords).await {
        set?;
    }
    let password = given.admin.clone().unwrap_or_else(|| random_password(app.config.auth.password_min_length));
    if given.admin.is_none() {
        // Only to the operator's terminal, because the log may be kept. Printed first, because a
        // password that can't be printed must not be set.
        let printed =
            writeln!(std::io::stdout(), "new data directory: log in as `{ADMIN}` with the password {password}");
        printed.map_err(|error| {
            Failure::new(Exit::Failed, format!("the password of `{ADMIN}` can't be printed: {error}"))
        })?;
    }
    changing.set_password(ADMIN, &password).await?;
    Ok(())
}

/// Returns at least 20 random letters and digits (about 119 bits), or more if passwords must be
/// longer.
fn random_password(least: usize) -> String {
    use rand::RngExt;
    let mut rng = rand::rng();
    (0..least.max(20)).map(|_| char::from(rng.sample(rand::distr::Alphanumeric))).collect()
}
