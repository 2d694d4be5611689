import { failOverdueCommands, storeCommandResult } from '@muster/commands';
import { terminateAgentAndRuns } from '@muster/jobs';
import type { AgentAction, CommandResultBody } from '@muster/contracts';
import { newId } from '@muster/platform';
import { type Harness, makeAgent, makeApiKey, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('the outcome of an agent action that is a command', () => {
  let harness: Harness;
  let tenant: Tenant;
  let apiKey: string;
  let agentId: string;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
    apiKey = (await makeApiKey(harness.db, { organizationId: tenant.organizationId, scope: 'worker' })).secret;
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    const { organizationId } = tenant;
    agentId = (await makeAgent(harness.db, { organizationId, name: newId(), status: 'online' })).id;
  });

  const performAgentAction = async (action: AgentAction, more: object = {}, client = tenant.api) =>
    (await client.post(`/api/agent/${agentId}/action`, { action, ...more })).body as {
      commandId: string;
      recordingId: string;
    };
  const readCommandStatus = async (commandId: string) =>
    (await tenant.as.viewer.get(`/api/agents/${agentId}/run-snippet/status?commandId=${commandId}`)).body;
  const reportResult = (commandId: string, body: CommandResultBody) =>
    storeCommandResult(harness.db, { organizationId: tenant.organizationId, agentId, commandId }, body);
  const readTimeline = async () =>
    (await tenant.as.viewer.get(`/api/agents/${agentId}/logs?order=asc`)).body.entries.map(
      ({ kind, level, source, message, data }: any) => ({ kind, level, source, message, data }),
    );

  const actions: [AgentAction, () => Promise<object>][] = [
    ['repair', () => Promise.resolve({ apiKey })],
    ['deploy_extension', () => Promise.resolve({ version: '1.4.0', key: 'extensions/one.zip' })],
    ['start_recording', () => Promise.resolve({ name: 'a secret name' })],
    ['attach_recording', startRecording],
    ['stop_recording', startRecording],
  ];

  it.each(actions)(
    'the status of the action %s can be polled while the timeline records its request and its end',
    async (...args) => {
      const [action, inputOf] = args;
      const input = await inputOf();
      const before = (await readTimeline()).length;
      const { commandId } = await performAgentAction(action, { ...input, reason: 'the key leaked' });
      expect(await readCommandStatus(commandId)).toEqual({ status: 'pending' });
      await reportResult(commandId, { status: 'success', output: { done: true } });
      expect(await readCommandStatus(commandId)).toEqual({ status: 'success', output: '{"done":true}' });
      await reportResult(commandId, { status: 'failed', error: 'too late' });
      const newEntries = (await readTimeline()).slice(before);
      const by = expect.stringMatching(new RegExp(`^${action} was requested by key \\w+: the key leaked$`));
      expect(newEntries).toEqual([
        { kind: 'provisioning', level: 'info', source: 'api', message: by, data: { commandId, action } },
        {
          kind: 'provisioning',
          level: 'info',
          source: 'worker',
          message: `${action} is done`,
          data: { commandId, action, status: 'success' },
        },
      ]);
      for (const value of Object.values(input)) expect(JSON.stringify(newEntries)).not.toContain(value);
    },
  );

  it('the timeline shows which user requested an agent action', async () => {
    await performAgentAction('repair', { apiKey }, tenant.as.member);
    const [entry] = await readTimeline();
    expect(entry).toMatchObject({
      source: 'console',
      message: expect.stringMatching(/^repair was requested by \S+@\S+$/),
    });
  });

  it('a failed agent action is recorded as an error with its reason, cut to 500 characters', async () => {
    const [one, two] = [
      await performAgentAction('repair', { apiKey }),
      await performAgentAction('deploy_extension', { version: '1' }),
    ];
    await reportResult(one.commandId, { status: 'failed', error: 'the service refuses the new key', code: 'refused' });
    await reportResult(two.commandId, { status: 'failed', error: 'x'.repeat(10_000) });
    expect(await readCommandStatus(one.commandId)).toEqual({
      status: 'failed',
      error: 'the service refuses the new key',
      code: 'refused',
    });
    const [, , first, second] = await readTimeline();
    expect(first).toEqual({
      kind: 'provisioning',
      level: 'error',
      source: 'worker',
      message: 'repair failed: the service refuses the new key',
      data: { commandId: one.commandId, action: 'repair', status: 'failed', code: 'refused' },
    });
    expect(second.message).toBe(`deploy_extension failed: ${'x'.repeat(500)}`);
  });

  it('an agent action that timed out or whose agent was terminated is recorded as an error', async () => {
    const { commandId } = await performAgentAction('repair', { apiKey });
    await performAgentAction('start_recording');
    await harness.db.query(
      'system',
      `UPDATE agent_command SET deadline = now() - make_interval(secs => 1) WHERE id = $1`,
      [commandId],
    );
    await failOverdueCommands(harness.db);
    expect(await readCommandStatus(commandId)).toEqual({
      status: 'failed',
      error: 'The agent did not accept the command in time.',
      code: 'execution_timeout',
    });
    await harness.db.transaction('system', (tx) =>
      terminateAgentAndRuns(
        tx,
        { kind: 'api_key', id: 'one', organizationId: tenant.organizationId } as never,
        agentId,
        {},
      ),
    );
    const ends = (await readTimeline()).filter(({ level }: { level: string }) => level === 'error');
    expect(ends).toMatchObject([
      {
        source: 'watchdog',
        message: 'repair failed: The agent did not accept the command in time.',
        data: { commandId },
      },
      { source: 'api', message: 'start_recording failed: The agent was terminated.' },
    ]);
  });

  it('a snippet adds no entry to the timeline, because it has its own status', async () => {
    const answer = await tenant.api.post(`/api/agents/${agentId}/run-snippet`, { code: 'print(1)' });
    await reportResult(answer.body.commandId, { status: 'success', output: '1' });
    expect(await readTimeline()).toEqual([]);
  });

  async function startRecording(): Promise<object> {
    return { recordingId: (await performAgentAction('start_recording')).recordingId };
  }
});
