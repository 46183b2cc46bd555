use std::sync::mpsc;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use stet_domain::drawer::{DrawerHead, Item};
use stet_domain::family::Family;
use stet_domain::folder::root;
use stet_domain::id::{DatabaseId, Loid, ObjectUuid, ShortcutId};
use stet_domain::liveblog::{LiveblogHead, Post, PostHistoryEntry, PostStatus, RemovedPost};
use stet_domain::object::{
    Content, ContentLocation, DiscardNote, Draft, FamilyKind, FolderKey, Link, Lock, Record, SmallBody, Version,
};
use stet_domain::part::{ATTACHMENT_BODY, PartAttachment, attachment_body};
use stet_domain::store::{ChangeSet, Row, RowChange, RowPlace, Store, encode_value, key_of};
use stet_store::StoreOptions;
use stet_testkit::shelf::{FAMILIES, Shelf, ShelfHead, Slot, SlotContent};

use super::*;

mod boxes;

struct Ground {
    _data: tempfile::TempDir,
    store: RedbStore,
    content: ContentStore,
}

const ROOT: Loid = root(DatabaseId::FIRST);
const STORY: Loid = Loid::new(DatabaseId::FIRST, 7);
const DRAWER: Loid = Loid::new(DatabaseId::FIRST, 8);
const SPIKED: Loid = Loid::new(DatabaseId::FIRST, 9);
const BLOG: Loid = Loid::new(DatabaseId::FIRST, 10);
const POST: Loid = Loid::new(DatabaseId::FIRST, 11);

fn record(loid: Loid, name: &str, family: FamilyKind) -> Record {
    Record {
        uuid: ObjectUuid(uuid::Uuid::from_u128(loid.number.into())),
        folder: (loid != ROOT).then_some(FolderKey(ROOT)),
        ..Record::new(loid, name, "Any", family, &"editor".into(), 1000)
    }
}

fn story() -> Record {
    Record { version: 1, content: Some(bytes()), ..record(STORY, "a.xml", FamilyKind::Document) }
}

fn spiked() -> Record {
    let bin = DiscardNote { at: 1, by: "editor".into(), entry: SPIKED, path: "/b.xml".into() };
    Record { bin: Some(bin), ..record(SPIKED, "b.xml", FamilyKind::Document) }
}

fn bytes() -> Content {
    Content {
        content_type: "text/xml".into(),
        size: 8,
        sha256: Sha256::digest(b"<story/>").into(),
        stored: ContentLocation::Row,
    }
}

fn item(shortcut: u64, object: Loid, hidden: bool) -> Item {
    Item::new(DRAWER, ShortcutId(shortcut), object, u128::from(shortcut), hidden)
}

/// A post with one version and one attachment.
fn post() -> Post {
    let text: stet_domain::object::SharedText = "".into();
    let made = PostHistoryEntry { from: None, to: PostStatus::Approved, user: "editor".into(), at_ms: 1 };
    Post {
        liveblog: BLOG,
        record: Record { version: 1, content: Some(bytes()), ..record(POST, "p", FamilyKind::Document) },
        status: PostStatus::Approved,
        title: text.clone(),
        summary: text.clone(),
        description: text.clone(),
        kind: text.clone(),
        timestamp: 1,
        moderated: false,
        pinned: false,
        tags: Vec::new(),
        attachments: vec![PartAttachment { id: 30, name: "a.jpg".into(), content: bytes() }],
        history: vec![made],
        text,
    }
}

/// A row with its index entries.
fn add(row: &impl Row, changes: &mut Vec<RowChange>) {
    let mut entries = vec![(row.place(), encode_value(1, row))];
    row.index(&mut entries);
    changes.extend(entries.into_iter().map(|(key, value)| RowChange {
        table: key.table,
        key: key.key,
        value: Some(value),
    }));
}

