//! Replies about posts that are changed or removed while they are read. A test over HTTP could not
//! choose the moment.

use stet_auth::{Grant, Privilege, User, UserGroup};
use stet_domain::command::CallerIdentity;
use stet_domain::error::Code;
use stet_domain::expect::Precondition;
use stet_domain::lifecycle::NewObject;
use stet_domain::liveblog::{
    AddPost, NewLiveblog, PostBody, PostFields, PostStatus, RemovePost, SetPostStatus, UpdatePost,
};
use stet_domain::object::CreateMode;
use stet_domain::part::NewAttachment;

use super::files::open_attachment;
use super::reply::{PostDetails, post_as_left};
use super::resolved::ResolvedPosts;
use super::types::{PostChangeEffect, PostChangeView};
use super::*;
use stet_web::testing::{SMALL, ServerFixture, by_editor};

const LATIN: &str = "text/plain; charset=iso-8859-1";

/// A liveblog with one post at a time.
struct Blog {
    fixture: ServerFixture,
    loid: Loid,
}

impl Blog {
    async fn new() -> Blog {
        let fixture = ServerFixture::of(crate::surface).await;
        let object = NewObject::of::<Liveblog>("night", "LiveBlog", NewLiveblog::default());
        let loid = fixture.create(object).await;
        Blog { fixture, loid }
    }

    async fn body(&self, media_type: &str, bytes: &[u8]) -> PostBody {
        PostBody { content: self.fixture.stored(media_type, bytes).await, text: "".into() }
    }

    /// Returns the liveblog after a change, for a caller with all rights, and the post.
    async fn after<C>(&self, command: C) -> (OpenLiveblog, PostAddress)
    where
        C: stet_domain::command::Command<Family = Liveblog, Reply = stet_domain::liveblog::PostResult>,
    {
        let done = self.fixture.repository.execute(self.loid, command, by_editor()).await.expect("it is done");
        let open = OpenLiveblog {
            liveblog: NamedContainer::of(&done.view),
            view: SeenView::of_test(done.view),
            sight: PostSight::All,
            reach: Reach::All,
        };
        (open, PostAddress::Loid(done.reply.post))
    }

    /// Adds the post, in the place of the one that is there, with one attachment.
    async fn add(&self, title: &str, media_type: &str, bytes: &[u8]) -> (OpenLiveblog, PostAddress) {
        let attachment = NewAttachment { name: "a".into(), content: self.fixture.stored("text/plain", bytes).await };
        let add = AddPost {
            fields: PostFields {
                title: Some(title.into()),
                timestamp: Some(1_763_733_784_005),
                ..PostFields::default()
            },
            moderated: false,
            body: self.body(media_type, bytes).await,
            attachments: vec![attachment],
            mode: CreateMode::Replace,
            reach: Reach::All,
            sight: PostSight::All,
        };
        self.after(add).await
    }

    /// Adds a post beside those that are there.
    async fn add_another(&self) -> (OpenLiveblog, Loid) {
        let add = AddPost {
            fields: PostFields::default(),
            moderated: false,
            body: self.body("text/plain", b"x").await,
            attachments: Vec::new(),
            mode: CreateMode::AutoRename,
            reach: Reach::All,
            sight: PostSight::All,
        };
        let (open, post) = self.after(add).await;
        let loid = open.view.state.get(&post).expect("it is there").loid();
        (open, loid)
    }

    async fn edit(&self, post: &PostAddress, title: &str, bytes: &[u8]) -> OpenLiveblog {
        let edit = UpdatePost {
            post: post.clone(),
            fields: PostFields { title: Some(title.into()), ..PostFields::default() },
            body: Some(self.body(LATIN, bytes).await),
            attachments: Vec::new(),
            remove_attachments: Vec::new(),
            reach: Reach::All,
        };
        self.after(edit).await.0
    }

    async fn remove(&self, post: &PostAddress) {
        let remove = RemovePost { post: post.clone(), reach: Reach::All };
        self.after(remove).await;
    }

    /// Returns title, content and revision from the reply to the change that left the post so;
    /// `None` if they can't be determined.
    async fn left(&self, open: &OpenLiveblog, post: &PostAddress) -> Option<(String, String, u64)> {
        let post = open.view.state.get(post).expect("it is in the view");
        let more = PostChangeView { revision: open.view.revision(), effect: PostChangeEffect::of(None, None) };
        let reply = post_as_left(&self.fixture.app, open, post, more).await.expect("the store is well")?;
        let json = reply.result();
        let text = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
        Some((text("title"), text("content"), json["revision"].as_u64().expect("it has one")))
    }
}

#[actix_web::test]
async fn the_reply_for_a_new_post_equals_what_its_rows_contain() {
    let blog = Blog::new().await;
    let text = |said: Option<&str>| said.map(Into::into);
    for (media_type, bytes, attributes, system_attributes) in [
        ("text/xml", &b"<p/>"[..], Some("<a/>"), Some("<props/>")),
        ("text/plain", b"", None, Some("<props/>")),
        ("image/png", b"no text", Some("<a/>"), None),
        ("text/plain", &[b'x'; SMALL + 1], None, None),
    ] {
        let fields = PostFields {
            attributes: text(attributes),
            system_attributes: text(system_attributes),
            ..PostFields::default()
        };
        let body = blog.body(media_type, bytes).await;
        let add = AddPost {
            fields: fields.clone(),
            moderated: false,
            body: body.clone(),
            attachments: Vec::new(),
            mode: CreateMode::AutoRename,
            reach: Reach::All,
            sight: PostSight::All,
        };
        let (open, address) = blog.after(add).await;
        let post = open.view.state.get(&address).expect("it is there");
        let read = PostDetails::of(&blog.fixture.app, post).expect("the store is well");
        assert_eq!(PostDetails::sent(post.loid(), &fields, &body), read, "{media_type}");
        assert_eq!(read.bytes.is_some(), media_type.starts_with("text/") && bytes.len() <= SMALL);
    }
}

