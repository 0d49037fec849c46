// In a folder with this file alone:
//   npm install jackd@2.2.2
//   node beanstalk.js
const Jackd = require("jackd");

(async () => {
  const client = new Jackd();
  await client.connect({ host: "127.0.0.1", port: 11300 });
  await client.use("mail");
  await client.put("world");

  await client.watch("mail");
  const { id, payload } = await client.reserveWithTimeout(10);
  console.log(`hello ${payload}`);
  await client.delete(id);
  await client.close();
})();
