import { DatabaseModule, type Transaction } from '@muster/database';
import { BaseConfig } from '@muster/platform';
import { runBehindLock, type Harness, makeAgent, makeOrganization, startHarness } from '@muster/testing';
import { appendTimeline, appendTimelines } from './append-timeline';

describe('the timelines of several agents', () => {
  let harness: Harness;
  let organizationId: string;
  let agentIds: string[];

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    ({ id: organizationId } = await makeOrganization(harness.db));
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    agentIds = [];
    for (const name of ['A', 'B', 'C'])
      agentIds.push((await makeAgent(harness.db, { organizationId, name: `${name} ${Math.random()}` })).id);
  });

  const within = (work: (tx: Transaction) => void) =>
    harness.db.transaction('system', (tx) => Promise.resolve(work(tx)));
  const entryOf = (agentId: string, message: string) => ({
    organizationId,
    agentId,
    entry: { kind: 'provisioning' as const, message },
  });
  const timelineOf = (agentId: string) =>
    harness.db.query('system', 'SELECT seq::int, message FROM timeline_entry WHERE agent_id = $1 ORDER BY seq', [
      agentId,
    ]);

  it('entries that one statement appends for several agents keep their order and continue each agent’s numbers', async () => {
    const [first, second, third] = agentIds as [string, string, string];
    await within((tx) => appendTimeline(tx, { organizationId, agentId: first }, [entryOf(first, 'before').entry]));
    await within((tx) =>
      appendTimelines(tx, [entryOf(second, 'a'), entryOf(first, 'b'), entryOf(second, 'c'), entryOf(first, 'd')]),
    );
    expect(await timelineOf(first)).toEqual([
      { seq: 1, message: 'before' },
      { seq: 2, message: 'b' },
      { seq: 3, message: 'd' },
    ]);
    expect(await timelineOf(second)).toEqual([
      { seq: 1, message: 'a' },
      { seq: 2, message: 'c' },
    ]);
    expect(await timelineOf(third)).toEqual([]);
  });

  it('the timelines are locked in the order of the agents’ ids, so that two transactions cannot deadlock', async () => {
    await within((tx) =>
      appendTimelines(
        tx,
        agentIds.map((id) => entryOf(id, 'before')),
      ),
    );
    const [least, , greatest] = [...agentIds].sort() as [string, string, string];
    const lock = 'SELECT FROM timeline_head WHERE agent_id = $1 FOR UPDATE NOWAIT';
    await runBehindLock(
      harness.db,
      (tx) => tx.query(lock, [least]),
      () => [within((tx) => appendTimelines(tx, [entryOf(greatest, 'a'), entryOf(least, 'b')]))],
      // The statement waits for the first timeline and has not locked the last one.
      (tx) => tx.query(lock, [greatest]),
    );
    expect(await timelineOf(greatest)).toHaveLength(2);
  });
});
