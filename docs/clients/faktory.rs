// In a folder with this file alone:
//   cargo init --name example
//   cargo add faktory@0.13.1
//   cargo add tokio@1 --features macros,rt-multi-thread
//   cp faktory.rs src/main.rs
//   cargo run
//
// The worker cannot read jobs that were pushed without `reserve_for`: it ends, and the job stays
// reserved for 30 minutes. What this crate pushes has it.
use faktory::{Client, Error, Job, Worker};
use std::io;

async fn greet(job: Job) -> Result<(), io::Error> {
    println!("hello {}", job.args()[0].as_str().unwrap_or("?"));
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut client = Client::connect().await?; // FAKTORY_URL, or localhost:7419
    client.enqueue(Job::new("Greet", vec!["world"])).await?;

    let worker = Worker::builder().register_fn("Greet", greet).connect().await?;
    worker.run_to_completion(&["default"]).await // until Ctrl-C
}
