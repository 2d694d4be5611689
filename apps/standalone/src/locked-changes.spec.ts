import { agentActions, openApiDocument } from '@muster/contracts';
import { newId } from '@muster/platform';
import { type Harness, makeAgent, makeJob, startHarness, type Tenant, waitFor } from '@muster/testing';
import { Client } from 'pg';
import { listCallers } from './callers.harness';
import { foreignResources } from './foreign-resources.harness';
import { standalone } from './standalone';
import { type Access, addQuery, buildExampleBody, fillPath, listOperations, type Operation } from './walk-openapi';

interface Resource {
  table: string;
  /** Requests that must lock the row before they read it: they decide about it in more than one statement. */
  locking: string[];
}

const webhookChanges = ['DELETE', 'PATCH', 'POST /test'];
const resources: Record<string, Resource> = {
  '/api/users/{id}': { table: 'app_user', locking: ['DELETE', 'DELETE /totp', 'PATCH'] },
  '/api/roles/{name}': { table: 'own_role', locking: ['DELETE', 'PATCH'] },
  '/api/webhook-endpoints/{id}': {
    table: 'webhook_endpoint',
    locking: [...webhookChanges, 'POST /rotate-secret'],
  },
  '/api/notification-channels/{id}': { table: 'webhook_endpoint', locking: webhookChanges },
  '/api/alerts/{id}': { table: 'alert', locking: ['POST /acknowledge'] },
  '/api/workflows/{id}': {
    table: 'workflow',
    locking: ['DELETE', 'PATCH', 'PATCH /steps/{step}', 'POST /revisions/{revision}/restore', 'POST /save'],
  },
  '/api/jobs/{id}': {
    table: 'job',
    locking: ['DELETE', 'POST /accounts/{pool}/failed', 'POST /cancel', 'POST /questions'],
  },
  '/api/questions/{id}': { table: 'question', locking: ['POST /answer', 'POST /decline'] },
  '/api/schedules/{id}': { table: 'schedule', locking: ['DELETE', 'PUT'] },
  '/api/workflow-packs/{id}': {
    table: 'workflow_pack',
    locking: ['PATCH', 'POST /publish-from-vm/upload', 'POST /versions', 'POST /versions/{versionId}/promote'],
  },
  '/api/workflow-pack-installations/{id}': {
    table: 'pack_installation',
    locking: ['PATCH', 'POST /pin', 'POST /rollback'],
  },
  '/api/agent/{id}': {
    table: 'agent',
    locking: [
      ...['attach_recording', 'deploy_extension', 'reboot', 'start', 'start_job', 'start_recording', 'stop'].map(
        (action) => `POST /action ${action}`,
      ),
      'POST /action stop_recording',
    ],
  },
  '/api/agents/{id}': {
    table: 'agent',
    locking: [
      ...['DELETE', 'PATCH', 'POST /drain', 'POST /imaging-composite', 'POST /imaging-images'],
      ...['POST /run-snippet', 'POST /undrain'],
    ],
  },
};

/**
 * A request that reads a resource and then changes it must lock the row before it reads. Otherwise it decides by a row
 * that a concurrent request may have changed. The statement in which a request waits for a locked row shows whether it
 * locks the row: a SELECT waits only if it locks.
 */
