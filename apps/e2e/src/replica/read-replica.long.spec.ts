// This test is long because it starts a Postgres with a standby and two gateways.
// A short test of the same code: apps/gateway/src/organization/read-replica.spec.ts
import { type HttpClient, waitFor } from '@muster/testing';
import { type FaultFixture, openFaultFixture } from '../fault-fixture';
import { ServiceProcess } from '../service-process';
import { Standby } from './standby';

jest.setTimeout(120_000);

describe('a read replica of the database', () => {
  let fixture: FaultFixture;
  let standby: Standby | undefined;
  const gateways: ServiceProcess[] = [];
  let writer: HttpClient;
  let reader: HttpClient;

  beforeAll(async () => {
    fixture = await openFaultFixture();
    standby = await Standby.start(fixture.stack.databaseUrl);
    const env = { ...fixture.env, DATABASE_READ_URL: standby.url };
    // The first gateway creates the organization and its super admin.
    for (let count = 0; count < 2; count += 1) gateways.push(await ServiceProcess.start('gateway', env));
    writer = await fixture.signIn(gateways[0]!.url);
    reader = writer.at(gateways[1]!.url);
  });
  afterAll(async () => {
    await Promise.all(gateways.map((gateway) => gateway.end()));
    await standby?.stop();
    await fixture.close();
  });

  const countReads = async () => {
    const metrics = await (await fetch(`${gateways[1]!.internalUrl}/metrics`)).text();
    const [replica, primary] = ['replica', 'primary'].map((server) =>
      Number(new RegExp(`replica_reads_total\\{server="${server}"\\} (\\d+)`).exec(metrics)?.[1] ?? 0),
    );
    return { replica: replica!, primary: primary! };
  };
  const listActions = async () => {
    const { status, body } = await reader.get('/api/audit?limit=5');
    expect(status).toBe(200);
    return (body.entries as { target: { id: string } }[]).map(({ target }) => target.id);
  };
  const createKey = async () => {
    const { status, body } = await writer.post('/api/api-keys', { name: 'replica', scope: 'api' });
    expect(status).toBe(201);
    return body.id as string;
  };
  /** Reads until the replica answers a read. Only a caller without recent writes reads from the replica. */
  const waitForReplica = () =>
    waitFor('a read from the replica', async () => {
      const before = await countReads();
      await listActions();
      return (await countReads()).replica > before.replica;
    });

  it('a list is read from the replica once it contains what the primary contains', async () => {
    const id = await createKey();
    await waitForReplica();
    const before = await countReads();
    expect(await listActions()).toContain(id);
    const after = await countReads();
    expect(after.replica).toBeGreaterThan(before.replica);
    expect(after.primary).toBe(before.primary);
  });

  it('a caller who has just written reads from the primary, even through another process', async () => {
    await waitForReplica();
    await standby!.run('SELECT pg_wal_replay_pause()');
    const id = await createKey();
    const before = await countReads();
    expect(await listActions()).toContain(id);
    expect((await countReads()).replica).toBe(before.replica);
    await standby!.run('SELECT pg_wal_replay_resume()');
  });

  it('a replica that is more than a second behind, or gone, is not used', async () => {
    await standby!.run('SELECT pg_wal_replay_pause()');
    await createKey();
    // The replica contained everything before the new key, so it may be used for at most a second.
    await waitFor('a read from the primary after the write counts no longer', async () => {
      const before = await countReads();
      const [newest] = await listActions();
      const after = await countReads();
      return newest !== undefined && after.primary > before.primary;
    });
    await standby!.stop();
    for (let count = 0; count < 3; count += 1) expect(await listActions()).not.toEqual([]);
  });
});
