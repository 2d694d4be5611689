import { newId } from '@muster/platform';
import { type Tenant } from '@muster/testing';
import { ChainHarness, computeChainHash, minuteMs } from './audit-chain.harness';

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
    await chain.closeFinishedDays();
    await tenant.signInAgain();
  };

  it('the audit proof of an open day is the hash of its rows, which continues the hash of the day before', async () => {
    await chain.insertAuditEntry(tenant.organizationId, 'one');
    await chain.readRunAndWaitForLog(tenant);
    const [today, yesterday] = [chain.formatDay(), chain.formatDay(-1)];
    const proof = await chain.readDayProof(tenant, today);
    const [changes, reads] = [
      await chain.listDayRows(tenant, 'audit', today),
      await chain.listDayRows(tenant, 'access-log', today),
    ];
    const before = await chain.readDayProof(tenant, yesterday);
    expect(changes.length).toBeGreaterThan(0);
    expect(proof).toEqual({
      ...{ day: today, closed: false },
      audit: { rows: changes.length, previous: before.audit.hash, hash: computeChainHash(before.audit.hash, changes) },
      accessLog: { rows: 1, previous: before.accessLog.hash, hash: computeChainHash(before.accessLog.hash, reads) },
    });
    await chain.insertAuditEntry(tenant.organizationId, 'two');
    expect((await chain.readDayProof(tenant, today)).audit).toMatchObject({ rows: changes.length + 1 });
  });

  it('the audit proof of a day stays the same when the day is closed, also for a day without rows', async () => {
    await chain.insertAuditEntry(tenant.organizationId, 'one');
    await chain.readRunAndWaitForLog(tenant);
    const day = chain.formatDay();
    const open = await chain.readDayProof(tenant, day);
    await closeToday();
    expect(await chain.readDayProof(tenant, day)).toEqual({ ...open, closed: true });
    chain.moveToNextDay(11 * minuteMs);
    chain.moveToNextDay(11 * minuteMs);
    await chain.closeFinishedDays();
    await tenant.signInAgain();
    const quiet = await chain.readDayProof(tenant, chain.formatDay(-1));
    const before = await chain.readDayProof(tenant, chain.formatDay(-2));
    expect(quiet.closed).toBe(true);
    expect(quiet.accessLog).toEqual({
      ...{ rows: 0, previous: before.accessLog.hash, hash: computeChainHash(before.accessLog.hash, []) },
    });
    expect((await chain.readDayProof(tenant, '2020-01-01')).audit.previous).toBe('0'.repeat(64));
    expect(await chain.findFaults(tenant.organizationId)).toEqual([]);
  });

  it('only admins of the organization can read the audit proof of a day, and only after the day has begun', async () => {
    const other = await chain.harness.makeTenant();
    await chain.insertAuditEntry(tenant.organizationId, 'one');
    const day = chain.formatDay();
    const [own, others] = [await chain.readDayProof(tenant, day), await chain.readDayProof(other, day)];
    expect(own.audit.hash).not.toBe(others.audit.hash);
    await chain.insertAuditEntry(tenant.organizationId, 'two');
    expect(await chain.readDayProof(other, day)).toEqual(others);
    const path = `/api/audit/proof?day=${day}`;
    for (const client of [tenant.as.viewer, tenant.as.member, tenant.api, tenant.worker]) {
      expect((await client.get(path)).status).toBe(403);
    }
    expect((await tenant.as.admin.get('/api/audit/proof')).body.day).toBe(day);
    expect((await chain.harness.http.get(path)).status).toBe(401);
    for (const wrong of [chain.formatDay(1), '2019-12-31', 'today', '']) {
      const answer = await tenant.as.admin.get(`/api/audit/proof?day=${wrong}`);
      expect([answer.status, answer.body.code]).toEqual([400, 'invalid_payload']);
    }
  });

  const tables = [
    ['audit trail', 'audit_entry', 'action'],
    ['access log', 'access_entry', 'address'],
  ] as const;
  const buildTamperings = (table: string, column: string) =>
    [
      ['changed', `UPDATE ${table} SET ${column} = 'x' WHERE id = $1`, /changed/],
      ['moved to another time', `UPDATE ${table} SET at = at + interval '1 millisecond' WHERE id = $1`, /changed/],
      ['removed', `DELETE FROM ${table} WHERE id = $1`, /missing/],
    ] as const;

  describe.each(tables)('rows of the %s', (title, table, column) => {
    const readNewestId = async () => {
      const [row] = await chain.db.query<{ id: string }>(
        'system',
        `SELECT id FROM ${table} WHERE organization_id = $1 ORDER BY id DESC LIMIT 1`,
        [tenant.organizationId],
      );
      return row!.id;
    };
    const writeAndLinkEntries = async () => {
      await chain.insertAuditEntry(tenant.organizationId, 'one');
      await chain.readRunAndWaitForLog(tenant);
      await chain.linkNewRows();
    };
    const added =
      table === 'audit_entry'
        ? `INSERT INTO audit_entry (id, organization_id, at, actor_kind, actor_id, action, target_type, target_id)
           SELECT $1, organization_id, at, actor_kind, actor_id, action, target_type, target_id FROM audit_entry WHERE id = $2`
        : `INSERT INTO access_entry (id, organization_id, minute, at, actor_kind, actor_id, address, route, subject_type,
             subject_id)
           SELECT $1, organization_id, minute, at, actor_kind, 'x', address, route, subject_type, subject_id
           FROM access_entry WHERE id = $2`;

    it.each(buildTamperings(table, column))(
      `the audit verification finds a row of today that was %s (${title})`,
      async (_, sql, message) => {
        await writeAndLinkEntries();
        expect(await chain.findFaults(tenant.organizationId)).toEqual([]);
        await chain.tamperWithRows(sql, [await readNewestId()]);
        const faults = await chain.findFaults(tenant.organizationId);
        expect(faults).toHaveLength(1);
        expect(faults[0]).toMatch(message);
        expect(faults[0]).toContain(`${chain.formatDay()}: ${title}`);
      },
    );

    it(`the audit verification finds a row that was added to today (${title})`, async () => {
      await writeAndLinkEntries();
      await chain.tamperWithRows(added, [newId(), await readNewestId()]);
      await chain.linkNewRows();
      expect(await chain.findFaults(tenant.organizationId)).toEqual([expect.stringMatching(/was added, but not by/)]);
    });

    it.each(buildTamperings(table, column))(
      `the audit verification finds a row of a closed day that was %s (${title})`,
      async (name, sql) => {
        await writeAndLinkEntries();
        const [id, day] = [await readNewestId(), chain.formatDay()];
        await closeToday();
        expect(await chain.findFaults(tenant.organizationId)).toEqual([]);
        await chain.tamperWithRows(sql, [id]);
        const faults = await chain.findFaults(tenant.organizationId);
        expect(faults).toEqual([expect.stringMatching(name === 'removed' ? /missing/ : /changed/)]);
        expect(faults[0]).toContain(`${day}: ${title}`);
      },
    );

    it(`the audit verification finds a row that was added to a closed day, also to a day without rows (${title})`, async () => {
      await writeAndLinkEntries();
      const id = await readNewestId();
      await closeToday();
      chain.moveToNextDay(11 * minuteMs);
      await chain.closeFinishedDays();
      await chain.tamperWithRows(added, [newId(), id]);
      expect(await chain.findFaults(tenant.organizationId)).toEqual([expect.stringMatching(/rows were added/)]);
      await chain.tamperWithRows(
        `UPDATE ${table} SET at = at + interval '1 day' WHERE organization_id = $1 AND digest IS NULL`,
        [tenant.organizationId],
      );
      const faults = await chain.findFaults(tenant.organizationId);
      expect(faults).toEqual([expect.stringMatching(new RegExp(`^${chain.formatDay(-1)}: ${title}: rows were added`))]);
    });

    it(`the audit verification finds a replaced hash of a day by the hash of the day after it (${title})`, async () => {
      await writeAndLinkEntries();
      const day = chain.formatDay();
      await closeToday();
      await writeAndLinkEntries();
      await closeToday();
      const log = table === 'audit_entry' ? 'audit' : 'access';
      await chain.tamperWithRows(
        `UPDATE audit_day SET hash = 'x' WHERE organization_id = $1 AND log = $2 AND day = $3`,
        [...[tenant.organizationId, log, day]],
      );
      const faults = await chain.findFaults(tenant.organizationId);
      expect(faults.some((fault) => fault.includes('hash of the day before does not match'))).toBe(true);
    });

    it(`the audit verification finds a changed row even if its day was closed after the change (${title})`, async () => {
      await writeAndLinkEntries();
      await chain.tamperWithRows(`UPDATE ${table} SET ${column} = 'x' WHERE id = $1`, [await readNewestId()]);
      await closeToday();
      expect(await chain.findFaults(tenant.organizationId)).toEqual([
        expect.stringMatching(/before the day was closed/),
      ]);
    });
  });
});
