import { newId } from '@muster/platform';
import { type Harness, type HttpClient, makeAgent, makeApiKey, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('autopilot sessions and command history', () => {
  let harness: Harness;
  let tenant: Tenant;
  let otherTenant: Tenant;
  let agents: string[];

  beforeAll(async () => {
    harness = await startHarness(gateway);
    [tenant, otherTenant] = [await harness.makeTenant(), await harness.makeTenant()];
    const { organizationId } = tenant;
    const creating = [1, 2].map(() => makeAgent(harness.db, { organizationId, name: newId() }));
    agents = (await Promise.all(creating)).map(({ id }) => id);
  });
  afterAll(() => harness.close());

  const querySql = (text: string, values: unknown[]) => harness.db.query('system', text, values);
  const makeSession = async (agentId: string, status: string, columns: { title?: string; error?: string } = {}) => {
    const id = newId();
    const task = columns.title ? { title: columns.title, steps: [] } : null;
    await querySql(
      `INSERT INTO autopilot_session (id, organization_id, agent_id, status, phase, asked_by, due_at, max_steps,
         max_attempts, max_active_ms, max_cost_micros, approve, intent, task, error)
       VALUES ($1, $2, $3, $4, 'over', '{"kind": "user", "id": "the one"}', NULL, 50, 5, 3600000, 5000000, 'never',
         'the intent', $5, $6)`,
      [id, tenant.organizationId, agentId, status, task && JSON.stringify(task), columns.error ?? null],
    );
    return id;
  };
  const listSessionIds = async (query: string, client: HttpClient = tenant.as.viewer) =>
    (await client.get(`/api/autopilot-sessions?${query}`)).body.sessions?.map((each: any) => each.sessionId);

  it('autopilot sessions of all agents are listed newest first and can be filtered by agent, status and text', async () => {
    const [first, second] = agents as [string, string];
    const filed = await makeSession(first, 'completed', { title: 'File the CLAIM' });
    const waiting = await makeSession(second, 'paused', { title: 'See the portal' });
    const failed = await makeSession(second, 'failed', { error: 'the claim is not there' });
    expect(await listSessionIds('')).toEqual([failed, waiting, filed]);
    expect(await listSessionIds(`agentId=${second}`)).toEqual([failed, waiting]);
    expect(await listSessionIds('status=paused')).toEqual([waiting]);
    expect(await listSessionIds('q=claim')).toEqual([failed, filed]);
    expect(await listSessionIds('q=the%20intent')).toEqual([failed]);
    expect(await listSessionIds(`q=${waiting}`)).toEqual([waiting]);
    expect(await listSessionIds('q=claim&status=completed')).toEqual([filed]);
    const { body } = await tenant.as.viewer.get('/api/autopilot-sessions?limit=2');
    expect(await listSessionIds(`limit=2&cursor=${body.nextCursor}`)).toEqual([filed]);
    const whole = await tenant.as.viewer.get(`/api/autopilot-sessions/${filed}`);
    expect(whole.body).toMatchObject({ sessionId: filed, agentId: first, task: { title: 'File the CLAIM' } });
  });

  it('autopilot sessions are hidden from other organizations and from keys bound to other agents', async () => {
    const [first, second] = agents as [string, string];
    const own = await makeSession(first, 'completed');
    const other = await makeSession(second, 'completed');
    expect(await listSessionIds('', otherTenant.as.admin)).toEqual([]);
    expect((await otherTenant.as.admin.get(`/api/autopilot-sessions/${own}`)).status).toBe(404);
    const { organizationId } = tenant;
    const key = await makeApiKey(harness.db, { organizationId, scope: 'api', agentId: first });
    const bound = harness.http.withKey(key.secret);
    const visibleIds = await listSessionIds('', bound);
    expect([visibleIds.includes(own), visibleIds.includes(other)]).toEqual([true, false]);
    expect((await bound.get(`/api/autopilot-sessions?agentId=${second}`)).status).toBe(403);
    expect((await bound.get(`/api/autopilot-sessions/${other}`)).status).toBe(403);
  });

  it('an agent’s commands are listed without their payload and output', async () => {
    const { id: agentId } = await makeAgent(harness.db, { organizationId: tenant.organizationId, name: newId() });
    const insertCommand = async (kind: string, status: string, error: string | null) => {
      const id = newId();
      await querySql(
        `INSERT INTO agent_command (id, organization_id, agent_id, kind, status, payload, output, error, error_code,
           deadline)
         VALUES ($1, $2, $3, $4, $5, '{"code": "secret"}', 'secret', $6, $7, now())`,
        [id, tenant.organizationId, agentId, kind, status, error, error && 'execution_timeout'],
      );
      return id;
    };
    const done = await insertCommand('snippet', 'success', null);
    const failed = await insertCommand('imaging_images', 'failed', `Too LATE ${'x'.repeat(5000)}`);
    const path = `/api/agents/${agentId}/command-history`;
    const listCommandIds = async (query: string) =>
      (await tenant.as.viewer.get(`${path}?${query}`)).body.commands.map((each: any) => each.commandId);
    const { body, text } = await tenant.as.viewer.get(path);
    expect(body.commands).toMatchObject([
      { commandId: failed, kind: 'imaging_images', status: 'failed', code: 'execution_timeout', jobId: null },
      { commandId: done, kind: 'snippet', status: 'success', error: null, code: null },
    ]);
    expect(body.commands[0].error).toHaveLength(1000);
    expect(text).not.toContain('secret');
    expect(await listCommandIds('kind=snippet')).toEqual([done]);
    expect(await listCommandIds('status=failed')).toEqual([failed]);
    expect(await listCommandIds('q=too%20late')).toEqual([failed]);
    expect(await listCommandIds(`q=${done}`)).toEqual([done]);
    expect(await listCommandIds('kind=snippet&status=failed')).toEqual([]);
    expect((await otherTenant.as.admin.get(path)).status).toBe(404);
  });

  it('a status request with a wait returns when the snippet ends or prints more output', async () => {
    const { id: agentId } = await makeAgent(harness.db, {
      organizationId: tenant.organizationId,
      name: newId(),
      status: 'online',
    });
    const { commandId } = (await tenant.api.post(`/api/agents/${agentId}/run-snippet`, { code: 'print(1)' })).body;
    const requestStatus = (more: string) =>
      tenant.api.get(`/api/agents/${agentId}/run-snippet/status?commandId=${commandId}${more}`);
    expect((await requestStatus('')).body).toEqual({ status: 'pending' });
    const setCommandOutput = (output: string) =>
      querySql(`UPDATE agent_command SET output = $2 WHERE id = $1`, [commandId, output]);
    const waiting = requestStatus('&wait=25&seen=0');
    await setCommandOutput('first\n');
    expect((await waiting).body).toEqual({ status: 'pending', output: 'first\n' });
    expect((await requestStatus('&wait=25')).body.output).toBe('first\n');
    const ending = requestStatus('&wait=25&seen=6');
    await querySql(`UPDATE agent_command SET status = 'success', output = 'all' WHERE id = $1`, [commandId]);
    expect((await ending).body).toEqual({ status: 'success', output: 'all' });
    expect((await requestStatus('&wait=1&seen=3')).body.status).toBe('success');
    expect((await requestStatus('&wait=26')).status).toBe(400);
  });
});
