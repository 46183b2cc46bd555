//! Setup before the load and reading after it: creates the desks and each client's objects, and
//! reads everything at the end.

use std::collections::HashSet;

use hyper::Method;
use serde_json::{Value, json};

use super::NewsroomLoad;
use super::look::FoundThings;
use super::office::{NewsroomReadTarget, is_read_separately, scrap_of, step_of, story_name, text};
use super::plan::{NewsroomOperationKind, NewsroomThing, POSTS, ThingKey, WIRES};
use crate::client::Call;
use crate::desk::{Desk, ODD, created_id, encode_segment, object};
use crate::liveblog::model::{PostChange, PostId};
use crate::liveblog::wire::{PostCalls, posts};
use crate::settle::read_until_settled;

/// The number of posts that one call reads.
const PAGE: usize = 500;
/// The maximum number of channels that are copied to.
const CHANNELS: usize = 2;
/// The size of a post's text in bytes.
const POST_BYTES: u32 = 400;

/// Everything found on the server at the end of the load.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct FinalNewsroom {
    /// The values of the clients' things.
    pub held: FoundThings,
    /// The number of times that the front page was published.
    pub published: u64,
    /// The number of channel copies whose text was compared with their story's.
    pub followed: usize,
}

impl NewsroomLoad {
    /// Creates all containers and objects of the load.
    pub(super) async fn make(&mut self, desk: &mut Desk) -> Result<(), String> {
        desk.make_folder().await?;
        self.office.folder.clone_from(&desk.folder);
        self.office.subject = desk.subject();
        if self.weights[NewsroomOperationKind::Message as usize] > 0 {
            desk.sends_messages();
        }
        let front = object(&desk.folder, "front.xml", "Story", &text(0, 0));
        self.office.front = created_id(&create_object(desk, &front, "story").await?, "story")?;
        let wires = desk.make_stories((self.clients * WIRES) as usize).await?;
        let mut drawers = Vec::new();
        for number in 0..self.office.desks(self.clients) {
            let folder = &self.office.folder;
            let place = |what: &str| json!({ "name": format!("{what}-{number}"), "folderPath": folder });
            let mut drawer = place("drawer");
            drawer["capacity"] = json!(self.office.desk * WIRES);
            let topic = Call::json(Method::POST, "/v3/container/topic", &place("topic"));
            let liveblog = Call::json(Method::POST, "/v3/container/liveblog/from/template", &place("liveblog"));
            let drawer = Call::json(Method::POST, "/v3/container/drawer", &drawer);
            drawers.push(created_id(&create_object(desk, &drawer, "drawer").await?, "drawer")?);
            self.office.topics.topics.push(created_id(&create_object(desk, &topic, "topic").await?, "topic")?);
            let liveblog = created_id(&create_object(desk, &liveblog, "liveblog").await?, "liveblog")?;
            self.office.liveblogs.push(PostCalls::of(&liveblog, POST_BYTES, 0));
        }
        for (wire, number) in wires.iter().zip(0..) {
            let key = ThingKey { client: number / WIRES, thing: NewsroomThing::Wire(number % WIRES) };
            self.office.wires.insert(wire.clone(), key);
        }
        self.office.drawers = crate::drawer::wire::Paths::of(&drawers, &wires);
        self.office.wire_ids = wires;
        for client in 0..self.clients {
            self.make_client(desk, client).await?;
        }
        if self.weights[NewsroomOperationKind::Copy as usize] > 0 {
            self.find_channels(desk).await?;
        }
        Ok(())
    }

    /// Creates the objects of one client: a story, an item of the topic, and posts.
    async fn make_client(&mut self, desk: &mut Desk, client: u32) -> Result<(), String> {
        let number = self.office.desk_of(client);
        let story = object(&desk.folder, &story_name(client), "EOM::CompoundStory", &text(client, 0));
        self.office.stories.push(encode_segment(&created_id(&create_object(desk, &story, "story").await?, "story")?));
        let item = self.office.topics.item(number, client, -1);
        self.office.items.push(created_id(&create_object(desk, &item, "item").await?, "item")?);
        let mut posts = Vec::new();
        for slot in 0..POSTS {
            let post = PostId { client, number: slot };
            let forms = &self.office.liveblogs[usize::from(number)];
            let call = forms.change(post, PostChange::Post { step: 0, attached: false }, "");
            let made = create_object(desk, &call, "post").await?;
            // As in the liveblog load, a moderator's posts are approved at once.
            if made["status"] != "approved" {
                return Err(
                    "a liveblog can't be used: a new post is not approved (the user may not moderate?)".to_owned()
                );
            }
            posts.push(created_id(&made, "post")?);
        }
        self.office.posts.push(posts);
        Ok(())
    }

