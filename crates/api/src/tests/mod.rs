//! Tests of the web layer that need endpoints.

mod lists;
mod openapi;
mod query;
mod router;
mod routes;

use stet_auth::{Grant, Privilege, User, UserGroup};
use stet_domain::command::CallerIdentity;
use stet_domain::error::Code;
use stet_domain::lifecycle::NewObject;
use stet_newsroom::caller::BulkChange;
use stet_web::route::QueryParam;

use stet_web::testing::ServerFixture;

/// The caller may lose their rights while a list of thousands is processed.
#[actix_web::test]
async fn each_object_of_a_bulk_call_is_changed_by_who_the_caller_is_by_then() {
    let fixture = ServerFixture::of(crate::surface).await;
    let directory = &fixture.app.directory;
    let grant = async |privileges: &[Privilege]| {
        let privileges = privileges.iter().map(|privilege| Grant { privilege: *privilege, folder: None }).collect();
        let group = UserGroup { name: "desk".into(), description: String::new(), privileges };
        directory.by(CallerIdentity::operator()).put_group(group).await.expect("the store is well");
    };
    grant(&[Privilege::Read, Privilege::Delete]).await;
    let mut ada = User::new("ada");
    ada.groups.push("desk".into());
    directory.by(CallerIdentity::operator()).put_user(ada.clone()).await.expect("the store is well");
    let known = directory.user("ada").expect("the store is well").expect("they are there");
    let begun = fixture.app.sessions.log_in_as("web", "test", &known, "192.0.2.7").await.expect("the store is well");
    let mut call = fixture.call_of("objects-discard");
    call.sign_in(begun.session.clone(), begun.session.rights());
    let story = fixture.create(NewObject::document("a.xml", "Story")).await;
    let find = |one: BulkChange<'_>| one.caller().find_for(Privilege::Delete, &story.into(), story.database).map(drop);
    let mut each = call.each_of(9).expect("it has no key");
    assert_eq!(each.at(0).and_then(find), Ok(()));
    grant(&[Privilege::Read]).await;
    assert_eq!(each.at(1).and_then(find).map_err(|error| error.code), Err(Code::PermissionDenied));
    grant(&[Privilege::Read, Privilege::Delete]).await;
    assert_eq!(each.at(2).and_then(find), Ok(()));
    ada.disabled = true;
    directory.by(CallerIdentity::operator()).put_user(ada).await.expect("the store is well");
    assert_eq!(each.at(3).and_then(find).map_err(|error| error.code), Err(Code::InvalidToken));
    // The errors for the remaining objects show nothing that the caller may no longer read.
    let found = call.find(&story.into(), story.database).map(drop);
    assert_eq!(found.map_err(|error| error.code), Err(Code::ObjectNotFound));
}

/// A handler's future is copied on its way to the executor, and occupies memory for as long as
/// a client takes.
#[actix_web::test]
async fn waiting_handlers_hold_little_memory() {
    let fixture = ServerFixture::of(crate::surface).await;
    let mut handlers = 0;
    for route in fixture.app.groups.iter().flat_map(|group| group.routes()) {
        let handler = route.handler();
        handlers += 1;
        let required = route.query.iter().filter_map(|param| match param {
            QueryParam::One { name, required: true, .. } => Some(format!("{name}=1")),
            _ => None,
        });
        let query = required.collect::<Vec<_>>().join("&");
        let call = fixture.call(route, &query);
        let held = size_of_val(&*(handler.answer)(call));
        assert!(held <= 6 << 10, "{}: {held} bytes", route.id);
    }
    assert!(handlers > 70, "{handlers}");
}
