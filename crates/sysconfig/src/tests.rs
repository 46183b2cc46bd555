use proptest::prelude::*;
use stet_domain::object::FamilyKind;

use super::catalogs::Catalogs;
use super::files::{FileLookup, FileShelf, Files, ReadingOutcome, SourceFile};
use super::pages::ContentItems;
use super::vocabulary::ROOTS;
use super::whole::WholeFile;
use super::*;

const TYPES: &str = include_str!("../../../src/sample/files/SysConfig/ObjectTypes/objecttypes.xml");
const CATALOGS: &str = include_str!("../../../src/sample/files/SysConfig/Columns/columnCfgCatalogs.cfg");
const WORKFLOWS: &str = include_str!("../../../src/sample/files/SysConfig/Workflows/workflows.xml");

/// Parses a text as a configuration file without includes.
fn read<T: ConfigFile>(text: &str) -> Result<T, Vec<ConfigurationFault>> {
    parse(&WholeFile::of_text("/SysConfig/file.xml", text)).map(|parsed| parsed.value)
}

fn types() -> ObjectTypes {
    read::<ObjectTypes>(TYPES).expect("the sample's file is well")
}

fn workflows() -> Workflows {
    read::<Workflows>(WORKFLOWS).expect("the sample's file is well")
}

fn name(found: Option<&ObjectType>) -> Option<&str> {
    found.map(|kind| &*kind.name)
}

#[track_caller]
fn assert_fault<T: std::fmt::Debug>(result: Result<T, Vec<ConfigurationFault>>, line: usize, part: &str) {
    let faults = result.expect_err("the text is at fault");
    let told = faults.iter().any(|fault| fault.line == line && fault.fault.contains(part));
    assert!(told, "`{part}` is missing at line {line} in: {faults:?}");
}

#[test]
fn the_sample_files_are_read_whole() {
    let types = types();
    assert_eq!(types.iter().count(), TYPES.matches("<objectType ").count());
    let image = types.get("Image").expect("the sample has it");
    assert_eq!(
        (image.family, image.workflow.as_deref(), &*image.label),
        (FamilyKind::Document, Some("Image"), "Picture")
    );
    assert_eq!((image.content_types.len(), image.extensions.len()), (6, 8));
    let workflows = workflows();
    assert!(types.iter().all(|kind| workflows.initial(kind.workflow.as_deref().unwrap_or_default()).is_some()));
    let families: std::collections::HashSet<_> = types.iter().map(|kind| kind.family.name()).collect();
    assert_eq!(families.len(), 8);
}

#[test]
fn a_type_is_found_whatever_its_prefix_and_case() {
    let types = types();
    for asked in ["Story", "EOM::Story", "story", "eom::STORY", "A::B::Story"] {
        assert_eq!(name(types.get(asked)), Some("Story"), "{asked}");
    }
    for asked in ["", "::", "EOM::", "Stor", "EOM:Story"] {
        assert_eq!(name(types.get(asked)), None, "{asked}");
    }
}

#[test]
fn case_and_prefix_count_where_they_tell_types_apart() {
    let text = "<objectTypes><objectType name='note' family='document'/><objectType name='Note' family='folder'/>\
                <objectType name='X::Note' family='drawer'/><objectType name='Y::Plan' family='topic'/></objectTypes>";
    let types = read::<ObjectTypes>(text).expect("the names differ");
    for (asked, found) in [
        ("Note", "Note"),
        ("note", "note"),
        ("NOTE", "note"),
        ("X::Note", "X::Note"),
        ("Z::Note", "Note"),
        ("Plan", "Y::Plan"),
        ("plan", "Y::Plan"),
    ] {
        assert_eq!(name(types.get(asked)), Some(found), "{asked}");
    }
}

#[test]
fn types_are_inferred_by_content_type_then_extension_then_fallback() {
    let types = types();
    for (content_type, file_name, wanted) in [
        (Some("image/jpeg"), "a.txt", "Image"),
        (Some("Text/XML; charset=utf-8"), "a", "Story"),
        (Some("application/octet-stream"), "photo.JPG", "Image"),
        (Some("application/octet-stream; x=y"), "photo", "Binary"),
        (Some("application/x-unheard-of"), "notes.md", "Text"),
        (Some("application/x-unheard-of"), "notes", "Binary"),
        (Some(""), "clip.mp4", "Video"),
        (None, "letter.eml", "Mail"),
        (None, "archive.tar.gz", "Binary"),
        (None, ".xml", "Binary"),
        (None, "xml.", "Binary"),
        (None, "", "Binary"),
    ] {
        assert_eq!(name(types.infer(content_type, file_name)), Some(wanted), "{content_type:?} {file_name}");
    }
}

#[test]
fn the_first_type_with_a_content_type_wins_and_no_fallback_infers_nothing() {
    let text = "<objectTypes><objectType name='A' family='document'><contentType>a/b</contentType></objectType>\
                <objectType name='B' family='document'><contentType> A/B </contentType><extension>.Bin</extension>\
                </objectType></objectTypes>";
    let types = read::<ObjectTypes>(text).expect("the text is well");
    assert_eq!(name(types.infer(Some("a/b"), "x")), Some("A"));
    assert_eq!(name(types.infer(None, "x.bin")), Some("B"));
    assert_eq!(name(types.infer(None, "x")), None);
}

#[test]
fn built_in_types_are_folder_drawer_liveblog_post_and_a_fallback() {
    let types = ObjectTypes::default();
    for (name, family) in [
        ("Folder", FamilyKind::Folder),
        ("Drawer", FamilyKind::Drawer),
        ("LiveBlog", FamilyKind::Liveblog),
        ("LiveBlogPost", FamilyKind::Document),
        ("Binary", FamilyKind::Document),
    ] {
        assert_eq!(types.get(name).map(|kind| kind.family), Some(family), "{name}");
    }
    assert_eq!(name(types.infer(Some("image/png"), "a.png")), Some("Binary"));
}

