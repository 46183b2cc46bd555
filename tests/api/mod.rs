mod auth;
mod drawer;
mod folder;
mod group;
mod http;
mod object;
mod rights;
