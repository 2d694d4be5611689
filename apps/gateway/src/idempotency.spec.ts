import { newId } from '@muster/platform';
import { type Harness, makeAgent, makeWorkflow, startHarness, type Tenant, testPassword } from '@muster/testing';
import { gateway } from './gateway.harness';

describe('repeated requests at the gateway', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant('Northside Dental');
  });
  afterAll(() => harness.close());

  describe('an Idempotency-Key', () => {
    const buildViewerBody = () => ({ email: `once-${newId()}@example.com`, password: testPassword, role: 'viewer' });

    it('requests with the same Idempotency-Key create a resource once and get the same response', async () => {
      const client = tenant.as.admin.with({ 'idempotency-key': newId() });
      const input = buildViewerBody();
      const first = await client.post('/api/users', input);
      const second = await client.post('/api/users', input);
      expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([201, null]);
      expect([second.status, second.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
      expect(second.body).toEqual(first.body);
      expect(second.headers.get('location')).toBe(first.headers.get('location'));
      const reused = await client.post('/api/users', buildViewerBody());
      expect([reused.status, reused.body.code]).toEqual([422, 'idempotency_key_reused']);
    });

    it('twenty concurrent requests with the same Idempotency-Key create a resource once', async () => {
      const client = tenant.as.admin.with({ 'idempotency-key': newId() });
      const input = buildViewerBody();
      const answers = await Promise.all(Array.from({ length: 20 }, () => client.post('/api/users', input)));
      const created = answers.filter(({ status, headers }) => status === 201 && !headers.get('idempotency-replayed'));
      expect(created).toHaveLength(1);
      for (const { status, body: answer } of answers) {
        if (status === 201) expect(answer).toEqual(created[0]!.body);
        else expect([status, answer.code]).toEqual([409, 'idempotency_key_in_flight']);
      }
    });

    it('a repeated request is recognized however the ids in its path and body are spelled', async () => {
      const { organizationId } = tenant;
      const [agent, { id: workflowId }] = [
        await makeAgent(harness.db, { organizationId, name: 'Spelled' }),
        await makeWorkflow(harness.db, { organizationId }),
      ];
      const client = tenant.api.with({ 'idempotency-key': newId() });
      const [path, inCapitals] = [agent.id, agent.id.toUpperCase()];
      const answers = [
        await client.post(`/api/agents/${path}/run`, { workflowId, priority: 3 }),
        await client.post(`/api/agents/${inCapitals}/run`, { workflowId, priority: 3 }),
        await client.post(`/api/agents/${path}/run`, { priority: 3, workflowId: workflowId.toUpperCase() }),
        await client.post(`/api/%61gents/${path}/run`, { workflowId, priority: 3 }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
      expect(new Set(answers.map(({ body }) => body.jobId)).size).toBe(1);
      const launch = tenant.api.with({ 'idempotency-key': newId() });
      const first = await launch.post('/api/jobs/launch', { workflowId, agentId: agent.id });
      const second = await launch.post('/api/jobs/launch', {
        workflowId: workflowId.toUpperCase(),
        agentId: agent.id.toUpperCase(),
      });
      expect([first.status, second.status, second.body]).toEqual([202, 202, first.body]);
      expect((await tenant.api.get(`/api/jobs?agentId=${inCapitals}`)).body.jobs).toHaveLength(2);
    });

    it('a repeated Idempotency-Key is a new request if the agent differs, and is refused if the body differs', async () => {
      const { organizationId } = tenant;
      const { id: workflowId } = await makeWorkflow(harness.db, { organizationId });
      const agents = await Promise.all(['A', 'B'].map((name) => makeAgent(harness.db, { organizationId, name })));
      const client = tenant.api.with({ 'idempotency-key': newId() });
      const requestRun = (agentId: string, body: object) => client.post(`/api/agents/${agentId}/run`, body);
      const [a, b] = [await requestRun(agents[0]!.id, { workflowId }), await requestRun(agents[1]!.id, { workflowId })];
      expect(a.body.jobId).not.toBe(b.body.jobId);
      expect((await requestRun(agents[0]!.id, { workflowId, priority: 9 })).status).toBe(422);
    });

    it('nothing is stored for the Idempotency-Key of a failed request', async () => {
      const client = tenant.as.admin.with({ 'idempotency-key': newId() });
      expect((await client.post('/api/users', { ...buildViewerBody(), email: 'not an address' })).status).toBe(400);
      expect((await client.post('/api/users', buildViewerBody())).status).toBe(201);
    });

    it.each<[string, (created: any) => string, object]>([
      ['/api/api-keys', ({ secret }) => secret, { name: 'Once', scope: 'api' }],
      ['/api/agents', ({ workerKey }) => workerKey, { name: 'Once', provider: 'external' }],
      ['/api/webhook-endpoints', ({ secret }) => secret, { url: 'https://93.184.215.14/', events: ['*'] }],
    ])('a repeated POST %s returns the secret again, but no row contains the secret', async (path, secretOf, input) => {
      const key = newId();
      const client = tenant.as.admin.with({ 'idempotency-key': key });
      const [first, second] = [await client.post(path, input), await client.post(path, input)];
      expect([first.status, second.status, second.headers.get('idempotency-replayed')]).toEqual([201, 201, 'true']);
      expect(secretOf(first.body)).toMatch(/^(msk|whsec)_.{30}/);
      expect(second.body).toEqual(first.body);
      expect(second.headers.get('etag')).toBe(first.headers.get('etag'));
      const rows = await harness.db.query('system', 'SELECT * FROM idempotency_key WHERE key = $1', [key]);
      expect(rows).toHaveLength(1);
      const secret = secretOf(first.body);
      expect(JSON.stringify(rows)).not.toContain(secret.slice(-20));
    });

    it('a repeated request gets its response even if an older version of the service stored it', async () => {
      const key = newId();
      const client = tenant.as.admin.with({ 'idempotency-key': key });
      const input = buildViewerBody();
      await client.post('/api/users', input);
      await harness.db.query('system', `UPDATE idempotency_key SET body = '{"id":"kept"}' WHERE key = $1`, [key]);
      const { status, body: answer } = await client.post('/api/users', input);
      expect([status, answer]).toEqual([201, { id: 'kept' }]);
    });

    it('two organizations can use the same Idempotency-Key independently', async () => {
      const other = await harness.makeTenant();
      const key = { 'idempotency-key': newId() };
      expect((await tenant.as.admin.with(key).post('/api/users', buildViewerBody())).status).toBe(201);
      expect((await other.as.admin.with(key).post('/api/users', buildViewerBody())).status).toBe(201);
    });

    it('an invalid Idempotency-Key is refused', async () => {
      for (const key of ['', 'x'.repeat(256), 'with space']) {
        expect(
          (await tenant.as.admin.with({ 'idempotency-key': key }).post('/api/users', buildViewerBody())).status,
        ).toBe(400);
      }
    });
  });
});
