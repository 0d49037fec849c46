// The crate `faktory`: `push` or `work`.
use faktory::{rustls::TlsStream, Client, Error, Job, JobBuilder, JobId, Worker, WorkerBuilder};
use serde_json::{json, Value};
use std::{env, io, time::Duration};
use tokio::io::{AsyncBufReadExt, BufReader, BufStream};
use tokio::net::TcpStream;
use tokio::signal::unix::{signal, SignalKind};

#[tokio::main]
async fn main() {
    match env::args().nth(1).as_deref() {
        Some("push") => push().await,
        _ => work().await,
    }
}

/// The scheme for TLS is `tcp+tls`; the crate itself wants `tcp`, a stream that speaks TLS, and the
/// password beside it.
fn tls_url() -> Option<String> {
    let url = env::var("FAKTORY_URL").expect("FAKTORY_URL");
    url.strip_prefix("tcp+tls:").map(|rest| format!("tcp:{rest}"))
}

fn password(url: &str) -> Option<String> {
    let (user, _) = url.strip_prefix("tcp://")?.split_once('@')?;
    user.strip_prefix(':').map(str::to_owned)
}

async fn tls_stream(url: &str) -> Result<BufStream<TlsStream<TcpStream>>, Error> {
    Ok(BufStream::new(TlsStream::connect_with_native_certs_to(url).await?))
}

async fn connect() -> Result<Client, Error> {
    match tls_url() {
        Some(url) => Client::connect_with(tls_stream(&url).await?, password(&url)).await,
        None => Client::connect().await,
    }
}

async fn push() {
    let mut client = None;
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await.expect("stdin") {
        match push_line(&mut client, &line).await {
            Ok(()) => println!("ok"),
            Err(error) => {
                // It panics when it is dropped and cannot say END, so that happens in a task.
                let broken = client.take();
                drop(tokio::spawn(async move { drop(broken) }).await);
                println!("error {error:?}");
            }
        }
    }
}

async fn push_line(client: &mut Option<Client>, line: &str) -> Result<(), Error> {
    if client.is_none() {
        *client = Some(connect().await?);
    }
    let client = client.as_mut().expect("just connected");
    if line.starts_with('{') {
        return client.enqueue(job(serde_json::from_str(line).expect("a job"))).await;
    }
    let works: Vec<Value> = serde_json::from_str(line).expect("jobs");
    let (_, refused) = client.enqueue_many(works.into_iter().map(job)).await?;
    assert!(refused.is_none(), "{refused:?}");
    Ok(())
}

fn job(work: Value) -> Job {
    let text = |name: &str| work[name].as_str().expect(name).to_owned();
    let mut job = JobBuilder::new(text("jobtype"));
    job.jid(JobId::new(text("jid"))).queue(text("queue"));
    job.args(work["args"].as_array().expect("args").clone());
    if let Some(at) = work["at"].as_str() {
        job.at(Some(at.parse().expect("a time")));
    }
    if let Some(retry) = work["retry"].as_i64() {
        job.retry(Some(retry as isize));
    }
    if let Some(seconds) = work["reserve_for"].as_u64() {
        job.reserve_for(Some(Duration::from_secs(seconds)));
    }
    for (name, value) in work["custom"].as_object().into_iter().flatten() {
        job.add_to_custom_data(name, value.clone());
    }
    job.build()
}

fn say(jobtype: &str, job: &Job) {
    let run = json!({
        "jobtype": jobtype, "jid": job.id(), "args": job.args(), "custom": job.custom,
    });
    println!("{run}");
}

async fn record(job: Job) -> Result<(), io::Error> {
    say(job.kind(), &job);
    Ok(())
}

async fn fail(job: Job) -> Result<(), io::Error> {
    say("Fail", &job);
    Err(io::Error::other("no luck"))
}

async fn slow(job: Job) -> Result<(), io::Error> {
    say("Slow", &job);
    let seconds = job.args().first().and_then(Value::as_f64).expect("seconds");
    tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
    say("Slept", &job);
    Ok(())
}

async fn told_to_end() {
    signal(SignalKind::terminate()).expect("a handler").recv().await;
}

fn builder() -> WorkerBuilder<io::Error> {
    let concurrency = env::var("INTEROP_CONCURRENCY").expect("INTEROP_CONCURRENCY");
    Worker::builder()
        .workers(concurrency.parse().expect("a number"))
        .labels(["interop".to_string(), "tried".to_string()])
        .with_graceful_shutdown(told_to_end())
        .register_fn("Record", record)
        .register_fn("beanstalk", record)
        .register_fn("Fail", fail)
        .register_fn("Slow", slow)
}

async fn work() {
    let queues = env::var("INTEROP_QUEUES").expect("INTEROP_QUEUES");
    let queues: Vec<&str> = queues.split(',').collect();
    let worker = match tls_url() {
        Some(url) => {
            let stream = tls_stream(&url).await.expect("a connection");
            builder().connect_with(stream, password(&url)).await.expect("a worker")
        }
        None => builder().connect().await.expect("a worker"),
    };
    worker.run_to_completion(&queues).await;
}
