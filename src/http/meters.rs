//! Counting requests: the meters of every endpoint, made once, so that counting is two atomic additions.

use std::time::Duration;

use actix_web::http::StatusCode;
use foldhash::HashMap;
use metrics::{Counter, Histogram};
use parking_lot::RwLock;

use super::dispatch::NO_ENDPOINT;
use super::route::Route;

/// The meters of all endpoints.
pub struct Meters(HashMap<&'static str, Endpoint>);

struct Endpoint {
    seconds: Histogram,
    /// By status; the few that an endpoint really gives.
    statuses: RwLock<Vec<(StatusCode, Counter)>>,
}

impl Meters {
    /// Meters for these routes; to be called after the metrics have been set up.
    pub fn of(routes: impl Iterator<Item = &'static Route>) -> Meters {
        let ids = routes.map(|route| route.id).chain([NO_ENDPOINT]);
        let endpoint = |id: &'static str| Endpoint {
            seconds: metrics::histogram!("stet_http_request_seconds", "endpoint" => id),
            statuses: RwLock::default(),
        };
        Meters(ids.map(|id| (id, endpoint(id))).collect())
    }

    /// Counts a request that was answered.
    pub fn record(&self, id: &'static str, status: StatusCode, took: Duration) {
        // Every id there is has its meters.
        let Some(endpoint) = self.0.get(id) else { return };
        endpoint.seconds.record(took.as_secs_f64());
        let count = |statuses: &[(StatusCode, Counter)]| {
            let known = statuses.iter().find(|(known, _)| *known == status);
            known.map(|(_, counter)| counter.increment(1)).is_some()
        };
        if count(&endpoint.statuses.read()) {
            return;
        }
        let mut statuses = endpoint.statuses.write();
        // Another request may have been the first with this status.
        if !count(&statuses) {
            let text = status.as_str().to_owned();
            let counter = metrics::counter!("stet_http_requests_total", "endpoint" => id, "status" => text);
            counter.increment(1);
            statuses.push((status, counter));
        }
    }
}