#[test]
fn unknown_or_unusual_xml_in_object_types_changes_nothing() {
    let text = "\u{FEFF}<?xml version='1.0'?><!DOCTYPE objectTypes><!-- x --><objectTypes version='2'>\
                <icons><objectType name='No' family='none'/></icons>\
                <objectType name='R&amp;D' family='document' icon='x'><contentType>te<![CDATA[xt/]]>&#120;</contentType>\
                <icon/></objectType></objectTypes>";
    let types = read::<ObjectTypes>(text).expect("the text is well");
    assert_eq!(types.iter().count(), 1);
    assert_eq!(name(types.infer(Some("text/x"), "")), Some("R&D"));
}

#[test]
fn doctype_declarations_take_no_effect() {
    let declared = "<!DOCTYPE objectTypes SYSTEM 'types.dtd' [<!ENTITY lt 'x'><!ENTITY e \"<extension>e</extension>\">\
                    <!ATTLIST objectType workflow CDATA 'W'>]>\n";
    let types = |label: &str, inner: &str| {
        let text = format!("<objectType name='A' label='{label}' family='folder'>{inner}</objectType>");
        read::<ObjectTypes>(&format!("{declared}<objectTypes>\n{text}</objectTypes>"))
    };
    let parsed = types("&lt;b&gt;", "").expect("it refers to nothing");
    let kind = parsed.get("A").expect("it is there");
    assert_eq!((&*kind.label, kind.workflow.as_deref(), kind.extensions.len()), ("<b>", None, 0));
    assert_fault(types("a", "&e;"), 3, "e");
    assert_fault(types("&e;", ""), 3, "e");
}

#[test]
fn elements_and_attributes_of_other_namespaces_are_none_of_ours() {
    let text = "<objectTypes xmlns:o='urn:o'><o:objectType/><objectType name='A' o:name='B' family='folder'>\
                <o:extension>o</o:extension><extension>a</extension></objectType></objectTypes>";
    for text in [text.to_owned(), text.replacen("xmlns:o", "xmlns='urn:ours' xmlns:o", 1)] {
        let types = read::<ObjectTypes>(&text).expect("the text is well");
        let found: Vec<_> = types.iter().map(|kind| (&*kind.name, kind.extensions.len())).collect();
        assert_eq!(found, [("A", 1)], "{text}");
    }
    assert_fault(read::<ObjectTypes>("<objectTypes>\n <o:objectType/></objectTypes>"), 2, "o");
}

#[test]
fn bounds_are_held_before_a_tree_is_made() {
    let deep = format!("<objectTypes>\n{}{}</objectTypes>", "<a>".repeat(64), "</a>".repeat(64));
    assert_fault(read::<ObjectTypes>(&deep), 2, "levels");
    let long = format!("<objectTypes>{}</objectTypes>", " ".repeat(8 << 20));
    assert_fault(read::<ObjectTypes>(&long), 1, "bytes");
    let many = format!("<objectTypes>{}</objectTypes>", "<a/>".repeat(1 << 18));
    assert_fault(read::<ObjectTypes>(&many), 1, "limit");
}

#[test]
fn faults_in_object_types_are_reported_with_their_line() {
    let parse = read::<ObjectTypes>;
    assert_fault(parse(""), 1, "no root element");
    assert_fault(parse("<types/>"), 1, "`types`, not `objectTypes`");
    assert_fault(parse("<objectTypes>\n</objectTypes>"), 1, "no `objectType`");
    assert_fault(parse("<objectTypes>\n<objectType family='folder'/></objectTypes>"), 2, "no attribute `name`");
    assert_fault(
        parse("<objectTypes>\n<objectType name='' family='folder'/></objectTypes>"),
        2,
        "an empty attribute `name`",
    );
    assert_fault(parse("<objectTypes>\n\n<objectType name='A' family='box'/></objectTypes>"), 3, "webcontainer");
    assert_fault(
        parse("<objectTypes><objectType name='A' family='folder'>\n<extension/></objectType></objectTypes>"),
        2,
        "empty",
    );
    let twice =
        "<objectTypes><objectType name='A' family='folder'/>\n<objectType name='A' family='folder'/></objectTypes>";
    assert_fault(parse(twice), 2, "`A` is defined twice");
    assert_fault(parse("<objectTypes>\n<objectType></objectTypes>"), 2, "objectType");
}

#[test]
fn a_fault_tells_its_column_in_characters() {
    let faults = read::<ObjectTypes>("<objectTypes>\n<ä/> <objectType/></objectTypes>").expect_err("it has no name");
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert_eq!(faults[0].to_string(), "/SysConfig/file.xml:2:6: `objectType` has no attribute `name`");
}

#[test]
fn next_statuses_follow_the_transitions_unless_these_are_not_enforced() {
    let workflows = workflows();
    let story = workflows.get("Story").expect("the sample has it");
    let all = ["Story/Draft", "Story/Edited", "Story/Ready", "Story/Released", "Story/Spiked"];
    assert_eq!(story.reachable(Some("Story/Released")), ["Story/Edited", "Story/Spiked"]);
    for from in [None, Some("Image/Raw"), Some("Story/Unheard")] {
        assert_eq!(story.reachable(from), all, "{from:?}");
    }
    let mut free = story.clone();
    free.enforce = false;
    assert_eq!(free.reachable(Some("Story/Released")), all);
    let closed = workflows.iter().flat_map(|workflow| &workflow.statuses).filter(|status| status.closed);
    assert_eq!(closed.map(|status| &*status.name).collect::<Vec<_>>(), ["Topic/Done", "LiveBlog/Closed"]);
    let text = "<workflows><workflow name='W' enforce='false'><status name='a' identifier='rgb(0,0,0)'/>\
                <status name='b' identifier='rgb(0,0,0)' closed='true'/></workflow></workflows>";
    let workflows = read::<Workflows>(text).expect("the text is well");
    assert_eq!(workflows.check_step("W", Some("a"), "b").map_err(|error| error.code), Ok(()));
}

