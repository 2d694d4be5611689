import { openApiDocument } from '@muster/contracts';
import { newId } from '@muster/platform';
import {
  type Harness,
  type HttpClient,
  makeAgent,
  makeApiKey,
  makeJob,
  startHarness,
  type Tenant,
} from '@muster/testing';
import { standalone } from './standalone';
import { buildExampleBody, listFields, listOperations, type Operation } from './walk-openapi';

/** Attacks from a foreign web page and with the key of one agent. Each test calls every route. */
describe('an untrusted client', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness(standalone);
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  const all = listOperations(openApiDocument);
  const fillPathWithNewIds = (path: string) => path.replace(/\{\w+\}/g, () => newId());
  const buildExample = (operation: Operation) => (buildExampleBody(openApiDocument, operation) ?? {}) as object;

  it.each<[string, Record<string, string>]>([
    ['another origin', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['a page without an origin', { 'sec-fetch-site': 'cross-site' }],
    ['another subdomain', { origin: 'https://evil.muster.example', 'sec-fetch-site': 'same-site' }],
    ['a form in a sandboxed frame', { origin: 'null', 'content-type': 'text/plain' }],
  ])('a request from %s cannot change anything with the cookie of a super admin', async (_, headers) => {
    const changes = all.filter(({ method, access }) => method !== 'GET' && access !== 'cron');
    expect(changes.length).toBeGreaterThan(80);
    const faults: string[] = [];
    for (const operation of changes) {
      const browser = tenant.as.super_admin.with(headers);
      const answer = await browser.send(
        operation.method,
        fillPathWithNewIds(operation.path),
        JSON.stringify(buildExample(operation)),
      );
      // Signed routes and SCIM do not accept cookies. Routes without authentication check the content type first.
      const right = ['/api/webhooks/', '/api/inbound/', '/api/scim/'].some((start) => operation.path.startsWith(start))
        ? [401, 415]
        : operation.access === 'anyone'
          ? [403, 415]
          : [403];
      const opened = ['set-cookie', 'access-control-allow-origin'].filter((name) => answer.headers.has(name));
      if (!right.includes(answer.status) || opened.length) {
        faults.push(`${operation.method} ${operation.path}: ${answer.status} ${opened.join()}`);
      }
    }
    expect(faults).toEqual([]);
    expect((await tenant.as.super_admin.get('/api/auth/me')).status).toBe(200);
  });

  it('a CORS preflight of another site gets no permission on any route', async () => {
    const faults: string[] = [];
    for (const { method, path } of all) {
      const preflight = { origin: 'https://evil.example', 'access-control-request-method': method };
      const answer = await tenant.as.super_admin.with(preflight).send('OPTIONS', fillPathWithNewIds(path));
      if (answer.status < 400 || answer.headers.has('access-control-allow-origin')) faults.push(`${method} ${path}`);
    }
    expect(faults).toEqual([]);
  });

  describe('the key of one agent', () => {
    let stolen: HttpClient;
    let machine: string;
    let another: { agentId: string; jobId: string; commandId: string; batchId: string };

    beforeAll(async () => {
      const { organizationId } = tenant;
      machine = (await makeAgent(harness.db, { organizationId, name: 'stolen from', status: 'online' })).id;
      const { secret } = await makeApiKey(harness.db, { organizationId, scope: 'worker', agentId: machine });
      stolen = harness.http.withKey(secret);
      const agent = await makeAgent(harness.db, { organizationId, name: 'another', status: 'online' });
      const job = await makeJob(harness.db, { organizationId, agentId: agent.id, status: 'running' });
      const snippet = await tenant.api.post(`/api/agents/${agent.id}/run-snippet`, { code: 'print(1)' });
      another = { agentId: agent.id, jobId: job.id, commandId: snippet.body.commandId, batchId: newId() };
      const summary = { batchSummary: { batchId: another.batchId, jobId: job.id } };
      expect((await tenant.worker.post('/api/pilot/run-summary', summary)).status).toBe(201);
    });

    const listKeyScopes = ({ access }: Operation) => (typeof access === 'object' ? access.keys : []);
    const callWithStolenKey = async (operation: Operation, path: string, body: object) => {
      const answer = await stolen.send(operation.method, path, operation.method === 'GET' ? undefined : body);
      return { outcome: `${operation.method} ${operation.path}: ${answer.status}`, answer };
    };

    it('the key of an agent is refused by every route that is not for workers', async () => {
      const faults: string[] = [];
      for (const operation of all.filter(
        (each) => typeof each.access === 'object' && !listKeyScopes(each).includes('worker'),
      )) {
        const { outcome, answer } = await callWithStolenKey(operation, fillPathWithNewIds(operation.path), {});
        if (answer.status !== 403 || answer.body.code !== 'permission_denied') faults.push(outcome);
      }
      expect(faults).toEqual([]);
    });

    // Routes of packs are left out: a pack belongs to the organization, and each worker of it may publish one.
    const ofMachines = all.filter(
      (each) => listKeyScopes(each).includes('worker') && !each.path.startsWith('/api/workflow-packs'),
    );
    const fillPathWithOtherIds = (path: string, agentId: string) =>
      path
        .replace('/api/agents/{id}', `/api/agents/${agentId}`)
        .replace('{commandId}', another.commandId)
        .replace('{questionId}', newId())
        .replace('{id}', another.jobId);

    it.each(ofMachines.map((each) => [`${each.method} ${each.path}`, each] as const))(
      'the key of an agent cannot report for another agent or its runs at %s',
      async (_, operation) => {
        const before = await readOtherTenantState();
        const own = operation.path.startsWith('/api/agents/{id}/') ? [machine, another.agentId] : [machine];
        for (const agentId of own) {
          const fields = listFields(openApiDocument, operation).map(({ name }) => name);
          const example = { ...buildExample(operation), ...(fields.includes('jobId') ? { jobId: another.jobId } : {}) };
          const named: Record<string, unknown> = { ...another, runningJobIds: [another.jobId] };
          const body = JSON.parse(
            JSON.stringify(example, (name, value: unknown) =>
              name !== '' && Object.hasOwn(named, name) ? named[name] : value,
            ),
          ) as object;
          const { answer } = await callWithStolenKey(operation, fillPathWithOtherIds(operation.path, agentId), body);
          // An accepted request concerns the agent itself and returns nothing about the other agent.
          if (answer.status < 300) expect(answer.text).not.toMatch(new RegExp(Object.values(another).join('|')));
          // A report about a batch of another agent is answered with 409.
          else expect([401, 403, 404, 409]).toContain(answer.status);
        }
        expect(await readOtherTenantState()).toEqual(before);
      },
    );

    const readOtherTenantState = () =>
      harness.db.query(
        'system',
        `SELECT a.status, a.last_seen, a.last_activity_at, to_jsonb(j) AS job,
                -- Without the columns that the service's own push attempts change.
                (SELECT to_jsonb(c) - '{pushes,next_push_at,push_error}'::text[] FROM agent_command c WHERE c.id = $2) AS command,
                (SELECT jsonb_agg(b) FROM pilot_batch b WHERE b.batch_id = $3) AS batch,
                (SELECT count(*) FROM timeline_entry t WHERE t.agent_id = a.id) AS entries
         FROM agent a JOIN job j ON j.agent_id = a.id WHERE a.id = $1`,
        [another.agentId, another.commandId, another.batchId],
      );
  });
});
