//! A server for unit tests: nothing listens, objects are in memory, and contents of more than eight
//! bytes are files.

use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;

use actix_web::test::TestRequest;
use bytes::Bytes;
use stet_actors::trace::Trace;
pub use stet_newsroom::testing::{NewsroomFixture, SMALL, by_editor};

use super::app::App;
use super::call::{Call, PathSources};
use super::change::ChangeHandle;
use super::query::{Query, QueryPairs};
use super::route::Route;
use super::router::PathParams;
use super::warnings::Warnings;
use crate::api;
use stet_observe::telemetry;

/// A server for tests.
pub struct ServerFixture {
    /// The application.
    pub app: Arc<App>,
    newsroom: NewsroomFixture,
}

impl Deref for ServerFixture {
    type Target = NewsroomFixture;

    fn deref(&self) -> &NewsroomFixture {
        &self.newsroom
    }
}

impl ServerFixture {
    /// Creates a server whose repository is empty.
    pub async fn new() -> ServerFixture {
        let fixture = NewsroomFixture::new().await;
        let (newsroom, metrics) = (fixture.newsroom.clone(), telemetry::init_metrics());
        let changes = ChangeHandle::to(fixture.repository.clone(), &newsroom.config);
        let surface = api::surface(&newsroom.config);
        ServerFixture { app: Arc::new(App::new(newsroom, changes, surface, metrics)), newsroom: fixture }
    }

    /// Returns a call of an endpoint without a session, with these query parameters and nothing
    /// else.
    pub fn call(&self, route: &'static Route, query: &str) -> Call {
        Call {
            app: self.app.clone(),
            route,
            http: TestRequest::default().to_http_request(),
            query: Query::parse(route, QueryPairs::of(query)).expect("the parameters are those of the endpoint"),
            params: PathParams::default(),
            sources: PathSources::new(),
            session: None,
            rights: Arc::default(),
            body: Bytes::new(),
            incoming: None,
            room: None,
            claim: None,
            expect: None,
            client: IpAddr::from([127, 0, 0, 1]),
            trace: Trace::none(),
            otel: None,
            warnings: Warnings::default(),
        }
    }

    /// Returns a call of the endpoint with that id, without parameters.
    pub fn call_of(&self, id: &str) -> Call {
        let mut routes = self.app.groups.iter().flat_map(|group| group.routes());
        self.call(routes.find(|route| route.id == id).expect("there is such an endpoint"), "")
    }
}