#[test]
fn status_privileges_come_from_the_commands_that_apply_to_the_type() {
    let text = "<commands><command name='a' privilege='moderate'><appliesTo>EOM::Story</appliesTo><set status='s'/></command>\
                <command name='b' privilege='delete'><set status='s'/></command>\
                <command name='c' privilege='read'><appliesTo>Image</appliesTo><set status='t'/></command>\
                <command name='d'><appliesTo>Story</appliesTo><set status='u'/></command>\
                <command name='e' privilege='destroy'/></commands>";
    let (commands, types) = (read::<Commands>(text).expect("the text is well"), types());
    let names = |kind: &str, status: &str| {
        let found = commands.privileges_for(&types, kind, status);
        found.into_iter().map(|privilege| privilege.name()).collect::<Vec<_>>()
    };
    assert_eq!(names("Story", "s"), ["delete", "moderate"]);
    assert_eq!(names("Image", "s"), ["delete"]);
    assert_eq!(
        (names("Image", "t"), names("Story", "t"), names("Story", "u")),
        (vec!["read"], vec!["write"], vec!["write"])
    );
    let all: Vec<&str> = commands.privileges_of_statuses().into_iter().map(|privilege| privilege.name()).collect();
    assert_eq!(all, ["read", "write", "delete", "moderate"]);
}

#[test]
fn workflows_have_an_initial_status() {
    let workflows = workflows();
    assert_eq!(workflows.iter().count(), 5);
    assert_eq!(workflows.initial("Topic").map(|status| &*status.name), Some("Topic/Proposed"));
    assert_eq!(workflows.initial("Nothing"), None);
    let ready = workflows.status("Story/Ready").expect("the sample has it");
    assert_eq!(&*ready.identifier, "rgb(76,145,65)");
    assert_eq!(workflows.status("story/ready"), None);
}

#[test]
fn without_a_mark_the_first_status_is_the_initial_one() {
    let text = "<workflows><workflow name='W'><status name='a' identifier='rgb(0, 0, 0)'/>\
                <status name='b' identifier='rgb(1,2,255)' initial='false'/></workflow></workflows>";
    let workflows = read::<Workflows>(text).expect("the text is well");
    assert_eq!(workflows.initial("W").map(|status| &*status.name), Some("a"));
}

#[test]
fn faults_in_workflows_are_reported_with_their_line() {
    let within =
        |inner: &str| read::<Workflows>(&format!("<workflows><workflow name='W'>\n{inner}</workflow></workflows>"));
    let status = "<status name='a' identifier='rgb(1,2,3)' initial='1'/>";
    assert_fault(within(""), 1, "no `status`");
    assert_fault(within("<status identifier='rgb(1,2,3)'/>"), 2, "no attribute `name`");
    assert_fault(within("<status name='a'/>"), 2, "no attribute `identifier`");
    for colour in ["red", "rgb(1,2)", "rgb(1,2,256)", "rgb(1,2,+3)", "rgb(1,2,3,4)", "rgb(,,)"] {
        assert_fault(within(&format!("<status name='a' identifier='{colour}'/>")), 2, colour);
    }
    assert_fault(within(&format!("{status}\n{status}")), 3, "`a` is defined twice");
    let second = "<status name='b' identifier='rgb(1,2,3)' initial='true'/>";
    assert_fault(within(&format!("{status}\n{second}")), 3, "second initial status");
    assert_fault(within("<status name='a' identifier='rgb(1,2,3)' initial='yes'/>"), 2, "`yes`");
    assert_fault(within(&format!("{status}\n<transition from='a' to='z'/>")), 3, "no status `z`");
    let shared = format!(
        "<workflows><workflow name='V'>{status}</workflow>\n<workflow name='W'>{status}</workflow></workflows>"
    );
    assert_fault(read::<Workflows>(&shared), 2, "`a` is defined twice");
}

proptest! {
    #[test]
    fn no_text_makes_the_readers_panic(text in "\\PC*") {
        let _ = read::<ObjectTypes>(&text);
        let _ = read::<Workflows>(&text);
    }

    #[test]
    fn no_change_of_a_file_makes_the_readers_panic(at in 0..TYPES.len(), gone in 0..40usize, put in "[<>/&;'\"= a\\[\\]!-]{0,6}") {
        for text in [TYPES, WORKFLOWS] {
            let chars: Vec<char> = text.chars().collect();
            let at = at.min(chars.len());
            let rest = chars[at..].iter().skip(gone);
            let text: String = chars[..at].iter().copied().chain(put.chars()).chain(rest.copied()).collect();
            let _ = read::<ObjectTypes>(&text);
            let _ = read::<Workflows>(&text);
        }
    }

    #[test]
    fn no_name_makes_a_look_up_panic(content_type in "\\PC*", file_name in "\\PC*") {
        let types = types();
        let _ = types.get(&file_name);
        prop_assert!(types.infer(Some(&content_type), &file_name).is_some());
    }
}

