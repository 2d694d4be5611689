import { DatabaseModule } from '@muster/database';
import { BaseConfig, parsePage, buildPage } from '@muster/platform';
import { type Harness, makeAgent, makeOrganization, startHarness } from '@muster/testing';
import { Client } from 'pg';
import { listTimeline } from './list-timeline';

const dayMs = 86_400_000;
const months = ['2024-01', '2024-02', '2024-03', '2024-04'];
const start = Date.UTC(2024, 0, 1);
const end = Date.UTC(2024, 4, 1);

describe('listing an agent’s timeline', () => {
  let harness: Harness;
  let owner: Client;
  let organizationId: string;
  let agents = 0;

  beforeAll(async () => {
    harness = await startHarness({
      name: 'gateway',
      configs: [BaseConfig],
      modules: [DatabaseModule],
      env: { DATABASE_POOL_SIZE: '2' },
    });
    owner = new Client({ connectionString: harness.databaseUrl });
    await owner.connect();
    for (const [at, month] of months.entries()) {
      const next = new Date(Date.UTC(2024, at + 1, 1)).toISOString();
      const partition = `timeline_entry_${month.replace('-', '')}`;
      await owner.query(`CREATE TABLE ${partition} PARTITION OF timeline_entry
        FOR VALUES FROM ('${month}-01T00:00:00Z') TO ('${next}')`);
      // The test counts the pages that are read; a vacuum would be counted too.
      await owner.query(`ALTER TABLE ${partition} SET (autovacuum_enabled = false)`);
    }
    ({ id: organizationId } = await makeOrganization(harness.db));
  });
  afterAll(async () => {
    await owner.end();
    await harness.close();
  });

  /**
   * Inserts entries. `recordedAt` is the time at which an entry was recorded, and `lateMs` how long before that its
   * event happened.
   */
  async function insertEntries(entries: { seq: number; recordedAt: number; lateMs: number }[]): Promise<string> {
    const { id } = await makeAgent(harness.db, { organizationId, name: `agent ${(agents += 1)}` });
    await owner.query(
      `INSERT INTO timeline_entry (agent_id, seq, recorded_at, at, organization_id, kind, level, message, source)
       SELECT $1, seq, to_timestamp(recorded / 1000.0), to_timestamp((recorded - late) / 1000.0), $2, 'execution', 'info',
              'x', 'worker'
       FROM unnest($3::bigint[], $4::bigint[], $5::bigint[]) AS e (seq, recorded, late)`,
      [
        id,
        organizationId,
        entries.map(({ seq }) => seq),
        entries.map(({ recordedAt }) => recordedAt),
        entries.map(({ lateMs }) => lateMs),
      ],
    );
    return id;
  }

  const listEntryNumbers = async (agentId: string, query: { from?: string; to?: string; order?: 'asc' | 'desc' }) => {
    const page = { limit: 1999, after: null };
    const rows = await listTimeline(harness.db, { organizationId, agentId }, query, page);
    return rows.map(({ seq }) => Number(seq));
  };

  it('a timeline query returns exactly the entries of its period, even late entries and future ones', async () => {
    const random = createSeededNumbers(20240101);
    for (let round = 0; round < 12; round += 1) {
      const count = Math.floor(random() * 400);
      // One of the months may be empty. Concurrent entries can be recorded in another order than that of their numbers.
      const silent = Math.floor(random() * 5);
      let seq = Math.floor(random() * 1000);
      const entries = Array.from({ length: count }, () => start + Math.floor(random() * (end - start)))
        .sort((a, b) => a - b)
        .filter((at) => new Date(at).getUTCMonth() !== silent)
        .map((recordedAt) => {
          seq += 1 + (random() < 0.2 ? Math.floor(random() * 500) : 0);
          const late = random();
          const lateMs = late < 0.1 ? random() * 40 * dayMs : late < 0.15 ? -random() * 2 * dayMs : random() * 60_000;
          const moved = recordedAt + Math.floor((random() - 0.5) * 30 * 60_000);
          return { seq, recordedAt: Math.min(Math.max(moved, start), end - 1), lateMs: Math.floor(lateMs) };
        });
      const agentId = await insertEntries(entries);
      for (let attempt = 0; attempt < 15; attempt += 1) {
        const [a, b] = [0, 1]
          .map(() => start - 5 * dayMs + random() * (end - start + 10 * dayMs))
          .sort((x, y) => x - y);
        const from = random() < 0.8 ? Math.floor(a!) : undefined;
        const to = random() < 0.8 ? Math.floor(b!) : undefined;
        const order = random() < 0.5 ? ('asc' as const) : ('desc' as const);
        const expected = entries
          .filter(({ recordedAt, lateMs }) => {
            const at = recordedAt - lateMs;
            return (from === undefined || at >= from) && (to === undefined || at <= to);
          })
          .map(({ seq }) => seq);
        const toIsoTime = (ms?: number) => (ms === undefined ? undefined : new Date(ms).toISOString());
        expect(await listEntryNumbers(agentId, { from: toIsoTime(from), to: toIsoTime(to), order })).toEqual(
          order === 'asc' ? expected : expected.reverse(),
        );
      }
    }
  });

  it('a timeline query for a short period does not read the rest of its month', async () => {
    const count = 100_000;
    const all = Array.from({ length: count }, (_, at) => ({ seq: at + 1, recordedAt: start + at * 25_000, lateMs: 0 }));
    const [agentId] = [
      await insertEntries(all),
      await insertEntries(all),
      await insertEntries(all),
      await insertEntries(all),
    ];
    // Without statistics Postgres assumes an empty table, and could sort all of it for each page.
    const uncounted = await pagesRead();
    await listTimeline(harness.db, { organizationId, agentId }, { q: 'no such line' }, { limit: 50, after: null });
    expect((await pagesRead()) - uncounted).toBeLessThan(2500);
    await owner.query('VACUUM ANALYZE timeline_entry');
    for (const order of ['asc', 'desc'] as const) {
      const query = { from: '2024-01-15T00:00:00Z', to: '2024-01-15T12:00:00Z', order };
      const before = await pagesRead();
      expect(await listEntryNumbers(agentId, query)).toHaveLength(1729);
      // The limit allows for the pages of the period and the pages that the binary search for its ends reads.
      expect((await pagesRead()) - before).toBeLessThan(400);
    }
    // The first page of a long period does not read more.
    const before = await pagesRead();
    const long = { from: '2024-01-05T00:00:00Z', to: '2024-01-25T00:00:00Z', order: 'desc' as const };
    const rows = await listTimeline(harness.db, { organizationId, agentId }, long, { limit: 50, after: null });
    expect(rows).toHaveLength(51);
    expect((await pagesRead()) - before).toBeLessThan(400);
  });

  it('a text search reads a limited part of the timeline per page and continues there for the next page', async () => {
    const count = 60_000;
    const needles = [1, 2, 3, 30_000, 30_001];
    const all = Array.from({ length: count }, (_, at) => ({ seq: at + 1, recordedAt: start + at * 1000, lateMs: 0 }));
    const agentId = await insertEntries(all);
    await owner.query(`UPDATE timeline_entry SET message = 'needle' WHERE agent_id = $1 AND seq = ANY ($2)`, [
      agentId,
      needles,
    ]);
    for (const order of ['asc', 'desc'] as const) {
      const found: number[] = [];
      const ends: number[] = [order === 'asc' ? 0 : count + 1];
      for (let cursor: string | undefined; ;) {
        const page = parsePage({ limit: 2, cursor }, 'bigint');
        const rows = await listTimeline(harness.db, { organizationId, agentId }, { q: 'NEEDLE', order }, page);
        const { items, nextCursor } = buildPage(rows, page, ({ seq }) => [String(seq)]);
        found.push(...items.map(({ seq }) => Number(seq)));
        if (nextCursor === null) break;
        cursor = nextCursor;
        const [end] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as [string];
        // A request scans the log at most ten times.
        expect(Math.abs(Number(end) - ends.at(-1)!)).toBeLessThanOrEqual(25_000);
        ends.push(Number(end));
      }
      expect(found).toEqual(order === 'asc' ? needles : needles.toReversed());
      expect(ends.length).toBeGreaterThan(3);
    }
  });

  const pagesRead = async () => {
    // Makes every connection write its statistics, also the owner's, which ran the vacuum.
    const flush = 'SELECT pg_stat_force_next_flush(), pg_sleep(0.1)';
    await Promise.all([harness.db.query('system', flush), harness.db.query('system', flush), owner.query(flush)]);
    const { rows } = await owner.query<{ read: string }>(
      `SELECT sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read) AS read FROM pg_statio_user_tables WHERE relname = 'timeline_entry_202401'`,
    );
    return Number(rows[0]!.read);
  };
});

function createSeededNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}
