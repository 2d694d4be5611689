import { randomBytes } from 'node:crypto';
import { type Harness, makeAgent, makeOrganization, startHarness } from '@muster/testing';
import { DatabaseModule, dropPartitions } from '@muster/database';
import { BaseConfig } from '@muster/platform';
import { Client } from 'pg';
import { maintainTimelinePartitions } from './maintain-timeline-partitions';

describe('keeping the timeline’s partitions', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  const maintainPartitions = (retentionDays: number) =>
    maintainTimelinePartitions(harness.db, { databaseUrl: harness.databaseUrl, retentionDays });
  const listPartitions = async () => {
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

  const createExpired = (name: string, bounds: string) =>
    asOwner(`CREATE TABLE ${name} PARTITION OF timeline_entry FOR VALUES ${bounds}`);

  it('partitions of the timeline that are older than the retention are dropped, future months are created, others stay', async () => {
    // Creates the partitions of this month, because the template database may be from the previous month.
    await maintainPartitions(0);
    const before = await listPartitions();
    await asOwner(`
      CREATE TABLE timeline_entry_202401 PARTITION OF timeline_entry FOR VALUES FROM ('2024-01-01Z') TO ('2024-02-01Z');
      DROP TABLE ${before.at(-1)}`);
    expect(await maintainPartitions(0)).toEqual({ dropped: 0 });
    expect(await listPartitions()).toEqual(['timeline_entry_202401', ...before]);
    expect(await maintainPartitions(36_500)).toEqual({ dropped: 0 });
    expect(await maintainPartitions(60)).toEqual({ dropped: 1 });
    expect(await listPartitions()).toEqual(before);
  });

  it('an expired timeline partition in use is dropped in a later round without blocking readers or writers', async () => {
    await maintainPartitions(0);
    await asOwner(
      `CREATE TABLE timeline_entry_202402 PARTITION OF timeline_entry FOR VALUES FROM ('2024-02-01Z') TO ('2024-03-01Z')`,
    );
    const reader = new Client({ connectionString: harness.databaseUrl });
    await reader.connect();
    try {
      await reader.query('BEGIN; SELECT count(*) FROM timeline_entry');
      // Dropping the partition would wait until the reader ends, and every later statement would wait for the drop.
      expect(await maintainPartitions(60)).toEqual({ dropped: 0 });
      expect(await listPartitions()).toContain('timeline_entry_202402');
      // A future partition is created even while the table is being read.
      const last = (await listPartitions()).at(-1)!;
      await reader.query('COMMIT');
      await asOwner(`DROP TABLE ${last}`);
      await reader.query('BEGIN; SELECT count(*) FROM timeline_entry');
      await maintainPartitions(0);
      expect(await listPartitions()).toContain(last);
    } finally {
      await reader.query('COMMIT');
      await reader.end();
    }
    expect(await maintainPartitions(60)).toEqual({ dropped: 1 });
    expect(await listPartitions()).not.toContain('timeline_entry_202402');
  });

  it('an expired timeline partition is dropped once the transactions that used it have ended, although others use the timeline', async () => {
    await maintainPartitions(0);
    await createExpired('timeline_entry_202404', "FROM ('2024-04-01Z') TO ('2024-05-01Z')");
    const [earlier, later] = [0, 1].map(() => new Client({ connectionString: harness.databaseUrl }));
    await Promise.all([earlier!.connect(), later!.connect()]);
    try {
      await earlier!.query('BEGIN; SELECT count(*) FROM timeline_entry');
      expect(await maintainPartitions(60)).toEqual({ dropped: 0 });
      await later!.query('BEGIN; SELECT count(*) FROM timeline_entry');
      await earlier!.query('COMMIT');
      expect(await maintainPartitions(60)).toEqual({ dropped: 1 });
    } finally {
      await Promise.all([earlier!.end(), later!.end()]);
    }
  });

  it('a timeline partition whose drop was interrupted after it was detached is dropped in the next round', async () => {
    await asOwner('CREATE TABLE timeline_entry_202405 (LIKE timeline_entry)');
    expect(await maintainPartitions(60)).toEqual({ dropped: 1 });
    expect(await harness.db.query('system', `SELECT to_regclass('timeline_entry_202405') AS name`)).toEqual([
      { name: null },
    ]);
  });

  it('expired timeline partitions are dropped even if the apps connect as a user that does not own the tables', async () => {
    await createExpired('timeline_entry_202406', "FROM ('2024-06-01Z') TO ('2024-07-01Z')");
    const user = `apps_${randomBytes(4).toString('hex')}`;
    const password = randomBytes(8).toString('hex');
    await asOwner(`CREATE ROLE ${user} LOGIN PASSWORD '${password}'`);
    try {
      const url = new URL(harness.databaseUrl);
      Object.assign(url, { username: user, password });
      const asApps = { databaseUrl: url.href, retentionDays: 60 };
      expect(await dropPartitions(url.href, 'timeline_entry', [])).toBeNull();
      expect(await maintainTimelinePartitions(harness.db, asApps)).toEqual({ dropped: 1 });
    } finally {
      await asOwner(`DROP ROLE ${user}`);
    }
    expect(await listPartitions()).not.toContain('timeline_entry_202406');
  });

  it('a timeline entry is stored without waiting for a reader that delays the drop of an expired partition', async () => {
    await maintainPartitions(0);
    await asOwner(
      `CREATE TABLE timeline_entry_202403 PARTITION OF timeline_entry FOR VALUES FROM ('2024-03-01Z') TO ('2024-04-01Z')`,
    );
    const { id: organizationId } = await makeOrganization(harness.db);
    const { id: agentId } = await makeAgent(harness.db, { organizationId });
    const [reader, writer] = [0, 1].map(() => new Client({ connectionString: harness.databaseUrl }));
    await Promise.all([reader!.connect(), writer!.connect()]);
    const events: string[] = [];
    const writeEntry = async () => {
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
        rounds.push(maintainPartitions(60).finally(() => (isOver = true)));
        while (!isOver && !writing) {
          const waiting = await harness.db.query(
            'system',
            `SELECT FROM pg_locks JOIN pg_stat_activity USING (pid)
             WHERE NOT granted AND datname = current_database() AND application_name = 'muster-partitions'`,
          );
          if (waiting.length > 0) writing = writeEntry();
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
    await maintainPartitions(60);
    expect(await listPartitions()).not.toContain('timeline_entry_202403');
  });
});