fn view_of(catalogs: &Catalogs, name: Option<&str>, lists: ListKind, path: &str, groups: &[&str]) -> Option<String> {
    let groups: Vec<_> = groups.iter().map(|group| (*group).into()).collect();
    catalogs.view(name, lists, path, &groups).map(|view| view.name.to_string())
}

#[test]
fn the_sample_catalogs_are_read_whole() {
    let catalogs = read::<Catalogs>(CATALOGS).expect("the sample's file is well");
    let view = |name: Option<&str>, lists, path: &str| view_of(&catalogs, name, lists, path, &["editors"]);
    let found = |name: &str| Some(name.to_owned());
    assert_eq!(view(None, ListKind::Folder, "/"), found("default"));
    assert_eq!(view(None, ListKind::Folder, "/Pictures/City"), found("picturedesk"));
    assert_eq!(view(None, ListKind::Drawer, "/Pictures"), found("drawer"));
    assert_eq!(view(Some("editing"), ListKind::Drawer, "/"), found("editing"));
    assert_eq!(view(Some("production"), ListKind::Folder, "/News/City"), found("production"));
    assert_eq!(view(Some("production"), ListKind::Folder, "/Newsroom"), None);
    assert_eq!(view_of(&catalogs, Some("production"), ListKind::Folder, "/News", &["reporters"]), None);
    let editing = catalogs.view(Some("editing"), ListKind::All, "/", &[]).expect("the sample has it");
    assert_eq!(editing.columns.len(), 9);
    let edition = &editing.columns[6];
    let steps: Vec<&str> = edition.steps.iter().map(|step| &**step).collect();
    assert_eq!(steps, ["systemAttributes", "props", "productInfo", "edition"]);
    let widths = WidthUnit::NAMES.map(|(_, unit)| edition.width(unit));
    assert_eq!(widths, [80.0, 60.0, 21.17, 0.83]);
}

#[test]
fn the_closest_of_several_catalogs_comes_first() {
    let catalog = |attributes: &str, view: &str| {
        format!(
            "<catalog {attributes}><view name='v' title='{view}'><column id='c' width='1' path='name'/></view></catalog>"
        )
    };
    let text = [
        catalog("path='/'", "all"),
        catalog("path='/' isDefault='true'", "default"),
        catalog("path='/' type='FOLDER'", "folders"),
        catalog("path='/a/' type='ALL'", "branch"),
        catalog("path='/a/b' groups='x, y'", "group"),
    ];
    let catalogs =
        read::<Catalogs>(&format!("<columnCatalogs>{}</columnCatalogs>", text.concat())).expect("it is well");
    let title = |lists, path: &str, groups: &[&str]| {
        let groups: Vec<_> = groups.iter().map(|group| (*group).into()).collect();
        let view = catalogs.view(Some("v"), lists, path, &groups).expect("there is one");
        assert_eq!(catalogs.view(None, lists, path, &groups), Some(view.clone()));
        view.title.to_string()
    };
    assert_eq!(title(ListKind::Folder, "/", &[]), "folders");
    assert_eq!(title(ListKind::Drawer, "/", &[]), "default");
    assert_eq!(title(ListKind::Folder, "/a", &[]), "branch");
    assert_eq!(title(ListKind::Folder, "/a/b/c", &["y"]), "group");
    assert_eq!(title(ListKind::Folder, "/a/b/c", &["z"]), "branch");
    assert_eq!(title(ListKind::Folder, "/ab", &["x"]), "folders");
}

#[test]
fn catalog_faults_are_named_and_a_missing_file_gives_a_minimal_catalog() {
    let minimum = Catalogs::default();
    assert_eq!(view_of(&minimum, None, ListKind::Bundle, "/any", &[]), Some("default".to_owned()));
    let catalog = |attributes: &str, inner: &str| {
        read::<Catalogs>(&format!("<columnCatalogs>\n<catalog {attributes}>\n{inner}</catalog></columnCatalogs>"))
    };
    let column = |attributes: &str| catalog("", &format!("<view name='v'>\n<column id='c' {attributes}/></view>"));
    assert_fault(catalog("type='SHELF'", ""), 2, "`SHELF`");
    assert_fault(catalog("path='a'", ""), 2, "begins with `/`");
    assert_fault(catalog("isDefault='maybe'", ""), 2, "`maybe`");
    assert_fault(catalog("", "<view name='v'/>"), 3, "no `column`");
    assert_fault(column("path='name' width='wide'"), 4, "`wide`");
    assert_fault(column("path='name' width='-1'"), 4, "`-1`");
    assert_fault(column("path='name' width='1' widthUnit='ELL'"), 4, "`ELL`");
    assert_fault(column("path='colour' width='1'"), 4, "not a field of a record");
    assert_fault(column("path='/elsewhere/x' width='1'"), 4, "/attributes");
    assert_fault(column("path='/attributes//x' width='1'"), 4, "names with `/`");
    assert_fault(column("width='1'"), 4, "`path`");
    let one = "<column id='c' path='name' width='1'/>";
    assert_fault(catalog("", &format!("<view name='v'>{one}\n{one}</view>")), 4, "second column `c`");
    let view = format!("<view name='v'>{one}</view>");
    assert_fault(catalog("", &format!("{view}\n{view}")), 4, "defined twice");
    let many: String = (0..101).map(|n| format!("<column id='c{n}' path='name' width='1'/>")).collect();
    assert_fault(catalog("", &format!("<view name='v'>{many}</view>")), 3, "101 columns");
    // Fields of messages are none of a record's.
    assert!(catalog("type='MESSAGE'", "<view name='v'><column id='c' path='subject' width='1'/></view>").is_ok());
}

