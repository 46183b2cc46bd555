mod auth;
mod cas;
mod drawer;
mod folder;
mod group;
mod http;
mod object;
mod rights;
