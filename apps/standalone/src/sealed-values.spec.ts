import { newId } from '@muster/platform';
import { waitFor } from '@muster/testing';
import { AutopilotHarness } from './autopilot/autopilot.harness';
import { createQuestionHelpers } from './questions.harness';
import { Receiver } from './webhooks/receiver.harness';

jest.setTimeout(120_000);

const memberId = 'MEMBER-7731-alpha';
const memberName = 'Wilhelmina Oakenfold';
const script = `import muster, os
print("member", os.environ["MEMBER_ID"])
# The name is put together here, so that the stored script does not contain it.
muster.result({"memberName": " ".join(${JSON.stringify(memberName.split(' '))}), "memberId": os.environ["MEMBER_ID"], "count": 2})`;

describe('sensitive values of runs', () => {
  let pilot: AutopilotHarness;
  let receiver: Receiver;
  const path = '/sealed';

  beforeAll(async () => {
    pilot = await AutopilotHarness.start();
    receiver = await Receiver.start();
    const endpoint = { url: receiver.url + path, events: ['*'] };
    expect((await pilot.tenant.as.admin.post('/api/webhook-endpoints', endpoint)).status).toBe(201);
  });
  afterAll(async () => {
    await pilot.close();
    await receiver.stop();
  });

  const { ended } = createQuestionHelpers(() => pilot);
  const makeWorkflow = async (more: object = {}) => {
    const body = { name: newId(), script, variables: ['MEMBER_ID', 'OFFICE'], ...more };
    const { status, body: workflow, text } = await pilot.tenant.as.member.post('/api/workflows', body);
    expect([status, text]).toEqual([201, expect.any(String)]);
    return workflow;
  };
  const sensitive = { sensitiveVariables: ['MEMBER_ID'], sensitiveResults: ['memberName', 'memberId'] };
  const variables = { MEMBER_ID: memberId, OFFICE: 'north' };
  const launchWorkflow = async (workflowId: string, more: object = {}) => {
    const body = { workflowId, agentId: pilot.agentId, variables, ...more };
    const { status, body: launched, text } = await pilot.tenant.api.post('/api/jobs/launch', body);
    expect([status, text]).toEqual([202, expect.any(String)]);
    return launched.jobId as string;
  };
  /** Returns the tables that contain a text in any column. */
  const findTables = async (text: string) => {
    const { db } = pilot.harness;
    const tables = await db.query<{ name: string }>(
      'system',
      "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'",
    );
    const found: string[] = [];
    for (const { name } of tables) {
      const [row] = await db.query<{ hits: number }>(
        'system',
        `SELECT count(*)::int AS hits FROM ${name} t WHERE strpos(t::text, $1) > 0`,
        [text],
      );
      if (row!.hits > 0) found.push(name);
    }
    return found;
  };

  it('sensitive values are stored sealed, reach the script, and are shown only with the permission runs.screens', async () => {
    const workflow = await makeWorkflow(sensitive);
    expect(workflow).toMatchObject(sensitive);
    const jobId = await launchWorkflow(workflow.id);
    const job = await ended(jobId);
    const shown = { memberName, memberId, count: 2 };
    expect(job).toMatchObject({ status: 'completed', variables, result: shown, subject: null });
    const hidden = { memberName: '[sealed]', memberId: '[sealed]', count: 2 };
    const masked = { variables: { MEMBER_ID: '[sealed]', OFFICE: 'north' }, result: hidden };
    const { as, api } = pilot.tenant;
    expect((await as.viewer.get(`/api/jobs/${jobId}`)).body).toMatchObject(masked);
    expect((await as.viewer.get(`/api/job-status?jobId=${jobId}`)).body.result).toEqual(hidden);
    expect((await as.member.get(`/api/job-status?jobId=${jobId}`)).body.result).toEqual(shown);
    const { jobs } = (await api.get(`/api/jobs?workflowId=${workflow.id}`)).body;
    expect(jobs).toMatchObject([masked]);
    for (const filter of [`q=${memberId}`, 'variable=MEMBER_ID%3DMEMBER', `variable=${memberId}`, 'variable=sealed']) {
      expect([filter, (await api.get(`/api/jobs?${filter}`)).body.jobs]).toEqual([filter, []]);
    }
    expect((await api.get(`/api/jobs?workflowId=${workflow.id}&variable=OFFICE%3Dnor`)).body.jobs).toHaveLength(1);
    const logs = (await api.get(`/api/agents/${pilot.agentId}/logs?jobId=${jobId}`)).text;
    expect(logs).toContain('member ');
    const event = await waitFor('the event of the end', () =>
      receiver.listReceivedAt(path).find(({ event: { type } }) => type === 'job.completed'),
    );
    expect(event.event.data).toMatchObject(masked);
    const exported = (await as.admin.get('/api/jobs/export.csv')).text;
    for (const text of [memberId, memberName]) {
      expect([text, await findTables(text)]).toEqual([text, []]);
      expect([logs, exported, JSON.stringify(receiver.listReceivedAt(path))].join('')).not.toContain(text);
    }
  });

  it('sensitive values stay sealed in a replay, in a batch and in a schedule', async () => {
    const { api, as } = pilot.tenant;
    const { id: workflowId } = await makeWorkflow(sensitive);
    const first = await launchWorkflow(workflowId);
    await ended(first);
    const replayed = await ended((await api.post(`/api/jobs/${first}/replay`)).body.jobId);
    expect(replayed).toMatchObject({ status: 'completed', variables, result: { memberName } });
    const rows = [variables];
    const batch = await api.post('/api/jobs/batch', { workflowId, agentIds: [pilot.agentId], rows });
    expect([batch.status, batch.text]).toEqual([202, expect.any(String)]);
    expect(await ended(batch.body.jobIds[0])).toMatchObject({ status: 'completed', variables, result: { memberName } });
    const body = {
      name: newId(),
      scriptId: workflowId,
      agentId: pilot.agentId,
      cronExpression: '0 6 1 1 *',
      variables,
    };
    const schedule = (await as.member.post('/api/schedules', body)).body;
    const shown = { MEMBER_ID: '[sealed]', OFFICE: 'north' };
    expect(schedule.variables).toEqual(shown);
    const read = async (client = as.member) => (await client.get(`/api/schedules/${schedule.id}`)).body.variables;
    expect(await read()).toEqual(variables);
    expect(await read(as.viewer)).toEqual(shown);
    const listed = (await as.member.get('/api/schedules')).body.schedules.find(({ id }: any) => id === schedule.id);
    expect(listed.variables).toEqual(shown);
    const saved = await as.member.put(`/api/schedules/${schedule.id}`, { variables: { ...shown, OFFICE: 'south' } });
    expect([saved.status, saved.body.variables]).toEqual([200, { MEMBER_ID: '[sealed]', OFFICE: 'south' }]);
    const run = await as.member.post('/api/schedules/execute', { scheduleId: schedule.id, force: true });
    const [{ jobId }] = run.body.launched;
    expect(await ended(jobId)).toMatchObject({ status: 'completed', variables: { ...variables, OFFICE: 'south' } });
    // A client that was shown the value sends it back, and it is sealed again.
    const again = await as.member.put(`/api/schedules/${schedule.id}`, { variables: { ...variables, OFFICE: 'east' } });
    expect([again.status, await read()]).toEqual([200, { ...variables, OFFICE: 'east' }]);
    expect(await findTables(memberId)).toEqual([]);
  });

  it('a reported claim is stored with a mark in place of the values of sensitive variables', async () => {
    const { id } = await makeWorkflow({
      ...sensitive,
      script: `import muster, os
member = os.environ["MEMBER_ID"]
muster.claim("C-1", "failed", message="no EOB for " + member + " in the office " + os.environ["OFFICE"],
             metadata={"member": member, "list": [member.lower(), member], "page": 7})`,
    });
    const jobId = await launchWorkflow(id);
    expect(await ended(jobId)).toMatchObject({ status: 'completed', claims: { attempted: 1, failed: 1 } });
    const { db } = pilot.harness;
    const stored = await db.query('system', 'SELECT claim_id, message, metadata FROM claim_outcome WHERE job_id = $1', [
      jobId,
    ]);
    expect(stored).toEqual([
      {
        ...{ claimId: 'C-1', message: 'no EOB for [sealed] in the office north' },
        metadata: { member: '[sealed]', list: [memberId.toLowerCase(), '[sealed]'], page: 7 },
      },
    ]);
    expect(await findTables(memberId)).toEqual([]);
  });

  it('a value of the result that contains a sensitive variable is sealed under any name, and masked in the error and the log', async () => {
    const { id } = await makeWorkflow({
      sensitiveVariables: ['MEMBER_ID'],
      script: `import muster, os, sys
member = os.environ["MEMBER_ID"]
muster.result({"copied": member, "seen": [{"text": "no " + member}], "by " + member: 1, "office": os.environ["OFFICE"]})
print("asked for", member)
sys.exit("no coverage for " + member)`,
    });
    const jobId = await launchWorkflow(id);
    const office = { office: 'north' };
    const job = await ended(jobId);
    expect(job).toMatchObject({ status: 'failed', error: expect.stringContaining('no coverage for [redacted]') });
    const byMember = { 'by [sealed]': 1 };
    expect(job.result).toEqual({ copied: memberId, seen: [{ text: `no ${memberId}` }], ...byMember, ...office });
    const { as, api } = pilot.tenant;
    const masked = { copied: '[sealed]', seen: '[sealed]', ...byMember, ...office };
    expect((await as.viewer.get(`/api/jobs/${jobId}`)).body.result).toEqual(masked);
    expect((await api.get(`/api/jobs?workflowId=${id}`)).body.jobs).toMatchObject([{ result: masked }]);
    const event = await waitFor('the event of the end', () =>
      receiver.listReceivedAt(path).find((each) => each.body.includes(jobId) && each.event.type === 'job.failed'),
    );
    expect(event.event.data).toMatchObject({ result: masked });
    expect((await api.get(`/api/agents/${pilot.agentId}/logs?jobId=${jobId}`)).text).toContain('asked for');
    expect(await findTables(memberId)).toEqual([]);
    expect((await as.admin.get('/api/jobs/export.csv')).text).not.toContain(memberId);
  });

  it('a result without names is stored with a mark in place of the values of sensitive variables', async () => {
    const { id } = await makeWorkflow({
      ...sensitive,
      script: 'import muster, os\nmuster.result(["page 7", {"member": os.environ["MEMBER_ID"]}])',
    });
    const job = await ended(await launchWorkflow(id));
    expect(job).toMatchObject({ status: 'completed', result: ['page 7', { member: '[sealed]' }] });
    const text = await makeWorkflow({
      ...sensitive,
      script: 'import muster, os\nmuster.result("seen: " + os.environ["MEMBER_ID"])',
    });
    expect((await ended(await launchWorkflow(text.id))).result).toBe('seen: [sealed]');
    expect(await findTables(memberId)).toEqual([]);
  });

  it('a failed run is retried with its sealed values', async () => {
    const { id } = await makeWorkflow({ ...sensitive, script: `${script}\nraise SystemExit(3)` });
    const jobId = await launchWorkflow(id, { maxRetries: 1 });
    expect(await ended(jobId)).toMatchObject({ status: 'failed', variables });
    const [retry] = await waitFor('the retry', async () => {
      const { jobs } = (await pilot.tenant.api.get(`/api/jobs?workflowId=${id}`)).body;
      return jobs.length === 2 && jobs.filter(({ retryOf }: { retryOf: string | null }) => retryOf === jobId);
    });
    expect(await ended(retry.id)).toMatchObject({ status: 'failed', attempt: 2, variables });
    expect(await findTables(memberId)).toEqual([]);
  });

  it.each([
    ['an unknown sensitive variable', { sensitiveVariables: ['OTHER'] }, 'sensitiveVariables.0'],
    [
      'a concurrency key that contains a sensitive variable',
      { sensitiveVariables: ['MEMBER_ID'], concurrencyKeys: [{ key: 'm:{{MEMBER_ID}}' }] },
      'concurrencyKeys.0.key',
    ],
  ])('a workflow with %s is refused', async (_, more, field) => {
    const body = { name: newId(), script, variables: ['MEMBER_ID', 'OFFICE'], ...more };
    const refused = await pilot.tenant.as.member.post('/api/workflows', body);
    expect(refused).toMatchObject({ status: 400, body: { errors: [{ field }] } });
    const { id } = await makeWorkflow();
    const changed = await pilot.tenant.as.member.patch(`/api/workflows/${id}`, more);
    expect(changed).toMatchObject({ status: 400, body: { errors: [{ field }] } });
  });

  it('a launch cannot add a concurrency key with a sensitive value', async () => {
    const { id: workflowId } = await makeWorkflow(sensitive);
    const body = { workflowId, agentId: pilot.agentId, variables, concurrencyKeys: [{ key: '{{MEMBER_ID}}' }] };
    const refused = await pilot.tenant.api.post('/api/jobs/launch', body);
    expect(refused).toMatchObject({ status: 400, body: { errors: [{ field: 'concurrencyKeys.0.key' }] } });
  });
});
