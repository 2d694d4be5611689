import { purgeExpiredCredentials, verifyAuditLogs } from '@muster/access';
import { createOwnerDataSource } from '@muster/database';
import { newId } from '@muster/platform';
import { type Tenant, waitFor } from '@muster/testing';
import { ChainHarness, dayMs, minuteMs } from './audit-chain.harness';

function createSignal() {
  let resolveSignal = () => undefined as void;
  const whenGiven = new Promise<void>((resolve) => (resolveSignal = resolve));
  return { give: () => resolveSignal(), whenGiven };
}

describe('the days of the audit trail and the access log', () => {
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
    await chain.closeFinishedDays();
    await tenant.signInAgain();
  };

  it('a day of the audit trail is not closed while a transaction that may add a row to it is open', async () => {
    const day = chain.formatDay();
    const [commit, began] = [createSignal(), createSignal()];
    const late = chain.db.transaction({ organizationId: tenant.organizationId }, async (tx) => {
      chain.insertEntryInTransaction(tx, tenant.organizationId, 'late');
      await tx.query('SELECT 1');
      began.give();
      await commit.whenGiven;
    });
    await began.whenGiven;
    chain.moveToNextDay(11 * minuteMs);
    for (let round = 0; round < 5; round += 1) await chain.closeDaysOnce();
    await tenant.signInAgain();
    expect(await chain.readDayProof(tenant, day)).toMatchObject({ closed: false });
    commit.give();
    await late;
    await chain.closeFinishedDays();
    expect(await chain.readDayProof(tenant, day)).toMatchObject({ closed: true });
    expect((await chain.listDayRows(tenant, 'audit', day)).map(({ target }) => target.id)).toContain('late');
    expect(await chain.findFaults(tenant.organizationId)).toEqual([]);
  });

  it('an audit row gets the current time if the day in which its transaction began is already being closed', async () => {
    const day = chain.formatDay();
    let runs = 0;
    await chain.db.transaction({ organizationId: tenant.organizationId }, async (tx) => {
      runs += 1;
      await tx.query('SELECT 1');
      if (runs === 1) {
        chain.moveToNextDay(11 * minuteMs);
        await chain.closeFinishedDays();
      }
      chain.insertEntryInTransaction(tx, tenant.organizationId, 'late');
    });
    expect(runs).toBe(2);
    await tenant.signInAgain();
    expect((await chain.listDayRows(tenant, 'audit', day)).map(({ target }) => target.id)).not.toContain('late');
    expect((await chain.listDayRows(tenant, 'audit', chain.formatDay())).map(({ target }) => target.id)).toContain(
      'late',
    );
    expect(await chain.findFaults(tenant.organizationId)).toEqual([]);
  });

  it('a read whose access log entry can be stored only after its day has ended is logged with the time of storing', async () => {
    const day = chain.formatDay();
    const id = await chain.readRunAndWaitForLog(tenant);
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
    expect(rows.map(({ at }) => at.slice(0, 10))).toEqual([chain.formatDay(), day]);
    await chain.closeFinishedDays();
    expect(await chain.findFaults(tenant.organizationId)).toEqual([]);
  });

  it('the audit chain contains all rows of eight concurrent writers, even if a day ends while they write', async () => {
    const rounds = 25;
    const [first] = [chain.formatDay()];
    let isWriting = true;
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let round = 0; round < rounds; round += 1) {
        if (writer === 0 && round === 12) chain.moveToNextDay(11 * minuteMs);
        await chain.insertAuditEntry(tenant.organizationId, `${writer} ${round}`);
      }
    });
    const loop = (async () => {
      while (isWriting) {
        await chain.linkNewRows();
        await chain.closeDaysOnce();
        expect(await chain.findFaults(tenant.organizationId)).toEqual([]);
      }
    })();
    await Promise.all(writers);
    isWriting = false;
    await loop;
    await chain.closeFinishedDays();
    await chain.linkNewRows();
    await tenant.signInAgain();
    await chain.linkNewRows();
    expect(await chain.findFaults(tenant.organizationId)).toEqual([]);
    const notes = [
      ...(await chain.listDayRows(tenant, 'audit', first)),
      ...(await chain.listDayRows(tenant, 'audit', chain.formatDay())),
    ];
    expect(notes.filter(({ action }) => action === 'test.note')).toHaveLength(8 * rounds);
    const [linked] = await chain.db.query<{ rows: number }>(
      'system',
      `SELECT sum(cardinality(ids))::int AS rows FROM audit_link WHERE organization_id = $1 AND log = 'audit'`,
      [tenant.organizationId],
    );
    expect(linked!.rows).toBe((await chain.listDayRows(tenant, 'audit', chain.formatDay())).length);
  });

  it('the retention deletes the audit rows of the oldest closed days, but not the hashes of these days', async () => {
    const days = [];
    for (let day = 0; day < 3; day += 1) {
      await chain.insertAuditEntry(tenant.organizationId, `day ${day}`);
      await chain.readRunAndWaitForLog(tenant);
      days.push([chain.formatDay(), await chain.readDayProof(tenant, chain.formatDay())] as const);
      await closeToday();
    }
    const purgeExpired = () =>
      purgeExpiredCredentials(chain.db, chain.getNow(), { retention: { audit: 2, access: 2 } });
    const { accesses, audits } = await purgeExpired();
    expect(accesses).toBeGreaterThan(0);
    expect(audits).toBeGreaterThan(0);
    expect(await purgeExpired()).toMatchObject({ accesses: 0, audits: 0 });
    expect(await chain.listDayRows(tenant, 'audit', days[0]![0])).toEqual([]);
    expect(await chain.listDayRows(tenant, 'access-log', days[0]![0])).toEqual([]);
    for (const [day, open] of days) expect(await chain.readDayProof(tenant, day)).toEqual({ ...open, closed: true });
    expect((await chain.listDayRows(tenant, 'audit', days[1]![0])).length).toBe(days[1]![1].audit.rows);
    expect(await chain.findFaults(tenant.organizationId)).toEqual([]);
    const unclosed = chain.formatDay();
    await chain.insertAuditEntry(tenant.organizationId, 'open');
    await purgeExpiredCredentials(chain.db, new Date(chain.getNow().getTime() + 30 * dayMs), {
      retention: { audit: 1, access: 1 },
    });
    expect((await chain.listDayRows(tenant, 'audit', unclosed)).length).toBeGreaterThan(0);
  });

  it('the retention does not delete an audit row of the first millisecond of the oldest retained day', async () => {
    await chain.insertAuditEntry(tenant.organizationId, 'a row of the day before');
    await closeToday();
    const midnight = Date.parse(`${chain.formatDay()}T00:00:00Z`);
    const ids = [newId(), newId()];
    for (const [index, id] of ids.entries()) {
      await chain.tamperWithRows(
        `INSERT INTO access_entry (id, organization_id, minute, at, actor_kind, actor_id, address, route, subject_type,
           subject_id)
         VALUES ($1, $2, $3, $3, 'user', 'x', '127.0.0.1', 'GET /api/jobs/{id}', 'run', 'x')`,
        [id, tenant.organizationId, new Date(midnight - 1 + index)],
      );
    }
    await closeToday();
    await purgeExpiredCredentials(chain.db, chain.getNow(), { retention: { audit: 0, access: 1 } });
    const rows = await chain.db.query('system', 'SELECT id FROM access_entry WHERE id = ANY($1)', [ids]);
    expect(rows).toEqual([{ id: ids[1] }]);
  });

  it('the audit chain does not change if there are no new rows and no day to close', async () => {
    await chain.linkNewRows();
    await chain.closeFinishedDays();
    const readChainRows = () => chain.db.query('system', 'SELECT xmin::text, * FROM audit_chain');
    const before = await readChainRows();
    expect(await chain.linkNewRows()).toEqual({ linked: 0 });
    expect(await chain.closeDaysOnce()).toEqual({ closed: 0 });
    expect(await readChainRows()).toEqual(before);
  });

  it('the verification does not count a day as closed while the day is being closed', async () => {
    const { organizationId } = tenant;
    await chain.insertAuditEntry(organizationId, 'a closed day');
    await closeToday();
    await chain.insertAuditEntry(organizationId, 'an open day');
    const before = await verifyAuditLogs(chain.db, organizationId);
    expect(before.faults).toEqual([]);
    // The hash of a day is stored before the position of the chain moves past the day.
    await chain.tamperWithRows(
      `INSERT INTO audit_day (organization_id, log, day, row_count, form, previous, hash, faults)
       VALUES ($1, 'audit', $2, 1, 1, '', '', '{}')`,
      [organizationId, chain.formatDay()],
    );
    expect(await verifyAuditLogs(chain.db, organizationId)).toEqual(before);
    await chain.tamperWithRows('DELETE FROM audit_day WHERE organization_id = $1 AND day = $2', [
      organizationId,
      chain.formatDay(),
    ]);
  });
});
