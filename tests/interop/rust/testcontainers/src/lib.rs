//! What the test suite of the crate `faktory` uses of testcontainers, without containers: a started
//! image is the program that FAKTORY_PROGRAM names, with the image's command line and ports of its
//! own, which ends with the value.
use std::{
    collections::HashMap,
    env, fs, io,
    marker::PhantomData,
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

pub mod core {
    pub use super::{ImageExt, IntoContainerPort, WaitFor};
}

pub mod runners {
    pub use super::AsyncRunner;
}

const START_SECONDS_MAX: u64 = 20;

pub trait IntoContainerPort {
    fn tcp(self) -> u16;
}

impl IntoContainerPort for u16 {
    fn tcp(self) -> u16 {
        self
    }
}

pub struct WaitFor;

impl WaitFor {
    pub fn message_on_stdout(_message: &str) -> WaitFor {
        WaitFor
    }
}

pub enum ReuseDirective {
    Always,
}

#[derive(Default)]
pub struct GenericImage {
    ports: Vec<u16>,
    command: Vec<String>,
}

impl GenericImage {
    pub fn new(_name: &str, _tag: &str) -> Self {
        Self::default()
    }

    pub fn with_exposed_port(mut self, port: u16) -> Self {
        self.ports.push(port);
        self
    }

    pub fn with_entrypoint(self, _entrypoint: &str) -> Self {
        self
    }

    pub fn with_wait_for(self, _condition: WaitFor) -> Self {
        self
    }

    /// The command line with `:7419` replaced by the address that stands for that port here.
    fn arguments(&self, ports: &HashMap<u16, u16>) -> Vec<String> {
        let address = |word: &String| {
            let port = word.strip_prefix(':')?.parse().ok()?;
            Some(format!("127.0.0.1:{}", ports.get(&port)?))
        };
        self.command.iter().map(|word| address(word).unwrap_or(word.clone())).collect()
    }
}

pub trait ImageExt: Sized {
    fn with_cmd<const N: usize>(self, command: [&str; N]) -> Self;

    fn with_startup_timeout(self, _timeout: Duration) -> Self {
        self
    }

    fn with_reuse(self, _directive: ReuseDirective) -> Self {
        self
    }

    fn with_container_name(self, _name: impl Into<String>) -> Self {
        self
    }
}

impl ImageExt for GenericImage {
    fn with_cmd<const N: usize>(mut self, command: [&str; N]) -> Self {
        self.command = command.iter().map(|word| word.to_string()).collect();
        self
    }
}

pub struct ContainerAsync<I> {
    process: Child,
    directory: PathBuf,
    ports: HashMap<u16, u16>,
    image: PhantomData<I>,
}

pub struct Ports(HashMap<u16, u16>);

impl Ports {
    pub fn map_to_host_port_ipv4(&self, port: u16) -> Option<u16> {
        self.0.get(&port).copied()
    }
}

impl<I> ContainerAsync<I> {
    pub async fn ports(&self) -> io::Result<Ports> {
        Ok(Ports(self.ports.clone()))
    }
}

impl<I> Drop for ContainerAsync<I> {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
        drop(fs::remove_dir_all(&self.directory));
    }
}

#[allow(async_fn_in_trait)]
pub trait AsyncRunner: Sized {
    async fn start(self) -> io::Result<ContainerAsync<Self>>;
}

impl AsyncRunner for GenericImage {
    async fn start(self) -> io::Result<ContainerAsync<Self>> {
        let mut ports = HashMap::new();
        for port in &self.ports {
            ports.insert(*port, TcpListener::bind("127.0.0.1:0")?.local_addr()?.port());
        }
        let first = ports[&self.ports[0]];
        let directory = env::temp_dir().join(format!("interop-rust-{first}"));
        fs::create_dir(&directory)?;
        let process = Command::new(env::var_os("FAKTORY_PROGRAM").expect("FAKTORY_PROGRAM"))
            .args(self.arguments(&ports))
            .args(["-d".as_ref(), directory.as_os_str()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        let container = ContainerAsync { process, directory, ports, image: PhantomData };
        wait_for_port(first)?;
        eprintln!("started a server of its own");
        Ok(container)
    }
}

fn wait_for_port(port: u16) -> io::Result<()> {
    let end = Instant::now() + Duration::from_secs(START_SECONDS_MAX);
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(_) => return Ok(()),
            Err(error) if Instant::now() > end => return Err(error),
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
}
