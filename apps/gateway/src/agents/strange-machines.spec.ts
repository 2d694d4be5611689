import type { AgentStatus } from '@muster/contracts';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MachineControl, MachinesModule } from '@muster/machines';
import { newId } from '@muster/platform';
import { type Harness, makeAgent, makeWorkflow, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('a container without the organization’s label', () => {
  let harness: Harness;
  let tenant: Tenant;
  let engine: Server;
  let host: string;
  let labels: Record<string, string>;
  const orders: string[] = [];

  beforeAll(async () => {
    engine = createServer((request, response) => {
      const sendAnswer = (body: object) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      if (request.url === '/version') return sendAnswer({ ApiVersion: '1.44' });
      if (request.method !== 'GET') {
        orders.push(`${request.method} ${request.url}`);
        return response.writeHead(204).end();
      }
      const Networks = { bridge: { IPAddress: '172.17.0.9' } };
      return sendAnswer({
        Name: '/x',
        State: { Status: 'running' },
        Config: { Labels: labels },
        NetworkSettings: { Networks },
      });
    });
    await new Promise<void>((resolve) => engine.listen(0, '127.0.0.1', resolve));
    host = `tcp://127.0.0.1:${(engine.address() as AddressInfo).port}`;
    harness = await startHarness({
      ...gateway,
      modules: [...gateway.modules, MachinesModule],
      env: { OUTBOUND_ALLOW: '127.0.0.0/8' },
    });
    tenant = await harness.makeTenant();
  });
  afterAll(async () => {
    await harness.close();
    engine.closeAllConnections();
    engine.close();
  });
  beforeEach(() => {
    labels = { 'muster.organization': newId() };
    orders.length = 0;
  });

  const makeDockerAgent = async (status: AgentStatus) => {
    const { organizationId } = tenant;
    const machine = { provider: 'docker', providerConfig: { container: 'x', host }, providerRef: 'x' } as const;
    const lastReport = { lastSeen: new Date(), bootId: 'boot', vmState: 'stopped' };
    return (await makeAgent(harness.db, { organizationId, name: newId(), status, ...machine, ...lastReport })).id;
  };
  const performAgentAction = (id: string, body: object) => tenant.as.admin.post(`/api/agent/${id}/action`, body);
  const readAgentStatus = async (id: string) => (await tenant.api.get(`/api/agents/${id}`)).body.status as string;
  const buildExpectedRefusal = () => [
    409,
    {
      code: 'machine_not_ours',
      detail: `The container x is not labelled as this organization’s, so the service does not control it: label it muster.organization=${tenant.organizationId}.`,
    },
  ];

  it.each<[string, AgentStatus]>([
    ['start', 'stopped'],
    ['stop', 'online'],
    ['reboot', 'online'],
    ['terminate', 'stopped'],
    ['start_job', 'stopped'],
  ])(
    'the action %s of a %s agent whose container lacks the organization’s label is refused',
    async (action, status) => {
      const id = await makeDockerAgent(status);
      const { id: workflowId } = await makeWorkflow(harness.db, { organizationId: tenant.organizationId });
      const answer = await performAgentAction(id, { action, ...(action === 'start_job' ? { workflowId } : {}) });
      expect([answer.status, answer.body]).toMatchObject(buildExpectedRefusal());
      expect([await readAgentStatus(id), orders]).toEqual([status, []]);
      expect(await harness.db.query('system', 'SELECT FROM job WHERE agent_id = $1', [id])).toEqual([]);
    },
  );

  it('an agent whose container lacks the organization’s label is deleted only if forced, and its container stays', async () => {
    const id = await makeDockerAgent('stopped');
    const answer = await tenant.as.admin.delete(`/api/agents/${id}`);
    expect([answer.status, answer.body]).toMatchObject(buildExpectedRefusal());
    expect((await tenant.as.admin.delete(`/api/agents/${id}?force=true`)).status).toBe(204);
    await harness.app.nest.get(MachineControl).executeOrder(id);
    expect([await readAgentStatus(id), orders]).toEqual(['terminated', []]);
    const message = (await tenant.api.get(`/api/agents/${id}/logs?kind=provisioning`)).body.entries[0]
      .message as string;
    expect(message).toMatch(/^its keys are revoked; its machine was not terminated: The container x is not labelled/);
  });

  it('the state and the address of a container without the organization’s label are hidden', async () => {
    const id = await makeDockerAgent('online');
    expect((await tenant.api.get(`/api/agents/${id}/status`)).body).toMatchObject({
      vmState: 'stopped',
      vmIp: null,
      stale: true,
    });
    labels = { 'muster.organization': tenant.organizationId };
    expect((await tenant.api.get(`/api/agents/${id}/status`)).body).toMatchObject({
      vmState: 'running',
      vmIp: '172.17.0.9',
    });
  });

  it('orders to a container are accepted as soon as it has the organization’s label', async () => {
    const id = await makeDockerAgent('online');
    labels = { 'muster.organization': tenant.organizationId };
    expect((await performAgentAction(id, { action: 'stop' })).body).toMatchObject({
      success: true,
      status: 'stopping',
    });
    await harness.app.nest.get(MachineControl).executeOrder(id);
    expect(orders).toEqual(['POST /v1.44/containers/x/stop?t=10']);
  });

  it('the missing label of a container is reported only to callers that may act on its agent', async () => {
    const id = await makeDockerAgent('stopped');
    expect((await tenant.as.member.post(`/api/agent/${id}/action`, { action: 'terminate' })).status).toBe(403);
    const otherTenant = await harness.makeTenant();
    expect((await otherTenant.as.admin.post(`/api/agent/${id}/action`, { action: 'start' })).body.code).toBe(
      'agent_not_found',
    );
  });
});
