//! A server for unit tests: nothing listens, objects are in memory, and contents of more than eight
//! bytes are files.

use std::ops::Deref;
use std::sync::Arc;

pub use stet_newsroom::testing::{NewsroomFixture, SMALL, by_editor};

use stet_config::Config;
use stet_observe::telemetry;

use super::app::{App, HandlerState, ServedEndpoints};
use super::call::Call;
use super::route::Route;

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
    /// Creates a server without endpoints, whose repository is empty.
    pub async fn new() -> ServerFixture {
        ServerFixture::of(|_| ServedEndpoints { groups: &[], kept: HandlerState::default(), readers: |_, _| None })
            .await
    }

    /// Creates a server that offers what `surface` returns, and whose repository is empty.
    pub async fn of(surface: impl FnOnce(&Config) -> ServedEndpoints) -> ServerFixture {
        let fixture = NewsroomFixture::new().await;
        let (newsroom, metrics) = (fixture.newsroom.clone(), telemetry::init_metrics());
        let surface = surface(&newsroom.config);
        ServerFixture { app: Arc::new(App::new(newsroom, surface, metrics)), newsroom: fixture }
    }

    /// Returns a call of an endpoint without a session, with these query parameters and nothing
    /// else.
    pub fn call(&self, route: &'static Route, query: &str) -> Call {
        Call::of_test(self.app.clone(), route, query)
    }

    /// Returns a call of the endpoint with that id, without parameters.
    pub fn call_of(&self, id: &str) -> Call {
        let mut routes = self.app.groups.iter().flat_map(|group| group.routes());
        self.call(routes.find(|route| route.id == id).expect("there is such an endpoint"), "")
    }
}
