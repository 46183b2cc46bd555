//! The domain of stet and the actors that serialise its changes.
//!
//! Dependencies run one way: [`id`] and [`error`] ← families ([`drawer`], [`folder`], [`document`], …)
//! ← [`store`] ← [`runtime`] ← [`repository`]. There is no HTTP here and no database engine: the web
//! layer holds a [`repository::Repository`], and persistence implements [`store::Store`].

pub mod clock;
pub mod error;
pub mod id;
pub mod store;
