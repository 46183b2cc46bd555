//! Commands and readers get the same decisions.

use stet_auth::Grant;
use stet_domain::folder::root;
use stet_domain::id::DatabaseId;
use stet_domain::lifecycle::{CreateInFolder, DiscardObject, MoveObject, NewObject, RestoreObject};
use stet_domain::object::{CreateMode, FamilyKind};

use super::*;
use crate::testing::{NewsroomFixture, by_editor};

impl NewsroomFixture {
    async fn made(&self, folder: Loid, object: NewObject) -> Loid {
        let create = CreateInFolder { folder, below: Vec::new(), object };
        self.repository.joint(create, by_editor()).await.expect("it is made").loid
    }

    async fn folder(&self, above: Loid, name: &str) -> Loid {
        self.made(above, NewObject::of::<stet_domain::folder::Folder>(name, "Folder", ())).await
    }

    async fn story(&self, folder: Loid) -> Loid {
        self.made(folder, NewObject::document("story.xml", "Story")).await
    }
}

#[actix::test]
async fn commands_are_told_what_readers_are() {
    let fixture = NewsroomFixture::new().await;
    let top = root(DatabaseId::FIRST);
    let desk = fixture.folder(top, "desk").await;
    let inner = fixture.folder(desk, "inner").await;
    let other = fixture.folder(top, "other").await;
    let homes = fixture.newsroom.home_of("ada").expect("it is known");
    let mut home = top;
    for name in homes.split('/').filter(|name| !name.is_empty()) {
        home = fixture.folder(home, name).await;
    }
    let folders = [top, desk, inner, other, home];
    let mut objects = folders.to_vec();
    for folder in folders {
        objects.push(fixture.story(folder).await);
    }
    let grant = |privilege, folder: Option<Loid>| Grant { privilege, folder: folder.map(|folder| folder.to_string()) };
    let user: SharedText = "ada".into();
    let all_rights = [
        vec![],
        vec![grant(Privilege::Read, Some(desk))],
        vec![grant(Privilege::Read, Some(inner)), grant(Privilege::Write, Some(other))],
        vec![grant(Privilege::Write, None)],
    ];
    let mut seen = 0;
    for grants in all_rights {
        let folder = |source: &str| Ok::<_, Error>(source.parse().ok());
        let rights = Rights::sum(&grants, folder).expect("grants add up");
        for person in [true, false] {
            let rows = AccessRows::Committed(&fixture.newsroom);
            let access =
                Access { rows, caller: Some(RightsHolder { user: &user, rights: &rights, person }), home: None };
            let readable = access.readable().expect("the store reads").expect("it is not everything");
            let mut decide = readable.over(fixture.repository.look()).expect("the store reads");
            let knowing = access.knowing_home().expect("the store reads");
            for object in &objects {
                let record = fixture.repository.record(*object).expect("the store reads").expect("it is there");
                let may = access.may(Privilege::Read, &record).expect("the store reads");
                assert_eq!(knowing.may(Privilege::Read, &record), Ok(may), "{object} where the home is known");
                assert_eq!(decide(*object).expect("the store reads"), may, "{object} for {grants:?}, person: {person}");
                seen += usize::from(may);
            }
            assert_eq!(decide(Loid::new(DatabaseId::FIRST, 999_999)), Ok(false), "what is not there is not seen");
            // The same check for rights to change.
            let changeable = access.changeable().expect("the store reads");
            for object in &objects {
                let record = fixture.repository.record(*object).expect("the store reads").expect("it is there");
                let may = access.may(Privilege::Write, &record).expect("the store reads");
                let decided = changeable.as_ref().map_or(Ok(true), |changeable| {
                    changeable.over(fixture.repository.look()).and_then(|mut decide| decide(*object))
                });
                assert_eq!(decided.expect("the store reads"), may, "{object} for {grants:?}, person: {person}");
            }
        }
    }
    // Four below `desk` and two below `inner`, each plus the home and its object for a person.
    assert_eq!(seen, 2 * (4 + 2) + 2 * 2);
    let everything = Rights::sum(&[grant(Privilege::Read, None)], |_| Ok::<_, Error>(None)).expect("grants add up");
    let caller = Some(RightsHolder { user: &user, rights: &everything, person: true });
    let access = Access { rows: AccessRows::Committed(&fixture.newsroom), caller, home: None };
    assert!(access.readable().expect("the store reads").is_none(), "it costs nothing");
}