describe('a request for a resource that another transaction has locked', () => {
  let harness: Harness;
  let tenant: Tenant;
  let owner: Client;

  beforeAll(async () => {
    harness = await startHarness({ ...standalone, env: { RATE_LIMIT_PER_MINUTE: '1000000' } });
    tenant = await harness.makeTenant();
    owner = new Client({ connectionString: harness.databaseUrl });
    await owner.connect();
  });
  afterAll(async () => {
    await owner.end();
    await harness.close();
  });

  /** Sends the request while the row is locked. Returns whether it waits in a SELECT. */
  async function waitsToLock(table: string, id: string, send: () => Promise<unknown>): Promise<boolean> {
    const column = table === 'own_role' ? 'name' : 'id';
    let sent!: Promise<unknown>;
    const query = await harness.db.transaction('system', async (tx) => {
      // This lock does not block checks of foreign keys.
      await tx.query(`SELECT FROM ${table} WHERE organization_id = $1 AND ${column} = $2 FOR NO KEY UPDATE`, [
        tenant.organizationId,
        id,
      ]);
      const [holder] = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      let hasEnded = false;
      sent = send().finally(() => (hasEnded = true));
      return waitFor('the request to wait or end', async () => {
        const { rows } = await owner.query<{ query: string }>(
          'SELECT query FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid))',
          [holder!.pid],
        );
        return rows[0]?.query ?? (hasEnded && 'none');
      });
    });
    await sent;
    return query.trim().startsWith('SELECT');
  }

  const operations = listOperations(openApiDocument).filter(
    ({ method, access, form }) => method !== 'GET' && typeof access === 'object' && !form,
  );

  it.each(Object.entries(resources))(
    'each request for %s locks the row that it decides about',
    async (path, resource) => {
      const locking: string[] = [];
      const own = operations.filter((operation) => operation.path === path || operation.path.startsWith(`${path}/`));
      for (const operation of own) {
        for (const [suffix, body] of listBodies(operation)) {
          const id = await foreignResources[path]!(tenant, harness.db);
          const client = listCallers(tenant, operation.access as Access).admitted.at(-1)!;
          const address = addQuery(fillPath(operation.path, id), operation);
          const name = `${operation.method} ${operation.path.slice(path.length)}${suffix}`.trim();
          if (await waitsToLock(resource.table, id, () => client.send(operation.method, address, body)))
            locking.push(name);
        }
      }
      expect(locking.sort()).toEqual([...resource.locking].sort());
    },
  );

  const makeOwnAgent = () => makeAgent(harness.db, { organizationId: tenant.organizationId, name: newId() });
  const makePausedSession = async () => {
    const [sessionId, { id: agentId }] = [newId(), await makeOwnAgent()];
    await harness.db.query(
      'system',
      `INSERT INTO autopilot_session (id, organization_id, agent_id, status, phase, asked_by, max_steps, max_attempts,
         max_active_ms, max_cost_micros, approve)
       VALUES ($1, $2, $3, 'paused', 'look', '{"kind":"user","id":"somebody"}', 10, 3, 60000, 1000000, 'never')`,
      [sessionId, tenant.organizationId, agentId],
    );
    return { sessionId, agentId };
  };

  it.each<[name: string, table: string, prepare: () => Promise<[id: string, send: () => Promise<unknown>]>]>([
    [
      'the cancel of several runs',
      'job',
      async () => {
        const { id } = await makeJob(harness.db, { organizationId: tenant.organizationId });
        return [id, () => tenant.api.post('/api/jobs/cancel', { ids: [id] })];
      },
    ],
    [
      'a handshake',
      'agent',
      async () => {
        const { id: agentId } = await makeOwnAgent();
        const body = { agentId, bootId: 'boot', workerVersion: '1.0.0' };
        return [agentId, () => tenant.worker.post('/api/agents/handshake', body)];
      },
    ],
    ...(['cancel', 'resume'] as const).map(
      (action): [string, string, () => Promise<[string, () => Promise<unknown>]>] => [
        `the action ${action} for an autopilot session`,
        'autopilot_session',
        async () => {
          const { sessionId, agentId } = await makePausedSession();
          const send = () => tenant.as.member.post(`/api/agents/${agentId}/autopilot`, { action, sessionId });
          return [sessionId, send];
        },
      ],
    ),
  ])('%s locks the row that it decides about', async (_, table, prepare) => {
    const [id, send] = await prepare();
    expect(await waitsToLock(table, id, send)).toBe(true);
  });
});

/** Returns the bodies of an operation; one for each action of an agent. */
function listBodies(operation: Operation): [suffix: string, body: object | undefined][] {
  const body = buildExampleBody(openApiDocument, operation) as object | undefined;
  if (operation.path !== '/api/agent/{id}/action') return [['', body]];
  return agentActions.map((action) => [` ${action}`, { ...body, action }]);
}
