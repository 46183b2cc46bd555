mod auth;
mod drawer;
mod folder;
mod http;
mod key;
mod object;
mod session;
mod user;
