import { openApiDocument } from '@muster/contracts';
import { newId } from '@muster/platform';
import { type Harness, makeAgent, makeJob, startHarness, type Tenant } from '@muster/testing';
import { listCallers } from './callers.harness';
import { standalone } from './standalone';
import { type Access, addQuery, buildExampleBody, listOperations, type Operation } from './walk-openapi';

interface Ended {
  table: string;
  statuses: string[];
  /** Inserts a resource with the status and returns the ids for paths and bodies, and the id of the row. */
  create: (status: string, operation: Operation) => Promise<Record<string, string> & { row: string }>;
  isAbout: (operation: Operation) => boolean;
  /** Outcomes of the requests that are not refused because the resource has ended. */
  others: Record<string, string>;
}

/** A route that changes an ended resource could start its work again, or overwrite its result. */
describe('a resource that has ended', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness({ ...standalone, env: { RATE_LIMIT_PER_MINUTE: '1000000' } });
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  const sql = (text: string, ...values: unknown[]) => harness.db.query<any>('system', text, values);
  const makeCommand = async (agentId: string, kind: string, status: string) => {
    const id = newId();
    await sql(
      `INSERT INTO agent_command (id, organization_id, agent_id, kind, payload, deadline, status, finished_at)
       VALUES ($1, $2, $3, $4, '{"patimageid": "7", "version": "1.0"}', muster_now() + interval '1 hour', $5, muster_now())`,
      ...[id, tenant.organizationId, agentId, kind, status],
    );
    return id;
  };
  const makeAgentOfCommands = async (status: 'online' | 'terminated') =>
    (await makeAgent(harness.db, { organizationId: tenant.organizationId, name: newId(), status })).id;
  const makeRun = (status: string) =>
    makeJob(harness.db, {
      organizationId: tenant.organizationId,
      status: status as 'completed',
      commandId: newId(),
      startedAt: new Date(),
      finishedAt: new Date(),
    });

  const resources: Ended[] = [
    {
      table: 'job',
      statuses: ['completed', 'failed', 'cancelled'],
      create: async (status) => {
        const { id, agentId } = await makeRun(status);
        return { row: id, jobId: id, agentId, id };
      },
      isAbout: ({ path }) => /^\/api\/(jobs\/\{id\}|job-|step-status)/.test(path),
      others: {
        'DELETE /api/jobs/{id}': 'changes it',
        // Late log lines are stored.
        'POST /api/job-logs': 'succeeds',
        'POST /api/jobs/{id}/accounts/{pool}/failed': '404 not_found',
        // The example has no valid signature.
        'POST /api/jobs/{id}/claim-results': '401 unauthenticated',
        'POST /api/jobs/{id}/replay': 'succeeds',
      },
    },
    {
      table: 'agent_command',
      statuses: ['success', 'failed'],
      create: async (status, { path }) => {
        const agentId = await makeAgentOfCommands('online');
        const kind = path.endsWith('/downloads')
          ? 'deploy_extension'
          : /uploads|progress/.test(path)
            ? 'imaging_composite'
            : 'snippet';
        const commandId = await makeCommand(agentId, kind, status);
        return { row: commandId, commandId, agentId, id: agentId };
      },
      isAbout: ({ path }) => path.includes('{commandId}') || path.endsWith('/downloads'),
      others: {},
    },
    {
      table: 'question',
      statuses: ['answered', 'expired', 'cancelled'],
      create: async (status) => {
        const { id: jobId, agentId } = await makeRun('running');
        const id = newId();
        await sql(
          `INSERT INTO question (id, organization_id, job_id, agent_id, question_key, question, kind, status, expires_at)
           VALUES ($1, $2, $3, $4, 'key', 'Continue?', 'text', $5, muster_now() + interval '1 hour')`,
          ...[id, tenant.organizationId, jobId, agentId, status],
        );
        return { row: id, id };
      },
      isAbout: ({ path }) => path.startsWith('/api/questions/{id}'),
      others: {},
    },
    {
      table: 'agent',
      statuses: ['terminated'],
      create: async () => {
        const agentId = await makeAgentOfCommands('terminated');
        return { row: agentId, agentId, id: agentId };
      },
      isAbout: ({ path }) => /^\/api\/agents?\/\{id\}/.test(path) && !path.includes('{commandId}'),
      others: {
        // The record of the agent can still be changed.
        'PATCH /api/agent/{id}/idle-exempt': 'changes it',
        'PATCH /api/agents/{id}': 'changes it',
        'POST /api/agent/{id}/activity': 'changes it',
        'POST /api/agents/{id}/undrain': 'changes it',
        'POST /api/agents/{id}/autopilot': '400 invalid_payload',
        'POST /api/agents/{id}/builder/run': '400 invalid_payload',
        'POST /api/agents/{id}/chat': '503 model_not_configured',
        'POST /api/agents/{id}/chat/stream': '503 model_not_configured',
        'POST /api/agents/{id}/downloads': '404 not_found',
        'POST /api/agents/{id}/manage': '400 invalid_payload',
        'POST /api/agents/{id}/run': '404 not_found',
        'POST /api/agents/{id}/run-function': '404 not_found',
        'POST /api/agents/{id}/script': '404 not_found',
        'POST /api/agents/{id}/step-status': '404 not_found',
        'POST /api/agents/{id}/uploads': '404 agent_not_found',
        'POST /api/agents/{id}/video-analyze': '404 recording_not_found',
      },
    },
  ];

  const cases = resources.flatMap((resource) =>
    resource.statuses.map((status) => [resource.table, status, resource] as const),
  );

  it.each(cases)('no route changes a row of %s with the status %s', async (table, status, resource) => {
    const others: Record<string, string> = {};
    const operations = listOperations(openApiDocument).filter(
      (operation) =>
        operation.method !== 'GET' &&
        typeof operation.access === 'object' &&
        !operation.form &&
        resource.isAbout(operation),
    );
    expect(operations.length).toBeGreaterThan(1);
    for (const operation of operations) {
      const { row, ...ids } = await resource.create(status, operation);
      const path = addQuery(
        operation.path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? newId()),
        operation,
      );
      const example = buildExampleBody(openApiDocument, operation);
      const body = replaceIds(example, ids);
      const read = async () => (await sql(`SELECT t::text AS text FROM ${table} t WHERE id = $1`, row))[0]?.text;
      const before = await read();
      const client = listCallers(tenant, operation.access as Access).admitted.at(-1)!;
      const answer = await client.send(operation.method, path, body as object | undefined);
      const isRefused = answer.status === 409 || answer.body?.accepted === false;
      const isChanged = (await read()) !== before;
      if (isRefused && !isChanged) continue;
      const outcome =
        answer.status < 300 ? (isChanged ? 'changes it' : 'succeeds') : `${answer.status} ${answer.body.code}`;
      others[`${operation.method} ${operation.path}`] = outcome;
    }
    expect(others).toEqual(resource.others);
  });
});

/** Returns the example with the ids of the resource in the fields of the same names. */
function replaceIds(example: unknown, ids: Record<string, string>): unknown {
  if (Array.isArray(example)) return example.map((each) => replaceIds(each, ids));
  if (typeof example !== 'object' || example === null) return example;
  return Object.fromEntries(
    Object.entries(example).map(([name, value]) => [
      name,
      name !== 'id' && ids[name] ? ids[name] : replaceIds(value, ids),
    ]),
  );
}
