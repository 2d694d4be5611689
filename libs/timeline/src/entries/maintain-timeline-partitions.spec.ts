import { type Harness, makeAgent, makeOrganization, startHarness } from '@muster/testing';
import { DatabaseModule } from '@muster/database';
import { BaseConfig } from '@muster/platform';
import { Client } from 'pg';
import { maintainTimelinePartitions } from './maintain-timeline-partitions';

describe('keeping the timeline’s partitions', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  const partitions = async () => {
    const rows = await harness.db.query<{ name: string }>(
      'system',
      `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'timeline_entry'::regclass ORDER BY 1`,
    );
    return rows.map(({ name }) => name);
  };
  const asOwner = async (sql: string) => {
    const client = new Client({ connectionString: harness.databaseUrl });
    await client.connect();
    try {
      await client.query(sql);
    } finally {
      await client.end();
    }
  };

  it('partitions older than the retention are dropped, future months are created, others stay unchanged', async () => {
    // Creates the partitions of this month, because the template database may be from the previous month.
    await maintainTimelinePartitions(harness.db, { retentionDays: 0 });
    const before = await partitions();
    await asOwner(`
      CREATE TABLE timeline_entry_202401 PARTITION OF timeline_entry FOR VALUES FROM ('2024-01-01Z') TO ('2024-02-01Z');
      DROP TABLE ${before.at(-1)}`);
    expect(await maintainTimelinePartitions(harness.db, { retentionDays: 0 })).toEqual({ dropped: 0 });
    expect(await partitions()).toEqual(['timeline_entry_202401', ...before]);
    expect(await maintainTimelinePartitions(harness.db, { retentionDays: 36_500 })).toEqual({ dropped: 0 });
    expect(await maintainTimelinePartitions(harness.db, { retentionDays: 60 })).toEqual({ dropped: 1 });
    expect(await partitions()).toEqual(before);
  });

  it('an expired partition in use is dropped in a later round without blocking readers or writers', async () => {
    await maintainTimelinePartitions(harness.db, { retentionDays: 0 });
    await asOwner(
      `CREATE TABLE timeline_entry_202402 PARTITION OF timeline_entry FOR VALUES FROM ('2024-02-01Z') TO ('2024-03-01Z')`,
    );
    const reader = new Client({ connectionString: harness.databaseUrl });
    await reader.connect();
    try {
      await reader.query('BEGIN; SELECT count(*) FROM timeline_entry');
      // Dropping the partition would wait until the reader ends, and every later statement would wait for the drop.
      expect(await maintainTimelinePartitions(harness.db, { retentionDays: 60 })).toEqual({ dropped: 0 });
      expect(await partitions()).toContain('timeline_entry_202402');
      // A future partition is created even while the table is being read.
      const last = (await partitions()).at(-1)!;
      await reader.query('COMMIT');
      await asOwner(`DROP TABLE ${last}`);
      await reader.query('BEGIN; SELECT count(*) FROM timeline_entry');
      await maintainTimelinePartitions(harness.db, { retentionDays: 0 });
      expect(await partitions()).toContain(last);
    } finally {
      await reader.query('COMMIT');
      await reader.end();
    }
    expect(await maintainTimelinePartitions(harness.db, { retentionDays: 60 })).toEqual({ dropped: 1 });
    expect(await partitions()).not.toContain('timeline_entry_202402');
  });

  it('a row is stored without waiting for a reader that delays the drop of an expired partition', async () => {
    await maintainTimelinePartitions(harness.db, { retentionDays: 0 });
    await asOwner(
      `CREATE TABLE timeline_entry_202403 PARTITION OF timeline_entry FOR VALUES FROM ('2024-03-01Z') TO ('2024-04-01Z')`,
    );
    const { id: organizationId } = await makeOrganization(harness.db);
    const { id: agentId } = await makeAgent(harness.db, { organizationId });
    const [reader, writer] = [0, 1].map(() => new Client({ connectionString: harness.databaseUrl }));
    await Promise.all([reader!.connect(), writer!.connect()]);
    const events: string[] = [];
    const write = async () => {
      // A writer that waits for the reader fails after this time, because the reader waits for the writer.
      await writer!.query(`SET statement_timeout = '10s'`);
      await writer!.query(
        `INSERT INTO timeline_entry (agent_id, seq, organization_id, kind, message) VALUES ($1, 1, $2, 'status', 'x')`,
        [agentId, organizationId],
      );
      events.push('the row is stored');
    };
    try {
      await reader!.query('BEGIN; SELECT count(*) FROM timeline_entry');
      let writing: Promise<void> | undefined;
      const rounds: Promise<unknown>[] = [];
      // The drop waits only briefly. If a round ends before the wait is noticed, the next round waits again.
      while (!writing) {
        let isOver = false;
        rounds.push(maintainTimelinePartitions(harness.db, { retentionDays: 60 }).finally(() => (isOver = true)));
        while (!isOver && !writing) {
          const waiting = await harness.db.query(
            'system',
            `SELECT FROM pg_locks JOIN pg_stat_activity USING (pid)
             WHERE NOT granted AND datname = current_database() AND relation = 'timeline_entry'::regclass`,
          );
          if (waiting.length > 0) writing = write();
        }
      }
      await writing;
      await reader!.query('COMMIT');
      events.push('the reader has ended');
      expect(events).toEqual(['the row is stored', 'the reader has ended']);
      await Promise.all(rounds);
    } finally {
      await Promise.all([reader!.end(), writer!.end()]);
    }
    await maintainTimelinePartitions(harness.db, { retentionDays: 60 });
    expect(await partitions()).not.toContain('timeline_entry_202403');
  });
});
