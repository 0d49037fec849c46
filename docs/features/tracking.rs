// In a folder with this file alone:
//   cargo init --name example
//   cargo add faktory@0.13.1 --features ent
//   cargo add tokio@1 --features macros,rt-multi-thread,time
//   cp tracking.rs src/main.rs
//   cargo run
// It prints some lines, the last of which are `Working Some(50) writing` and
// `Success Some(50) writing`.
use faktory::ent::ProgressUpdate;
use faktory::{Client, Error, Job, Worker};
use std::time::Duration;
use tokio::time::sleep;

async fn report(job: Job) -> Result<(), Error> {
    let mut client = Client::connect().await?;
    client.set_progress(&ProgressUpdate::set(job.id().clone(), 10)).await?;
    sleep(Duration::from_secs(1)).await;
    let writing = ProgressUpdate::builder(job.id().clone())
        .percent(50)
        .desc("writing".to_string())
        .build();
    client.set_progress(&writing).await?;
    sleep(Duration::from_secs(1)).await;
    Ok(())
}

// Any client may ask, for as long as it likes.
async fn watch(mut client: Client, job: faktory::JobId) -> Result<(), Error> {
    let mut last = String::new();
    loop {
        if let Some(found) = client.get_progress(&job).await? {
            let desc = found.desc.unwrap_or_default();
            let now = format!("{:?} {:?} {}", found.state, found.percent, desc);
            if now != last {
                println!("{now}");
                last = now;
            }
        }
        sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut client = Client::connect().await?; // FAKTORY_URL, or localhost:7419
    let job = Job::new("Report", vec![1]); // with the feature `ent` each job is tracked
    let id = job.id().clone();
    client.enqueue(job).await?;
    tokio::spawn(watch(client, id));

    let worker = Worker::builder().register_fn("Report", report).connect().await?;
    worker.run_to_completion(&["default"]).await // until Ctrl-C
}