    /// Finds the channels that stories can be copied to, by trial. One channel must allow
    /// inheritance without having a copy itself; the others inherit from it.
    async fn find_channels(&mut self, desk: &mut Desk) -> Result<(), String> {
        let listed = Call::new(Method::GET, "/conf/channel/list?loidsSource=%2F".to_owned());
        let listed = desk.bare(&listed).await.map_err(|why| format!("the channels can't be listed: {why}"))?;
        let names = listed.as_array().into_iter().flatten().filter_map(|channel| channel["name"].as_str());
        let names: Vec<_> = names.map(str::to_owned).collect();
        let trial = object(&desk.folder, "trial.xml", "EOM::CompoundStory", &text(0, 0));
        let trial = encode_segment(&created_id(&create_object(desk, &trial, "story").await?, "story")?);
        let path = format!("/v3/container/bundle/{trial}/channelcopy");
        for template in &names {
            for channel in names.iter().filter(|channel| *channel != template) {
                let body = json!({ "channel": channel, "inheritFrom": template });
                if self.office.channels.len() == CHANNELS
                    || desk.call(&Call::json(Method::POST, &path, &body)).await.is_err()
                {
                    continue;
                }
                // The copy is named by its path.
                let place = encode_segment(&format!("{}/trial.xml/{channel}", desk.folder));
                let read = Call::new(Method::GET, format!("/v3/object/{place}/content"));
                desk.raw(&read)
                    .await
                    .map_err(|why| format!("the copy for {channel} does not lie in its story: {why}"))?;
                self.office.channels.push(channel.clone());
            }
            if !self.office.channels.is_empty() {
                self.office.template.clone_from(template);
                break;
            }
        }
        desk.call(&Call::new(Method::DELETE, format!("/v3/object/{trial}/destroy"))).await?;
        if self.office.channels.is_empty() {
            return Err("the site has no channel that a story can be copied to: use a `mix` without copy".to_owned());
        }
        Ok(())
    }

    /// Reads everything, after all changes have settled.
    pub(super) async fn end(&self, desk: &mut Desk, doubts: bool) -> Result<FinalNewsroom, String> {
        let look = async |desk: &mut Desk| self.look(desk).await;
        read_until_settled(
            desk,
            doubts,
            "the things of the newsroom",
            look,
            |last: &FinalNewsroom, now: &FinalNewsroom| last == now,
        )
        .await
    }

    async fn look(&self, desk: &mut Desk) -> Result<FinalNewsroom, String> {
        let office = &self.office;
        let mut end = FinalNewsroom::default();
        for number in 0..office.desks(self.clients) {
            let first = u32::from(number) * office.desk;
            for place in [NewsroomReadTarget::Drawer, NewsroomReadTarget::Topic] {
                end.held.add(self.see(desk, place, first).await?);
            }
            let (mut offset, mut known) = (0, HashSet::new());
            loop {
                let (_, answer) = desk.call(&office.liveblogs[usize::from(number)].list(offset, PAGE)).await?;
                let (shown, before) = (posts(&answer).ok_or(ODD)?.items, known.len());
                known.extend(shown.iter().map(|post| post.id().to_owned()));
                // A server may return smaller pages than requested. One that ignores the offset
                // shows nothing new.
                if known.len() == before {
                    break;
                }
                offset += shown.len();
                end.held.add(office.posts(first, &answer).ok_or(ODD)?);
            }
        }
        for client in 0..self.clients {
            for place in [NewsroomReadTarget::Story, NewsroomReadTarget::Bundle, NewsroomReadTarget::Links] {
                end.held.add(self.see(desk, place, client).await?);
            }
            self.see_copies(desk, client, &mut end).await?;
        }
        let name = |object: &Value| object["name"].as_str().map(str::to_owned);
        for name in desk.pages(&format!("/v3/folder/{}", encode_segment(&office.folder)), name).await? {
            match scrap_of(&name) {
                Some(key) => end.held.is(key.client, key.thing, 1),
                None if is_read_separately(&name) => {}
                None => end.held.foreign("In the folder, the object", &name),
            }
        }
        let number = |message: &Value| {
            let (client, number) = message["subject"].as_str()?.strip_prefix(&*office.subject)?.split_once('/')?;
            Some((client.parse().ok()?, number.parse().ok()?))
        };
        if self.weights[NewsroomOperationKind::Message as usize] > 0 {
            for (client, number) in desk.messages("inbox", number).await? {
                end.held.is(client, NewsroomThing::Message(number), 1);
            }
        }
        let path = format!("/v3/object/{}?showAttributes=true", encode_segment(&office.front));
        let (front, _) = desk.call(&Call::new(Method::GET, path)).await?;
        end.published = super::office::NewsroomObjects::published(&front);
        Ok(end)
    }

    async fn see(&self, desk: &mut Desk, place: NewsroomReadTarget, client: u32) -> Result<FoundThings, String> {
        let answer = desk.raw(&self.office.read(place, client)).await?;
        self.office.held(place, client, &answer).ok_or_else(|| ODD.to_owned())
    }

    /// Compares the text of each channel copy with that of its story, from which it inherits.
    async fn see_copies(&self, desk: &mut Desk, client: u32, end: &mut FinalNewsroom) -> Result<(), String> {
        let value = |thing| end.held.things.get(&ThingKey { client, thing }).copied();
        let own = value(NewsroomThing::Text);
        let copies = (0..).zip(&self.office.channels).filter(|(slot, _)| value(NewsroomThing::Copy(*slot)) == Some(1));
        let mut stale = Vec::new();
        let mut followed = 0;
        for (_, channel) in copies {
            let path = encode_segment(&format!("{}/{channel}", self.office.story_path(client)));
            let answer = desk.raw(&Call::new(Method::GET, format!("/v3/object/{path}/content"))).await?;
            let text = step_of(client, &answer.body);
            followed += 1;
            if text != own {
                let shown =
                    |step: Option<u32>| step.map_or("of no client".to_owned(), |step| format!("of step {step}"));
                let (text, own) = (shown(text), shown(own));
                stale.push(format!(
                    "The copy for {channel} of client {client}'s story has the text {text}, the story {own}."
                ));
            }
        }
        end.held.odd.extend(stale);
        end.followed += followed;
        Ok(())
    }
}

async fn create_object(desk: &mut Desk, call: &Call, what: &str) -> Result<Value, String> {
    let made = desk.call(call).await;
    made.map(|(reply, _)| reply).map_err(|why| format!("a {what} can't be created in {}: {why}", desk.folder))
}