impl Ground {
    /// Creates a root folder with a story, a drawer and a liveblog. The drawer holds the story and
    /// a discarded one. The liveblog has a post, and the memory of another.
    fn new() -> Ground {
        let data = tempfile::tempdir().expect("a temporary directory can be made");
        let store = RedbStore::open(StoreOptions::new(data.path())).expect("a new directory opens");
        let content =
            ContentStore::open(data.path(), 1000, stet_content::UploadBounds::NONE).expect("a new directory opens");
        let ground = Ground { _data: data, store, content };
        let mut changes = Vec::new();
        let (drawer, blog) = (record(DRAWER, "d", FamilyKind::Drawer), record(BLOG, "l", FamilyKind::Liveblog));
        for record in [record(ROOT, "", FamilyKind::Folder), story(), spiked(), drawer, blog] {
            add(&record, &mut changes);
        }
        let head = DrawerHead { loid: DRAWER, capacity: 2, automatic: false, title: "".into(), description: "".into() };
        add(&head, &mut changes);
        add(&item(20, STORY, false), &mut changes);
        add(&item(21, SPIKED, true), &mut changes);
        add(&LiveblogHead { loid: BLOG, moderated: false }, &mut changes);
        add(&post(), &mut changes);
        let gone = Loid::new(DatabaseId::FIRST, 12);
        let removed =
            RemovedPost { liveblog: BLOG, post: gone, revision: 3, was_approved: true, author: "editor".into() };
        add(&removed, &mut changes);
        let RowPlace { table, key } = attachment_body(BLOG, 30);
        changes.push(RowChange { table, key, value: Some(Bytes::from_static(b"<story/>")) });
        for version in [STORY.at_version(1), POST.at_version(1)] {
            add(&Version { loid: version, author: "editor".into(), at: 1, content: bytes() }, &mut changes);
            let RowPlace { table, key } = SmallBody::key(version);
            changes.push(RowChange { table, key, value: Some(Bytes::from_static(b"<story/>")) });
        }
        ground.write(changes);
        ground.count();
        ground
    }

    /// Writes how many names folders have, as the domain does with each change of names.
    fn count(&self) {
        let mut counts = NameCounts::default();
        let names = self.store.for_each(ReadLevel::Committed, Table::Names, |key, _| {
            counts.add(key);
            ControlFlow::<()>::Continue(())
        });
        names.expect("the store can be read");
        let count = |(key, count): (Vec<u8>, [u8; 8])| RowChange {
            table: Table::NameCounts,
            key: key.into(),
            value: Some(Bytes::copy_from_slice(&count)),
        };
        self.write(counts.entries().map(count).collect());
    }

    fn write(&self, changes: Vec<RowChange>) {
        let (sender, answer) = mpsc::channel();
        // The test waits below.
        let mut set = ChangeSet::fence(self.store.epoch(), move |outcome| drop(sender.send(outcome)));
        set.changes = changes;
        self.store.submit(set).expect("it is taken");
        answer.recv().expect("it is answered").expect("it is committed");
    }

    /// Writes a row behind the domain's back.
    fn set(&self, key: RowPlace, value: Option<Bytes>) {
        self.write(vec![RowChange { table: key.table, key: key.key, value }]);
    }

    fn put<R: Row>(&self, row: &R) {
        self.set(row.place(), Some(encode_value(R::FORMAT, row)));
    }

    fn faults(&self) -> Vec<String> {
        let report = check(&self.store, &self.content).expect("the store can be read");
        assert_eq!(report.faults.len() as u64, report.fault_count);
        report.faults
    }

    /// Asserts that one fault contains all these words.
    fn one_fault(&self, saying: &[&str]) {
        let faults = self.faults();
        let found = faults.iter().any(|fault| saying.iter().all(|words| fault.contains(words)));
        assert!(found, "{saying:?} is not among {faults:#?}");
    }
}

fn entry(row: &impl Row, table: Table) -> RowPlace {
    let mut entries = Vec::new();
    row.index(&mut entries);
    let found = entries.into_iter().find(|(key, _)| key.table == table);
    found.expect("the row has an entry there").0
}

#[test]
fn data_written_by_the_domain_has_no_faults() {
    let ground = Ground::new();
    assert_eq!(ground.faults(), Vec::<String>::new());
    let report = check(&ground.store, &ground.content).unwrap();
    assert_eq!((report.rows["objects/1"], report.rows["names/1"], report.rows["members/1"]), (4, 3, 2));
}

#[test]
fn an_index_entry_that_is_missing_is_found() {
    for table in [Table::Names, Table::Uuids] {
        let ground = Ground::new();
        ground.set(entry(&story(), table), None);
        ground.one_fault(&[&STORY.to_string(), "no entry in", table.name()]);
    }
    for table in [Table::Bin, Table::BinMembers] {
        let ground = Ground::new();
        ground.set(entry(&spiked(), table), None);
        ground.one_fault(&[&SPIKED.to_string(), "no entry in", table.name()]);
    }
    let ground = Ground::new();
    ground.set(entry(&item(20, STORY, false), Table::Members), None);
    ground.one_fault(&["no entry in members/1"]);
}

