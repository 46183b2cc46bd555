mod audit;
mod auth;
mod drawer;
mod folder;
mod http;
mod idempotency;
mod object;
