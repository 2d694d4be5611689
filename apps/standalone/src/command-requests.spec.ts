import { newId } from '@muster/platform';
import { FakeMachines, type Harness, type HttpClient, startHarness, type Tenant, waitFor } from '@muster/testing';
import { standalone } from './standalone';

describe('requests for commands', () => {
  let harness: Harness;
  let machines: FakeMachines;
  let tenant: Tenant;
  const querySql = (text: string, values?: unknown[]) => machines.querySql(text, values);
  const makeOnlineAgent = (options?: { tunnel?: boolean }) => machines.makeOnlineAgent(options);
  const runSnippet = (id: string, code?: string, more?: object, client?: HttpClient) =>
    machines.runSnippet(id, code, more, client);
  const readCommandStatus = (id: string, commandId: string) => machines.readCommandStatus(id, commandId);
  const readCommandRow = (commandId: string) => machines.readCommandRow(commandId);

  beforeAll(async () => {
    const env = { OUTBOUND_ALLOW: '127.0.0.0/8', COMMAND_SWEEP_MS: '50', OUTBOX_SWEEP_MS: '100' };
    harness = await startHarness({ ...standalone, env });
    machines = await FakeMachines.create(harness);
    tenant = machines.tenant;
  });
  afterAll(async () => {
    await harness.close();
    await machines.close();
  });

  describe('commands for an agent that is not running', () => {
    const setAutoWake = (vmAutoWakeOnJob: boolean) =>
      tenant.as.admin.patch('/api/organization/settings', { vmAutoWakeOnJob });
    const makeStoppedAgent = async (provider = 'http', status = 'stopped') => {
      const providerConfig = provider === 'http' ? { baseUrl: 'http://127.0.0.1:9', ref: 'a' } : {};
      const { agent } = (await tenant.as.admin.post('/api/agents', { name: newId(), provider, providerConfig })).body;
      await querySql('UPDATE agent SET status = $2 WHERE id = $1', [agent.id, status]);
      return agent.id as string;
    };

    it('a command wakes its stopped agent if vmAutoWakeOnJob is on', async () => {
      const id = await makeStoppedAgent();
      const started = await runSnippet(id);
      expect(started.status).toBe(202);
      const wakes = await querySql('SELECT source FROM agent_wake WHERE agent_id = $1', [id]);
      expect(wakes).toEqual([{ source: 'api' }]);
      expect(await readCommandStatus(id, started.body.commandId)).toEqual({ status: 'pending' });
    });

    it('a command for a stopped agent is refused with a timeline entry if vmAutoWakeOnJob is off', async () => {
      await setAutoWake(false);
      const id = await makeStoppedAgent();
      const refused = await runSnippet(id);
      expect([refused.status, refused.body.code, refused.body.agentStatus]).toEqual([
        409,
        'agent_not_ready',
        'stopped',
      ]);
      const [entry] = await querySql(
        `SELECT data FROM timeline_entry WHERE agent_id = $1 AND kind = 'lifecycle' ORDER BY seq DESC LIMIT 1`,
        [id],
      );
      expect(entry.data.eventType).toBe('wake_blocked');
      expect(await querySql('SELECT id FROM agent_command WHERE agent_id = $1', [id])).toEqual([]);
      await setAutoWake(true);
    });

    it('a command for an external agent that is offline or terminated is refused', async () => {
      for (const id of [
        await makeStoppedAgent('external', 'offline'),
        await makeStoppedAgent('external', 'terminated'),
      ]) {
        expect((await runSnippet(id)).body.code).toBe('agent_not_ready');
      }
    });

    it('a command for a starting agent is pushed at the agent’s handshake', async () => {
      const { id, client, worker } = await makeOnlineAgent();
      await querySql(`UPDATE agent SET status = 'starting' WHERE id = $1`, [id]);
      const { commandId } = (await runSnippet(id)).body;
      await waitFor('the first push attempt', async () => (await readCommandRow(commandId)).pushError);
      expect(worker.received).toHaveLength(0);
      await querySql(`UPDATE agent_command SET next_push_at = now() + interval '1 hour' WHERE id = $1`, [commandId]);
      await client.post('/api/agents/handshake', { agentId: id, bootId: newId(), workerVersion: '1' });
      await waitFor('the push', () => worker.received.length === 1);
    });
  });

  it('requests with the same Idempotency-Key create one command', async () => {
    const { id, worker } = await makeOnlineAgent();
    const client = tenant.api.with({ 'idempotency-key': newId() });
    const answers = [await runSnippet(id, 'a', {}, client), await runSnippet(id, 'a', {}, client)];
    expect(answers.map(({ status }) => status)).toEqual([202, 202]);
    expect(answers[1]!.body).toEqual(answers[0]!.body);
    expect((await runSnippet(id, 'b', {}, client)).status).toBe(422);
    await waitFor('the push', () => worker.received.length === 1);
  });

  describe('commands for stored functions', () => {
    it('a function command contains the code that the function has at the time of the request', async () => {
      const { id, worker } = await makeOnlineAgent();
      const created = await tenant.as.member.post('/api/functions', {
        name: 'read ledger',
        code: 'v1',
        parameters: { a: 'x' },
      });
      expect([created.status, created.headers.get('location')]).toEqual([201, `/api/functions/${created.body.id}`]);
      const runFunction = (body: object) => tenant.api.post(`/api/agents/${id}/run-function`, body);
      expect((await runFunction({ name: 'read ledger', args: { a: 1 } })).status).toBe(202);
      expect((await runFunction({ functionId: created.body.id })).status).toBe(202);
      await waitFor('the pushes', () => worker.received.length === 2);
      expect(worker.received.map(({ payload }) => payload['code'])).toEqual(['v1', 'v1']);
      expect(worker.received.find(({ payload }) => 'a' in (payload['args'] as object))?.kind).toBe('function');
      expect((await runFunction({ name: 'unknown' })).status).toBe(404);
      expect((await runFunction({})).status).toBe(400);
      expect((await runFunction({ name: 'read ledger', functionId: created.body.id })).status).toBe(400);
    });

    it('functions and their names are separate for each organization', async () => {
      const other = await harness.makeTenant();
      const body = { name: 'shared name', code: 'x' };
      const mine = (await tenant.api.post('/api/functions', body)).body;
      expect((await tenant.api.post('/api/functions', body)).status).toBe(409);
      expect((await other.api.post('/api/functions', body)).status).toBe(201);
      expect((await other.api.get(`/api/functions/${mine.id}`)).status).toBe(404);
      expect((await other.api.patch(`/api/functions/${mine.id}`, { code: 'y' })).status).toBe(404);
      expect((await other.api.delete(`/api/functions/${mine.id}`)).status).toBe(404);
      const changed = await tenant.api.patch(`/api/functions/${mine.id}`, { code: 'y', description: 'd' });
      expect(changed.body).toMatchObject({ name: 'shared name', code: 'y', description: 'd' });
      expect((await tenant.as.viewer.patch(`/api/functions/${mine.id}`, { code: 'z' })).status).toBe(403);
      expect((await tenant.api.delete(`/api/functions/${mine.id}`)).status).toBe(204);
      expect((await tenant.api.get(`/api/functions/${mine.id}`)).status).toBe(404);
    });
  });

  describe('builder commands', () => {
    const runBuilder = (id: string, body: object) => tenant.api.post(`/api/agents/${id}/builder/run`, body);

    it('a builder command has the release context in a separate folder for each session', async () => {
      const { id, worker } = await makeOnlineAgent();
      const lineage = {
        workflowPackId: 'pack',
        workflowPackVersionId: 'version',
        workflowPackInstallationId: 'installation',
        runtimeBundleId: 'bundle',
        runtimeBundleManifestKey: 'manifest/key',
      };
      const started = await runBuilder(id, {
        phase: 'discover',
        code: 'print()',
        serviceBaseUrl: 'http://127.0.0.1:4000/',
        ...lineage,
      });
      expect([started.status, started.body]).toEqual([
        202,
        { commandId: expect.any(String), sessionId: expect.any(String), runRoot: `builder/${started.body.sessionId}` },
      ]);
      await waitFor('the push', () => worker.received.length === 1);
      expect(worker.received[0]).toMatchObject({
        kind: 'builder',
        payload: { phase: 'discover', portal: 'practice', code: 'print()', runRoot: started.body.runRoot },
        env: {
          SERVICE_BASE_URL: 'http://127.0.0.1:4000',
          SERVICE_WORKFLOW_PACK_ID: 'pack',
          SERVICE_WORKFLOW_PACK_VERSION_ID: 'version',
          SERVICE_WORKFLOW_PACK_INSTALLATION_ID: 'installation',
          SERVICE_RUNTIME_BUNDLE_ID: 'bundle',
          SERVICE_RUNTIME_BUNDLE_MANIFEST_KEY: 'manifest/key',
        },
      });
    });

    it('a builder command uses the stored snippet of its phase; a phase without a snippet is refused', async () => {
      const { id, worker } = await makeOnlineAgent();
      await tenant.api.post('/api/functions', { name: 'builder:aetna:login', code: 'stored' });
      expect((await runBuilder(id, { phase: 'login', portal: 'aetna' })).status).toBe(202);
      await waitFor('the push', () => worker.received.length === 1);
      expect(worker.received[0]!.payload['code']).toBe('stored');
      const without = await runBuilder(id, { phase: 'login' });
      expect([without.status, without.body.errors[0].field]).toEqual([400, 'phase']);
    });

    it('a private or non-HTTP serviceBaseUrl is refused, so that no worker credentials are sent there', async () => {
      const { id } = await makeOnlineAgent();
      for (const serviceBaseUrl of [
        'http://169.254.169.254/',
        'http://10.0.0.1',
        'http://[::ffff:10.0.0.1]/',
        'ftp://a.b',
      ]) {
        const refused = await runBuilder(id, { phase: 'p', code: 'x', serviceBaseUrl });
        expect([refused.status, refused.body.errors[0].field]).toEqual([400, 'serviceBaseUrl']);
      }
    });
  });

  describe('script commands', () => {
    const pushScript = (id: string, body: object, client: HttpClient = tenant.api) =>
      client.post(`/api/agents/${id}/script`, body);

    it('a script command pushes a text or a workflow’s script, which the agent can fetch again', async () => {
      const { id, client, worker } = await makeOnlineAgent();
      const workflow = (await tenant.as.member.post('/api/workflows', { name: 'w', description: '', variables: [] }))
        .body;
      await tenant.as.member.post(`/api/workflows/${workflow.id}/save`, { script: 'print("stored")', steps: [] });
      const pushed = await pushScript(id, { action: 'push', workflowId: workflow.id });
      expect(pushed.status).toBe(202);
      await pushScript(id, { action: 'push', script: 'print("own")', filename: 'own.py' });
      await waitFor('the pushes', () => worker.received.length === 2);
      const own = worker.received.find(({ payload }) => payload['filename'] === 'own.py');
      expect(own).toMatchObject({ kind: 'script', payload: { action: 'push', script: 'print("own")' } });
      const fetched = await pushScript(id, { action: 'fetch', commandId: pushed.body.commandId }, client);
      expect([fetched.status, fetched.body]).toMatchObject([
        200,
        { ...pushed.body, kind: 'script', payload: { workflowId: workflow.id, script: 'print("stored")' } },
      ]);
      expect(fetched.text).not.toContain('SERVICE_');
    });

    it('only the agent itself can fetch the scripts that API clients push to it', async () => {
      const [own, sibling] = [await makeOnlineAgent(), await makeOnlineAgent()];
      const { commandId } = (await pushScript(own.id, { action: 'push', script: 'x' })).body;
      expect((await pushScript(own.id, { action: 'fetch', commandId })).status).toBe(403);
      expect((await pushScript(own.id, { action: 'push', script: 'x' }, own.client)).status).toBe(403);
      expect((await pushScript(own.id, { action: 'fetch', commandId }, sibling.client)).status).toBe(403);
      expect((await pushScript(sibling.id, { action: 'fetch', commandId }, sibling.client)).status).toBe(404);
      expect((await pushScript(own.id, { action: 'fetch' }, own.client)).status).toBe(400);
      expect((await pushScript(own.id, { action: 'push', script: 'x', workflowId: newId() })).status).toBe(400);
      expect((await pushScript(own.id, { action: 'push', workflowId: newId() })).status).toBe(404);
    });
  });
});
