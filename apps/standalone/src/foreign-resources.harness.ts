import { newId } from '@muster/platform';
import { type Harness, makeAgent, makeJob, makeWorkflow, type Tenant, waitFor } from '@muster/testing';

/** Functions that create one resource of each kind in an organization and return its id, by path. */
export const foreignResources: Record<string, (tenant: Tenant, db: Harness['db']) => Promise<string>> = {
  '/api/users/{id}': async (tenant) => tenant.userIds.viewer,
  '/api/auth/sessions/{id}': async ({ as }) => (await as.viewer.get('/api/auth/sessions')).body.sessions[0].id,
  '/api/auth/passkeys/{id}': async ({ organizationId, userIds }, db) => {
    const id = newId();
    await db.query(
      'system',
      `INSERT INTO passkey (id, user_id, organization_id, name, credential_id, public_key, counter)
       VALUES ($1, $2, $3, 'Telephone', $4, '', 0)`,
      [id, userIds.viewer, organizationId, id],
    );
    return id;
  },
  '/api/api-keys/{id}': async (tenant) => {
    const created = await tenant.as.admin.post('/api/api-keys', { name: 'theirs', scope: 'api' });
    return created.body.id;
  },
  '/api/vault/{key}': async (tenant) => {
    await tenant.as.admin.put('/api/vault/THEIRS', { value: 'secret' });
    return 'THEIRS';
  },
  '/api/roles/{name}': async ({ as }) => {
    await as.admin.post('/api/roles', { name: 'THEIRS', permissions: ['runs.read'] });
    return 'THEIRS';
  },
  '/api/accounts/{name}': async ({ as }) => {
    await as.admin.put('/api/vault/THEIR_PASSWORD', { value: 'secret' });
    await as.admin.put('/api/accounts/THEIRS', { pool: 'theirs', vaultKeys: { password: 'THEIR_PASSWORD' } });
    return 'THEIRS';
  },
  '/api/webhook-endpoints/{id}': async ({ as }) => {
    const created = await as.admin.post('/api/webhook-endpoints', {
      url: 'https://93.184.215.14/theirs',
      events: ['pack.promoted'],
    });
    return created.body.id;
  },
  '/api/notification-channels/{id}': async ({ as }) => {
    const target = { url: 'https://93.184.215.14/theirs' };
    const body = { name: 'Theirs', kind: 'slack', target, events: ['pack.promoted'] };
    return (await as.admin.post('/api/notification-channels', body)).body.id;
  },
  '/api/alerts/{id}': async ({ organizationId }, db) => {
    const id = newId();
    await db.query(
      'system',
      `INSERT INTO alert (id, organization_id, rule, subject_type, subject_id, subject_name)
       VALUES ($1, $2, 'wake_failed', 'agent', $3, 'Theirs')`,
      [id, organizationId, newId()],
    );
    return id;
  },
  '/api/functions/{id}': async (tenant) => {
    const created = await tenant.api.post('/api/functions', { name: newId(), code: 'pass' });
    return created.body.id;
  },
  '/api/workflows/{id}': async ({ organizationId }, db) => (await makeWorkflow(db, { organizationId })).id,
  '/api/batches/{id}': async ({ organizationId, api }, db) => {
    const [{ id: workflowId }, agent] = await Promise.all([
      makeWorkflow(db, { organizationId }),
      makeAgent(db, { organizationId, name: newId() }),
    ]);
    const created = await api.post('/api/jobs/batch', { workflowId, agentIds: [agent.id], rows: [{}] });
    return created.body.batchId;
  },
  '/api/jobs/{id}': async ({ organizationId }, db) => (await makeJob(db, { organizationId })).id,
  '/api/inbound-codes/{id}': async ({ as }) => (await as.admin.post('/api/inbound-codes', { name: newId() })).body.id,
  '/api/questions/{id}': async ({ organizationId, worker }, db) => {
    const { id } = await makeJob(db, { organizationId, status: 'running', startedAt: new Date(), commandId: newId() });
    const body = { questionKey: 'theirs', question: 'Theirs?', kind: 'confirm', timeoutSeconds: 60 };
    return (await worker.post(`/api/jobs/${id}/questions`, body)).body.questionId;
  },
  '/api/organization/model-prices/recompute/{id}': async ({ as }) => {
    const requested = await as.admin.post('/api/organization/model-prices/recompute', {
      from: '2026-01-01',
      to: '2026-01-31',
    });
    return requested.body.recomputeId;
  },
  '/api/schedules/{id}': async (tenant, db) => {
    const { organizationId } = tenant;
    const [workflow, agent] = [
      await makeWorkflow(db, { organizationId }),
      await makeAgent(db, { organizationId, name: newId() }),
    ];
    const body = { name: 'theirs', scriptId: workflow.id, agentId: agent.id, cronExpression: '0 6 * * *' };
    return (await tenant.api.post('/api/schedules', body)).body.id;
  },
  '/api/pilot/batches/{batchId}': reportBatch,
  '/api/process-library/sessions/{batchId}': reportBatch,
  '/api/recordings/{id}': async ({ organizationId, api }, db) => {
    const { id } = await makeAgent(db, { organizationId, name: newId(), status: 'online' });
    return (await api.post(`/api/agent/${id}/action`, { action: 'start_recording' })).body.recordingId;
  },
  '/api/workflow-packs/{id}': async (tenant) => (await makePack(tenant)).id,
  '/api/workflow-pack-installations/{id}': async (tenant) => {
    const { id: packId } = await makePack(tenant);
    return (await tenant.as.member.post('/api/workflow-pack-installations', { packId, name: newId() })).body.id;
  },
  '/api/artifacts/{id}': async ({ organizationId, api, worker }, db) => {
    const { id } = await makeAgent(db, { organizationId, name: newId() });
    await worker.post(`/api/agents/${id}/uploads`, { filename: 'a.txt', contentType: 'text/plain', size: 1 });
    return (await api.get(`/api/artifacts?agentId=${id}`)).body.artifacts[0].id;
  },
  '/api/feedback-submissions/{id}': async ({ as }) => {
    const form = new FormData();
    form.set('payload', JSON.stringify({ type: 'feature_request', title: 'theirs', description: 'theirs' }));
    const { url, headers } = as.viewer;
    const created = await fetch(`${url}/api/feedback-submissions`, { method: 'POST', headers, body: form });
    return ((await created.json()) as { id: string }).id;
  },
  '/api/autopilot-sessions/{id}': async ({ organizationId }, db) => {
    const [id, agent] = [newId(), await makeAgent(db, { organizationId, name: newId() })];
    await db.query(
      'system',
      `INSERT INTO autopilot_session (id, organization_id, agent_id, status, phase, asked_by, due_at, max_steps,
                                      max_attempts, max_active_ms, max_cost_micros, approve)
       VALUES ($1, $2, $3, 'failed', 'over', '{"kind": "user", "id": "theirs"}', NULL, 50, 5, 3600000, 5000000, 'never')`,
      [id, organizationId, agent.id],
    );
    return id;
  },
  '/api/dead-letters/{id}': async ({ organizationId }, db) => {
    const id = newId();
    await db.query(
      'system',
      `INSERT INTO outbox (id, queue, name, payload, organization_id, next_publish_at)
       VALUES ($1, 'dispatch', 'dispatch-agent', '{}', $2, NULL)`,
      [id, organizationId],
    );
    return id;
  },
  '/api/agent/{id}': async ({ organizationId }, db) => (await makeAgent(db, { organizationId, name: newId() })).id,
  '/api/agents/{id}': async ({ organizationId }, db) => (await makeAgent(db, { organizationId, name: newId() })).id,
};

async function makePack({ as }: Tenant): Promise<{ id: string }> {
  await as.admin.put('/api/process-library/theirs', { name: 'theirs' });
  return (await as.member.post('/api/workflow-packs', { workerKey: 'theirs' })).body;
}

/**
 * Reports a pilot batch. The organization chooses its id, so another organization can have a batch with the same id.
 */
async function reportBatch({ worker, api }: Tenant): Promise<string> {
  const batchId = newId();
  expect((await worker.post('/api/pilot/run-summary', { batchSummary: { batchId } })).status).toBe(201);
  await waitFor(
    'the session of the batch',
    async () => (await api.get(`/api/process-library/sessions/${batchId}`)).status === 200,
  );
  return batchId;
}