const SITE: &str = include_str!("../../../src/sample/files/SysConfig/Site/siteconfig.xml");

#[test]
fn the_samples_site_has_channels_and_folders_for_new_objects() {
    let site = read::<Site>(SITE).expect("the sample's file is well");
    let channel = |name: &str| site.channel(name).map(|channel| (&*channel.name, channel.compound, channel.is_neutral));
    assert_eq!(channel("WEB"), Some(("Web", true, false)));
    assert_eq!(channel("neutral"), Some(("Neutral", true, true)));
    assert_eq!(channel("Tablet"), Some(("Tablet", false, false)));
    assert_eq!(channel("Radio"), None);
    assert_eq!(site.default_channel().map(|channel| &*channel.name), Some("Web"));
    let base = |content: &str, work_folder: &str, issue_date: Option<&str>| {
        site.base_folder(&DestinationQuery { content, work_folder, issue_date, ..DestinationQuery::default() })
    };
    let found = |path: &str| Some(path.to_owned());
    assert_eq!(base("Story", "/News/City", None), found("/News/City"));
    assert_eq!(base("Story", "/News/City/Waterfront", None), found("/News/City/Waterfront"));
    assert_eq!(base("Image", "/News/City/Waterfront", None), found("/Pictures/City"), "the outermost is the section");
    assert_eq!(base("CompoundStory", "/News/Sport/Rowing", None), found("/Web/Sport"));
    assert_eq!(base("Audio", "/News/Culture", None), found("/News/Culture/Recordings"), "its own comes first");
    assert_eq!(base("Audio", "/News/Sport", Some("20261124")), found("/Media/Audio/2026/11"));
    assert_eq!(base("Audio", "/News/Sport", None), None, "the day is not known");
    assert_eq!(base("PRP", "/News/City", Some("20261124")), found("/Pages/20261124"), "the other is for a channel");
    assert_eq!(base("Sonnet", "/News/City", None), None);
    assert_eq!(base("Story", "/Product/World", None), None);
}

#[test]
fn placeholders_are_names_and_lead_nowhere_else() {
    let site = |work_path: &str| {
        let text = format!(
            "<siteConfig defaultProduct='Paper'><workFolders><workFolder path='/a' label='A/B' dir='/x/y'/></workFolders>\
             <baseFolders><baseFolder content='Story' workPath='{work_path}'/></baseFolders></siteConfig>"
        );
        read::<Site>(&text)
    };
    let base = |work_path: &str, product: Option<&str>| {
        let site = site(work_path).expect("it is well");
        site.base_folder(&DestinationQuery {
            content: "Story",
            work_folder: "/a",
            product,
            ..DestinationQuery::default()
        })
    };
    assert_eq!(base("{dir}/{product}", None).as_deref(), Some("/x/y/Paper"));
    assert_eq!(base("/{product}/z", Some("Mag")).as_deref(), Some("/Mag/z"));
    for (work_path, product) in [("/{product}", Some("../SysConfig")), ("/{label}", None), ("/{edition}", None)] {
        assert_eq!(base(work_path, product), None, "{work_path}");
    }
    for work_path in ["/{other}", "/{dir", "relative"] {
        assert_fault(site(work_path), 1, "workPath");
    }
}

#[test]
fn a_fault_in_the_site_is_told_with_its_place() {
    let channels = |text: &str| read::<Site>(&format!("<siteConfig><channels>\n{text}</channels></siteConfig>"));
    let channel = |attributes: &str| format!("<channel {attributes}/>");
    assert_fault(channels(&channel("name='a'")), 2, "`id`");
    assert_fault(channels(&channel("id='a' name='a/b'")), 2, "`a/b`");
    assert_fault(channels(&channel("id='a' name='a' compound='maybe'")), 2, "`maybe`");
    assert_fault(channels(&[channel("id='a' name='b'"), channel("id='B' name='c'")].join("\n")), 3, "defined twice");
    assert_fault(read::<Site>("<siteConfig defaultChannel='Radio'/>"), 1, "`Radio`");
    assert_fault(
        read::<Site>("<siteConfig><workFolders>\n<workFolder path='/a'/></workFolders></siteConfig>"),
        2,
        "`label`",
    );
    assert_fault(read::<ContentItems>("<contentItems>\n<contentItem/></contentItems>"), 2, "`type`");
}

#[test]
fn site_references_must_exist_and_all_faults_are_reported_at_once() {
    let text = "<siteConfig defaultProduct='Mag'>
<products><product name='Paper'><calendar name='daily'><publishes day='XX'/>
<exception date='20260230' publishes='true'/></calendar></product></products>
</siteConfig>";
    let faults = read::<Site>(text).expect_err("there are two days that are none, and a product that is not there");
    assert_eq!(faults.iter().map(|fault| fault.line).collect::<Vec<_>>(), [2, 3, 1], "{faults:?}");
    let text = "<siteConfig defaultProduct='Mag'>
<products><product name='Paper'><calendar name='daily'/></product></products>
<channels><channel id='w' name='Web' product='Paper' calendar='weekly' templateChannel='None'/>
<channel id='t' name='Tab' product='Mag'/></channels>
<teams><team name='City'>
<channel name='Radio'/></team></teams>
<workFolders><workFolder path='/a' label='A'>
<team name='Sport'/>
<channel name='TV'/>
<baseFolder content='Story' channel='Wap' workPath='/x'/></workFolder>
<workFolder path='/a' label='B'/></workFolders>
</siteConfig>";
    let faults = read::<Site>(text).expect_err("much of it is nowhere");
    let lines: Vec<usize> = faults.iter().map(|fault| fault.line).collect();
    let mut sorted = lines.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [1, 3, 3, 4, 6, 8, 9, 10, 11], "{faults:?}");
}

