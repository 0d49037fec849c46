// The package `beanstalkd`, driven command by command.
const { default: Beanstalkd } = require("beanstalkd");
const { host, port, serve, statsAnswer } = require("./driver");

let client;

async function connect() {
  client = await new Beanstalkd(host, port).connect();
}

connect().then(() =>
  serve({
    connect,
    async put(tube, priority, delay, ttr, body) {
      await client.use(tube);
      return ["id", await client.put(priority, delay, ttr, Buffer.from(body, "hex"))];
    },
    async watch(tube) {
      await client.watch(tube);
    },
    async ignore(tube) {
      await client.ignore(tube);
    },
    async reserve(seconds) {
      try {
        const [id, body] = await client.reserveWithTimeout(seconds);
        return ["job", id, body.toString("hex")];
      } catch (error) {
        if (error.message === "TIMED_OUT") return ["none"];
        throw error;
      }
    },
    delete: (id) => client.delete(id),
    release: (id, priority, delay) => client.release(id, priority, delay),
    bury: (id, priority) => client.bury(id, priority),
    touch: (id) => client.touch(id),
    pause: (tube, seconds) => client.pauseTube(tube, seconds),
    stats: async () => statsAnswer(await client.stats()),
    "stats-tube": async (tube) => statsAnswer(await client.statsTube(tube)),
    "stats-job": async (id) => statsAnswer(await client.statsJob(id)),
    tubes: async () => ["tubes", ...(await client.listTubes())],
  }),
);