#[test]
fn an_index_entry_that_leads_elsewhere_is_found() {
    let ground = Ground::new();
    ground.set(entry(&story(), Table::Names), Some(Bytes::copy_from_slice(&DRAWER.to_key())));
    ground.one_fault(&[&STORY.to_string(), "has another value"]);
}

#[test]
fn an_index_entry_that_follows_from_no_row_is_found() {
    let ground = Ground::new();
    let key = RowPlace { table: Table::Names, key: stet_domain::object::name_key(ROOT, "ghost.xml") };
    ground.set(key, Some(Bytes::copy_from_slice(&STORY.to_key())));
    ground.one_fault(&["names/1 has 4 entries, but the rows require 3"]);
}

#[test]
fn a_number_of_names_that_is_not_theirs_is_found() {
    let key = RowPlace { table: Table::NameCounts, key: Bytes::copy_from_slice(&ROOT.to_key()) };
    for value in [None, Some(Bytes::from_static(b"\0\0\0\0\0\0\0\x04")), Some(Bytes::from_static(b"\x03"))] {
        let ground = Ground::new();
        ground.set(key.clone(), value);
        ground.one_fault(&[&ROOT.to_string(), "has 3 names, but the index name_counts/1 has another count"]);
    }
    let ground = Ground::new();
    ground.set(RowPlace { key: Bytes::copy_from_slice(&STORY.to_key()), ..key }, Some(Bytes::from_static(&[0; 8])));
    ground.one_fault(&["the index name_counts/1 has 2 entries, but the rows require 1"]);
}

#[test]
fn a_row_that_cannot_be_read_or_stands_elsewhere_is_found() {
    let ground = Ground::new();
    ground.set(story().place(), Some(Bytes::from_static(b"\x01nonsense")));
    ground.one_fault(&[&STORY.to_string()]);
    let ground = Ground::new();
    let key = RowPlace { table: Table::Objects, key: Bytes::copy_from_slice(&SPIKED.to_key()) };
    ground.set(key, Some(encode_value(Record::FORMAT, &story())));
    ground.one_fault(&["under another key"]);
}

#[test]
fn a_row_whose_object_is_gone_is_found() {
    let ground = Ground::new();
    ground.set(story().place(), None);
    ground.one_fault(&["versions/1", "no record"]);
    ground.one_fault(&["bodies/1", "no record"]);
    ground.one_fault(&["parts/1", &STORY.to_string(), "which is not there"]);
}

#[test]
fn an_object_whose_folder_is_gone_is_found() {
    let ground = Ground::new();
    ground.put(&Record { folder: Some(FolderKey(Loid::new(DatabaseId::FIRST, 99))), ..story() });
    ground.one_fault(&[&STORY.to_string(), "does not exist"]);
}

#[test]
fn a_discarded_record_without_a_bin_entry_is_found_by_the_check() {
    let ground = Ground::new();
    let bin = DiscardNote { entry: STORY, ..spiked().bin.unwrap() };
    ground.put(&Record { bin: Some(bin), ..spiked() });
    ground.one_fault(&[&SPIKED.to_string(), "is not in the recycle bin"]);
}

#[test]
fn bytes_that_are_missing_or_of_another_length_are_found() {
    let key = SmallBody::key(STORY.at_version(1));
    for value in [None, Some(Bytes::from_static(b"<story"))] {
        let ground = Ground::new();
        ground.set(key.clone(), value);
        ground.one_fault(&["versions/1", "content is missing"]);
    }
    let ground = Ground::new();
    let content = Content { stored: ContentLocation::File, ..bytes() };
    ground.put(&Version { loid: STORY.at_version(1), author: "editor".into(), at: 1, content });
    ground.one_fault(&["versions/1", "content is missing"]);
}

#[test]
fn a_latest_version_that_is_missing_or_another_is_found() {
    let ground = Ground::new();
    ground.put(&Record { version: 2, ..story() });
    ground.one_fault(&[&STORY.to_string(), "version 2 is not there"]);
    let ground = Ground::new();
    ground.put(&Record { content: Some(Content { sha256: [8; 32], ..bytes() }), ..story() });
    ground.one_fault(&[&STORY.to_string(), "not that of its latest version"]);
}

