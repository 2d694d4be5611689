import { sweepOutbox } from '@muster/database';
import { MessagePublisher } from '@muster/platform';
import { type Harness, makeAgent, makeJob, makeOrganization, startHarness, waitFor } from '@muster/testing';
import { Client } from 'pg';
import { MeteringModule } from './metering.module';
import { meteringConfigs } from './metering-configs';

describe('runs that ended', () => {
  let harness: Harness;
  let owner: Client;
  let organizationId: string;

  beforeAll(async () => {
    harness = await startHarness({
      name: 'metering',
      configs: meteringConfigs,
      modules: [MeteringModule],
    });
    owner = new Client({ connectionString: harness.databaseUrl });
    await owner.connect();
    organizationId = (await makeOrganization(harness.db)).id;
  });
  afterAll(async () => {
    await owner.end();
    await harness.close();
  });

  async function ended(count: number): Promise<string[]> {
    const { id: agentId } = await makeAgent(harness.db, { organizationId, name: `Agent of ${count}` });
    const finishedAt = new Date();
    const startedAt = new Date(finishedAt.getTime() - 60_000);
    const ids: string[] = [];
    for (let at = 0; at < count; at += 1) {
      const { id } = await makeJob(harness.db, { organizationId, agentId, status: 'completed', startedAt, finishedAt });
      ids.push(id);
    }
    return ids;
  }
  const finish = (ids: string[]) =>
    harness.db.transaction({ organizationId }, (tx) =>
      tx.enqueue(...ids.map((jobId) => ({ queue: 'metering', name: 'job-finished', payload: { jobId } }) as const)),
    );
  const settled = async (ids: string[]) =>
    (await owner.query('SELECT xmin::text AS by FROM run_cost WHERE job_id = ANY($1)', [ids])).rows;
  const left = async () => (await owner.query('SELECT attempts, last_error FROM outbox')).rows;

  it('are settled together with those that end meanwhile, each message with its run', async () => {
    const ids = await ended(40);
    await finish(ids);
    await waitFor('all of them', async () => (await settled(ids)).length === 40);
    expect(new Set((await settled(ids)).map(({ by }) => by)).size).toBeLessThan(20);
    expect(await left()).toEqual([]);
  });

  it('do not wait for one that cannot be settled, and that one is tried again', async () => {
    const ids = await ended(12);
    await owner.query(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not this one'; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON run_cost FOR EACH ROW WHEN (NEW.job_id = '${ids[5]}')
        EXECUTE FUNCTION refuse()`);
    await finish(ids);
    await waitFor('the others', async () => (await settled(ids)).length === 11);
    await waitFor('its fault', async () => (await left()).some(({ attempts }) => attempts > 0));
    expect(await left()).toMatchObject([{ last_error: expect.stringContaining('not this one') }]);
    await owner.query('DROP TRIGGER refuse ON run_cost; DROP FUNCTION refuse()');
    const publisher = harness.app.nest.get(MessagePublisher, { strict: false });
    await waitFor('that one too', async () => {
      await sweepOutbox(harness.db, publisher, { republishMs: 1000, limit: 100 });
      return (await settled(ids)).length === 12;
    });
  });
});
