import { openApiDocument } from '@muster/contracts';
import { newId } from '@muster/platform';
import {
  type Answer,
  type Harness,
  type HttpClient,
  makeAgent,
  makeJob,
  makeWorkflow,
  startHarness,
  type Tenant,
  testPassword,
} from '@muster/testing';
import { gateway } from '../gateway.harness';
import { makeOktaUser, startProvider, usersPath } from '../scim/scim.harness';

describe('a suspended organization', () => {
  let harness: Harness;
  let tenant: Tenant;
  let root: Tenant;
  let agentId: string;
  let workflowId: string;
  let jobId: string;
  let endedId: string;
  let provider: HttpClient;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
    root = await harness.makeTenant();
    const { organizationId } = tenant;
    agentId = (await makeAgent(harness.db, { organizationId, status: 'stopped', provider: 'http' })).id;
    workflowId = (await makeWorkflow(harness.db, { organizationId })).id;
    jobId = (await makeJob(harness.db, { organizationId, agentId, workflowId })).id;
    endedId = (await makeJob(harness.db, { organizationId, agentId, workflowId, status: 'completed' })).id;
    provider = await startProvider(harness.http, tenant);
    const path = `/api/admin/organizations/${organizationId}`;
    expect((await root.as.super_admin.patch(path, { suspended: true })).status).toBe(200);
  });
  afterAll(() => harness.close());

  const readState = async () => {
    const [row] = await harness.db.query<Record<string, unknown>>(
      'system',
      `SELECT (SELECT count(*) FROM job WHERE organization_id = $1)::int AS jobs,
              (SELECT count(*) FROM agent WHERE organization_id = $1)::int AS agents,
              (SELECT count(*) FROM agent_command WHERE organization_id = $1)::int AS commands,
              (SELECT count(*) FROM agent_wake WHERE organization_id = $1)::int AS wakes,
              (SELECT count(*) FROM api_key WHERE organization_id = $1)::int AS keys,
              (SELECT count(*) FROM app_user WHERE organization_id = $1)::int AS users,
              (SELECT string_agg(status, ',') FROM agent WHERE organization_id = $1) AS statuses`,
      [tenant.organizationId],
    );
    return row;
  };
  const performAgentAction = (body: object): Promise<Answer> =>
    tenant.as.admin.post(`/api/agent/${agentId}/action`, body);
  const postToAgent = (path: string, body: object): Promise<Answer> =>
    tenant.api.post(`/api/agents/${agentId}/${path}`, body);

  const refusedRequests: Record<string, () => Promise<Answer>> = {
    'POST /api/jobs/launch': () => tenant.api.post('/api/jobs/launch', { workflowId, agentId }),
    'POST /api/jobs/batch': () => tenant.api.post('/api/jobs/batch', { workflowId, agentIds: [agentId], rows: [{}] }),
    'POST /api/jobs/{id}/replay': () => tenant.api.post(`/api/jobs/${endedId}/replay`, {}),
    'POST /api/schedules/execute': () => tenant.api.post('/api/schedules/execute', {}),
    'POST /api/agents/{id}/run': () => postToAgent('run', { workflowId }),
    'POST /api/agents/{id}/run-snippet': () => postToAgent('run-snippet', { code: 'print(1)' }),
    'POST /api/agents/{id}/run-function': () => postToAgent('run-function', { name: 'anything' }),
    'POST /api/agents/{id}/builder/run': () => postToAgent('builder/run', { phase: 'scope', code: 'print(1)' }),
    'POST /api/agents/{id}/imaging-composite': () =>
      postToAgent('imaging-composite', { patientLookup: '1', teeth: [1] }),
    'POST /api/agents/{id}/script': () => postToAgent('script', { action: 'push', script: 'print(1)' }),
    'POST /api/agents/{id}/imaging-images': () =>
      postToAgent('imaging-images', {
        imagingPath: 'images',
        patimageid: 1,
        images: [{ ordinal: 1, filename: 'a.dex' }],
      }),
    'POST /api/agents/{id}/autopilot': () => postToAgent('autopilot', { action: 'start', intent: 'File a claim.' }),
    'generate-task of the autopilot': () =>
      postToAgent('autopilot', { action: 'generate-task', intent: 'File a claim.' }),
    'POST /api/agents/{id}/manage': () => postToAgent('manage', { tool: 'run_workflow', arguments: { workflowId } }),
    'POST /api/agents/{id}/chat': () => postToAgent('chat', { message: 'Hello' }),
    'POST /api/agents/{id}/chat/stream': () => postToAgent('chat/stream', { message: 'Hello' }),
    'POST /api/agents/{id}/video-analyze': () => postToAgent('video-analyze', { recordingId: newId() }),
    'run_snippet by manage': () => postToAgent('manage', { tool: 'run_snippet', arguments: { code: 'print(1)' } }),
    'start by manage': () => postToAgent('manage', { tool: 'start' }),
    'POST /api/agents': () => tenant.as.admin.post('/api/agents', { name: 'One more', provider: 'external' }),
    'POST /api/api-keys': () => tenant.as.admin.post('/api/api-keys', { name: 'one more', scope: 'api' }),
    'POST /api/auth/device/answer': () =>
      tenant.as.admin.post('/api/auth/device/answer', { userCode: 'BCDF-GHJK', allow: true }),
    'POST /api/auth/device/approve': () => tenant.as.admin.post('/api/auth/device/approve', { userCode: 'BCDF-GHJK' }),
    'POST /api/invitations': () =>
      tenant.as.admin.post('/api/invitations', { email: 'guest@example.com', role: 'viewer' }),
    'POST /api/users': () =>
      tenant.as.admin.post('/api/users', { email: `u-${newId()}@example.com`, password: testPassword, role: 'viewer' }),
    'POST /api/scim/v2/Users': () => provider.post(usersPath, makeOktaUser(`u-${newId()}@example.com`)),
    'POST /api/agent/{id}/action': () => performAgentAction({ action: 'start' }),
    'start_job of a workflow': () => performAgentAction({ action: 'start_job', workflowId }),
    'start_job of a queued job': () => performAgentAction({ action: 'start_job', jobId }),
    start_recording: () => performAgentAction({ action: 'start_recording' }),
    attach_recording: () => performAgentAction({ action: 'attach_recording', recordingId: newId() }),
    'a reboot of a machine that is off': () => performAgentAction({ action: 'reboot' }),
  };

  it.each(Object.keys(refusedRequests))(
    'this request of a suspended organization is refused and changes nothing: %s',
    async (name) => {
      const before = await readState();
      const answer = await refusedRequests[name]!();
      expect([answer.status, answer.body.code]).toEqual([402, 'billing_gate_closed']);
      expect(await readState()).toEqual(before);
    },
  );

  it('the API document lists 402 for exactly the routes that refuse a suspended organization', () => {
    const { paths } = openApiDocument as {
      paths: Record<string, Record<string, { responses?: Record<string, unknown> }>>;
    };
    const documented = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { responses }]) =>
        responses && '402' in responses ? [`${method.toUpperCase()} ${path}`] : [],
      ),
    );
    expect(documented.sort()).toEqual(
      Object.keys(refusedRequests)
        .filter((name) => name.startsWith('POST '))
        .sort(),
    );
  });

  it('a suspended organization can still read its data, stop machines and cancel jobs', async () => {
    for (const path of [
      '/api/agents',
      `/api/agents/${agentId}/logs`,
      '/api/jobs',
      `/api/jobs/${jobId}`,
      '/api/usage',
    ]) {
      expect((await tenant.api.get(path)).status).toBe(200);
    }
    expect((await tenant.api.post(`/api/jobs/${jobId}/cancel`, {})).status).toBe(202);
    expect((await performAgentAction({ action: 'stop' })).status).not.toBe(402);
    expect((await performAgentAction({ action: 'stop_recording', recordingId: newId() })).status).toBe(404);
    expect((await tenant.as.admin.patch(`/api/agents/${agentId}`, { name: 'Renamed' })).status).toBe(200);
    expect((await tenant.as.admin.delete(`/api/agents/${agentId}`)).status).toBe(204);
  });

  it('an organization can create resources again after it is resumed', async () => {
    const path = `/api/admin/organizations/${tenant.organizationId}`;
    expect((await root.as.super_admin.patch(path, { suspended: false })).status).toBe(200);
    expect((await tenant.as.admin.post('/api/api-keys', { name: 'one more', scope: 'api' })).status).toBe(201);
  });
});
