import { type AssistantTool, roles, type Role } from '@muster/contracts';
import { newId } from '@muster/platform';
import {
  appendEntries,
  type Harness,
  type HttpClient,
  makeLogLine,
  makeAgent,
  makeApiKey,
  makeJob,
  makeWorkflow,
  startHarness,
  type Tenant,
} from '@muster/testing';
import { gateway } from '../gateway.harness';
import { createToolHelpers } from './manage.harness';

const allTools = [
  ...['get_status', 'list_runs', 'get_run', 'read_logs', 'list_workflows', 'list_schedules'],
  ...['explain_waiting', 'explain_machine', 'run_workflow', 'run_snippet', 'cancel_run'],
  ...['start', 'stop', 'reboot', 'list_files', 'read_file'],
];
const changing = ['run_workflow', 'run_snippet', 'cancel_run', 'start', 'stop', 'reboot'];

describe('manage', () => {
  let harness: Harness;
  let tenant: Tenant;
  let otherTenant: Tenant;
  let workflowId: string;

  beforeAll(async () => {
    harness = await startHarness({ ...gateway, env: { RATE_LIMIT_PER_MINUTE: '100000' } });
    tenant = await harness.makeTenant();
    otherTenant = await harness.makeTenant();
    workflowId = (await makeWorkflow(harness.db, { organizationId: tenant.organizationId })).id;
  });
  afterAll(() => harness.close());

  const { anAgent, call, rowsOf, answerNext, auditOf } = createToolHelpers(
    () => harness,
    () => tenant,
  );

  it('the list of tools shows their schema, their role, and whether they change something', async () => {
    const { status, body } = await call(tenant.as.viewer, await anAgent(), 'list');
    expect(status).toBe(200);
    const listed = body.tools as AssistantTool[];
    expect(listed.map(({ name }) => name).sort()).toEqual([...allTools].sort());
    expect(Object.keys(body)).toEqual(['tools']);
    for (const { name, role, changes, description, parameters } of listed) {
      expect([name, role, changes]).toEqual([
        name,
        changing.includes(name) ? 'member' : 'viewer',
        changing.includes(name),
      ]);
      expect(description.length).toBeGreaterThan(10);
      expect(parameters).toMatchObject({ type: 'object', additionalProperties: false });
    }
  });

  /** For each tool, a call that finds or changes something, and its expected result. */
  const uses: Record<
    string,
    { agent?: object; args?: (agentId: string) => Promise<object>; answer: object; worker?: object }
  > = {
    get_status: { answer: { status: 'online', currentJobId: null } },
    explain_machine: { answer: { status: 'online', why: expect.stringContaining('Online since') } },
    list_runs: { answer: { runs: [] } },
    get_run: { args: runOf, answer: { status: 'queued', steps: [] } },
    read_logs: { args: runOf, answer: { entries: [] } },
    explain_waiting: { args: runOf, answer: { status: 'queued', why: expect.stringMatching(/queued/) } },
    list_workflows: { answer: { workflows: [expect.objectContaining({ name: 'Download EOBs' })] } },
    list_schedules: { answer: { schedules: [] } },
    run_workflow: {
      args: () => Promise.resolve({ workflowId }),
      answer: { jobId: expect.any(String), status: 'queued' },
    },
    run_snippet: {
      args: () => Promise.resolve({ code: 'print(42)' }),
      answer: { commandId: expect.any(String), status: 'success', output: '42\n' },
      worker: { status: 'success', output: '42\n' },
    },
    cancel_run: { args: runOf, answer: { status: 'cancelled' } },
    start: { agent: { status: 'stopped' }, answer: { success: true, action: 'start', status: 'starting' } },
    stop: { answer: { success: true, action: 'stop', status: 'stopping' } },
    reboot: { answer: { success: true, action: 'reboot', status: 'rebooting' } },
    list_files: {
      answer: { path: '', files: [{ name: 'a', kind: 'folder' }] },
      worker: { status: 'success', output: { path: '', files: [{ name: 'a', kind: 'folder' }] } },
    },
    read_file: {
      args: () => Promise.resolve({ path: 'a/b.txt' }),
      answer: { path: 'a/b.txt', size: 5, content: 'hello' },
      worker: { status: 'success', output: { path: 'a/b.txt', size: 5, content: 'hello' } },
    },
  };
  async function runOf(agentId: string): Promise<object> {
    return { jobId: (await makeJob(harness.db, { organizationId: tenant.organizationId, agentId, workflowId })).id };
  }
  const callers: Record<string, { client: () => HttpClient; role: Role }> = {
    ...Object.fromEntries(roles.map((role) => [role, { client: () => tenant.as[role], role }])),
    'api key': { client: () => tenant.api, role: 'member' },
  };

  it('each assistant tool has a test case here', () => expect(Object.keys(uses).sort()).toEqual([...allTools].sort()));

  it.each(Object.keys(callers).flatMap((caller) => allTools.map((tool) => [caller, tool] as const)))(
    'the caller “%s” can use the tool %s as its role allows, and calls that change something are recorded',
    async (caller, tool) => {
      const { client, role } = callers[caller]!;
      const { agent, args: argsOf, answer, worker } = uses[tool]!;
      const agentId = await anAgent(agent);
      const args = (await argsOf?.(agentId)) ?? {};
      const before = await rowsOf(agentId);
      if (role === 'viewer' && changing.includes(tool)) {
        const refused = await call(client(), agentId, tool, args);
        expect([refused.status, refused.body.code]).toEqual([403, 'permission_denied']);
        expect(await rowsOf(agentId)).toEqual(before);
        return;
      }
      const [done] = await Promise.all([
        call(client(), agentId, tool, args),
        worker ? answerNext(agentId, worker) : null,
      ]);
      expect([done.status, done.body]).toEqual([
        200,
        { tool, status: 'done', result: expect.objectContaining(answer) },
      ]);
      const audited = await auditOf(agentId, 'assistant.tool');
      expect(audited).toEqual(changing.includes(tool) ? [{ tool, via: 'manage' }] : []);
      const { body } = await tenant.api.get(`/api/agents/${agentId}/logs?q=by+manage`);
      expect(body.entries.map(({ source }: { source: string }) => source)).toEqual(
        changing.includes(tool) ? ['assistant'] : [],
      );
    },
  );

  it('tools are refused to workers and to keys that are bound to another agent', async () => {
    const agentId = await anAgent();
    expect((await call(tenant.worker, agentId, 'list')).status).toBe(403);
    const { organizationId } = tenant;
    const { secret } = await makeApiKey(harness.db, { organizationId, agentId: await anAgent() });
    expect((await call(harness.http.withKey(secret), agentId, 'get_status')).status).toBe(403);
  });

  it('a call of an unknown tool or with invalid arguments is refused with the reason and changes nothing', async () => {
    const agentId = await anAgent();
    const before = await rowsOf(agentId);
    const path = `/api/agents/${agentId}/manage`;
    const bad: [object, string][] = [
      [{}, 'tool is required'],
      [{ tool: 'format_disk' }, 'There is no tool format_disk'],
      [{ tool: 'get_status', arguments: { agentId: newId() } }, 'there is no argument agentId'],
      [{ tool: 'get_status', arguments: { organizationId: otherTenant.organizationId } }, 'there is no argument'],
      [{ tool: 'get_run' }, 'jobId is required'],
      [{ tool: 'get_run', arguments: { jobId: 'x' } }, 'jobId must be a UUID'],
      [{ tool: 'get_run', arguments: { jobId: 7 } }, 'jobId must be a text'],
      [{ tool: 'stop', arguments: { force: true } }, 'there is no argument force'],
      [{ tool: 'run_snippet', arguments: { code: '' } }, 'code must have 1 to 500000 characters'],
      [{ tool: 'run_snippet', arguments: { code: 'print(1)', timeoutMs: 1 } }, 'there is no argument timeoutMs'],
      [{ tool: 'run_workflow', arguments: { workflowId, variables: { A: 1 } } }, 'variables must map names to texts'],
      [{ tool: 'run_workflow', arguments: { workflowId, variables: { A: '1' } } }, 'no variable A'],
      [{ tool: 'read_file', arguments: { path: '../worker.lock' } }, 'stay in it'],
      [{ tool: 'read_file', arguments: { path: 'a/../../b' } }, 'stay in it'],
      [{ tool: 'list_files', arguments: { path: '/etc' } }, 'stay in it'],
      [{ approve: true }, 'tool is required'],
      [{ confirmationId: newId() }, 'approve is required'],
      [{ confirmationId: newId(), approve: true, tool: 'stop' }, 'tool must be absent'],
      [{ confirmationId: newId(), approve: true, arguments: {} }, 'arguments must be absent'],
    ];
    for (const [body, detail] of bad) {
      const answer = await tenant.as.admin.post(path, body);
      expect([body, answer.status, answer.body.code, answer.body.detail]).toEqual([
        body,
        400,
        'invalid_payload',
        expect.stringContaining(detail),
      ]);
    }
    expect(await rowsOf(agentId)).toEqual(before);
  });

  it('a tool finds nothing of another agent or another organization', async () => {
    const [agentId, other] = [await anAgent(), await anAgent()];
    const { organizationId } = tenant;
    const foreign = await makeJob(harness.db, { organizationId: otherTenant.organizationId });
    const ofOther = await makeJob(harness.db, { organizationId, agentId: other, workflowId });
    await appendEntries(harness.db, { organizationId, agentId: other }, makeLogLine('the other one’s', ofOther.id));
    for (const jobId of [ofOther.id, foreign.id, newId()]) {
      for (const tool of ['get_run', 'read_logs', 'explain_waiting', 'cancel_run']) {
        const answer = await call(tenant.as.admin, agentId, tool, { jobId });
        expect([tool, answer.status, answer.body.code]).toEqual([tool, 404, 'not_found']);
      }
    }
    const workflow = await makeWorkflow(harness.db, { organizationId: otherTenant.organizationId });
    expect((await call(tenant.as.admin, agentId, 'run_workflow', { workflowId: workflow.id })).status).toBe(404);
    expect((await call(otherTenant.as.admin, agentId, 'get_status')).status).toBe(404);
    expect((await call(otherTenant.as.admin, agentId, 'no_such_tool')).status).toBe(404);
    expect((await call(tenant.as.admin, other, 'get_run', { jobId: ofOther.id })).status).toBe(200);
    expect((await rowsOf(other))!['statuses']).toBe('queued');
  });

  it('a tool call is refused for the same reasons as a request to the tool’s API route', async () => {
    const external = await anAgent({ provider: 'external' });
    expect((await call(tenant.as.member, external, 'stop')).body.code).toBe('agent_not_ready');
    const busy = await anAgent();
    await makeJob(harness.db, {
      ...{ organizationId: tenant.organizationId, agentId: busy, workflowId },
      ...{ status: 'running', startedAt: new Date() },
    });
    const stop = await call(tenant.as.member, busy, 'stop');
    expect([stop.status, stop.body.code]).toEqual([409, 'agent_not_ready']);
    const ended = await makeJob(harness.db, {
      ...{ organizationId: tenant.organizationId, agentId: busy, workflowId, status: 'completed' },
    });
    const cancel = await call(tenant.as.member, busy, 'cancel_run', { jobId: ended.id });
    expect([cancel.status, cancel.body.code]).toEqual([409, 'conflict']);
    const { organizationId } = tenant;
    const empty = await makeWorkflow(harness.db, { organizationId, script: '' });
    const nothing = await call(tenant.as.member, busy, 'run_workflow', { workflowId: empty.id });
    expect([nothing.status, nothing.body.code]).toEqual([409, 'nothing_to_run']);
  });

  it('tools let a suspended organization read, stop and cancel, but start nothing', async () => {
    const suspendedTenant = await harness.makeTenant();
    const { organizationId } = suspendedTenant;
    const agent = await makeAgent(harness.db, { organizationId, provider: 'http', status: 'stopped' });
    const job = await makeJob(harness.db, { organizationId, agentId: agent.id });
    const path = `/api/admin/organizations/${organizationId}`;
    expect((await tenant.as.super_admin.patch(path, { suspended: true })).status).toBe(200);
    const readToolStatus = async (tool: string, args: object = {}) =>
      (await call(suspendedTenant.as.admin, agent.id, tool, args)).status;
    for (const tool of ['get_status', 'list_runs', 'list_workflows', 'list_schedules', 'explain_machine', 'list']) {
      expect([tool, await readToolStatus(tool)]).toEqual([tool, 200]);
    }
    for (const tool of ['get_run', 'read_logs', 'explain_waiting']) {
      expect([tool, await readToolStatus(tool, { jobId: job.id })]).toEqual([tool, 200]);
    }
    expect(await readToolStatus('run_workflow', { workflowId: job.workflowId })).toBe(402);
    expect(await readToolStatus('run_snippet', { code: 'print(1)' })).toBe(402);
    expect(await readToolStatus('start')).toBe(402);
    expect(await readToolStatus('reboot')).toBe(402);
    expect(await readToolStatus('cancel_run', { jobId: job.id })).toBe(200);
    await harness.db.query('system', `UPDATE agent SET status = 'online' WHERE id = $1`, [agent.id]);
    expect(await readToolStatus('stop')).toBe(200);
  });

  it('file tools read only online machines, return the worker’s refusal, and store no file content', async () => {
    for (const status of ['stopped', 'offline', 'starting', 'terminated']) {
      const off = await anAgent({ status });
      const answer = await call(tenant.as.member, off, 'list_files');
      expect([answer.status, answer.body.code, answer.body.agentStatus]).toEqual([409, 'agent_not_ready', status]);
      expect(await rowsOf(off)).toMatchObject({ commands: 0, wakes: 0, agent: status });
    }
    const agentId = await anAgent();
    const refusal = { status: 'failed', error: 'a link is in the way', code: 'permission_denied' };
    const [refused, command] = await Promise.all([
      call(tenant.as.viewer, agentId, 'read_file', { path: 'a/link' }),
      answerNext(agentId, refusal),
    ]);
    expect(command).toMatchObject({ kind: 'files', action: 'read', path: 'a/link' });
    expect(refused.body).toEqual({
      ...{ tool: 'read_file', status: 'failed', result: {} },
      ...{ error: 'a link is in the way', code: 'permission_denied' },
    });
    const content = 'x'.repeat(1024 * 1024);
    const output = { path: 'a/b', size: content.length, content };
    const [read] = await Promise.all([
      call(tenant.as.viewer, agentId, 'read_file', { path: 'a/b' }),
      answerNext(agentId, { status: 'success', output }),
    ]);
    expect(read.body.result.content).toHaveLength(1024 * 1024);
    const [late] = await Promise.all([
      call(tenant.as.viewer, agentId, 'read_file', { path: 'a/c' }),
      answerNext(agentId, { status: 'failed', error: 'late', code: 'execution_timeout' }),
    ]);
    expect([late.status, late.body.code]).toEqual([504, 'execution_timeout']);
    const outputs = await harness.db.query<{ output: string | null }>(
      'system',
      'SELECT output FROM agent_command WHERE agent_id = $1',
      [agentId],
    );
    expect(outputs.map((row) => row.output)).toEqual([null, null, null]);
    expect(await auditOf(agentId, 'agent.read_files')).toHaveLength(3);
  });
});
