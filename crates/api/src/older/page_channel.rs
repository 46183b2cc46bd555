//! The channel that a page takes of a bundle with which it is linked (docs/api/objects.md,
//! "Correlates").

use std::sync::LazyLock;

use stet_base::limits::offload;
use stet_domain::error::Result;
use stet_domain::object::{FamilyKind, SharedText};
use stet_newsroom::records::CachedRecord;
use stet_sysconfig::Channel;
use stet_web::call::Call;
use stet_xml::edit::{Path, first_texts};

use super::linked::copies;

/// The medium that pages are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageMedium {
    Print,
    Screen,
}

impl PageMedium {
    /// Returns the medium of the pages of an object type; `None` for other types.
    fn of_type(name: &str) -> Option<PageMedium> {
        match name.rsplit("::").next().unwrap_or_default() {
            "PGL" | "PRP" | "PRX" | "PagePlan" => Some(PageMedium::Print),
            "DWC" | "DWP" => Some(PageMedium::Screen),
            _ => None,
        }
    }

    fn has(self, channel: &Channel) -> bool {
        (*channel.kind == *"print") == (self == PageMedium::Print)
    }
}

/// The paths of channel and product in system attributes.
static NAMED: LazyLock<[Path; 3]> = LazyLock::new(|| {
    // All are paths, as a test shows.
    ["/props/productInfo/channel", "/props/channel", "/props/productInfo/name"]
        .map(|path| Path::parse(path).expect("it is a path"))
});

/// Returns the channel by which two linked objects belong together. If one is a page and the other
/// a bundle with a copy for the page's channel, it is that channel. If one is a page and the other
/// a copy, it is the copy's channel.
///
/// # Errors
/// `Overloaded`; errors of the store.
pub(super) async fn channel_between(
    call: &Call,
    one: &CachedRecord,
    other: &CachedRecord,
) -> Result<Option<SharedText>> {
    let pages = [(one, other), (other, one)];
    let Some((medium, page, story)) =
        pages.into_iter().find_map(|(page, story)| Some((PageMedium::of_type(&page.type_name)?, page, story)))
    else {
        return Ok(None);
    };
    if let Some(copy) = &story.copy {
        return Ok(Some(copy.channel.clone()));
    }
    if story.family != FamilyKind::Bundle {
        return Ok(None);
    }
    let [of_product, own, product] = named_by(call, page).await?;
    let site = call.app.sysconfig.site(story.loid.database);
    let mut has_copy: Option<Vec<SharedText>> = None;
    let mut is_held = |channel: &Channel| -> Result<bool> {
        let held = match &mut has_copy {
            Some(held) => held,
            none => none.insert(copies(call, story.loid)?.into_iter().map(|(_, channel)| channel).collect()),
        };
        Ok(held.contains(&channel.name))
    };
    if let Some(named) = of_product.or(own) {
        let channel = site.channel(&named);
        let Some(channel) = channel else { return Ok(None) };
        return Ok(is_held(channel)?.then(|| channel.name.clone()));
    }
    let Some(product) = product else { return Ok(None) };
    let of_product = |channel: &&Channel| channel.product.as_deref() == Some(&*product) && medium.has(channel);
    for channel in site.channels.list().iter().filter(of_product).filter(|channel| !channel.is_neutral) {
        if is_held(channel)? {
            return Ok(Some(channel.name.clone()));
        }
    }
    Ok(None)
}

/// Returns the texts of a page's system attributes at [`NAMED`]. Texts that can't be read count as
/// missing.
async fn named_by(call: &Call, page: &CachedRecord) -> Result<[Option<String>; 3]> {
    let attributes = call.app.records.attributes(&call.app.repository, page).await?;
    let Some(text) = attributes.system_attributes.clone() else { return Ok([const { None }; 3]) };
    let limits = call.app.attribute_limits();
    let read = move || first_texts(&text, NAMED.each_ref(), &limits).unwrap_or_default();
    let bytes = attributes.system_attributes.as_ref().map_or(0, |text| text.len());
    let found = offload::offload_if_large(bytes, read).await?;
    Ok(found.map(|text| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_pages_have_a_medium() {
        assert_eq!(PageMedium::of_type("EOM::PRP"), Some(PageMedium::Print));
        assert_eq!(PageMedium::of_type("DWP"), Some(PageMedium::Screen));
        assert_eq!(PageMedium::of_type("Image"), None);
        assert_eq!(NAMED.len(), 3);
    }
}
