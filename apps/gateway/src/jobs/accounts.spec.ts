import { type Harness, makeAgent, makeWorkflow, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('accounts at the gateway', () => {
  let harness: Harness;
  let tenant: Tenant;
  const path = '/api/accounts';
  const vaultKeys = { username: 'DD_USER_1', password: 'DD_PASS_1' };
  const body = { vaultKeys, pool: 'delta-dental' };
  const shown = { ...body, limit: 1, cooldownSeconds: 0, enabled: true, status: 'free', setAside: null };
  const queryRows = (sql: string, ...values: unknown[]) => harness.db.query<any>('system', sql, values);

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
    for (const key of Object.values(vaultKeys)) {
      await tenant.as.admin.put(`/api/vault/${key}`, { value: `hunter2 of ${key}` });
    }
  });
  afterAll(() => harness.close());

  it('only admins can create, change and delete a portal account', async () => {
    const { admin, member } = tenant.as;
    for (const client of [member, tenant.api]) {
      expect((await client.put(`${path}/dd-1`, body)).status).toBe(403);
      expect((await client.patch(`${path}/dd-1`, { enabled: true })).status).toBe(403);
      expect((await client.delete(`${path}/dd-1`)).status).toBe(403);
    }
    expect((await admin.put(`${path}/dd-1`, body)).body).toEqual({ name: 'dd-1', ...shown });
    const changed = { limit: 2, cooldownSeconds: 60, enabled: false };
    expect((await admin.put(`${path}/dd-1`, { ...body, ...changed })).body).toMatchObject({
      ...changed,
      status: 'disabled',
    });
    expect((await admin.patch(`${path}/dd-1`, { enabled: true })).body).toMatchObject({
      ...changed,
      enabled: true,
      status: 'free',
    });
    for (const wrong of [
      { vaultKeys },
      { pool: 'delta-dental' },
      { ...body, limit: 0 },
      { ...body, limit: 1001 },
      { ...body, cooldownSeconds: -1 },
      { ...body, vaultKeys: { password: 'NO_SUCH_KEY' } },
      { ...body, vaultKeys: { 'pass word': 'DD_PASS_1' } },
      { ...body, pool: ' ' },
    ])
      expect([wrong, (await admin.put(`${path}/dd-1`, wrong)).status]).toEqual([wrong, 400]);
    expect((await admin.put(`${path}/${encodeURIComponent('a\nb')}`, body)).status).toBe(400);
    expect((await admin.delete(`${path}/dd-1`)).status).toBe(204);
    expect((await admin.delete(`${path}/dd-1`)).status).toBe(404);
    expect((await admin.patch(`${path}/dd-1`, { enabled: true })).status).toBe(404);
    const actions = await queryRows(`SELECT action FROM audit_entry WHERE target_id = 'dd-1' ORDER BY id`);
    expect(actions.map(({ action }) => action)).toEqual([
      'account.create',
      'account.update',
      'account.update',
      'account.delete',
    ]);
  });

  it('portal accounts are listed by pool and page, only to their organization, without the values of their secrets', async () => {
    const { admin, viewer } = tenant.as;
    for (const name of ['list/1', 'list/2']) await admin.put(`${path}/${encodeURIComponent(name)}`, body);
    await admin.put(`${path}/other`, { ...body, pool: 'cigna' });
    const all = await viewer.get(`${path}?pool=delta-dental`);
    expect(all.body).toEqual({
      accounts: [
        { name: 'list/1', ...shown },
        { name: 'list/2', ...shown },
      ],
      nextCursor: null,
    });
    expect(all.text).not.toContain('hunter2');
    const page = (await tenant.api.get(`${path}?limit=2`)).body;
    const rest = (await tenant.api.get(`${path}?limit=2&cursor=${encodeURIComponent(page.nextCursor)}`)).body;
    expect([...page.accounts, ...rest.accounts].map(({ name }) => name)).toEqual(['list/1', 'list/2', 'other']);
    const other = await harness.makeTenant();
    expect((await other.api.get(path)).body.accounts).toEqual([]);
    expect((await other.api.get(`${path}/other/uses`)).status).toBe(404);
    expect((await other.as.admin.patch(`${path}/other`, { enabled: false })).status).toBe(404);
    for (const name of ['list/1', 'list/2', 'other']) await admin.delete(`${path}/${encodeURIComponent(name)}`);
  });

  it('the runs that use a portal account are shown by the account, and by a run that waits for the account', async () => {
    const { organizationId } = tenant;
    await tenant.as.admin.put(`${path}/used`, body);
    const agents = [
      await makeAgent(harness.db, { organizationId, name: 'First', status: 'online' }),
      await makeAgent(harness.db, { organizationId, name: 'Second', status: 'online' }),
    ];
    const { id: workflowId } = await makeWorkflow(harness.db, { organizationId });
    const accounts = [{ pool: 'delta-dental', as: 'PORTAL' }];
    const launchJob = async (agentId: string) =>
      (await tenant.api.post('/api/jobs/launch', { workflowId, agentId, accounts })).body.jobId as string;
    const [holder, waiting] = [await launchJob(agents[0]!.id), await launchJob(agents[1]!.id)];
    await queryRows(
      `UPDATE account_use SET account = 'used', since = '2026-03-01T10:00:00Z' WHERE job_id = $1`,
      holder,
    );
    await queryRows(
      `UPDATE job SET waiting_reason = 'account_busy', waiting_since = muster_now() WHERE id = $1`,
      waiting,
    );
    expect((await tenant.api.get(`/api/jobs/${waiting}`)).body.waiting).toEqual({
      reason: 'account_busy',
      since: expect.stringMatching(/^20/),
      detail: { pool: 'delta-dental', holders: [holder] },
    });
    expect((await tenant.api.get(`${path}?pool=delta-dental`)).body.accounts).toMatchObject([{ status: 'busy' }]);
    const uses = `${path}/used/uses`;
    const use = { agentId: agents[0]!.id, from: '2026-03-01T10:00:00.000Z' };
    expect((await tenant.as.viewer.get(uses)).body).toEqual({
      uses: [{ jobId: holder, ...use, to: null }],
      nextCursor: null,
    });
    await queryRows(`UPDATE account_use SET until = '2026-03-01T10:30:00Z' WHERE job_id = $1`, holder);
    await queryRows(
      `UPDATE account_use SET account = 'used', since = '2026-03-01T10:30:00Z' WHERE job_id = $1`,
      waiting,
    );
    const page = (await tenant.api.get(`${uses}?limit=1`)).body;
    expect(page.uses).toMatchObject([{ jobId: waiting, to: null }]);
    const rest = (await tenant.api.get(`${uses}?limit=1&cursor=${encodeURIComponent(page.nextCursor)}`)).body;
    expect(rest).toEqual({ uses: [{ jobId: holder, ...use, to: '2026-03-01T10:30:00.000Z' }], nextCursor: null });
    expect((await tenant.api.get(`${path}/never/uses`)).status).toBe(404);
  });

  it('the portal accounts of a workflow and its schedules need different pools and different, valid names', async () => {
    const { organizationId } = tenant;
    const { member } = tenant.as;
    const accounts = [{ pool: 'delta-dental', as: 'PORTAL' }];
    const created = await member.post('/api/workflows', { name: 'Borrowing', script: 'print(1)', accounts });
    expect([created.status, created.body.accounts]).toEqual([201, accounts]);
    const { id } = created.body;
    const refused: [object[], string][] = [
      [[...accounts, { pool: 'delta-dental', as: 'OTHER' }], 'accounts.1.pool'],
      [[...accounts, { pool: 'cigna', as: 'PORTAL' }], 'accounts.1.as'],
      [[{ pool: 'cigna', as: 'no name' }], 'accounts.0.as'],
      [[{ pool: 'cigna', as: 'MUSTER' }], 'accounts.0.as'],
    ];
    for (const [wrong, field] of refused) {
      const answers = [
        await member.patch(`/api/workflows/${id}`, { accounts: wrong }),
        await member.post('/api/workflows', { name: 'Wrong', accounts: wrong }),
      ];
      for (const answer of answers) expect([answer.status, answer.body.errors[0].field]).toEqual([400, field]);
    }
    const four = ['a', 'b', 'c', 'd'].map((name) => ({ pool: name, as: name }));
    expect((await member.patch(`/api/workflows/${id}`, { accounts: four })).status).toBe(400);
    const { id: agentId } = await makeAgent(harness.db, { organizationId, name: 'Third', status: 'online' });
    const schedule = {
      ...{ name: 'Nightly', scriptId: id, agentId, cronExpression: '0 6 * * *' },
      accounts: [{ pool: 'cigna', as: 'SECOND' }],
    };
    const scheduled = await member.post('/api/schedules', schedule);
    expect([scheduled.status, scheduled.body.accounts]).toEqual([201, schedule.accounts]);
    const conflict = await member.put(`/api/schedules/${scheduled.body.id}`, {
      accounts: [{ pool: 'cigna', as: 'PORTAL' }],
    });
    expect([conflict.status, conflict.body.errors[0].field]).toEqual([400, 'accounts.0.as']);
    const none = await member.patch(`/api/workflows/${id}`, { accounts: [] });
    expect(none.body.accounts).toEqual([]);
  });

  it('a portal account that was set aside is put back when one of its vault secrets gets a new value', async () => {
    const { admin } = tenant.as;
    await admin.put(`${path}/locked`, body);
    await queryRows(
      `UPDATE account SET set_aside_reason = 'locked', set_aside_since = '2026-03-01T10:00:00Z', set_aside_job_id = id
       WHERE name = 'locked'`,
    );
    const readLockedAccount = async () =>
      (await admin.get(path)).body.accounts.find(({ name }: { name: string }) => name === 'locked');
    expect(await readLockedAccount()).toMatchObject({
      status: 'set_aside',
      enabled: true,
      setAside: { reason: 'locked', message: null, since: '2026-03-01T10:00:00.000Z', jobId: expect.any(String) },
    });
    await admin.put('/api/vault/OTHER_KEY', { value: 'other' });
    expect(await readLockedAccount()).toMatchObject({ status: 'set_aside' });
    await admin.put('/api/vault/DD_PASS_1', { value: 'hunter3' });
    expect(await readLockedAccount()).toMatchObject({ status: 'free', setAside: null });
  });
});
