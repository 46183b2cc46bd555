//! TrailBase as a program: `bench-trailbase DIRECTORY HOST:PORT` serves the directory with whatever
//! configuration and migrations lie in it. `benches/http/trailbase.rs` starts it.

use std::error::Error;

use trailbase::{DataDir, Server, ServerOptions};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(directory), Some(address), None) = (arguments.next(), arguments.next(), arguments.next()) else {
        return Err("usage: bench-trailbase DIRECTORY HOST:PORT".into());
    };
    let options = ServerOptions { data_dir: DataDir(directory.into()), address, ..ServerOptions::default() };
    Server::init(options).await?.serve().await
}
