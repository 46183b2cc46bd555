//! The product and the issue date that a creation takes from the site configuration
//! (docs/api/objects.md, "Creating").

use std::sync::LazyLock;

use stet_base::limits::offload;
use stet_domain::error::Result;
use stet_domain::id::DatabaseId;
use stet_domain::lifecycle::NewObject;
use stet_domain::object::{IssueDate, SharedText};
use stet_sysconfig::Site;
use stet_xml::edit::{Edit, Path, apply_edits, first_texts};

use super::edits::edit_refusal;
use super::system::ProductInfo;
use crate::Newsroom;
use crate::caller::Caller;

/// The values for a creation to fill in.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestedDefaults {
    /// The default product, where the call names none.
    pub product: bool,
    /// The next day on which the product appears, where the call names none.
    pub issue_date: bool,
}

/// The values found for a creation.
#[derive(Debug, Default)]
pub(super) struct CreationDefaults {
    product: Option<SharedText>,
    issue_date: Option<IssueDate>,
}

/// The paths of product and issue date in system attributes.
static PLACES: LazyLock<[Path; 2]> = LazyLock::new(|| {
    // Both are paths, as a test shows.
    ["/props/productInfo/name", "/props/productInfo/issueDate"].map(|path| Path::parse(path).expect("it is a path"))
});

impl CreationDefaults {
    /// Finds the values that the call leaves open. `system` is the system attributes of the call.
    /// `template` is those that a new object has otherwise, whose date is not used.
    ///
    /// # Errors
    /// `InvalidAttributes`, `Overloaded`; errors of the store.
    pub async fn find(
        caller: &Caller,
        database: DatabaseId,
        wanted: RequestedDefaults,
        said: &ProductInfo<'_>,
        (system, template): (Option<&SharedText>, Option<&SharedText>),
    ) -> Result<CreationDefaults> {
        if !wanted.product && !wanted.issue_date {
            return Ok(CreationDefaults::default());
        }
        let newsroom = &**caller.newsroom();
        let [in_system, date_in_system] = texts_at(newsroom, system).await?;
        // A call that names any of product, edition, date and team takes none from the template.
        let template = if system.is_none() && said.is_empty() { template } else { None };
        let [in_template, _] = texts_at(newsroom, template).await?;
        let named = given(said.product).or(in_system.as_deref()).or(in_template.as_deref());
        let site = newsroom.sysconfig.site(database);
        let default = match named {
            None => default_product(caller, &site, given(said.team))?,
            Some(_) => None,
        };
        let issue_date = if wanted.issue_date && said.issue_date.is_none() && date_in_system.is_none() {
            let product = named.or(default.as_deref()).and_then(|name| site.product(name));
            let issue = product.and_then(|product| product.current_issue(newsroom.repository.clock().now_ms()));
            IssueDate::given(issue.as_deref())?
        } else {
            None
        };
        Ok(CreationDefaults { product: default.filter(|_| wanted.product), issue_date })
    }

    /// Returns the values of the call, completed by the defaults.
    pub fn over<'a>(&'a self, said: &ProductInfo<'a>) -> ProductInfo<'a> {
        ProductInfo {
            product: given(said.product).or(self.product.as_deref()),
            issue_date: said.issue_date.or(self.issue_date.as_ref()),
            ..*said
        }
    }

    /// Puts the defaults into system attributes that the call gives, and the date into the object.
    ///
    /// # Errors
    /// `InvalidAttributes`, `Overloaded`.
    pub async fn put_into(
        &self,
        newsroom: &Newsroom,
        object: &mut NewObject,
        system: SharedText,
    ) -> Result<SharedText> {
        if object.issue_date.is_none() {
            object.issue_date.clone_from(&self.issue_date);
        }
        Ok(self.put(newsroom, Some(system.clone())).await?.unwrap_or(system))
    }

