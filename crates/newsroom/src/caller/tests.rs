//! Tests of callers without HTTP.

use stet_auth::{Grant, Privilege, User, UserGroup};
use stet_base::limits::{change_mark, with_behalf};
use stet_domain::command::CallerIdentity;
use stet_domain::document::Document;
use stet_domain::error::Code;
use stet_domain::id::{DatabaseId, Loid, ObjectSource};
use stet_domain::lifecycle::{DiscardObject, NewParts};
use stet_domain::object::Reach;

use super::{CallContext, Caller, Principal};
use crate::creation::{Creation, CreationKind, CreationPlace};
use crate::testing::NewsroomFixture;

/// Gives the user `ada` these privileges below `/Desk`, and no others.
async fn grant(fixture: &NewsroomFixture, privileges: &[Privilege]) {
    let directory = fixture.newsroom.directory.by(CallerIdentity::operator());
    let folder = || Some("/Desk".to_owned());
    let privileges = privileges.iter().map(|privilege| Grant { privilege: *privilege, folder: folder() }).collect();
    let group = UserGroup { name: "desk".into(), description: String::new(), privileges };
    directory.put_group(group).await.expect("the store is well");
}

fn caller(fixture: &NewsroomFixture, principal: Principal) -> Caller {
    Caller::new(fixture.newsroom.clone(), principal, CallContext::default()).expect("the store is well")
}

/// Returns the creation of a document in a folder.
fn story(name: &str, folder: &str) -> Creation {
    let kind = CreationKind::Container { type_name: "Story".into(), parts: NewParts::of::<Document>(()) };
    let place = CreationPlace::Folder(Some(ObjectSource::Path(folder.to_owned())));
    Creation { place, ..Creation::of(kind, name) }
}

/// Returns a newsroom with the folders `/Desk` and `/Other`, and the user `ada`, who may do these
/// things below `/Desk`.
async fn newsroom(privileges: &[Privilege]) -> NewsroomFixture {
    let fixture = NewsroomFixture::new().await;
    let operator = caller(&fixture, Principal::Operator("admin".into()));
    for name in ["Desk", "Other"] {
        let place = CreationPlace::Folder(Some(ObjectSource::Path("/".to_owned())));
        let folder = Creation { place, ..Creation::of(CreationKind::Folder, name) };
        operator.create(folder).await.expect("the operator may create");
    }
    grant(&fixture, privileges).await;
    let mut ada = User::new("ada");
    ada.groups.push("desk".into());
    fixture.newsroom.directory.by(CallerIdentity::operator()).put_user(ada).await.expect("the store is well");
    fixture
}

#[actix::test]
async fn a_user_without_a_session_acts_by_their_rights() {
    let fixture = newsroom(&[Privilege::Read, Privilege::Create]).await;
    let mut ada = caller(&fixture, Principal::User("ada".into()));
    let made = ada.create(story("a.xml", "/Desk")).await.expect("they may create there").reply.loid;
    let record = ada.find(&made.into(), DatabaseId::FIRST).expect("they may read it");
    assert_eq!((&*record.creator, &*record.type_name), ("ada", "Story"));
    let elsewhere = ada.create(story("a.xml", "/Other")).await.map(|made| made.reply.loid);
    assert_eq!(elsewhere.map_err(|error| error.code), Err(Code::PermissionDenied));
    let nobody = caller(&fixture, Principal::Anonymous).create(story("b.xml", "/Desk")).await;
    assert_eq!(nobody.map(|made| made.reply.loid).map_err(|error| error.code), Err(Code::PermissionDenied));

    grant(&fixture, &[]).await;
    ada.look_again().expect("the call needs no privilege");
    let found = ada.find(&made.into(), DatabaseId::FIRST).map(|record| record.loid);
    assert_eq!(found.map_err(|error| error.code), Err(Code::ObjectNotFound), "the rights are those of now");
}

/// A call that has changed something may not be refused any more. In a bulk call, that holds for
/// the reply, and not for the change of the next object.
#[actix::test]
async fn a_change_marks_its_call_until_the_next_object_of_a_list() {
    let fixture = newsroom(&[Privilege::Read, Privilege::Create, Privilege::Delete]).await;
    let made = caller(&fixture, Principal::User("ada".into())).create(story("a.xml", "/Desk")).await;
    let object = made.expect("they may create there").reply.loid;
    with_behalf(async {
        let mut ada = caller(&fixture, Principal::User("ada".into()));
        let mark = change_mark();
        let discard = |object: Loid| DiscardObject { object, reach: Reach::All };
        let mut each = ada.each_of(3).expect("it has no key");
        let missing = Loid { number: 1 << 40, ..object };
        assert!(each.at(0).expect("they may").change(missing, discard(missing)).await.is_err());
        assert!(!mark.is_set(), "nothing was changed");
        each.at(1).expect("they may").change(object, discard(object)).await.expect("it is there");
        assert!(mark.is_set());
        let third = each.at(2).expect("they may");
        assert!(!mark.is_set(), "this object may be refused");
        assert!(third.change(missing, discard(missing)).await.is_err());
        drop(third);
        assert!(mark.is_set(), "the reply tells of the second object");
    })
    .await;
}

#[actix::test]
async fn values_are_decided_in_the_order_of_their_dependence() {
    let fixture = newsroom(&[]).await;
    let operator = caller(&fixture, Principal::Operator("admin".into()));
    let text = |xml: &str| Some(crate::attribute_input::AttributeInput::of_text(xml));
    let system =
        "<props><productInfo><issueDate>20261201</issueDate></productInfo><workFolder>/News</workFolder></props>";
    let creation = Creation {
        work_folder: Some("/Sport".to_owned()),
        product: Some("Daily".to_owned()),
        system_attributes: text(system),
        ..story("a.xml", "/Desk/Deep")
    };
    let left = operator.create(creation).await.expect("the operator may").left.expect("it is known");
    let (record, attributes) = (&left.object().record, &left.object().attributes);
    assert_eq!(record.work_folder.as_deref(), Some("/Sport"), "a field of its own precedes the attributes");
    assert_eq!(record.issue_date.as_deref(), Some("20261201"));
    let stored = attributes.system_attributes.as_deref().expect("they are stored");
    assert!(!stored.contains("Daily"), "what the attributes say of the product precedes as a whole: {stored}");
    assert_eq!(fixture.newsroom.path_of(record).expect("the store is well").as_deref(), Some("/Desk/Deep/a.xml"));
}