#[actix_web::test]
async fn replies_to_post_changes_show_their_own_result_despite_later_changes() {
    let blog = Blog::new().await;
    // Not UTF-8: bytes are compared, and their text is shown.
    let (first, post) = blog.add("first", LATIN, b"K\xf6ln").await;
    let second = blog.edit(&post, "second", b"Bonn").await;
    let revision = first.view.revision();
    assert_eq!(blog.left(&first, &post).await, Some(("first".to_owned(), "Köln".to_owned(), revision)));
    assert_eq!(blog.left(&second, &post).await, Some(("second".to_owned(), "Bonn".to_owned(), revision + 1)));
    blog.remove(&post).await;
    assert_eq!(blog.left(&second, &post).await, None, "its bytes are gone");
}

#[actix_web::test]
async fn replies_to_post_changes_never_show_bytes_that_replaced_theirs() {
    let blog = Blog::new().await;
    let (first, post) = blog.add("first", "text/plain", b"one").await;
    let (again, same) = blog.add("again", "text/plain", b"two").await;
    assert_eq!(
        again.view.state.get(&same).expect("it is there").loid(),
        first.view.state.get(&post).expect("it is").loid()
    );
    assert_eq!(blog.left(&first, &post).await, None);
    assert_eq!(blog.left(&again, &same).await.expect("it is there").1, "two");
}

#[actix_web::test]
async fn a_post_whose_file_was_collected_after_it_changed_is_no_failure() {
    let blog = Blog::new().await;
    let app = &blog.fixture.app;
    let long = [b'x'; SMALL + 1];
    let (open, post) = blog.add("a", "text/plain", &long).await;
    assert!(ResolvedPosts::of(app, &open.view, false).await.expect("the disk is well").is_some());
    // Of another view, whose length is not known yet.
    let open = blog.edit(&post, "b", &[b'y'; SMALL + 1]).await;
    blog.fixture.lose_files();
    let lost = ResolvedPosts::of(app, &open.view, false).await.err().expect("what is referred to must be there");
    assert_eq!(lost.code, Code::RepositoryError);
    blog.remove(&post).await;
    assert!(ResolvedPosts::of(app, &open.view, false).await.expect("it is no failure").is_none());
}

#[actix_web::test]
async fn removed_attachments_whose_file_was_collected_are_not_found() {
    let blog = Blog::new().await;
    let (open, address) = blog.add("a", "text/plain", &[b'x'; SMALL + 1]).await;
    let post = open.view.state.get(&address).expect("it is there").clone();
    let attachment = &post.attachments[0];
    assert!(open_attachment(&blog.fixture.app, &post, attachment, "7").await.is_ok());
    blog.fixture.lose_files();
    let code = async || open_attachment(&blog.fixture.app, &post, attachment, "7").await.err().map(|error| error.code);
    assert_eq!(code().await, Some(Code::RepositoryError), "what is referred to must be there");
    blog.remove(&address).await;
    assert_eq!(code().await, Some(Code::ObjectNotFound));
}

#[actix_web::test]
async fn listed_posts_expect_the_calls_own_changes_and_fail_after_those_of_others() {
    let blog = Blog::new().await;
    let (_, first) = blog.add_another().await;
    let (_, second) = blog.add_another().await;
    let (_, third) = blog.add_another().await;
    let (open, last) = blog.add_another().await;
    let directory = blog.fixture.app.directory.by(CallerIdentity::operator());
    let privileges = [Privilege::Read, Privilege::Moderate].map(|privilege| Grant { privilege, folder: None });
    let group = UserGroup { name: "desk".into(), description: String::new(), privileges: privileges.into() };
    directory.put_group(group).await.expect("the store is well");
    let mut ada = User::new("ada");
    ada.groups.push("desk".into());
    directory.put_user(ada).await.expect("the store is well");
    let ada = blog.fixture.app.directory.user("ada").expect("the store is well").expect("they are there");
    let begun = blog.fixture.app.sessions.log_in_as("web", "test", &ada, "192.0.2.7").await.expect("the store is well");
    let mut call = blog.fixture.call_of("stet-liveblog-posts-reject-post");
    call.sign_in(begun.session.clone(), begun.session.rights());
    call.set_expectation(Some(Precondition::one_of([open.tag()])));
    let mut each = call.each_of(4).expect("it has no key");
    let rejected = Ok(Some(PostStatus::Rejected));
    let stale = Err(Code::PreconditionFailed);
    for (place, post, others_edit, expected) in
        [(0, first, false, rejected), (1, second, false, rejected), (2, third, true, stale), (3, last, false, stale)]
    {
        if others_edit {
            blog.edit(&PostAddress::Loid(first), "edited", b"meanwhile").await;
        }
        let one = each.at(place).expect("they may change it");
        let reject = SetPostStatus { post: PostAddress::Loid(post), to: PostStatus::Rejected, reach: Reach::All };
        let done = one.change_in(&open.liveblog, post, reject).await;
        assert_eq!(done.map(|done| done.status).map_err(|error| error.code), expected, "{place}");
    }
}