    /// Puts the defaults into the initial values of a new object. An object that exists already
    /// keeps its values.
    ///
    /// # Errors
    /// The errors of [`CreationDefaults::put_into`].
    pub async fn begin(&self, newsroom: &Newsroom, object: &mut NewObject) -> Result<()> {
        if self.issue_date.is_some() {
            object.begins_with.issue_date.clone_from(&self.issue_date);
        }
        let system = object.begins_with.system_attributes.take();
        object.begins_with.system_attributes = self.put(newsroom, system).await?;
        Ok(())
    }

    async fn put(&self, newsroom: &Newsroom, system: Option<SharedText>) -> Result<Option<SharedText>> {
        let issue_date = self.issue_date.as_ref().map(|date| &**date.text());
        let values = [self.product.as_deref(), issue_date];
        let limits = newsroom.attribute_limits();
        let edits = PLACES.iter().zip(values).filter_map(|(path, value)| Some((path, value?)));
        let edits: Vec<Edit> = edits
            .map(|(path, value)| Edit::set(path.clone(), &value.into(), &limits))
            .collect::<Result<_, _>>()
            .map_err(|error| edit_refusal("systemAttributes", &error))?;
        if edits.is_empty() {
            return Ok(system);
        }
        let bytes = system.as_ref().map_or(0, |text| text.len());
        let put = move || apply_edits(system.as_deref(), &edits, &limits);
        let text =
            offload::offload_if_large(bytes, put).await?.map_err(|error| edit_refusal("systemAttributes", &error))?;
        Ok(text.map(SharedText::from))
    }
}

fn given(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

/// Returns the texts of system attributes at [`PLACES`].
async fn texts_at(newsroom: &Newsroom, system: Option<&SharedText>) -> Result<[Option<String>; 2]> {
    let Some(text) = system.cloned() else { return Ok([const { None }; 2]) };
    let limits = newsroom.attribute_limits();
    let read = move || first_texts(&text, PLACES.each_ref(), &limits);
    let bytes = system.map_or(0, |text| text.len());
    let found =
        offload::offload_if_large(bytes, read).await?.map_err(|error| edit_refusal("systemAttributes", &error))?;
    Ok(found.map(|text| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())))
}

/// Returns the product of the team's default channel, else the site's default product. The caller's
/// team is used unless the call names a team that the site knows.
fn default_product(caller: &Caller, site: &Site, team: Option<&str>) -> Result<Option<SharedText>> {
    let own = caller.newsroom().directory.user(caller.user()?)?.and_then(|user| user.team.clone());
    let team = team.and_then(|name| site.team(name)).or_else(|| site.team(own.as_deref()?));
    let channels = team.map(|team| team.channels.as_slice()).unwrap_or_default();
    let channel = channels.iter().find(|channel| channel.is_default).or(channels.first());
    let of_team = channel.and_then(|channel| site.channel(&channel.name)?.product.clone());
    Ok(of_team.or_else(|| Some(site.default_product()?.name.clone())))
}

/// Inserts the time of the call, in UTC, before the extension of a name: `brief.xml` becomes
/// `brief_20261124-170509.xml`.
pub fn with_time(name: &str, now_ms: u64) -> String {
    let now = jiff::Timestamp::from_millisecond(i64::try_from(now_ms).unwrap_or(i64::MAX)).unwrap_or_default();
    let time = now.strftime("%Y%m%d-%H%M%S");
    let is_extension = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() && is_extension(extension) => format!("{stem}_{time}.{extension}"),
        _ => format!("{name}_{time}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stands_in_front_of_the_extension() {
        for (name, expected) in [
            ("brief.xml", "brief_20261124-170509.xml"),
            ("brief", "brief_20261124-170509"),
            ("St. Peter", "St. Peter_20261124-170509"),
            (".xml", ".xml_20261124-170509"),
            ("brief.", "brief._20261124-170509"),
        ] {
            assert_eq!(with_time(name, 1_795_539_909_000), expected);
        }
        assert_eq!(PLACES.len(), 2);
    }
}