/// Reads from these files as the server does, until none is missing.
fn content_of<T: CachedConfiguration>(files: &[(&str, &str)]) -> Result<ParsedFile<T>, Vec<ConfigurationFault>> {
    let there = |path: &str| files.iter().find(|(known, _)| *known == path).map(|(_, text)| *text);
    let mut known = Files::new();
    for _ in 0..100 {
        let shelf = FileShelf::of(&known);
        match T::read(&shelf) {
            ReadingOutcome::Done(parsed) => return Ok(parsed),
            ReadingOutcome::Faulty { faults, .. } => return Err(faults),
            ReadingOutcome::Needs(_) => {}
        }
        let needed = shelf.needed();
        assert!(!needed.is_empty(), "something must be missing");
        for path in needed {
            let file =
                |text: &str| std::sync::Arc::new(SourceFile { path: path.clone(), text: Ok(text.into()), state: None });
            known.insert(path.clone(), there(&path).map(file));
        }
    }
    panic!("files are asked for without end");
}

const TYPES_FILE: &str = "/SysConfig/ObjectTypes/objecttypes.xml";

#[test]
fn files_take_in_others_and_faults_are_told_by_the_file_that_has_them() {
    let main = "<!DOCTYPE objectTypes [\n<!ENTITY more SYSTEM \"../Shared/more.xml\">]>\n<objectTypes>\n\
                <objectType name='A' family='folder'/>&more;</objectTypes>";
    let more = "<?xml version='1.0'?><!-- x -->\n<objectType name='B' family='document'/>\n<!-- y -->";
    let read = |more: &str| content_of::<ObjectTypes>(&[(TYPES_FILE, main), ("/SysConfig/Shared/more.xml", more)]);
    let parsed = read(more).expect("both are well");
    assert_eq!(parsed.value.iter().map(|kind| &*kind.name).collect::<Vec<_>>(), ["A", "B"]);
    let faults = read("<!-- x -->\n <objectType name='A' family='box'/>").expect_err("there is no such family");
    assert_eq!((&*faults[0].path, faults[0].line, faults[0].column), ("/SysConfig/Shared/more.xml", 2, 2));
    let faults = read("<objectType name='B'").expect_err("it does not end");
    assert_eq!((&*faults[0].path, faults[0].line), ("/SysConfig/Shared/more.xml", 1));
    let faults = content_of::<ObjectTypes>(&[(TYPES_FILE, main)]).expect_err("there is no such file");
    assert_eq!((&*faults[0].path, faults[0].line), (TYPES_FILE, 4), "{faults:?}");
}

#[test]
fn circles_bombs_and_what_lies_elsewhere_are_refused() {
    let doctype = |entities: &[(&str, &str)], inner: &str| {
        let declared: String =
            entities.iter().map(|(name, system)| format!("<!ENTITY {name} SYSTEM '{system}'>")).collect();
        format!("<!DOCTYPE objectTypes [{declared}]><objectTypes>{inner}</objectTypes>")
    };
    let refused = |files: &[(&str, &str)], part: &str| {
        let faults = content_of::<ObjectTypes>(files).expect_err(part);
        assert!(faults.iter().any(|fault| fault.fault.contains(part)), "`{part}` is missing in {faults:?}");
    };
    let own = doctype(&[("own", TYPES_FILE)], "&own;");
    refused(&[(TYPES_FILE, &own)], "includes itself");
    let (there, back) = (doctype(&[("a", "/SysConfig/a.xml")], "&a;"), doctype(&[("b", TYPES_FILE)], "&b;"));
    refused(&[(TYPES_FILE, &there), ("/SysConfig/a.xml", &back)], "includes itself");
    for elsewhere in [
        "/News/City/a.xml",
        "../../News/a.xml",
        "http://example.org/a.xml",
        "file:///etc/passwd",
        "/etc/passwd",
        "/SysConfig/../News/a.xml",
    ] {
        // A reference with a scheme is read as a relative path, and finds nothing.
        let text = doctype(&[("a", elsewhere)], "&a;");
        let faults = content_of::<ObjectTypes>(&[(TYPES_FILE, &text)]).expect_err(elsewhere);
        assert!(faults[0].fault.contains("is not in") || faults[0].fault.contains("does not exist"), "{faults:?}");
    }
    // Nine levels, each of which includes the next.
    let names: Vec<String> = (0..9).map(|n| format!("/SysConfig/{n}.xml")).collect();
    let mut files: Vec<(&str, String)> = vec![(TYPES_FILE, doctype(&[("n", &names[0])], "&n;"))];
    for pair in names.windows(2) {
        files.push((&pair[0], doctype(&[("n", &pair[1])], "&n;")));
    }
    let borrowed: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    refused(&borrowed, "8 levels");
    // Each level takes in the next ten times: a million in all.
    let mut files: Vec<(&str, String)> = vec![(TYPES_FILE, doctype(&[("n", &names[0])], &"&n;".repeat(10)))];
    for pair in names.windows(2).take(5) {
        files.push((&pair[0], doctype(&[("n", &pair[1])], &"&n;".repeat(10))));
    }
    files.push((&names[5], "<objectTypes/>".to_owned()));
    let borrowed: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    refused(&borrowed, "500 files");
    // Two of three megabytes are more than may be in all.
    let large = format!("<objectTypes><!--{}--></objectTypes>", "x".repeat(3 << 20));
    let thrice = doctype(&[("a", "/SysConfig/a.xml")], "&a;&a;&a;");
    refused(&[(TYPES_FILE, &thrice), ("/SysConfig/a.xml", &large)], "bytes");
    // Repeated reading may also concern bytes that are not included, such as a comment.
    let beside = format!("<objectType name='A' family='folder'/><!--{}-->", "x".repeat(3 << 20));
    let often = doctype(&[("a", "/SysConfig/a.xml")], &"&a;".repeat(12));
    refused(&[(TYPES_FILE, &often), ("/SysConfig/a.xml", &beside)], "bytes may be read");
    refused(
        &[(TYPES_FILE, "<!DOCTYPE objectTypes [<!ENTITY a 'b'><!ENTITY c '&a;&a;'>]><objectTypes>&c;</objectTypes>")],
        "c",
    );
}

