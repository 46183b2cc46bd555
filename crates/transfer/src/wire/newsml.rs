//! NewsML-G2: items of any kind, and messages that contain some, of which the first counts.

use roxmltree::{Document, Node, ParsingOptions};

use super::{MAX_EACH, Media, WireNewsItem, address, tidy};

const NAMESPACE: &str = "http://iptc.org/std/nar/2006-10-01/";
const ITEMS: [&str; 6] = ["newsItem", "packageItem", "conceptItem", "knowledgeItem", "planningItem", "catalogItem"];

/// Reads the metadata of a NewsML-G2 document; `None` for any other document.
pub(super) fn read(text: &str) -> Option<WireNewsItem> {
    // The parser bounds entities and the depth of nesting.
    let options = ParsingOptions { allow_dtd: true, nodes_limit: 1_000_000, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).ok()?;
    let root = document.root_element();
    let is_item = |node: &Node<'_, '_>| ITEMS.iter().any(|name| node.has_tag_name((NAMESPACE, *name)));
    let item = if is_item(&root) {
        root
    } else if root.has_tag_name((NAMESPACE, "newsMessage")) {
        root.descendants().find(is_item)?
    } else {
        return None;
    };
    Some(item_of_element(item))
}

fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|child| child.has_tag_name((NAMESPACE, name)))
}

/// Returns the whole text of an element.
fn element_text(node: Node<'_, '_>) -> Option<String> {
    let text: String = node.descendants().filter(Node::is_text).filter_map(|node| node.text()).collect();
    tidy(&text)
}

/// Returns the name of an element's subject: its `name`, or its literal, code or text.
fn subject_name(node: Node<'_, '_>) -> Option<String> {
    let named = child(node, "name").and_then(element_text);
    let word = || ["literal", "qcode", "uri"].iter().find_map(|name| node.attribute(*name)).and_then(tidy);
    named.or_else(word).or_else(|| element_text(node))
}

/// Returns the part of a code after its scheme.
fn code(node: Node<'_, '_>) -> Option<String> {
    let code = node.attribute("qcode").or_else(|| node.attribute("uri"))?;
    tidy(code.rsplit([':', '/']).next()?)
}

fn item_of_element(item: Node<'_, '_>) -> WireNewsItem {
    let (meta, content) = (child(item, "itemMeta"), child(item, "contentMeta"));
    let of_meta = |name: &str| meta.and_then(|meta| child(meta, name));
    let of_content = |name: &str| content.and_then(|content| child(content, name));
    let language = of_content("language").and_then(|node| node.attribute("tag"));
    let language = language.or_else(|| item.attribute(("http://www.w3.org/XML/1998/namespace", "lang")));
    let title = of_content("headline").and_then(element_text).or_else(|| of_meta("title").and_then(element_text));
    let keywords = content.into_iter().flat_map(|content| content.children());
    let keywords = keywords.filter(|node| node.has_tag_name((NAMESPACE, "keyword"))).filter_map(element_text);
    let media = item.descendants().filter(|node| node.has_tag_name((NAMESPACE, "remoteContent"))).map(|node| {
        let of = |name: &str| node.attribute(name).and_then(tidy);
        Media {
            href: ["href", "residref"].iter().find_map(|name| node.attribute(*name).and_then(address)),
            rendition: of("rendition"),
            content_type: of("contenttype"),
            width: of("width"),
            height: of("height"),
            size: of("size"),
            duration: of("duration"),
        }
    });
    let rights = child(item, "rightsInfo");
    WireNewsItem {
        guid: item.attribute("guid").and_then(address),
        version: item.attribute("version").and_then(tidy),
        headline: title.or_else(|| child(item, "concept").and_then(subject_name)),
        slug: of_content("slugline").and_then(element_text),
        byline: of_content("by").and_then(element_text).or_else(|| of_content("creator").and_then(subject_name)),
        source: of_content("creditline").and_then(element_text).or_else(|| of_meta("provider").and_then(subject_name)),
        copyright: rights.and_then(|rights| child(rights, "copyrightHolder")).and_then(subject_name),
        language: language.and_then(tidy),
        urgency: of_content("urgency").and_then(element_text),
        located: of_content("located").and_then(subject_name),
        status: of_meta("pubStatus").and_then(code),
        first_created: of_meta("firstCreated").and_then(element_text),
        version_created: of_meta("versionCreated").and_then(element_text),
        embargoed: of_meta("embargoed").and_then(element_text),
        keywords: keywords.take(MAX_EACH).collect(),
        media: media.take(MAX_EACH).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHOTO: &str = r#"<?xml version="1.0"?>
        <newsItem xmlns="http://iptc.org/std/nar/2006-10-01/" guid="tag:x" version="3" xml:lang="en-GB">
          <rightsInfo><copyrightHolder uri="http://x"><name>Lantern</name></copyrightHolder></rightsInfo>
          <itemMeta><provider qcode="nprov:LW"/><versionCreated>2026-01-02T03:04:05Z </versionCreated>
            <firstCreated>2026-01-01</firstCreated><pubStatus qcode="stat:usable"/><title>A title</title></itemMeta>
          <contentMeta><urgency>3</urgency><headline>A <b>wide</b>
             harbour</headline><slugline>harbour</slugline><keyword>ferry</keyword><keyword>ice</keyword>
            <located qcode="c:1"><name>Dravec</name></located></contentMeta>
          <contentSet><remoteContent href="http://x/1.jpg" rendition="rnd:highRes" contenttype="image/jpeg" width="3" height="2" size="9"/>
            <remoteContent residref="tag:y" duration="7"/></contentSet>
        </newsItem>"#;

    #[test]
    fn an_item_says_what_it_is() {
        let item = read(PHOTO).expect("it is an item");
        let text = |text: &str| Some(text.to_owned());
        assert_eq!((item.guid, item.version, item.language), (text("tag:x"), text("3"), text("en-GB")));
        assert_eq!((item.headline, item.slug, item.urgency), (text("A wide harbour"), text("harbour"), text("3")));
        assert_eq!((item.source, item.copyright, item.located), (text("nprov:LW"), text("Lantern"), text("Dravec")));
        assert_eq!((item.version_created, item.first_created), (text("2026-01-02T03:04:05Z"), text("2026-01-01")));
        assert_eq!((item.status, item.keywords), (text("usable"), vec!["ferry".to_owned(), "ice".to_owned()]));
        let [first, second] = &item.media[..] else { panic!("{:?}", item.media) };
        assert_eq!(
            (&first.href, &first.rendition, &first.width),
            (&text("http://x/1.jpg"), &text("rnd:highRes"), &text("3"))
        );
        assert_eq!((&second.href, &second.duration), (&text("tag:y"), &text("7")));
    }

    #[test]
    fn the_first_item_of_a_newsml_message_counts() {
        let item = PHOTO.split_once('\n').expect("it has lines").1;
        let message = format!("<newsMessage xmlns='{NAMESPACE}'><itemSet>{item}</itemSet></newsMessage>");
        assert_eq!(read(&message), read(PHOTO));
        assert_eq!(read(&format!("<newsMessage xmlns='{NAMESPACE}'/>")), None);
        assert_eq!(read(&PHOTO.replace(NAMESPACE, "http://elsewhere/")), None);
        assert_eq!(read(&PHOTO.replace("</newsItem>", "")), None);
        let bare = format!("<conceptItem xmlns='{NAMESPACE}'/>");
        assert_eq!(read(&bare), Some(WireNewsItem::default()));
    }
}
