//! The checks before a call reaches its handler: the endpoint's privilege, in general and on the
//! objects in the path.

use std::sync::Arc;

use stet_auth::{LiveSession, Privilege, Rights};
use stet_domain::error::{Code, Result};
use stet_newsroom::access::Access;

use super::app::App;
use super::call::PathSources;
use super::query::Query;
use super::route::{PrivilegeScope, Route};
use super::router::PathParams;

/// Refuses a call before its objects are looked up, so that a caller who holds the privilege
/// nowhere learns nothing about any object.
///
/// # Errors
/// `PermissionDenied`.
pub fn check_privilege(app: &App, access: Access<'_>, route: &Route, params: &PathParams<'_>) -> Result<()> {
    match route.privilege {
        None => Ok(()),
        Some(_) if route.privilege_of_status => {
            let about = route.needs().next().and_then(|(name, _)| params.get(name));
            access.check_any_anywhere(&app.sysconfig.privileges_of_statuses(), about)
        }
        Some(needed) if route.scope() == PrivilegeScope::Server => access.check_everywhere(needed),
        Some(needed) if route.scope() == PrivilegeScope::People => {
            access.check_anywhere(needed, None)?;
            access.check_people(needed)
        }
        Some(_) if route.or_privilege.is_some_and(|other| access.check_anywhere(other, None).is_ok()) => Ok(()),
        Some(needed) => {
            let about = route.needs().find(|(_, of_object)| *of_object == needed);
            access.check_anywhere(needed, about.and_then(|(name, _)| params.get(name)))
        }
    }
}

/// Checks the privilege on each object in the path. A caller who has the privilege everywhere skips
/// the check, and the handler reports a missing object. Any other caller gets that error here,
/// where an object that they may not see counts as missing.
///
/// # Errors
/// `ObjectNotFound`, `PermissionDenied`, `DatabaseNotFound`; errors of the store.
pub fn check_objects(app: &App, access: Access<'_>, route: &Route, query: &Query, sources: &PathSources) -> Result<()> {
    for (name, needed) in route.needs() {
        if access.has_everywhere(needed) {
            continue;
        }
        let Some((_, source)) = sources.iter().find(|(known, _)| *known == name) else { continue };
        let database = app.database(query.text("databaseId"))?;
        match app.resolve(source, database) {
            Ok(cached) => {
                access.admit(needed, &cached, source)?;
            }
            Err(error) if error.code == Code::ObjectNotFound && route.takes_recycled => {
                access.admit(needed, &app.repository.resolve_any(source, database)?, source)?;
            }
            Err(error) if error.code == Code::ObjectNotFound && route.takes_items => {
                access.admit(needed, &app.item(source)?.0, source)?;
            }
            // The source may name a template. The handler decides whether the main database's
            // template is used.
            Err(error) if error.code == Code::ObjectNotFound && needed == Privilege::Read => {
                access.admit(needed, &*app.resolve_configured(source, database)?, source)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Checks the caller again after a body has arrived, which may take any time: the session and
/// rights at the time of the action count. Returns the current rights.
///
/// # Errors
/// `InvalidToken` for a session that has ended since; otherwise the errors of the first check.
pub fn check_again(
    app: &App,
    route: &Route,
    session: Option<&Arc<LiveSession>>,
    query: &Query,
    params: &PathParams<'_>,
    sources: &PathSources,
) -> Result<Arc<Rights>> {
    let rights = check_caller_again(app, route, session, params)?;
    if let Some(session) = session {
        check_objects(app, Access::of(app, session, &rights), route, query, sources)?;
    }
    Ok(rights)
}

/// Checks the caller as [`check_again`] does, but without the objects in the path.
///
/// # Errors
/// `InvalidToken`, `PermissionDenied`.
pub fn check_caller_again(
    app: &App,
    route: &Route,
    session: Option<&Arc<LiveSession>>,
    params: &PathParams<'_>,
) -> Result<Arc<Rights>> {
    let Some(session) = session else { return Ok(Arc::default()) };
    app.sessions.check(session)?;
    let rights = session.rights();
    check_privilege(app, Access::of(app, session, &rights), route, params)?;
    Ok(rights)
}
