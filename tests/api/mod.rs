mod auth;
mod cas;
mod drawer;
mod folder;
mod http;
mod object;
