//! The words around the posts on public pages.

use stet_config::PageLanguage;

/// The words of a language. `{}` stands for a number or a name.
pub(super) struct PageWords {
    /// The language's tag.
    pub tag: &'static str,
    pub live: &'static str,
    pub ended: &'static str,
    pub pinned: &'static str,
    pub by: &'static str,
    pub last_change: &'static str,
    pub earlier: &'static str,
    pub later: &'static str,
    pub newest: &'static str,
    pub posts: &'static str,
    pub nothing: &'static str,
    pub too_long: &'static str,
    pub new_one: &'static str,
    pub new_many: &'static str,
    pub failed: &'static str,
    pub gone: &'static str,
    pub missing_title: &'static str,
    pub missing: &'static str,
    pub busy_title: &'static str,
    pub busy: &'static str,
}

/// Returns the words of a language.
pub(super) fn of(language: PageLanguage) -> &'static PageWords {
    match language {
        PageLanguage::En => &ENGLISH,
        PageLanguage::De => &GERMAN,
    }
}

static ENGLISH: PageWords = PageWords {
    tag: "en",
    live: "Live",
    ended: "Ended",
    pinned: "Pinned",
    by: "By {}",
    last_change: "Last update",
    earlier: "Show earlier posts",
    later: "Later posts",
    newest: "Newest posts",
    posts: "Posts",
    nothing: "Nothing has been posted yet.",
    too_long: "This post is too long to be shown here in full.",
    new_one: "1 new post",
    new_many: "{} new posts",
    failed: "The earlier posts could not be loaded. Please try again.",
    gone: "This live blog is no longer available.",
    missing_title: "Not found",
    missing: "There is no live blog at this address, or it is not public any more.",
    busy_title: "Please try again",
    busy: "The live blog can’t be shown at the moment.",
};

static GERMAN: PageWords = PageWords {
    tag: "de",
    live: "Live",
    ended: "Beendet",
    pinned: "Angeheftet",
    by: "Von {}",
    last_change: "Zuletzt aktualisiert",
    earlier: "Frühere Beiträge zeigen",
    later: "Spätere Beiträge",
    newest: "Neueste Beiträge",
    posts: "Beiträge",
    nothing: "Noch gibt es keine Beiträge.",
    too_long: "Dieser Beitrag ist zu lang, um hier ganz zu erscheinen.",
    new_one: "1 neuer Beitrag",
    new_many: "{} neue Beiträge",
    failed: "Die früheren Beiträge konnten nicht geladen werden. Bitte noch einmal versuchen.",
    gone: "Dieser Liveblog ist nicht mehr verfügbar.",
    missing_title: "Nicht gefunden",
    missing: "Unter dieser Adresse gibt es keinen Liveblog, oder er ist nicht mehr öffentlich.",
    busy_title: "Bitte noch einmal versuchen",
    busy: "Der Liveblog kann im Augenblick nicht gezeigt werden.",
};
