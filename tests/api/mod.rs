mod auth;
mod drawer;
mod edge;
mod folder;
mod http;
mod object;
