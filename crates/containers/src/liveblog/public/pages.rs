//! The division of a live blog into pages.
//!
//! The posts are in the live blog's order, the newest first. Pages are counted from the oldest
//! post: page 1 has the oldest ones. So a new post does not move others from one page to the next,
//! and what proxies keep of older pages stays valid. The newest page has the rest, at least one
//! page and less than two, unless there are fewer posts.

use std::ops::Range;

/// A page of a live blog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum PageNumber {
    /// The page with the newest posts.
    Newest,
    /// An older page, counted from 1 for the oldest.
    Older(u64),
}

/// The posts of a page, and its neighbours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageRange {
    /// The positions of the posts, the newest first.
    pub posts: Range<usize>,
    /// The number of the page with the posts before these in time; `None` for the oldest.
    pub earlier: Option<u64>,
    /// The page with the posts after these in time; `None` for the newest page.
    pub later: Option<PageNumber>,
}

/// Returns the posts of a page, of `total` with `each` a page; `None` if there is no such page.
pub(super) fn range(number: PageNumber, total: usize, each: usize) -> Option<PageRange> {
    let each = each.max(1);
    let older = (total / each).saturating_sub(1);
    match number {
        PageNumber::Newest => {
            let earlier = (older > 0).then_some(older as u64);
            Some(PageRange { posts: 0..total - older * each, earlier, later: None })
        }
        PageNumber::Older(number) => {
            let page = usize::try_from(number).ok().filter(|page| (1..=older).contains(page))?;
            let later = if page == older { PageNumber::Newest } else { PageNumber::Older(number + 1) };
            let posts = total - page * each..total - (page - 1) * each;
            Some(PageRange { posts, earlier: (number > 1).then(|| number - 1), later: Some(later) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_posts_are_on_exactly_one_page_and_older_pages_keep_theirs() {
        for each in [1, 3, 25] {
            let mut before: Vec<Vec<usize>> = Vec::new();
            for total in 0..120 {
                let newest = range(PageNumber::Newest, total, each).expect("there is always a newest page");
                assert!(newest.posts.len() < 2 * each || each == 1 && newest.posts.len() <= 2);
                assert!(newest.posts.len() >= each.min(total));
                let (mut seen, mut next, mut pages) = (newest.posts.len(), newest.earlier, Vec::new());
                let mut after = PageNumber::Newest;
                while let Some(number) = next {
                    let page = range(PageNumber::Older(number), total, each).expect("it is linked");
                    assert_eq!((page.posts.start, page.posts.len()), (seen, each));
                    assert_eq!(page.later, Some(after));
                    // The posts by their age, which new posts don't change.
                    pages.insert(0, page.posts.clone().map(|position| total - position).collect::<Vec<_>>());
                    (seen, next, after) = (page.posts.end, page.earlier, PageNumber::Older(number));
                }
                assert_eq!(seen, total);
                assert!(pages.starts_with(&before), "{total}");
                before = pages;
            }
        }
        for (number, total) in [(0, 100), (4, 100), (u64::MAX, 100), (1, 0), (1, 49)] {
            assert_eq!(range(PageNumber::Older(number), total, 25), None, "{number} of {total}");
        }
    }
}
