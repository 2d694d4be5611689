import { newId } from '@muster/platform';
import { type Harness, makeAgent, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('agents at the gateway', () => {
  let harness: Harness;
  let tenant: Tenant;
  const buildExternalAgent = (name: string = newId()) => ({ name, provider: 'external' });
  const createAgent = async (body: object = buildExternalAgent()) =>
    (await tenant.as.admin.post('/api/agents', body)).body;
  const querySql = (text: string, values: unknown[] = []) => harness.db.query<any>('system', text, values);

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  it('an admin can create an agent and gets its worker key, which is shown once', async () => {
    const created = await tenant.as.admin.post('/api/agents', {
      ...buildExternalAgent('Front desk'),
      labels: ['north'],
    });
    expect(created.status).toBe(201);
    const { agent, workerKey } = created.body;
    expect(created.headers.get('location')).toBe(`/api/agents/${agent.id}`);
    expect(agent).toMatchObject({
      name: 'Front desk',
      status: 'offline',
      provider: 'external',
      providerRef: null,
      labels: ['north'],
      lastSeen: null,
      currentJobId: null,
      stopAt: null,
      reason: 'never connected',
    });
    expect(agent.why).toMatch(/^Offline since .*: it was created/);
    expect(workerKey).toMatch(/^msk_[a-z0-9]{12}_/);
    const [key] = await querySql('SELECT scope, agent_id, secret_hash FROM api_key WHERE agent_id = $1', [agent.id]);
    expect(key).toMatchObject({ scope: 'worker', agentId: agent.id });
    expect((await tenant.api.get(`/api/agents/${agent.id}`)).body).toEqual(agent);
    expect((await harness.http.withKey(workerKey).get('/api/agents')).status).toBe(403);
    const trail = (await tenant.as.admin.get(`/api/audit?targetId=${agent.id}`)).body.entries;
    expect(trail.map(({ action }: { action: string }) => action)).toEqual(['agent.create']);
    for (const client of [tenant.as.member, tenant.api]) {
      expect((await client.post('/api/agents', buildExternalAgent())).status).toBe(403);
    }
  });

  it('a local agent can be created only if the service enables local agents', async () => {
    expect((await tenant.as.admin.post('/api/agents', { name: newId(), provider: 'local' })).status).toBe(201);
    const elsewhere = await startHarness({ ...gateway, env: { LOCAL_AGENTS: '' } });
    const { as } = await elsewhere.makeTenant();
    const refused = await as.admin.post('/api/agents', { name: 'Here', provider: 'local' });
    expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_payload', errors: [{ field: 'provider' }] } });
    expect((await as.admin.get('/api/agents')).body.agents).toEqual([]);
    await elsewhere.close();
  });

  it.each([
    ['http', { baseUrl: 'https://control.example.com', ref: 'vm-7' }, 'vm-7'],
    ['ec2', { instanceId: 'i-0abc1234def567890', region: 'us-east-1' }, 'i-0abc1234def567890'],
    ['docker', { container: 'worker-1', host: 'unix:///var/run/docker.sock' }, 'worker-1'],
  ])('a new %s agent is stopped until its control plane has been queried', async (provider, providerConfig, ref) => {
    const { agent } = await createAgent({ name: newId(), provider, providerConfig });
    expect(agent).toMatchObject({ status: 'stopped', providerRef: ref });
    expect(agent).not.toHaveProperty('providerConfig');
  });

  it.each([
    ['external', { anything: 1 }],
    ['http', {}],
    ['http', { baseUrl: 'https://user:secret@control.example.com', ref: 'a' }],
    ['http', { baseUrl: 'ftp://control.example.com', ref: 'a' }],
    ['http', { baseUrl: 'https://control.example.com', ref: '../a' }],
    ['ec2', { instanceId: 'x', region: 'us-east-1' }],
    ['docker', { container: 'a', host: 'ssh://elsewhere' }],
  ])('an agent of provider %s is refused with the config %j', async (provider, providerConfig) => {
    const answer = await tenant.as.admin.post('/api/agents', { name: newId(), provider, providerConfig });
    expect([answer.status, answer.body.errors?.[0].field]).toEqual([
      400,
      expect.stringMatching(/^providerConfig\.\w+$/),
    ]);
    expect(answer.text).not.toContain('secret');
  });

  it('an agent’s name is unique among the agents of its organization that are not terminated', async () => {
    const { agent } = await createAgent(buildExternalAgent('Only one'));
    const second = await tenant.as.admin.post('/api/agents', buildExternalAgent('Only one'));
    expect([second.status, second.body.errors]).toEqual([409, [{ field: 'name', message: 'name is taken' }]]);
    const { agent: other } = await createAgent();
    expect((await tenant.as.admin.patch(`/api/agents/${other.id}`, { name: 'Only one' })).status).toBe(409);
    expect((await tenant.as.admin.delete(`/api/agents/${agent.id}`)).status).toBe(204);
    expect((await tenant.as.admin.post('/api/agents', buildExternalAgent('Only one'))).status).toBe(201);
    const elsewhere = await harness.makeTenant();
    expect((await elsewhere.as.admin.post('/api/agents', buildExternalAgent('Only one'))).status).toBe(201);
  });

  it('agents can be listed by status, label and name, terminated ones only on request', async () => {
    const own = await harness.makeTenant();
    const makeAgentWithLabels = async (name: string, status: string, labels: string[] = []) => {
      const { id } = await makeAgent(harness.db, { organizationId: own.organizationId, name });
      await querySql('UPDATE agent SET status = $2, labels = $3 WHERE id = $1', [id, status, labels]);
      return name;
    };
    await makeAgentWithLabels('North 1', 'online', ['north']);
    await makeAgentWithLabels('North 2', 'stopped', ['north']);
    await makeAgentWithLabels('South_1', 'online', ['south']);
    await makeAgentWithLabels('Gone', 'terminated', ['north']);
    const listAgentNames = async (query: string) =>
      (await own.as.viewer.get(`/api/agents?${query}`)).body.agents.map(({ name }: { name: string }) => name);
    expect(await listAgentNames('')).toEqual(['North 1', 'North 2', 'South_1']);
    expect(await listAgentNames('status=online')).toEqual(['North 1', 'South_1']);
    expect(await listAgentNames('status=terminated')).toEqual(['Gone']);
    expect(await listAgentNames('label=north')).toEqual(['North 1', 'North 2']);
    expect(await listAgentNames('q=nORTH')).toEqual(['North 1', 'North 2']);
    expect(await listAgentNames('q=_')).toEqual(['South_1']);
    expect(await listAgentNames('q=%25')).toEqual([]);
    const first = (await own.api.get('/api/agents?limit=2')).body;
    expect(first.agents).toHaveLength(2);
    expect(await listAgentNames(`limit=2&cursor=${first.nextCursor}`)).toEqual(['South_1']);
    expect((await own.api.get('/api/agents?status=asleep')).status).toBe(400);
  });

  it('the name and the labels of an agent can be changed', async () => {
    const { agent } = await createAgent();
    const changed = await tenant.as.admin.patch(`/api/agents/${agent.id}`, { name: 'Renamed', labels: ['a', 'b'] });
    expect(changed.body).toMatchObject({ id: agent.id, name: 'Renamed', labels: ['a', 'b'] });
    expect((await tenant.as.admin.patch(`/api/agents/${agent.id}`, { labels: [] })).body).toMatchObject({
      name: 'Renamed',
      labels: [],
    });
    expect((await tenant.as.admin.patch(`/api/agents/${agent.id}`, { status: 'online' })).status).toBe(400);
  });

  describe('a terminated agent', () => {
    it('a terminated agent can still be read, and the dispatcher gets a message to terminate its machine', async () => {
      const { agent } = await createAgent();
      expect((await tenant.as.admin.delete(`/api/agents/${agent.id}`)).status).toBe(204);
      const after = (await tenant.as.viewer.get(`/api/agents/${agent.id}`)).body;
      expect([after.status, after.why]).toEqual(['terminated', expect.stringContaining('terminated by')]);
      const enqueued = await querySql(`SELECT name FROM outbox WHERE payload->>'agentId' = $1`, [agent.id]);
      expect(enqueued.map(({ name }) => name)).toContain('control-agent');
      const again = await tenant.as.admin.delete(`/api/agents/${agent.id}`);
      expect([again.status, again.body.code, again.body.agentStatus]).toEqual([409, 'agent_not_ready', 'terminated']);
    });

    it('an agent is not terminated during a job unless the request is forced', async () => {
      const { agent } = await createAgent();
      await querySql('UPDATE agent SET current_job_id = $2 WHERE id = $1', [agent.id, newId()]);
      const refused = await tenant.as.admin.delete(`/api/agents/${agent.id}`);
      expect([refused.status, refused.body.code]).toEqual([409, 'agent_not_ready']);
      expect((await tenant.as.viewer.get(`/api/agents/${agent.id}`)).body.status).toBe('offline');
      expect((await tenant.as.admin.delete(`/api/agents/${agent.id}?force=true`)).status).toBe(204);
    });
  });

  it('an agent shows when idle stop will stop its machine, or what keeps the machine on', async () => {
    const { agent } = await createAgent();
    const at = new Date('2026-03-02T09:00:00.000Z');
    await querySql(`UPDATE agent SET status = 'online', provider = 'ec2', last_activity_at = $2 WHERE id = $1`, [
      agent.id,
      at,
    ]);
    const readAgent = async () => (await tenant.as.viewer.get(`/api/agents/${agent.id}`)).body;
    expect((await readAgent()).stopAt).toBe('2026-03-02T09:30:00.000Z');
    await querySql('UPDATE agent SET idle_auto_stop_exempt = true WHERE id = $1', [agent.id]);
    expect(await readAgent()).toMatchObject({ stopAt: null, why: expect.stringContaining('it is pinned') });
    await querySql('UPDATE agent SET idle_auto_stop_exempt = false, current_job_id = $2 WHERE id = $1', [
      agent.id,
      newId(),
    ]);
    expect(await readAgent()).toMatchObject({ stopAt: null, why: expect.stringContaining('it has work') });
    await querySql(`UPDATE agent SET current_job_id = NULL, status = 'stopped' WHERE id = $1`, [agent.id]);
    expect((await readAgent()).stopAt).toBeNull();
  });
});
