import { DatabaseModule } from '@muster/database';
import { BaseConfig, Round } from '@muster/platform';
import { type Harness, makeAgent, makeOrganization, runBesideLock, startHarness, waitFor } from '@muster/testing';
import { purgeTimeline } from './purge-timeline';

const daysFromNow = (days: number) => new Date(Date.now() + days * 86_400_000);

describe('the deletion of expired timeline entries', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('the deletion of timeline entries does not wait for a transaction that appends entries to the same timeline', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const { id: agentId } = await makeAgent(harness.db, { organizationId });
    await harness.db.query(
      'system',
      `INSERT INTO timeline_entry (agent_id, seq, recorded_at, organization_id, kind, level, message, source, at)
       VALUES ($1, 1, now(), $2, 'execution', 'info', 'one', 'worker', now())`,
      [agentId, organizationId],
    );
    await harness.db.query(
      'system',
      `INSERT INTO timeline_head (agent_id, organization_id, last_seq, logs_since, others_since)
       VALUES ($1, $2, 1, now(), now())`,
      [agentId, organizationId],
    );
    const readHead = async () => {
      const [head] = await harness.db.query<{ logsSince: Date }>(
        'system',
        'SELECT logs_since FROM timeline_head WHERE agent_id = $1',
        [agentId],
      );
      return head!.logsSince;
    };
    const before = await readHead();
    const purgeInRound = (round: Round) => purgeTimeline(harness.db, round, daysFromNow(1000));
    const purged = await runBesideLock(
      harness.db,
      (tx) => tx.query('SELECT FROM timeline_head WHERE agent_id = $1 FOR UPDATE', [agentId]),
      () => purgeInRound(new Round('test')),
    );
    expect(purged).toEqual({ logs: 1, timeline: 0 });
    expect(await readHead()).toEqual(before);
    // The time of the deletion is so late that even a new entry would have expired, so this round ends with its time.
    await waitFor('the later start of the logs', async () => {
      await purgeInRound(new Round('test', { budgetMs: 200 }));
      return (await readHead()) > before;
    });
  });
});