/// Regression test: each of these texts kept a thread for minutes, or took gigabytes.
#[test]
fn repeated_work_of_configuration_readers_is_bounded() {
    let refused = |files: &[(&str, &str)], part: &str| {
        let faults = content_of::<SiteContent>(files).expect_err(part);
        assert!(faults.iter().any(|fault| fault.fault.contains(part)), "`{part}` is missing in {faults:?}");
        assert!(faults.len() <= fault::MOST_FAULTS && faults.iter().all(|fault| fault.to_string().len() < 3000));
        faults
    };
    const SITE: &str = "/SysConfig/Site/siteconfig.xml";
    const PAGES: &str = "/SysConfig/Site/pages.xml";
    let channels = |count: usize| -> String {
        let channel = |n: usize| format!("<channel id='{n}' name='{n}' pageAccessories='{PAGES}'/>");
        format!("<siteConfig><channels>{}</channels></siteConfig>", (0..count).map(channel).collect::<String>())
    };
    refused(&[(SITE, &channels(1001))], "more than 1000 elements `channel`");
    // Accessories of every page, on each page.
    let accessories: String = (0..3000).map(|n| format!("<accessory id='{n}' kind='k'/>")).collect();
    let pages: String = (0..3000).map(|n| format!("<page id='{n}'/>")).collect();
    let many =
        format!("<pageAccessories channel='0'><accessoryGroup>{accessories}</accessoryGroup>{pages}</pageAccessories>");
    refused(&[(SITE, &channels(1)), (PAGES, &many)], "those of every page once for each page");
    // A file of faults that every channel names is read once.
    let faulty = format!("<pageAccessories channel='0'>{}</pageAccessories>", "<page/>".repeat(150));
    let faults = refused(&[(SITE, &channels(1000)), (PAGES, &faulty)], "`page` has no attribute `id`");
    assert_eq!(faults.iter().filter(|fault| fault.line == 1 && fault.column == 30).count(), 1, "{faults:?}");
    refused(&[(SITE, &channels(1000))], "the site configuration names this file");
    // Namespaces are looked up among each other, and so are the attributes of an element.
    let namespaces: String = (0..65).map(|n| format!(" xmlns:p{n}='u{n}'")).collect();
    refused(&[(SITE, &format!("<siteConfig{namespaces}/>"))], "more than 64 namespaces");
    let attributes: String = (0..257).map(|n| format!(" a{n}=''")).collect();
    refused(&[(SITE, &format!("<siteConfig{attributes}/>"))], "more than 256 attributes");
    // A file that is stored once may be read for each file that names it, and so may its includes.
    let definitions = |count: usize, text: &str, dtd: &str| {
        let paths: Vec<String> = (0..count).map(|n| format!("/SysConfig/d{n}.xml")).collect();
        let named: String = paths.iter().map(|path| format!("<definition path='{path}'/>")).collect();
        let site = format!("<siteConfig><metadata>{named}</metadata></siteConfig>");
        let mut files = vec![(SITE, &*site), ("/SysConfig/a.dtd", dtd), ("/SysConfig/part.xml", dtd)];
        files.extend(paths.iter().map(|path| (&**path, text)));
        content_of::<SiteContent>(&files).map(|parsed| parsed.value.definitions.len())
    };
    let of_dtd = "<metadataDefinition docType='a0' dtd='/SysConfig/a.dtd'/>";
    let takes_in = "<!DOCTYPE metadataDefinition [<!ENTITY part SYSTEM 'part.xml'>]>\
        <metadataDefinition docType='a'><element name='a'/>&part;</metadataDefinition>";
    let elements: String = (0..10_000).map(|n| format!("<!ELEMENT a{n} ANY>")).collect();
    let comment = format!("<!--{}-->", "-x".repeat(1 << 20));
    let (large, part) = (format!("{comment}<!ELEMENT a0 ANY>"), format!("<element name='b'>{comment}</element>"));
    assert_eq!(definitions(5, of_dtd, &elements).ok(), Some(5));
    for (text, part, told) in
        [(of_dtd, &elements, "50000 elements"), (of_dtd, &large, "are read"), (takes_in, &part, "are read")]
    {
        let faults = definitions(17, text, part).expect_err(told);
        assert!(faults.iter().any(|fault| fault.fault.contains(told)), "{told}: {faults:?}");
    }
    // Nor does a DTD say what a file may not.
    let dtd = |value: &str| format!("<!ELEMENT a0 ANY><!ATTLIST a0 filter CDATA '{value}'>");
    assert_eq!(definitions(1, of_dtd, &dtd(&"x".repeat(255))).ok(), Some(1));
    for (bytes, told) in [(256, "longer than 255 bytes"), (4097, "longer than 4096 bytes")] {
        let faults = definitions(1, of_dtd, &dtd(&"x".repeat(bytes))).expect_err(told);
        assert!(faults.iter().any(|fault| fault.fault.contains(told)), "{told}: {faults:?}");
    }
    // References count whether or not there is such a file.
    let text =
        format!("<!DOCTYPE siteConfig [<!ENTITY a SYSTEM 'a.xml'>]><siteConfig>{}</siteConfig>", "&a;".repeat(400_000));
    refused(&[(SITE, &text)], "500 files");
    // A name is quoted by each fault about it.
    let long = "n".repeat(100_000);
    refused(&[(SITE, &format!("<siteConfig defaultChannel='{long}'/>"))], "longer than 4096 bytes");
    let long = format!("/SysConfig/{}", "n".repeat(4000));
    let text = format!("<siteConfig><metadata><definition path='{long}'/></metadata></siteConfig>");
    assert!(refused(&[(SITE, &text)], "names this file")[0].path.len() < 1100);
}

