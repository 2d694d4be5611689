import { sweepOutbox } from '@muster/database';
import { MessagePublisher } from '@muster/platform';
import { type Harness, makeAgent, makeJob, makeOrganization, startHarness, waitFor } from '@muster/testing';
import { Client } from 'pg';
import { MeteringModule } from './metering.module';
import { meteringConfigs } from './metering-configs';

describe('booking the costs of ended runs', () => {
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

  async function makeEndedRuns(count: number): Promise<string[]> {
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
  const enqueueFinishedJobs = (ids: string[]) =>
    harness.db.transaction({ organizationId }, (tx) =>
      tx.enqueue(...ids.map((jobId) => ({ queue: 'metering', name: 'job-finished', payload: { jobId } }) as const)),
    );
  const readBookedCosts = async (ids: string[]) =>
    (await owner.query('SELECT xmin::text AS by FROM run_cost WHERE job_id = ANY($1)', [ids])).rows;
  const readOutboxRows = async () => (await owner.query('SELECT attempts, last_error FROM outbox')).rows;

  it('the costs of runs that end together are booked in shared transactions, which handle each run’s message', async () => {
    const ids = await makeEndedRuns(40);
    await enqueueFinishedJobs(ids);
    await waitFor('the costs of all runs', async () => (await readBookedCosts(ids)).length === 40);
    expect(new Set((await readBookedCosts(ids)).map(({ by }) => by)).size).toBeLessThan(20);
    expect(await readOutboxRows()).toEqual([]);
  });

  it('a run whose cost cannot be booked is retried and does not prevent the booking of other runs', async () => {
    const ids = await makeEndedRuns(12);
    await owner.query(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not this one'; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON run_cost FOR EACH ROW WHEN (NEW.job_id = '${ids[5]}')
        EXECUTE FUNCTION refuse()`);
    await enqueueFinishedJobs(ids);
    await waitFor('the costs of the other runs', async () => (await readBookedCosts(ids)).length === 11);
    await waitFor('the failed attempt', async () => (await readOutboxRows()).some(({ attempts }) => attempts > 0));
    expect(await readOutboxRows()).toMatchObject([{ last_error: expect.stringContaining('not this one') }]);
    await owner.query('DROP TRIGGER refuse ON run_cost; DROP FUNCTION refuse()');
    const publisher = harness.app.nest.get(MessagePublisher, { strict: false });
    await waitFor('the cost of the retried run', async () => {
      await sweepOutbox(harness.db, publisher, { republishMs: 1000, limit: 100 });
      return (await readBookedCosts(ids)).length === 12;
    });
  });
});
