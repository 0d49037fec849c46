// beanstalkc, driven command by command.
use beanstalkc::{Beanstalkc, BeanstalkcError};
use std::{collections::HashMap, env, io, time::Duration};

type Answer = Result<String, BeanstalkcError>;

fn main() {
    let mut client = connect().expect("a connection");
    for line in io::stdin().lines() {
        let line = line.expect("stdin");
        let words: Vec<&str> = line.split('\t').collect();
        match answer(&mut client, &words) {
            Ok(text) => println!("{text}"),
            Err(error) => println!("error {}", error.to_string().replace(['\r', '\n'], " ")),
        }
    }
}

fn connect() -> Result<Beanstalkc, BeanstalkcError> {
    let url = env::var("BEANSTALKD_URL").expect("BEANSTALKD_URL");
    let (host, port) = url.rsplit_once(':').expect("HOST:PORT");
    Beanstalkc::new().host(host).port(port.parse().expect("a port")).connect()
}

fn answer(client: &mut Beanstalkc, words: &[&str]) -> Answer {
    match words {
        ["connect"] => *client = connect()?,
        ["put", tube, pri, delay, ttr, body] => {
            client.use_tube(tube)?;
            let id = client.put(&bytes(body), number(pri), seconds(delay), seconds(ttr))?;
            return Ok(format!("id\t{id}"));
        }
        ["watch", tube] => drop(client.watch(tube)?),
        ["ignore", tube] => drop(client.ignore(tube)?),
        ["reserve", timeout] => return reserve(client, seconds(timeout)),
        ["delete", id] => client.delete(number(id))?,
        ["release", id, pri, delay] => client.release(number(id), number(pri), seconds(delay))?,
        ["bury", id, pri] => client.bury(number(id), number(pri))?,
        ["touch", id] => client.touch(number(id))?,
        ["kick", tube, count] => {
            client.use_tube(tube)?;
            client.kick(number(count))?;
        }
        ["pause", tube, time] => client.pause_tube(tube, seconds(time))?,
        ["stats"] => return Ok(stats(client.stats()?)),
        ["stats-tube", tube] => return Ok(stats(client.stats_tube(tube)?)),
        ["stats-job", id] => return Ok(stats(client.stats_job(number(id))?)),
        ["tubes"] => return Ok(format!("tubes\t{}", client.tubes()?.join("\t"))),
        _ => panic!("no such command: {words:?}"),
    }
    Ok("ok".into())
}

fn reserve(client: &mut Beanstalkc, timeout: Duration) -> Answer {
    match client.reserve_with_timeout(timeout) {
        Ok(job) => {
            let body: String = job.body().iter().map(|byte| format!("{byte:02x}")).collect();
            Ok(format!("job\t{}\t{body}", job.id()))
        }
        Err(error) if error.to_string().ends_with("TimedOut") => Ok("none".into()),
        Err(error) => Err(error),
    }
}

fn stats(values: HashMap<String, String>) -> String {
    let pairs = values.iter().map(|(name, value)| format!("\t{name}={value}"));
    format!("stats{}", pairs.collect::<String>())
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal"))
        .collect()
}

fn number<T: std::str::FromStr>(word: &str) -> T {
    word.parse().ok().expect("a number")
}

fn seconds(word: &str) -> Duration {
    Duration::from_secs(number(word))
}