#[test]
fn a_reading_takes_no_more_files_and_bytes_than_it_may() {
    let text: std::sync::Arc<str> = "x".repeat(4 << 20).into();
    let file = || std::sync::Arc::new(SourceFile { path: String::new(), text: Ok(text.clone()), state: None });
    let some = |count: usize| -> Files { (0..count).map(|n| (n.to_string(), Some(file()))).collect() };
    assert_eq!(files::too_much(&some(8), 1), None);
    assert!(files::too_much(&some(9), 1).is_some_and(|why| why.contains("bytes")));
    let none: Files = (0..1000).map(|n| (n.to_string(), None)).collect();
    assert_eq!(files::too_much(&none, 0), None);
    assert!(files::too_much(&none, 1).is_some_and(|why| why.contains("1000 files")));
}

#[test]
fn paths_of_references_stay_within_the_configuration() {
    for (from, reference, path) in [
        ("/SysConfig/a/b.xml", "c.xml", Some("/SysConfig/a/c.xml")),
        ("/SysConfig/a/b.xml", "../c.xml", Some("/SysConfig/c.xml")),
        ("/SysConfig/a/b.xml", "/SysConfig/d/./e.xml", Some("/SysConfig/d/e.xml")),
        ("/SysConfig/a/b.xml", "../../c.xml", None),
        ("/SysConfig/a/b.xml", "../../../c.xml", None),
        ("/SysConfig/a/b.xml", "/SysConfigs/c.xml", None),
        ("/SysConfig/a/b.xml", "/SysConfig", None),
    ] {
        assert_eq!(files::resolve_reference(from, reference).as_deref(), path, "{reference}");
    }
}

#[test]
fn the_sample_is_read_whole_and_has_nothing_that_is_not_known() {
    let mut files = Vec::new();
    fn gather(dir: &std::path::Path, files: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(dir).expect("it can be read").flatten() {
            let path = entry.path();
            if path.is_dir() {
                gather(&path, files);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                let root = path.components().skip_while(|part| part.as_os_str() != "SysConfig");
                files.push((format!("/{}", root.collect::<std::path::PathBuf>().display()), text));
            }
        }
    }
    gather(std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../src/sample/files/SysConfig")), &mut files);
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
    fn whole<T: CachedConfiguration>(files: &[(&str, &str)]) -> T {
        let parsed = content_of::<T>(files).unwrap_or_else(|faults| panic!("{faults:?}"));
        assert!(parsed.unknown.is_empty(), "{:?}", parsed.unknown);
        parsed.value
    }
    let site = whole::<SiteContent>(&files);
    assert_eq!((site.page_accessories.len(), site.shape_templates.len()), (2, 2));
    assert_eq!((site.collages.0.len(), site.indexes.0.len(), site.content_items.0.len()), (3, 3, 7));
    let web = site.page_accessories.values().find(|file| &*file.channel == "Web").expect("the sample has it");
    assert_eq!((web.common.len(), web.pages.len()), (3, 2), "the common ones are taken in");
    assert_eq!(whole::<Commands>(&files).0.len(), 11);
    assert_eq!(whole::<Jobs>(&files).0.len(), 4);
    let used: std::collections::HashSet<&str> = files
        .iter()
        .filter_map(|(_, text)| {
            roxmltree::Document::parse_with_options(
                text,
                roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() },
            )
            .ok()
            .map(|tree| tree.root_element().tag_name().name().to_owned())
        })
        .filter_map(|name| ROOTS.iter().find(|root| root.name == name).map(|root| root.name))
        .collect();
    assert_eq!(used.len() + 1, ROOTS.len(), "page accessories have entities, which no reader here knows: {used:?}");
}

#[test]
fn unknown_job_settings_are_ignored_and_reported() {
    let text = "<jobs>\n<job name='a' command='b' schedule='* * * * *' colour='red'/>\n<task/></jobs>";
    let parsed = content_of::<Jobs>(&[("/SysConfig/Jobs/jobs.xml", text)]).expect("it is well");
    assert_eq!(parsed.value.0.len(), 1);
    assert_eq!(parsed.unknown.iter().map(|fault| fault.line).collect::<Vec<_>>(), [2, 3], "{:?}", parsed.unknown);
    for schedule in ["* * * *", "60 * * * *", "* 24 * * *", "5-1 * * * *", "*/0 * * * *", "a * * * *"] {
        let text = format!("<jobs>\n<job name='a' command='b' schedule='{schedule}'/></jobs>");
        assert_fault(read::<Jobs>(&text).map(|jobs| jobs.0.len()), 2, "as in cron");
    }
    for schedule in ["*/20 5-22 * * *", "0,30 2 1-7 * 0", "15 4 * 1-12/3 7"] {
        assert!(read::<Jobs>(&format!("<jobs><job name='a' command='b' schedule='{schedule}'/></jobs>")).is_ok());
    }
    assert!(matches!(FileShelf::of(&Files::new()).ask("/SysConfig/x"), FileLookup::Unknown));
}