#[test]
fn a_drawer_that_is_not_whole_is_found() {
    let ground = Ground::new();
    let head = stet_domain::drawer::HEAD.place(DRAWER, &[]);
    ground.set(head, None);
    ground.one_fault(&["has items but no head"]);
    ground.one_fault(&[&DRAWER.to_string(), "the drawer has no head"]);
    let ground = Ground::new();
    ground.put(&item(20, STORY, true));
    ground.one_fault(&["it is hidden, which"]);
    let ground = Ground::new();
    ground.put(&item(21, SPIKED, false));
    ground.one_fault(&["it is shown, which"]);
    let ground = Ground::new();
    ground.put(&item(22, DRAWER, false));
    ground.one_fault(&["has 3 items, where 2 fit"]);
}

#[test]
fn a_liveblog_that_is_not_whole_is_found() {
    let ground = Ground::new();
    ground.set(stet_domain::liveblog::HEAD.place(BLOG, &[]), None);
    ground.one_fault(&["has posts but no head"]);
    ground.one_fault(&[&BLOG.to_string(), "the liveblog has no head"]);
    let ground = Ground::new();
    ground.set(attachment_body(BLOG, 30), None);
    ground.one_fault(&["attachment 30", "content is missing"]);
    let ground = Ground::new();
    ground.set(SmallBody::key(POST.at_version(1)), None);
    ground.one_fault(&["versions/1", "content is missing"]);
    let ground = Ground::new();
    ground.put(&Post { record: Record { version: 2, ..post().record }, ..post() });
    ground.one_fault(&["version 2 is not there"]);
    for table in [Table::PartOf, Table::Uuids] {
        let ground = Ground::new();
        ground.set(entry(&post(), table), None);
        ground.one_fault(&["no entry in", table.name()]);
    }
    let ground = Ground::new();
    ground.set(post().place(), None);
    ground.set(entry(&post(), Table::PartOf), None);
    ground.one_fault(&["versions/1", &POST.at_version(1).to_string(), "no record"]);
}

#[test]
fn a_draft_without_its_bytes_or_its_object_is_found() {
    let draft = Draft { loid: STORY, author: "editor".into(), at: 1, content: bytes(), base: None };
    let body = SmallBody::key(Draft::body_loid(STORY));
    let ground = Ground::new();
    ground.put(&draft);
    ground.one_fault(&["drafts/1", "content is missing"]);
    ground.set(body, Some(Bytes::from_static(b"<story/>")));
    assert_eq!(ground.faults(), Vec::<String>::new());
    ground.put(&Draft { loid: Loid::new(DatabaseId::FIRST, 99), ..draft });
    ground.one_fault(&["drafts/1", "no record"]);
}

#[test]
fn a_lock_that_its_session_does_not_know_of_is_found() {
    let ground = Ground::new();
    let lock = Lock { user: "editor".into(), session: "s1".into(), at: 1, expires: 2 };
    ground.put(&Record { lock: Some(lock), ..story() });
    ground.one_fault(&[&STORY.to_string(), "no entry in locks/1"]);
}

#[test]
fn bytes_that_no_content_has_are_found() {
    let bytes = || Some(Bytes::from_static(b"<story/>"));
    // Of a version that is not there, and of a draft that is not there.
    for loid in [STORY.at_version(2), POST.at_version(2), STORY, Draft::body_loid(STORY)] {
        let ground = Ground::new();
        ground.set(SmallBody::key(loid), bytes());
        ground.one_fault(&["bodies/1", &loid.to_string(), "no version or draft has this content"]);
    }
    // Of ones that have theirs in a file.
    let content = Content { stored: ContentLocation::File, ..self::bytes() };
    let version = Version { loid: STORY.at_version(1), author: "editor".into(), at: 1, content: content.clone() };
    let ground = Ground::new();
    ground.put(&version);
    ground.one_fault(&["bodies/1", &version.loid.to_string(), "is in a file"]);
    let ground = Ground::new();
    ground.put(&Draft { loid: STORY, author: "editor".into(), at: 1, content, base: None });
    ground.set(SmallBody::key(Draft::body_loid(STORY)), bytes());
    ground.one_fault(&["bodies/1", "is in a file"]);
    let ground = Ground::new();
    ground.set(RowPlace { table: Table::Bodies, key: key_of(&[&STORY.to_key(), &[1]]) }, bytes());
    ground.one_fault(&["bodies/1", "not that of a version"]);
}

