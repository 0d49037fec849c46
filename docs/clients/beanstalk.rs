// In a folder with this file alone:
//   cargo init --name example
//   cargo add beanstalkc@1.0.0
//   cp beanstalk.rs src/main.rs
//   cargo run
use beanstalkc::{Beanstalkc, BeanstalkcError};
use std::time::Duration;

fn main() -> Result<(), BeanstalkcError> {
    let mut client = Beanstalkc::new().host("127.0.0.1").port(11300).connect()?;
    client.use_tube("mail")?;
    client.put(b"world", 0, Duration::from_secs(0), Duration::from_secs(60))?;

    client.watch("mail")?;
    let mut job = client.reserve_with_timeout(Duration::from_secs(10))?;
    println!("hello {}", String::from_utf8_lossy(job.body()));
    job.delete()
}
