import { purgeExpiredCredentials } from '@muster/access';
import { createOwnerDataSource } from '@muster/database';
import { newId } from '@muster/platform';
import { type Tenant, waitFor } from '@muster/testing';
import { ChainHarness, dayMs, hashOf, minuteMs } from './audit-chain.harness';

function signal() {
  let give = () => undefined as void;
  const whenGiven = new Promise<void>((resolve) => (give = resolve));
  return { give: () => give(), whenGiven };
}

describe('the chain of the audit trail and the access log', () => {
  let chain: ChainHarness;
  let tenant: Tenant;

  beforeAll(async () => {
    chain = await ChainHarness.start();
  });
  afterAll(() => chain.harness.close());
  beforeEach(async () => {
    tenant = await chain.harness.makeTenant();
  });

  const closeToday = async () => {
    chain.moveToNextDay(11 * minuteMs);
    await chain.close();
    await tenant.signInAgain();
  };

  it('the proof of an open day is the hash of its rows, which continues the hash of the day before', async () => {
    await chain.change(tenant.organizationId, 'one');
    await chain.read(tenant);
    const [today, yesterday] = [chain.today(), chain.today(-1)];
    const proof = await chain.proof(tenant, today);
    const [changes, reads] = [
      await chain.listed(tenant, 'audit', today),
      await chain.listed(tenant, 'access-log', today),
    ];
    const before = await chain.proof(tenant, yesterday);
    expect(changes.length).toBeGreaterThan(0);
    expect(proof).toEqual({
      ...{ day: today, closed: false },
      audit: { rows: changes.length, previous: before.audit.hash, hash: hashOf(before.audit.hash, changes) },
      accessLog: { rows: 1, previous: before.accessLog.hash, hash: hashOf(before.accessLog.hash, reads) },
    });
    await chain.change(tenant.organizationId, 'two');
    expect((await chain.proof(tenant, today)).audit).toMatchObject({ rows: changes.length + 1 });
  });

  it('the hash of a day’s rows stays the same when the day is closed, also for a day without rows', async () => {
    await chain.change(tenant.organizationId, 'one');
    await chain.read(tenant);
    const day = chain.today();
    const open = await chain.proof(tenant, day);
    await closeToday();
    expect(await chain.proof(tenant, day)).toEqual({ ...open, closed: true });
    chain.moveToNextDay(11 * minuteMs);
    chain.moveToNextDay(11 * minuteMs);
    await chain.close();
    await tenant.signInAgain();
    const quiet = await chain.proof(tenant, chain.today(-1));
    const before = await chain.proof(tenant, chain.today(-2));
    expect(quiet.closed).toBe(true);
    expect(quiet.accessLog).toEqual({
      ...{ rows: 0, previous: before.accessLog.hash, hash: hashOf(before.accessLog.hash, []) },
    });
    expect((await chain.proof(tenant, '2020-01-01')).audit.previous).toBe('0'.repeat(64));
    expect(await chain.faults(tenant.organizationId)).toEqual([]);
  });

  it('only admins of the organization can read the proof of a day, and only after the day has begun', async () => {
    const other = await chain.harness.makeTenant();
    await chain.change(tenant.organizationId, 'one');
    const day = chain.today();
    const [own, others] = [await chain.proof(tenant, day), await chain.proof(other, day)];
    expect(own.audit.hash).not.toBe(others.audit.hash);
    await chain.change(tenant.organizationId, 'two');
    expect(await chain.proof(other, day)).toEqual(others);
    const path = `/api/audit/proof?day=${day}`;
    for (const client of [tenant.as.viewer, tenant.as.member, tenant.api, tenant.worker]) {
      expect((await client.get(path)).status).toBe(403);
    }
    expect((await tenant.as.admin.get('/api/audit/proof')).body.day).toBe(day);
    expect((await chain.harness.http.get(path)).status).toBe(401);
    for (const wrong of [chain.today(1), '2019-12-31', 'today', '']) {
      const answer = await tenant.as.admin.get(`/api/audit/proof?day=${wrong}`);
      expect([answer.status, answer.body.code]).toEqual([400, 'invalid_payload']);
    }
  });

  const tables = [
    ['audit trail', 'audit_entry', 'action'],
    ['access log', 'access_entry', 'address'],
  ] as const;
  const changes = (table: string, column: string) =>
    [
      ['changed', `UPDATE ${table} SET ${column} = 'x' WHERE id = $1`, /changed/],
      ['moved to another time', `UPDATE ${table} SET at = at + interval '1 millisecond' WHERE id = $1`, /changed/],
      ['removed', `DELETE FROM ${table} WHERE id = $1`, /missing/],
    ] as const;

  describe.each(tables)('rows of the %s', (title, table, column) => {
    const newest = async () => {
      const [row] = await chain.db.query<{ id: string }>(
        'system',
        `SELECT id FROM ${table} WHERE organization_id = $1 ORDER BY id DESC LIMIT 1`,
        [tenant.organizationId],
      );
      return row!.id;
    };
    const write = async () => {
      await chain.change(tenant.organizationId, 'one');
      await chain.read(tenant);
      await chain.link();
    };
    const added =
      table === 'audit_entry'
        ? `INSERT INTO audit_entry (id, organization_id, at, actor_kind, actor_id, action, target_type, target_id)
           SELECT $1, organization_id, at, actor_kind, actor_id, action, target_type, target_id FROM audit_entry WHERE id = $2`
        : `INSERT INTO access_entry (id, organization_id, minute, at, actor_kind, actor_id, address, route, subject_type,
             subject_id)
           SELECT $1, organization_id, minute, at, actor_kind, 'x', address, route, subject_type, subject_id
           FROM access_entry WHERE id = $2`;

    it.each(changes(table, column))(`a row of today that was %s is found (${title})`, async (_, sql, message) => {
      await write();
      expect(await chain.faults(tenant.organizationId)).toEqual([]);
      await chain.tamper(sql, [await newest()]);
      const faults = await chain.faults(tenant.organizationId);
      expect(faults).toHaveLength(1);
      expect(faults[0]).toMatch(message);
      expect(faults[0]).toContain(`${chain.today()}: ${title}`);
    });

    it(`a row that was added to today is found (${title})`, async () => {
      await write();
      await chain.tamper(added, [newId(), await newest()]);
      await chain.link();
      expect(await chain.faults(tenant.organizationId)).toEqual([expect.stringMatching(/was added, but not by/)]);
    });

    it.each(changes(table, column))(`a row of a closed day that was %s is found (${title})`, async (name, sql) => {
      await write();
      const [id, day] = [await newest(), chain.today()];
      await closeToday();
      expect(await chain.faults(tenant.organizationId)).toEqual([]);
      await chain.tamper(sql, [id]);
      const faults = await chain.faults(tenant.organizationId);
      expect(faults).toEqual([expect.stringMatching(name === 'removed' ? /missing/ : /changed/)]);
      expect(faults[0]).toContain(`${day}: ${title}`);
    });

    it(`a row that was added to a closed day is found, also to a day without rows (${title})`, async () => {
      await write();
      const id = await newest();
      await closeToday();
      chain.moveToNextDay(11 * minuteMs);
      await chain.close();
      await chain.tamper(added, [newId(), id]);
      expect(await chain.faults(tenant.organizationId)).toEqual([expect.stringMatching(/rows were added/)]);
      await chain.tamper(
        `UPDATE ${table} SET at = at + interval '1 day' WHERE organization_id = $1 AND digest IS NULL`,
        [tenant.organizationId],
      );
      const faults = await chain.faults(tenant.organizationId);
      expect(faults).toEqual([expect.stringMatching(new RegExp(`^${chain.today(-1)}: ${title}: rows were added`))]);
    });

    it(`a day whose hash was replaced is found by the day after it (${title})`, async () => {
      await write();
      const day = chain.today();
      await closeToday();
      await write();
      await closeToday();
      const log = table === 'audit_entry' ? 'audit' : 'access';
      await chain.tamper(`UPDATE audit_day SET hash = 'x' WHERE organization_id = $1 AND log = $2 AND day = $3`, [
        ...[tenant.organizationId, log, day],
      ]);
      const faults = await chain.faults(tenant.organizationId);
      expect(faults.some((fault) => fault.includes('hash of the day before does not match'))).toBe(true);
    });

    it(`a row that was changed before its day was closed is reported after it, too (${title})`, async () => {
      await write();
      await chain.tamper(`UPDATE ${table} SET ${column} = 'x' WHERE id = $1`, [await newest()]);
      await closeToday();
      expect(await chain.faults(tenant.organizationId)).toEqual([expect.stringMatching(/before the day was closed/)]);
    });
  });

  it('a day is not closed while a transaction that may add a row to it is open', async () => {
    const day = chain.today();
    const [commit, began] = [signal(), signal()];
    const late = chain.db.transaction({ organizationId: tenant.organizationId }, async (tx) => {
      chain.note(tx, tenant.organizationId, 'late');
      await tx.query('SELECT 1');
      began.give();
      await commit.whenGiven;
    });
    await began.whenGiven;
    chain.moveToNextDay(11 * minuteMs);
    for (let round = 0; round < 5; round += 1) await chain.tryClose();
    await tenant.signInAgain();
    expect(await chain.proof(tenant, day)).toMatchObject({ closed: false });
    commit.give();
    await late;
    await chain.close();
    expect(await chain.proof(tenant, day)).toMatchObject({ closed: true });
    expect((await chain.listed(tenant, 'audit', day)).map(({ target }) => target.id)).toContain('late');
    expect(await chain.faults(tenant.organizationId)).toEqual([]);
  });

  it('an audit row that is written after its transaction’s day began to close gets the present time', async () => {
    const day = chain.today();
    let runs = 0;
    await chain.db.transaction({ organizationId: tenant.organizationId }, async (tx) => {
      runs += 1;
      await tx.query('SELECT 1');
      if (runs === 1) {
        chain.moveToNextDay(11 * minuteMs);
        await chain.close();
      }
      chain.note(tx, tenant.organizationId, 'late');
    });
    expect(runs).toBe(2);
    await tenant.signInAgain();
    expect((await chain.listed(tenant, 'audit', day)).map(({ target }) => target.id)).not.toContain('late');
    expect((await chain.listed(tenant, 'audit', chain.today())).map(({ target }) => target.id)).toContain('late');
    expect(await chain.faults(tenant.organizationId)).toEqual([]);
  });

  it('a read whose log entry can be stored only after the day has ended is logged with the time of storing', async () => {
    const day = chain.today();
    const id = await chain.read(tenant);
    const owner = await createOwnerDataSource(chain.harness.databaseUrl).initialize();
    await owner.query('ALTER TABLE access_entry RENAME TO access_entry_away');
    await tenant.as.viewer.get(`/api/jobs/${id}/steps`);
    await waitFor('an attempt to store the read', () =>
      chain.harness.logs.some((line) => line.includes('could not insert access log entries')),
    );
    chain.moveToNextDay(11 * minuteMs);
    await owner.query('ALTER TABLE access_entry_away RENAME TO access_entry');
    await owner.destroy();
    await tenant.signInAgain();
    const rows = await waitFor('the read', async () => {
      const { body } = await tenant.as.admin.get(`/api/access-log?subject=${id}`);
      return body.entries.length === 2 && (body.entries as any[]);
    });
    expect(rows.map(({ at }) => at.slice(0, 10))).toEqual([chain.today(), day]);
    await chain.close();
    expect(await chain.faults(tenant.organizationId)).toEqual([]);
  });

  it('the audit chain contains all rows of eight concurrent writers, even if a day ends meanwhile', async () => {
    const rounds = 25;
    const [first] = [chain.today()];
    let isWriting = true;
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let round = 0; round < rounds; round += 1) {
        if (writer === 0 && round === 12) chain.moveToNextDay(11 * minuteMs);
        await chain.change(tenant.organizationId, `${writer} ${round}`);
      }
    });
    const loop = (async () => {
      while (isWriting) {
        await chain.link();
        await chain.tryClose();
        expect(await chain.faults(tenant.organizationId)).toEqual([]);
      }
    })();
    await Promise.all(writers);
    isWriting = false;
    await loop;
    await chain.close();
    await chain.link();
    await tenant.signInAgain();
    await chain.link();
    expect(await chain.faults(tenant.organizationId)).toEqual([]);
    const notes = [
      ...(await chain.listed(tenant, 'audit', first)),
      ...(await chain.listed(tenant, 'audit', chain.today())),
    ];
    expect(notes.filter(({ action }) => action === 'test.note')).toHaveLength(8 * rounds);
    const [linked] = await chain.db.query<{ rows: number }>(
      'system',
      `SELECT sum(cardinality(ids))::int AS rows FROM audit_link WHERE organization_id = $1 AND log = 'audit'`,
      [tenant.organizationId],
    );
    expect(linked!.rows).toBe((await chain.listed(tenant, 'audit', chain.today())).length);
  });

  it('the retention deletes the rows of the oldest closed days, but keeps the hashes of these days', async () => {
    const days = [];
    for (let day = 0; day < 3; day += 1) {
      await chain.change(tenant.organizationId, `day ${day}`);
      await chain.read(tenant);
      days.push([chain.today(), await chain.proof(tenant, chain.today())] as const);
      await closeToday();
    }
    const purge = () => purgeExpiredCredentials(chain.db, chain.now(), { retention: { audit: 2, access: 2 } });
    const { accesses, audits } = await purge();
    expect(accesses).toBeGreaterThan(0);
    expect(audits).toBeGreaterThan(0);
    expect(await purge()).toMatchObject({ accesses: 0, audits: 0 });
    expect(await chain.listed(tenant, 'audit', days[0]![0])).toEqual([]);
    expect(await chain.listed(tenant, 'access-log', days[0]![0])).toEqual([]);
    for (const [day, open] of days) expect(await chain.proof(tenant, day)).toEqual({ ...open, closed: true });
    expect((await chain.listed(tenant, 'audit', days[1]![0])).length).toBe(days[1]![1].audit.rows);
    expect(await chain.faults(tenant.organizationId)).toEqual([]);
    const unclosed = chain.today();
    await chain.change(tenant.organizationId, 'open');
    await purgeExpiredCredentials(chain.db, new Date(chain.now().getTime() + 30 * dayMs), {
      retention: { audit: 1, access: 1 },
    });
    expect((await chain.listed(tenant, 'audit', unclosed)).length).toBeGreaterThan(0);
  });

  it('the audit chain does not change if there are no new rows and no day to close', async () => {
    await chain.link();
    await chain.close();
    const state = () => chain.db.query('system', 'SELECT xmin::text, * FROM audit_chain');
    const before = await state();
    expect(await chain.link()).toEqual({ linked: 0 });
    expect(await chain.tryClose()).toEqual({ closed: 0 });
    expect(await state()).toEqual(before);
  });
});
