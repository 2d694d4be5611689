import {
  type ClonedDatabase,
  createEmptyDatabase,
  type Harness,
  HttpClient,
  makeAgent,
  makeApiKey,
  makeOrganization,
  makeWorkflow,
  startHarness,
} from '@muster/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { gateway } from '../gateway.harness';
import { copyOrganization } from './copy-organization.harness';
import { Edge } from './edge.harness';

// The trial of the design in docs/operations.md: organizations on two databases behind one address.

interface Customer {
  id: string;
  client: HttpClient;
  key: string;
  launch: { workflowId: string; agentId: string };
}

describe('organizations on two databases behind one address', () => {
  let directory: ClonedDatabase;
  let shards: Record<'first' | 'second', Harness>;
  let edge: Edge;

  beforeAll(async () => {
    directory = await createEmptyDatabase();
    shards = { first: await startHarness(gateway), second: await startHarness(gateway) };
    edge = await Edge.open(directory.url, { first: shards.first.url, second: shards.second.url });
  });
  afterAll(async () => {
    await edge.close();
    await Promise.all(Object.values(shards).map((shard) => shard.close()));
    await directory.drop();
  });

  async function makeCustomer(shard: 'first' | 'second'): Promise<Customer> {
    const { db } = shards[shard];
    const { id } = await makeOrganization(db);
    const { secret } = await makeApiKey(db, { organizationId: id });
    await edge.register(id, shard, [secret]);
    return {
      id,
      key: secret,
      client: new HttpClient(edge.url).withKey(secret),
      launch: {
        workflowId: (await makeWorkflow(db, { organizationId: id })).id,
        agentId: (await makeAgent(db, { organizationId: id, status: 'online' })).id,
      },
    };
  }
  const launch = async ({ client, launch: body }: Customer): Promise<string> => {
    const answer = await client.post('/api/jobs/launch', body);
    expect(answer.status).toBe(202);
    return answer.body.jobId;
  };
  const countJobs = async (shard: 'first' | 'second', organizationId: string) => {
    const [row] = await shards[shard].db.query<{ count: number }>(
      'system',
      'SELECT count(*)::int AS count FROM job WHERE organization_id = $1',
      [organizationId],
    );
    return row!.count;
  };

  it('a request reaches the database of its organization, and no request reaches rows of the other one', async () => {
    const [one, other] = [await makeCustomer('first'), await makeCustomer('second')];
    const jobs = [await launch(one), await launch(other)];
    expect([await countJobs('first', one.id), await countJobs('second', one.id)]).toEqual([1, 0]);
    expect([await countJobs('first', other.id), await countJobs('second', other.id)]).toEqual([0, 1]);
    expect((await one.client.get(`/api/jobs/${jobs[0]}`)).status).toBe(200);
    expect((await one.client.get(`/api/jobs/${jobs[1]}`)).status).toBe(404);
    expect((await other.client.get(`/api/jobs/${jobs[0]}`)).status).toBe(404);
    expect((await new HttpClient(edge.url).withKey('msk_unknown').get('/api/jobs')).status).toBe(401);
  });

  it('an organization that launches runs moves to the other database without a lost or repeated run', async () => {
    const [moving, staying] = [await makeCustomer('first'), await makeCustomer('first')];
    const launched: string[] = [];
    let refused = 0;
    let isOn = true;
    const load = (async () => {
      for (let number = 0; isOn; number += 1) {
        const client = moving.client.with({ 'idempotency-key': `launch-${number}` });
        for (;;) {
          const answer = await client.post('/api/jobs/launch', moving.launch);
          if (answer.status === 202) {
            launched.push(answer.body.jobId);
            break;
          }
          expect(answer.status).toBe(503);
          refused += 1;
          await sleep(20);
        }
      }
    })();
    let failure: unknown;
    load.catch((error) => (failure = error));
    const until = async (isMet: () => boolean) => {
      while (!isMet()) {
        if (failure) throw failure;
        await sleep(10);
      }
    };
    await until(() => launched.length >= 5);
    const before = await launch(staying);
    let copied: Record<string, number> = {};
    await edge.move(moving.id, 'second', async () => {
      // Reads and other organizations continue.
      expect((await moving.client.get(`/api/jobs/${launched[0]}`)).status).toBe(200);
      await launch(staying);
      await until(() => refused > 0);
      copied = await copyOrganization(moving.id, { from: shards.first.databaseUrl, to: shards.second.databaseUrl });
    });
    const moved = copied['job']!;
    await until(() => launched.length >= moved + 5);
    isOn = false;
    await load;

    expect(copied).toMatchObject({ organization: 1, organization_settings: 1, api_key: 1, workflow: 1, agent: 1 });
    expect(await countJobs('first', moving.id)).toBe(moved);
    expect(await countJobs('second', moving.id)).toBe(launched.length);
    expect(new Set(launched).size).toBe(launched.length);
    for (const jobId of [launched[0], launched.at(-1)])
      expect((await moving.client.get(`/api/jobs/${jobId}`)).body).toMatchObject({ id: jobId, status: 'queued' });
    // A launch of before the move that is repeated after it returns its run.
    const again = await moving.client.with({ 'idempotency-key': 'launch-0' }).post('/api/jobs/launch', moving.launch);
    expect([again.status, again.body.jobId]).toEqual([202, launched[0]]);
    expect((await staying.client.get(`/api/jobs/${before}`)).status).toBe(200);
  });
});