#[actix::test]
async fn homes_are_made_where_their_names_are_missing_and_nowhere_else() {
    let fixture = NewsroomFixture::new().await;
    let top = root(DatabaseId::FIRST);
    let other = fixture.folder(top, "other").await;
    let user: SharedText = "ada".into();
    let rights = |privileges: &[Privilege]| {
        let grants: Vec<_> = privileges
            .iter()
            .map(|privilege| Grant { privilege: *privilege, folder: Some(other.to_string()) })
            .collect();
        Rights::sum(&grants, |source: &str| Ok::<_, Error>(source.parse().ok())).expect("grants add up")
    };
    let [enough, too_few] = [rights(&[Privilege::Read, Privilege::Create]), rights(&[Privilege::Read])];
    let makes = |rights: &Rights, person, folder, missing: &[String]| {
        let caller = Some(RightsHolder { user: &user, rights, person });
        let access = Access { rows: AccessRows::Committed(&fixture.newsroom), caller, home: None };
        access.may_make_home(folder, missing).expect("the store reads")
    };
    let home = fixture.newsroom.home_of("ada").expect("it is known");
    let names: Vec<String> = home.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let with = |names: &[String], more: &str| [names, &[more.to_owned()]].concat();
    let mut at = top;
    for made in 0..names.len() {
        let missing = &names[made..];
        assert!(makes(&enough, true, at, missing) && makes(&enough, true, at, &with(missing, "inside")));
        assert!(!makes(&enough, true, other, missing), "the same names in another folder");
        assert!(!makes(&enough, true, at, &with(&missing[..missing.len() - 1], "bob")), "another home");
        assert!(!makes(&enough, true, at, &missing[..missing.len() - 1]), "only a folder on the way");
        assert!(!makes(&enough, false, at, missing) && !makes(&too_few, true, at, missing));
        at = fixture.folder(at, &names[made]).await;
    }
    for missing in [&[][..], &["inside".to_owned()]] {
        assert!(!makes(&enough, true, at, missing), "the home is there");
    }
}

#[actix::test]
async fn discarded_objects_are_not_readable_by_a_command() {
    let fixture = NewsroomFixture::new().await;
    let desk = fixture.folder(root(DatabaseId::FIRST), "desk").await;
    let story = fixture.story(desk).await;
    let grants = [Grant { privilege: Privilege::Read, folder: Some(desk.to_string()) }];
    let rights = Rights::sum(&grants, |source: &str| Ok::<_, Error>(source.parse().ok())).expect("grants add up");
    let user: SharedText = "ada".into();
    let caller = Some(RightsHolder { user: &user, rights: &rights, person: false });
    let readable = Access { rows: AccessRows::Committed(&fixture.newsroom), caller, home: None }
        .readable()
        .expect("the store reads");
    let readable = readable.expect("it is not everything");
    let sees = |object| readable.over(fixture.repository.look()).and_then(|mut decide| decide(object));
    assert_eq!(sees(story), Ok(true));
    fixture
        .repository
        .joint(DiscardObject { object: story, reach: stet_domain::object::Reach::All }, by_editor())
        .await
        .expect("it is discarded");
    assert_eq!(sees(story), Ok(false));
    let record = fixture.repository.any_record(story).expect("the store reads").expect("it is in the recycle bin");
    assert_eq!(record.family, FamilyKind::Document);
}

/// Compares the cached folders on the way with a walk up from each grant, after each change. The
/// trees are random, with folders moved, discarded and restored, and random grants on some.
#[actix::test]
async fn folders_on_the_way_are_those_that_walks_from_the_grants_find() {
    let fixture = NewsroomFixture::new().await;
    let top = root(DatabaseId::FIRST);
    let user: SharedText = "ada".into();
    let (mut dice, mut on_way, mut kept) = (Dice(11), 0, 0);
    let mut folders = vec![top];
    for number in 0..30 {
        let above = folders[dice.below(folders.len())];
        folders.push(fixture.folder(above, &format!("folder-{number}")).await);
    }
    let mut callers: Vec<Rights> = Vec::new();
    for round in 0..120 {
        if round % 20 == 0 {
            callers = (0..3).map(|_| dice.rights(&folders)).collect();
        }
        let (object, other) = (folders[1 + dice.below(30)], folders[dice.below(31)]);
        let _may_be_refused = match dice.below(4) {
            0 => fixture.repository.joint(DiscardObject { object, reach: Reach::All }, by_editor()).await.map(drop),
            1 | 2 => {
                let restore = RestoreObject { object, folder: None, mode: CreateMode::AutoRename, reach: Reach::All };
                fixture.repository.joint(restore, by_editor()).await.map(drop)
            }
            _ => {
                let to = MoveObject { object, folder: other, mode: CreateMode::AutoRename, reach: Reach::All };
                fixture.repository.joint(to, by_editor()).await.map(drop)
            }
        };
        fixture.repository.views_agree().await;
        for rights in &callers {
            kept += usize::from(fixture.newsroom.records.ways.kept(rights.identity()).is_ok());
            let caller = Some(RightsHolder { user: &user, rights, person: false });
            let access = Access { rows: AccessRows::Committed(&fixture.newsroom), caller, home: None };
            for folder in &folders {
                let found = access.is_on_way_to_grant(rights, *folder).expect("the store reads");
                let walked = access.walks_to_grant(rights, *folder).expect("the store reads");
                assert_eq!(found, walked, "{folder} in round {round}");
                on_way += usize::from(found);
            }
        }
    }
    assert!(on_way > 1000, "{on_way}");
    assert!(kept > 10, "{kept}: refused changes change nothing");
}

/// Random numbers, the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    /// Returns up to four grants, most of which allow to read.
    fn rights(&mut self, folders: &[Loid]) -> Rights {
        let grants: Vec<_> = (0..1 + self.below(4))
            .map(|_| Grant {
                privilege: if self.below(4) > 0 { Privilege::Read } else { Privilege::Write },
                folder: Some(folders[1 + self.below(folders.len() - 1)].to_string()),
            })
            .collect();
        Rights::sum(&grants, |source: &str| Ok::<_, Error>(source.parse().ok())).expect("grants add up")
    }
}
