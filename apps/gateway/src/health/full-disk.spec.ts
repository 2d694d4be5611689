import { type Harness, startHarness, type Tenant, waitFor } from '@muster/testing';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from 'pg';
import { gateway } from '../gateway.harness';

/** Makes Postgres fail inserts into `agent_function` and all DDL as it does when its disk is full. */
const noRoom = `
  CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
  CREATE FUNCTION no_room_for_tables() RETURNS event_trigger LANGUAGE plpgsql AS $$
  BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
  CREATE TRIGGER no_room BEFORE INSERT ON agent_function EXECUTE FUNCTION no_room();
  CREATE EVENT TRIGGER no_room ON ddl_command_start EXECUTE FUNCTION no_room_for_tables();`;

describe('a full disk', () => {
  let harness: Harness;
  let tenant: Tenant;
  let store: Server;
  let admin: Client;

  beforeAll(async () => {
    store = createServer((request, response) => {
      response.statusCode = request.method === 'PUT' ? 507 : 200;
      response.end(request.method === 'PUT' ? '<Error><Code>XMinioStorageFull</Code></Error>' : '');
    });
    await new Promise<void>((resolve) => store.listen(0, '127.0.0.1', resolve));
    const { port } = store.address() as AddressInfo;
    harness = await startHarness({ ...gateway, env: { S3_ENDPOINT: `http://127.0.0.1:${port}` } });
    tenant = await harness.makeTenant();
    admin = new Client({ connectionString: harness.databaseUrl });
    await admin.connect();
  });
  afterAll(async () => {
    await admin.end();
    await harness.close();
    store.close();
  });

  const readDeepHealthIfStatus = async (status: number) => {
    const answer = await harness.http.get('/api/health/deep');
    return answer.status === status && answer;
  };

  it('a gateway with a full database disk answers writes with 503, serves reads, and fails deep health', async () => {
    const before = await harness.http.get('/api/health/deep');
    expect([before.status, before.body.checks.database.status]).toEqual([200, 'ok']);
    await admin.query(noRoom);
    const refused = await tenant.api.post('/api/functions', { name: 'f', code: 'pass' });
    expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([
      503,
      'service_unavailable',
      expect.any(String),
    ]);
    expect((await tenant.api.get('/api/functions')).body.functions).toEqual([]);
    // The test waits, because the deep health check reuses its result for a short time.
    const { body } = await waitFor('deep health', () => readDeepHealthIfStatus(503));
    expect(body.status).toBe('failed');
    expect(body.checks.database).toEqual({ status: 'failed', latencyMs: null, reason: 'the disk is full' });
  });

  it('a full object store degrades deep health, but does not fail it', async () => {
    await admin.query('DROP EVENT TRIGGER IF EXISTS no_room');
    const { body } = await waitFor('deep health', () => readDeepHealthIfStatus(200));
    expect(body.status).toBe('degraded');
    expect(body.checks.storage).toEqual({ status: 'failed', latencyMs: null, reason: 'the disk is full' });
  });
});