#[test]
fn bytes_of_an_attachment_that_no_post_has_are_found() {
    let ground = Ground::new();
    ground.set(attachment_body(BLOG, 31), Some(Bytes::from_static(b"<story/>")));
    ground.one_fault(&[&BLOG.to_string(), "bytes of an attachment 31"]);
    assert_eq!(ground.faults().len(), 1, "the other one's are where they belong");
    // A content in a file, whose bytes are in the tables nevertheless.
    let ground = Ground::new();
    let content = Content { stored: ContentLocation::File, ..bytes() };
    ground.put(&Post { attachments: vec![PartAttachment { id: 30, name: "a.jpg".into(), content }], ..post() });
    ground.one_fault(&[&BLOG.to_string(), "bytes of an attachment 30"]);
    // Another liveblog's post has it.
    let ground = Ground::new();
    let other = Loid::new(DatabaseId::FIRST, 13);
    let mut changes = Vec::new();
    add(&record(other, "m", FamilyKind::Liveblog), &mut changes);
    add(&LiveblogHead { loid: other, moderated: false }, &mut changes);
    ground.write(changes);
    ground.set(attachment_body(other, 30), Some(Bytes::from_static(b"<story/>")));
    ground.one_fault(&[&other.to_string(), "bytes of an attachment 30"]);
    ground.set(ATTACHMENT_BODY.place(BLOG, &[]), Some(Bytes::new()));
    ground.one_fault(&["parts/1", "none of an attachment"]);
}

#[test]
fn a_version_above_the_latest_is_found() {
    for above in [STORY.at_version(2), POST.at_version(7), DRAWER.at_version(1)] {
        let ground = Ground::new();
        let content = Content { size: 0, sha256: Sha256::digest(b"").into(), ..bytes() };
        ground.put(&Version { loid: above, author: "editor".into(), at: 1, content });
        ground.set(SmallBody::key(above), Some(Bytes::new()));
        ground.one_fault(&[&above.to_string(), "above its latest version"]);
        assert_eq!(ground.faults().len(), 1);
    }
}

#[test]
fn posts_of_one_name_and_posts_that_are_remembered_as_removed_are_found() {
    let other = |name: &str| {
        let loid = Loid::new(DatabaseId::FIRST, 14);
        Post { record: record(loid, name, FamilyKind::Document), attachments: Vec::new(), ..post() }
    };
    let with = |name: &str| {
        let ground = Ground::new();
        let mut changes = Vec::new();
        add(&other(name), &mut changes);
        ground.write(changes);
        ground
    };
    // In another form of the same characters.
    let ground = with("q\u{fc}");
    ground.put(&Post { record: Record { name: "qu\u{308}".into(), ..post().record }, ..post() });
    ground.one_fault(&[&BLOG.to_string(), "two posts named"]);
    let ground = with("q");
    assert_eq!(ground.faults(), Vec::<String>::new());
    ground.put(&RemovedPost { liveblog: BLOG, post: POST, revision: 4, was_approved: true, author: "ada".into() });
    ground.one_fault(&[&BLOG.to_string(), &POST.to_string(), "remembers it as removed"]);
}

#[test]
fn content_files_that_no_row_refers_to_are_counted_and_no_fault() {
    let ground = Ground::new();
    let file = |sha256: &[u8; 32], bytes: &[u8]| {
        let path = ground.content.path(sha256);
        std::fs::create_dir_all(path.parent().expect("it has one")).expect("a folder can be made");
        std::fs::write(path, bytes).expect("a file can be written");
    };
    file(&bytes().sha256, b"<story/>");
    file(&[2; 32], &[0; 30]);
    file(&[3; 32], &[0; 40]);
    let content = Content { stored: ContentLocation::File, ..bytes() };
    let mut changes = Vec::new();
    add(&Draft { loid: STORY, author: "editor".into(), at: 1, content, base: None }, &mut changes);
    ground.write(changes);
    let report = check(&ground.store, &ground.content).unwrap();
    assert_eq!((report.faults, report.unused_files, report.unused_bytes), (Vec::new(), 2, 70));
    // Damaged, but of the same length: the fault names the file and its content.
    file(&bytes().sha256, b"<stony/>");
    let path = ground.content.path(&bytes().sha256);
    ground.one_fault(&["drafts/1", &STORY.to_string(), &path.to_string_lossy(), "is damaged"]);
}

