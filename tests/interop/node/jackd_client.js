// jackd, driven command by command. It returns statistics and lists as YAML for its users to parse.
const Jackd = require("jackd");
const yaml = require("js-yaml");
const { host, port, serve, statsAnswer } = require("./driver");

let client;

async function connect() {
  client = new Jackd();
  await client.connect({ host, port });
  client.socket.on("error", (error) => console.error(error.message));
}

// A loss of the connection settles no call of the library: its user has to look for it.
async function whileConnected(call) {
  let tell;
  const gone = new Promise((_, reject) => {
    tell = () => reject(new Error("the connection is closed"));
  });
  client.socket.once("close", tell);
  if (client.socket.destroyed) tell();
  try {
    return await Promise.race([call(), gone]);
  } finally {
    client.socket.removeListener("close", tell);
  }
}

const handlers = {
  async put(tube, priority, delay, ttr, body) {
    await client.use(tube);
    const text = Buffer.from(body, "hex").toString();
    return ["id", await client.put(text, { priority, delay, ttr })];
  },
  async watch(tube) {
    await client.watch(tube);
  },
  async ignore(tube) {
    await client.ignore(tube);
  },
  async reserve(seconds) {
    try {
      const { id, payload } = await client.reserveWithTimeout(seconds);
      return ["job", id, payload.toString("hex")];
    } catch (error) {
      if (error.message === "TIMED_OUT") return ["none"];
      throw error;
    }
  },
  delete: (id) => client.delete(id),
  release: (id, priority, delay) => client.release(id, { priority, delay }),
  bury: (id, priority) => client.bury(id, priority),
  touch: (id) => client.touch(id),
  async kick(tube, count) {
    await client.use(tube);
    await client.kick(count);
  },
  pause: (tube, delay) => client.pauseTube(tube, { delay }),
  stats: async () => statsAnswer(yaml.load(await client.stats())),
  "stats-tube": async (tube) => statsAnswer(yaml.load(await client.statsTube(tube))),
  "stats-job": async (id) => statsAnswer(yaml.load(await client.statsJob(id))),
  tubes: async () => ["tubes", ...yaml.load(await client.listTubes())],
};

for (const [name, handler] of Object.entries(handlers)) {
  handlers[name] = (...words) => whileConnected(() => handler(...words));
}
connect().then(() => serve({ connect, ...handlers }));
