// Runs a test file as Jest does, and adds three facts to its result: the kind of the file, judged by the resources that
// it used; the time that its tests took; and what it left behind. The loading of code does not count, because only the
// first file of a process pays for it.
const { subscribe, unsubscribe } = require('node:diagnostics_channel');
const { join } = require('node:path');
const runTestFile = require('jest-circus/runner').default;
const { Leftovers } = require('./leftovers.cjs');
const { rememberSockets } = require('./opened-sockets.cjs');
const { readChildrenSeconds, readProcessorSeconds, measureSlowness } = require('./processor-time.cjs');

/** The type of the message with which jest-worker ends its processes (`jest-worker/build/types`). */
const CHILD_MESSAGE_END = 2;

const root = join(__dirname, '../../..');
const channels = {
  processes: 'child_process',
  services: 'muster:service',
  browsers: 'muster:browser',
};

announceEnd();

module.exports = async function runMeasured(globalConfig, config, environment, runtime, testPath, send) {
  const seen = { processes: 0, services: 0, browsers: 0 };
  const listeners = {
    processes: () => (seen.processes += 1),
    services: () => (seen.services += 1),
    browsers: () => (seen.browsers += 1),
  };
  for (const name of Object.keys(channels)) subscribe(channels[name], listeners[name]);
  const sockets = rememberSockets();
  const leftovers = new Leftovers(root, sockets);
  const childrenBefore = readChildrenSeconds();
  try {
    const result = await runTestFile(globalConfig, config, environment, runtime, testPath, send);
    const { startedAt, processorSecondsAtStart } = runtime;
    const measured = {
      elapsedSeconds: (Date.now() - startedAt) / 1000,
      processorSeconds: readProcessorSeconds() - processorSecondsAtStart,
      slowness: measureSlowness(),
      kind: getResourceKind({ ...seen, sockets, hadChildren: readChildrenSeconds() > childrenBefore }),
    };
    const shares = seen.services + seen.browsers > 0;
    return Object.assign(result, {
      measured,
      leftBehind: await leftovers.findLeftovers({ ports: listStackPorts(), shares }),
    });
  } finally {
    for (const name of Object.keys(channels)) unsubscribe(channels[name], listeners[name]);
  }
};

/**
 * Emits `muster:tests-ended` in a worker process of Jest when Jest ends it, so that what its test files share is closed.
 * In Jest's own process, tools/test/global-teardown.cjs emits it.
 */
function announceEnd() {
  if (!process.send) return;
  process.prependListener('message', function onMessage([type]) {
    if (type !== CHILD_MESSAGE_END) return;
    process.removeListener('message', onMessage);
    process.emit('muster:tests-ended');
  });
}

/** Processes that a test waits for with `execFileSync` are noticed only by their processor time. */
function getResourceKind({ sockets, processes, services, browsers, hadChildren }) {
  if (browsers > 0) return 'page';
  if (processes + services > 0 || hadChildren) return 'process';
  const ports = Object.values(listStackPorts());
  return sockets.some(({ port }) => ports.includes(port)) ? 'database' : 'pure';
}

function listStackPorts() {
  const { databaseUrl, redisUrl } = JSON.parse(process.env.MUSTER_TEST_STACK);
  return { Postgres: getPort(databaseUrl), Redis: getPort(redisUrl) };
}

function getPort(url) {
  return Number(new URL(url).port);
}
