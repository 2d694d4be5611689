import { HttpClient, buildTestEnvironment } from '@muster/testing';
import { networkInterfaces } from 'node:os';
import { BaseConfig } from '../config/base.config';
import { loadConfig } from '../config/env';
import { startInternalServer } from './internal-server';
import { Metrics } from './metrics';
import { Readiness } from './readiness';

describe('the internal port', () => {
  const readiness = new Readiness();
  let server: Awaited<ReturnType<typeof startInternalServer>>;
  let http: HttpClient;
  let database: () => Promise<void> = async () => undefined;
  let queue: () => Promise<void> = async () => undefined;

  beforeAll(async () => {
    readiness.registerCheck('database', () => database(), { required: true });
    readiness.registerCheck('queue', () => queue(), { required: false });
    server = await startInternalServer({ host: '127.0.0.1', port: 0, readiness, metrics: new Metrics() });
    http = new HttpClient(`http://127.0.0.1:${server.port}`);
  });
  afterAll(() => server.close());

  it('the internal port answers only liveness and metrics requests, and only on its own address', async () => {
    expect((await http.get('/livez')).body).toEqual({ status: 'ok' });
    expect((await http.get('/metrics')).text).toContain('muster_queue_backlog');
    expect((await http.get('/api/health')).status).toBe(404);
    const outside = Object.values(networkInterfaces())
      .flat()
      .filter((each) => each?.family === 'IPv4' && !each.internal);
    for (const each of outside) {
      await expect(fetch(`http://${each!.address}:${server.port}/metrics`)).rejects.toThrow('fetch failed');
    }
  });

  it('the internal port listens on the loopback address by default, whatever the public port listens on', () => {
    const { internalHost } = loadConfig(BaseConfig, buildTestEnvironment('postgres://db', { HOST: '0.0.0.0' }));
    expect(internalHost).toBe('127.0.0.1');
  });

  it('the internal port reports ready if an optional check fails, but not if a required check fails', async () => {
    queue = () => Promise.reject(Object.assign(new Error('secret host'), { code: 'ECONNREFUSED' }));
    const ready = await http.get('/readyz');
    expect([ready.status, ready.body.checks.queue]).toEqual([
      200,
      { status: 'failed', latencyMs: null, reason: 'ECONNREFUSED' },
    ]);
    database = () => Promise.reject(new Error('3 migrations are pending'));
    const unready = await http.get('/readyz');
    expect([unready.status, unready.body.checks.database.reason]).toEqual([503, '3 migrations are pending']);
    expect((await http.get('/livez')).status).toBe(200);
    database = async () => undefined;
  });

  it('the internal port answers in bounded time when a check hangs', async () => {
    database = () => new Promise(() => undefined);
    const unready = await http.get('/readyz');
    expect([unready.status, unready.body.checks.database.reason]).toEqual([503, 'no answer within 2000 ms']);
    database = async () => undefined;
  });

  it('the internal port reports not ready while the process drains', async () => {
    readiness.startDraining();
    const draining = await http.get('/readyz');
    expect([draining.status, draining.body.draining]).toEqual([503, true]);
  });
});
