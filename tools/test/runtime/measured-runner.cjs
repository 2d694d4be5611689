// Runs a test file as jest does, and adds to its result what kind of file it is by what it used, and how long its tests took,
// without the loading of code, which only the first file of a process pays for.
const { subscribe, unsubscribe } = require('node:diagnostics_channel');
const runTestFile = require('jest-circus/runner').default;

const channels = {
  connections: 'net.client.socket',
  processes: 'child_process',
  services: 'muster:service',
  browsers: 'muster:browser',
};

module.exports = async function runMeasured(globalConfig, config, environment, runtime, testPath, send) {
  const seen = { connections: new Set(), processes: 0, services: 0, browsers: 0 };
  const listeners = {
    connections: ({ socket }) => socket.once('connect', () => seen.connections.add(socket.remotePort)),
    processes: () => (seen.processes += 1),
    services: () => (seen.services += 1),
    browsers: () => (seen.browsers += 1),
  };
  for (const name of Object.keys(channels)) subscribe(channels[name], listeners[name]);
  try {
    const result = await runTestFile(globalConfig, config, environment, runtime, testPath, send);
    const seconds = (Date.now() - runtime.loadedAt) / 1000;
    return Object.assign(result, { measured: { kind: kindOf(seen), seconds, slowness: slowness() } });
  } finally {
    for (const name of Object.keys(channels)) unsubscribe(channels[name], listeners[name]);
  }
};

function kindOf({ connections, processes, services, browsers }) {
  if (browsers > 0) return 'page';
  if (processes + services > 0) return 'process';
  const { databaseUrl, redisUrl } = JSON.parse(process.env.MUSTER_TEST_STACK);
  return [databaseUrl, redisUrl].some((url) => connections.has(Number(new URL(url).port))) ? 'database' : 'pure';
}

/** How many times longer a fixed piece of work takes here and now than on a quiet machine. */
function slowness() {
  const began = process.hrtime.bigint();
  let sum = 0;
  for (let n = 0; n < 4_000_000; n += 1) sum = (sum * 31 + n) | 0;
  const ms = Number(process.hrtime.bigint() - began) / 1e6;
  return sum === 0 ? 1 : ms / quietMs;
}

const quietMs = 5;