#[test]
fn bytes_in_the_tables_that_are_damaged_are_found() {
    let damaged = Some(Bytes::from_static(b"<stony/>"));
    for (key, place) in [
        (SmallBody::key(STORY.at_version(1)), format!("versions/1 {}", STORY.at_version(1))),
        (SmallBody::key(POST.at_version(1)), format!("versions/1 {}", POST.at_version(1))),
        (attachment_body(BLOG, 30), "attachment 30".to_owned()),
    ] {
        let ground = Ground::new();
        ground.set(key, damaged.clone());
        ground.one_fault(&[&place, "its content in the tables is damaged"]);
        assert_eq!(ground.faults().len(), 1);
    }
}

#[test]
fn a_version_whose_file_has_no_entry_is_found() {
    let ground = Ground::new();
    let content = Content { stored: ContentLocation::File, ..bytes() };
    ground.put(&Version { loid: SPIKED.at_version(1), author: "editor".into(), at: 1, content });
    ground.one_fault(&["versions/1", "no entry in files/1"]);
}

/// Adds a shelf that holds the story twice, and the discarded one. Its family exists only in tests.
fn with_shelf(change: impl FnOnce(&mut Slot)) -> Ground {
    const SHELF: Loid = Loid::new(DatabaseId::FIRST, 15);
    let slot = |id, object, hidden| {
        let stands = SlotContent::Object(FolderKey(object));
        Slot { shelf: SHELF, id, board: "top".into(), stands, order: u128::from(id).into(), hidden }
    };
    let ground = Ground::new();
    let mut changes = Vec::new();
    add(&record(SHELF, "s", <Shelf as Family>::KIND), &mut changes);
    add(&ShelfHead { loid: SHELF, boards: vec!["top".into()] }, &mut changes);
    let mut first = slot(40, STORY, false);
    change(&mut first);
    for slot in [first, slot(41, STORY, false), slot(42, SPIKED, true)] {
        add(&slot, &mut changes);
    }
    ground.write(changes);
    ground.count();
    ground
}

#[test]
fn a_family_is_proved_as_it_says_and_one_that_is_not_known_is_found() {
    let faults = |families, ground: &Ground| check_of(families, &ground.store, &ground.content).unwrap().faults;
    let ground = with_shelf(|_| ());
    assert_eq!(faults(FAMILIES, &ground), Vec::<String>::new());
    let unknown = faults(Families::ALL, &ground);
    assert!(unknown.iter().any(|fault| fault.contains("a part of unknown kind Some(251)")), "{unknown:?}");
    type Damage = fn(&mut Slot);
    let changes: [(Damage, &str); 3] = [
        (|slot| slot.hidden = true, "it is hidden, which"),
        (|slot| slot.board = "side".into(), "the shelf has no board `side`"),
        (|slot| slot.stands = SlotContent::Object(FolderKey(Loid::new(DatabaseId::FIRST, 99))), "which is not there"),
    ];
    for (change, saying) in changes {
        let found = faults(FAMILIES, &with_shelf(change));
        assert!(found.len() == 1 && found[0].contains(saying), "{found:?}");
    }
}

#[test]
fn a_link_that_leads_to_nothing_or_is_known_on_one_side_alone_is_found() {
    let none = Loid::new(DatabaseId::FIRST, 99);
    let link = |source, target| Link { source, source_name: "x".into(), target, target_name: "y".into() };
    let put = |ground: &Ground, link: &Link| {
        ground.put(link);
        ground.set(entry(link, Table::CorrelatedTo), Some(Bytes::new()));
    };
    let ground = Ground::new();
    put(&ground, &link(STORY, POST));
    put(&ground, &link(POST, SPIKED));
    assert_eq!(ground.faults(), Vec::<String>::new());
    ground.set(entry(&link(STORY, POST), Table::CorrelatedTo), None);
    ground.one_fault(&["correlates/1", "no entry in correlated_to/1"]);
    for (link, fault) in [(link(STORY, none), "has no record"), (link(none, STORY), "no record")] {
        let ground = Ground::new();
        put(&ground, &link);
        ground.one_fault(&["correlates/1", fault]);
    }
}
