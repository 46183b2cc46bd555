//! The whiteboard against the rules of `stet_domain::drawer`: the two were written apart, so that
//! what one gets wrong the other shows.

use std::sync::Arc;

use proptest::prelude::*;
use stet_actors::repository::Repository;
use stet_actors::runtime::{ChangeRequest, RuntimeOptions};
use stet_domain::clock::SystemClock;
use stet_domain::command::{CallerIdentity, Command};
use stet_domain::drawer::{self, Drawer, DrawerItemAddress, ItemPositions, NewDrawer};
use stet_domain::error::{Code, Error};
use stet_domain::folder::root;
use stet_domain::id::{DatabaseId, Loid, ShortcutId};
use stet_domain::lifecycle::{CreateInFolder, NewObject};
use stet_domain::store::memory::MemoryStore;

use super::choice::{self, Known};
use super::spec::{CAPACITIES, Named, OBJECTS, Op, Pair, Refusal, Reply, Shown};
use crate::harness::Dice;
use crate::histories::record::Whiteboard;

/// A pair of real drawers, without a server and without a disk.
struct Real {
    repository: Repository,
    drawers: [Loid; 2],
    objects: Vec<Loid>,
}

fn request() -> ChangeRequest {
    ChangeRequest::by(CallerIdentity::system())
}

impl Real {
    async fn new() -> Real {
        let store = Arc::new(MemoryStore::new());
        let options = RuntimeOptions::default();
        let repository = Repository::start(store, Arc::new(SystemClock), options).await.expect("it starts");
        repository.make_roots(&[DatabaseId::FIRST]).await.expect("there is room for a root");
        let create = async |object| {
            let create = CreateInFolder { folder: root(DatabaseId::FIRST), below: Vec::new(), object };
            repository.joint(create, request()).await.expect("it can be made").loid
        };
        let mut objects = Vec::new();
        for number in 0..OBJECTS {
            objects.push(create(NewObject::document(&format!("{number}.xml"), "Story")).await);
        }
        let mut drawers = Vec::new();
        for capacity in CAPACITIES {
            let new = NewDrawer::empty(capacity as u32);
            drawers.push(create(NewObject::of::<Drawer>(&format!("drawer-{}", drawers.len()), "Drawer", new)).await);
        }
        Real { repository, drawers: [drawers[0], drawers[1]], objects }
    }

    fn address(&self, object: usize) -> DrawerItemAddress {
        DrawerItemAddress::Object(self.objects[object])
    }

    fn named(&self, item: &Named) -> DrawerItemAddress {
        item.shortcut
            .map_or_else(|| self.address(item.object), |shortcut| DrawerItemAddress::Shortcut(ShortcutId(shortcut)))
    }

    fn shown(&self, (at, item): (usize, drawer::Item)) -> Shown {
        let object = self.objects.iter().position(|known| *known == item.object);
        Shown { at, object: object.expect("only these were put into it"), shortcut: item.shortcut.0 }
    }

    async fn list(&self, drawer: usize) -> Vec<Shown> {
        let view = self.repository.view::<Drawer>(self.drawers[drawer]).await.expect("it is there");
        view.state.visible().copied().enumerate().map(|placed| self.shown(placed)).collect()
    }

    async fn execute<C: Command<Family = Drawer>>(
        &self,
        drawer: usize,
        command: C,
        placed: impl Fn(C::Reply) -> ItemPositions,
    ) -> Result<Reply, Error> {
        let done = self.repository.execute(self.drawers[drawer], command, request()).await?;
        let items = placed(done.reply).into_iter().map(|placed| self.shown(placed)).collect();
        Ok(Reply::Changed { count: done.view.state.count(), items })
    }

    async fn ask(&self, op: &Op) -> Reply {
        let outcome = match op {
            Op::Add(drawer, object) => {
                self.execute(*drawer, drawer::AddDrawerItems { items: vec![self.address(*object)] }, |placed| placed)
                    .await
            }
            Op::AddAll(drawer, objects) => {
                let items = objects.iter().map(|object| self.address(*object)).collect();
                self.execute(*drawer, drawer::AddDrawerItems { items }, |placed| placed).await
            }
            Op::Place(drawer, object, position) => {
                let place = drawer::PlaceDrawerItem { item: self.address(*object), position: *position };
                self.execute(*drawer, place, |placed| placed).await
            }
            Op::Shift(drawer, named, position) => {
                let shift = drawer::ShiftDrawerItem { item: self.named(named), position: *position };
                self.execute(*drawer, shift, |placed| placed).await
            }
            Op::Delete(drawer, named) => {
                let remove = drawer::RemoveDrawerItems { items: vec![self.named(named)], strict: true };
                self.execute(*drawer, remove, |removed| removed.items).await
            }
            Op::Clear(drawer) => self.execute(*drawer, drawer::ClearDrawer, |()| Vec::new()).await,
            Op::Move { from, item } => {
                let (from, to) = (self.drawers[*from], self.drawers[1 - from]);
                let command = drawer::MoveDrawerItem { item: self.named(item), from, to };
                self.repository.joint(command, request()).await.map(|_| Reply::Moved)
            }
            Op::Read(drawer) => Ok(Reply::List(self.list(*drawer).await)),
        };
        outcome.unwrap_or_else(|error| {
            Reply::Refused(match error.code {
                Code::DrawerFull => Refusal::DrawerFull,
                Code::ObjectNotFound => Refusal::ObjectNotFound,
                Code::InvalidParameter => Refusal::InvalidParameter,
                code => panic!("{op}: {code:?}"),
            })
        })
    }
}

/// Returns numbers, one for each call.
pub fn seeds() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(any::<u64>(), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_whiteboard_and_the_drawers_answer_alike(seeds in seeds()) {
        actix::System::new().block_on(async {
            let real = Real::new().await;
            let (mut state, mut known) = (Pair::default(), Known::default());
            for seed in &seeds {
                let op = choice::op(&mut Dice::of(&[*seed]), &known);
                // After each call, what the drawers hold: reads are compared as calls are.
                for op in [op, Op::Read(0), Op::Read(1)] {
                    let reply = real.ask(&op).await;
                    let after = state.after_answer(&op, &reply);
                    prop_assert!(after.is_some(), "{} -> {} on {:?}", op, reply, state);
                    known.learn(&op, &reply);
                    state = after.expect("it was just looked at");
                }
            }
            real.repository.shut_down().await;
            Ok(())
        })?;
    }
}
