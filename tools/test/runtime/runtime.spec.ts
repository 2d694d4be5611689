import { createServer, type Server } from 'node:net';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext, runInThisContext } from 'node:vm';
import { Client } from 'pg';
import { readTestStack } from '@muster/testing';

interface Found {
  findLeftovers(options?: { ports?: Record<string, number>; shares?: boolean }): Promise<string[]>;
}
const load = createRequire(__filename);
const { Leftovers } = load('./leftovers.cjs') as { Leftovers: new (root: string, sockets: object[]) => Found };
const { rememberSockets } = load('./opened-sockets.cjs') as { rememberSockets: () => object[] };
const { readProcessorSeconds, measureSlowness } = load('./processor-time.cjs') as {
  readProcessorSeconds: () => number;
  measureSlowness: () => number;
};

describe('leftovers of a test file', () => {
  const databasePort = Number(new URL(readTestStack().databaseUrl).port);
  const createLeftovers = () => new Leftovers(join(__dirname, '../../..'), rememberSockets());

  it('a test file has no leftovers if everything that it started has ended', async () => {
    const watched = createLeftovers();
    const server = await startListening();
    const timer = setInterval(() => undefined, 1000);
    const client = new Client({ connectionString: readTestStack().databaseUrl });
    await client.connect();
    clearInterval(timer);
    // Sockets need a moment to close, for which `find` waits.
    server.close();
    void client.end();
    expect(await watched.findLeftovers({ ports: { Postgres: databasePort } })).toEqual([]);
  });

  it('the leftovers of a test file include listening servers and timers', async () => {
    const watched = createLeftovers();
    const server = await startListening();
    const timer = setInterval(() => undefined, 1000);
    const found = await watched.findLeftovers();
    clearInterval(timer);
    await closeServer(server);
    expect(found).toEqual(['listening servers: 1', 'timers: 1']);
  });

  it('the leftovers of a test file do not include those of a service that several files share', async () => {
    const watched = createLeftovers();
    const server = await startListening();
    const found = await watched.findLeftovers({ shares: true });
    await closeServer(server);
    expect(found).toEqual([]);
  });

  it('the leftovers of a test file include open connections to the database', async () => {
    const watched = createLeftovers();
    const client = new Client({ connectionString: readTestStack().databaseUrl });
    await client.connect();
    const found = await watched.findLeftovers({ ports: { Postgres: databasePort }, shares: true });
    await client.end();
    expect(found).toEqual(['connections to Postgres: 1']);
  });

  it('the leftovers of a test file include changed variables by name, without their values', async () => {
    const watched = createLeftovers();
    process.env['MUSTER_LEFT_BEHIND'] = 'a secret value';
    const found = await watched.findLeftovers();
    delete process.env['MUSTER_LEFT_BEHIND'];
    expect(found).toEqual(['environment variables: MUSTER_LEFT_BEHIND']);
  });

  it('the leftovers of a test file include changed functions of shared prototypes and globals, once', async () => {
    const { query } = Client.prototype;
    const { random } = Math;
    const watched = createLeftovers();
    Client.prototype.query = (() => undefined) as never;
    Math.random = () => 0.5;
    const found = await watched.findLeftovers();
    Client.prototype.query = query;
    Math.random = random;
    // Otherwise the restored functions would count as changes that the next file makes.
    await createLeftovers().findLeftovers();
    expect(found).toEqual([
      'changed functions of Math: random',
      expect.stringMatching(/^changed functions of Client\.prototype \(node_modules\/pg\/.*\): query$/),
    ]);
  });
});

describe('processor time', () => {
  it('the measured time of a test is processor time, not waiting time', async () => {
    const before = readProcessorSeconds();
    await new Promise((resolve) => setTimeout(resolve, 300));
    const waited = readProcessorSeconds() - before;
    for (let n = 0; n < 10; n += 1) measureSlowness();
    expect(readProcessorSeconds() - before - waited).toBeGreaterThan(waited);
  });

  it('the measured time of a test does not contain major garbage collections', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const [before, { user }] = [readProcessorSeconds(), process.cpuUsage()];
    for (let n = 0; n < 5; n += 1) collectGarbage();
    await setImmediate();
    expect(readProcessorSeconds() - before).toBeLessThan((process.cpuUsage().user - user) / 1e6 / 2);
  });
});

it('test files run in the context of the process, where modules are loaded once', () => {
  expect(runInThisContext('Array')).toBe(Array);
  expect(Object.keys(load.cache)).toContain(load.resolve('pg'));
});

async function startListening(): Promise<Server> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function closeServer(server: Server): Promise<void> {
  server.close();
  await once(server, 'close');
}
