import { newId } from '@muster/platform';
import { FakeMachines, type Harness, type HttpClient, startHarness, type Tenant, waitFor } from '@muster/testing';
import { standalone } from './standalone';

describe('commands', () => {
  let harness: Harness;
  let machines: FakeMachines;
  let tenant: Tenant;
  const querySql = (text: string, values?: unknown[]) => machines.querySql(text, values);
  const makeOnlineAgent = (options?: { tunnel?: boolean }) => machines.makeOnlineAgent(options);
  const runSnippet = (id: string, code?: string, more?: object, client?: HttpClient) =>
    machines.runSnippet(id, code, more, client);
  const readCommandStatus = (id: string, commandId: string) => machines.readCommandStatus(id, commandId);
  const readCommandRow = (commandId: string) => machines.readCommandRow(commandId);
  const postResult = (client: HttpClient, id: string, commandId: string, body: object) =>
    client.post(`/api/agents/${id}/commands/${commandId}/result`, body);

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

  it('a command is pushed, signed and with everything that the worker needs, and ends with its result', async () => {
    const { id, client, worker, workerKey, signingSecret } = await makeOnlineAgent();
    const started = await runSnippet(id, 'print(6 * 7)', { timeoutMs: 60_000 });
    expect(started.status).toBe(202);
    const { commandId } = started.body;
    expect(started.headers.get('location')).toBe(`/api/agents/${id}/run-snippet/status?commandId=${commandId}`);
    const [command] = await waitFor('the push', () => worker.received.length > 0 && worker.received);
    expect(command).toEqual({
      commandId,
      kind: 'snippet',
      agentId: id,
      organizationId: tenant.organizationId,
      deadline: expect.stringMatching(/Z$/),
      env: {
        SERVICE_BASE_URL: 'http://muster.test',
        SERVICE_API_KEY: workerKey,
        AGENT_ID: id,
        ORGANIZATION_ID: tenant.organizationId,
        SERVICE_SIGNING_SECRET: signingSecret,
        MUSTER_REQUEST_ID: started.headers.get('x-request-id'),
        TRACEPARENT: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/),
      },
      payload: { code: 'print(6 * 7)', timeoutMs: 60_000, secretNames: [] },
    });
    const taken = await waitFor('the acknowledgement', async () => (await readCommandRow(commandId)).takenAt);
    expect(taken).toBeInstanceOf(Date);
    expect(await readCommandStatus(id, commandId)).toEqual({ status: 'pending' });
    const ended = await postResult(client, id, commandId, {
      status: 'success',
      output: '42\n',
      exitCode: 0,
      newer: 'field',
    });
    expect([ended.status, ended.body]).toEqual([200, { accepted: true }]);
    expect(await readCommandStatus(id, commandId)).toEqual({ status: 'success', output: '42\n' });
    expect(worker.refused).toBe(0);
    const stored =
      JSON.stringify([await readCommandRow(commandId), await querySql('SELECT * FROM outbox')]) + harness.logs.join('');
    for (const hidden of [workerKey, signingSecret]) expect(stored).not.toContain(hidden);
  });

  it('a pushed command is not signed with the secret of another agent', async () => {
    const [{ id, worker }, other] = [await makeOnlineAgent(), await makeOnlineAgent()];
    worker.signingSecret = other.signingSecret;
    const { commandId } = (await runSnippet(id)).body;
    await waitFor('the refused push', () => worker.refused > 0);
    expect([worker.received, (await readCommandRow(commandId)).takenAt]).toEqual([[], null]);
  });

  it('only the first result of a command is stored, even if several arrive at once', async () => {
    const { id, client } = await makeOnlineAgent();
    const { commandId } = (await runSnippet(id)).body;
    const answers = await Promise.all(
      ['a', 'b', 'c', 'd'].map((output) => postResult(client, id, commandId, { status: 'success', output })),
    );
    const accepted = answers.filter(({ body }) => body.accepted);
    expect(accepted).toHaveLength(1);
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      if (!body.accepted) expect(body.reason).toBe('already finished');
    }
    const first = await readCommandStatus(id, commandId);
    await postResult(client, id, commandId, { status: 'failed', error: 'late' });
    expect(await readCommandStatus(id, commandId)).toEqual(first);
    expect((await client.post(`/api/agents/${id}/commands/${commandId}/ack`)).body.accepted).toBe(false);
  });

  it('a failed command returns its error and its output', async () => {
    const { id, client } = await makeOnlineAgent();
    const { commandId } = (await runSnippet(id)).body;
    await postResult(client, id, commandId, { status: 'failed', error: 'NameError', exitCode: 1, output: 'so far' });
    expect(await readCommandStatus(id, commandId)).toEqual({ status: 'failed', output: 'so far', error: 'NameError' });
  });

  it('a command stores up to 4 MiB of output, an object as JSON, and larger output is refused', async () => {
    const { id, client } = await makeOnlineAgent();
    const large = `${'"ü":\n'.repeat(699_050)}four`;
    const one = (await runSnippet(id)).body.commandId;
    expect((await postResult(client, id, one, { status: 'success', output: `${large}x` })).status).toBe(413);
    expect((await postResult(client, id, one, { status: 'success', output: large })).body).toEqual({ accepted: true });
    expect((await readCommandStatus(id, one)).output).toBe(large);
    const two = (await runSnippet(id)).body.commandId;
    expect((await postResult(client, id, two, { status: 'success', output: ['a'] })).status).toBe(400);
    expect((await postResult(client, id, two, { status: 'success', output: { remaining: 0 } })).body.accepted).toBe(
      true,
    );
    expect((await readCommandStatus(id, two)).output).toBe('{"remaining":0}');
    expect((await postResult(client, id, two, { status: 'success', output: 'x'.repeat(5_300_000) })).status).toBe(413);
  });

  describe('delivery by push', () => {
    it('a command is pushed again with the same id until the worker accepts it', async () => {
      const { id, worker } = await makeOnlineAgent();
      const answers = [500, 409, 202];
      worker.answer = () => answers.shift() ?? 200;
      const { commandId } = (await runSnippet(id)).body;
      await waitFor('the third push', () => worker.received.length === 3);
      await waitFor('the acknowledgement', async () => (await readCommandRow(commandId)).takenAt);
      expect(new Set(worker.received.map((command) => command.commandId))).toEqual(new Set([commandId]));
      expect(await readCommandRow(commandId)).toMatchObject({ pushes: 3, pushError: null, nextPushAt: null });
    });

    it('a command stores the error of its last push', async () => {
      const { id, worker } = await makeOnlineAgent();
      worker.answer = () => 503;
      const { commandId } = (await runSnippet(id)).body;
      await waitFor('the error', async () => (await readCommandRow(commandId)).pushError === 'the worker answered 503');
      expect((await readCommandRow(commandId)).takenAt).toBeNull();
    });

    it('a command is pushed once, even if the worker is slow to answer', async () => {
      const { id, worker } = await makeOnlineAgent();
      worker.answer = () => new Promise((resolve) => setTimeout(() => resolve(202), 300));
      const { commandId } = (await runSnippet(id)).body;
      await waitFor('the acknowledgement', async () => (await readCommandRow(commandId)).takenAt);
      expect(worker.received).toHaveLength(1);
    });

    it('a push that is answered with 200 counts as acknowledged, because the worker has the command', async () => {
      const { id, worker } = await makeOnlineAgent();
      worker.answer = () => 200;
      const { commandId } = (await runSnippet(id)).body;
      await waitFor('the acknowledgement', async () => (await readCommandRow(commandId)).takenAt);
    });

    it('a command is never pushed to a private address that a worker reports as its tunnel', async () => {
      const { id, client, bootId } = await makeOnlineAgent();
      for (const tunnelHostname of ['http://169.254.169.254', 'http://10.0.0.1:9', 'http://[::1]:9']) {
        await client.post('/api/agent/heartbeat', { agentId: id, bootId, tunnelHostname });
        const { commandId } = (await runSnippet(id)).body;
        const refusal = await waitFor('the refusal', async () => (await readCommandRow(commandId)).pushError);
        expect(refusal).toContain('is not a public address');
      }
    });
  });

  describe('delivery by poll', () => {
    it('a poll returns commands, oldest first, until the worker acknowledges them', async () => {
      const { id, client, workerKey } = await makeOnlineAgent({ tunnel: false });
      const ids = [];
      for (let i = 0; i < 3; i += 1) ids.push((await runSnippet(id, `print(${i})`)).body.commandId);
      const pollCommands = async () => (await client.get(`/api/agents/${id}/commands`)).body.commands;
      const commands = await pollCommands();
      expect(commands.map(({ commandId }: { commandId: string }) => commandId)).toEqual(ids);
      expect(commands[0].env.SERVICE_API_KEY).toBe(workerKey);
      expect(await pollCommands()).toHaveLength(3);
      const ack = await client.post(`/api/agents/${id}/commands/${ids[0]}/ack`);
      expect([ack.status, ack.body]).toEqual([200, { accepted: true }]);
      await postResult(client, id, ids[1], { status: 'success' });
      expect((await pollCommands()).map(({ commandId }: { commandId: string }) => commandId)).toEqual([ids[2]]);
    });

    it('a waiting poll is answered as soon as a command is created', async () => {
      const { id, client } = await makeOnlineAgent({ tunnel: false });
      const waiting = client.get(`/api/agents/${id}/commands?wait=20`);
      await new Promise((resolve) => setTimeout(resolve, 300));
      const began = Date.now();
      const { commandId } = (await runSnippet(id)).body;
      const { body } = await waiting;
      expect(body.commands.map((command: any) => command.commandId)).toEqual([commandId]);
      expect(Date.now() - began).toBeLessThan(15_000);
    });

    it('waiting polls are limited for each organization separately', async () => {
      const few = await startHarness({ ...standalone, env: { COMMAND_POLLS_MAX_PER_ORGANIZATION: '1' } });
      const [limitedMachines, otherMachines] = [await FakeMachines.create(few), await FakeMachines.create(few)];
      try {
        const machines = [
          await limitedMachines.makeOnlineAgent({ tunnel: false }),
          await limitedMachines.makeOnlineAgent({ tunnel: false }),
        ];
        const pollCommandsOf = ({ id, client }: { id: string; client: HttpClient }, wait: number) =>
          client.get(`/api/agents/${id}/commands?wait=${wait}`);
        const first = pollCommandsOf(machines[0]!, 5);
        const isPollOpen = async () =>
          /muster_open_streams\{kind="commands"\} 1/.test(await few.app.metrics.registry.metrics());
        await waitFor('the poll', isPollOpen);
        const second = await pollCommandsOf(machines[1]!, 5);
        expect([second.status, second.body.code, second.headers.get('retry-after')]).toEqual([
          429,
          'rate_limited',
          '5',
        ]);
        expect((await pollCommandsOf(machines[1]!, 0)).status).toBe(200);
        expect((await pollCommandsOf(await otherMachines.makeOnlineAgent({ tunnel: false }), 1)).status).toBe(200);
        expect((await first).status).toBe(200);
        expect((await pollCommandsOf(machines[1]!, 1)).status).toBe(200);
      } finally {
        await few.close();
        await Promise.all([limitedMachines.close(), otherMachines.close()]);
      }
    });

    it('a waiting poll finds a command even if its notification is lost', async () => {
      const { id, client } = await makeOnlineAgent({ tunnel: false });
      const waiting = client.get(`/api/agents/${id}/commands?wait=10`);
      await new Promise((resolve) => setTimeout(resolve, 200));
      await querySql(
        `INSERT INTO agent_command (id, organization_id, agent_id, kind, payload, deadline, next_push_at)
         VALUES ($1, $2, $3, 'snippet', '{}', now() + interval '1 minute', NULL)`,
        [newId(), tenant.organizationId, id],
      );
      expect((await waiting).body.commands).toHaveLength(1);
    });

    it('a poll without commands is answered when its wait ends', async () => {
      const { id, client } = await makeOnlineAgent({ tunnel: false });
      const began = Date.now();
      expect((await client.get(`/api/agents/${id}/commands?wait=1`)).body).toEqual({ commands: [] });
      expect(Date.now() - began).toBeGreaterThan(950);
      for (const wait of [-1, 26, 'x']) {
        expect((await client.get(`/api/agents/${id}/commands?wait=${wait}`)).status).toBe(400);
      }
    });
  });

  it('a command cannot be polled, acknowledged or finished with the key of another client', async () => {
    const [own, sibling] = [await makeOnlineAgent({ tunnel: false }), await makeOnlineAgent({ tunnel: false })];
    const otherTenant = await harness.makeTenant();
    const { commandId } = (await runSnippet(own.id)).body;
    for (const [client, status] of [
      [sibling.client, 403],
      [otherTenant.worker, 404],
      [tenant.api, 403],
      [tenant.as.admin, 403],
    ] as const) {
      expect((await client.get(`/api/agents/${own.id}/commands`)).status).toBe(status);
      expect((await client.post(`/api/agents/${own.id}/commands/${commandId}/ack`)).status).toBe(status);
      expect((await postResult(client, own.id, commandId, { status: 'success' })).status).toBe(status);
    }
    expect((await postResult(sibling.client, sibling.id, commandId, { status: 'success' })).status).toBe(404);
    expect((await otherTenant.api.get(`/api/agents/${own.id}/run-snippet/status?commandId=${commandId}`)).status).toBe(
      404,
    );
    const path = `/api/agents/${sibling.id}/run-snippet/status?commandId=${commandId}`;
    expect((await tenant.api.get(path)).body.code).toBe('not_found');
    expect(await readCommandRow(commandId)).toMatchObject({ status: 'pending', takenAt: null });
    expect((await postResult(tenant.worker, own.id, commandId, { status: 'success' })).body.accepted).toBe(true);
  });

  it('a command past its deadline fails and ignores late results, except the command of a run', async () => {
    const { id, client } = await makeOnlineAgent({ tunnel: false });
    const [untaken, taken] = [(await runSnippet(id)).body.commandId, (await runSnippet(id)).body.commandId];
    await client.post(`/api/agents/${id}/commands/${taken}/ack`);
    const run = newId();
    await querySql(
      `INSERT INTO agent_command (id, organization_id, agent_id, kind, payload, deadline)
       VALUES ($1, $2, $3, 'run', '{}', now() - interval '1 s')`,
      [run, tenant.organizationId, id],
    );
    await querySql(`UPDATE agent_command SET deadline = now() - interval '1 s' WHERE id = ANY($1)`, [[untaken, taken]]);
    for (const commandId of [untaken, taken]) {
      await waitFor('the command to fail', async () => (await readCommandStatus(id, commandId)).status === 'failed');
      expect((await readCommandStatus(id, commandId)).code).toBe('execution_timeout');
      expect((await postResult(client, id, commandId, { status: 'success' })).body.accepted).toBe(false);
    }
    await waitFor('the pushes to stop', async () => (await readCommandRow(run)).nextPushAt === null);
    expect((await readCommandRow(run)).status).toBe('pending');
  });

  it('a command gets its secrets at delivery; a snippet whose secret is not in the vault fails', async () => {
    const { id, worker } = await makeOnlineAgent();
    await tenant.as.admin.put('/api/vault/PORTAL_PASSWORD', { value: 'hunter2-of-the-vault' });
    const insertCommand = (commandId: string, kind: string, keys: string[]) =>
      querySql(
        `INSERT INTO agent_command (id, organization_id, agent_id, kind, payload, vault_keys, deadline)
         VALUES ($1, $2, $3, $4, '{}', $5, now() + interval '1 minute')`,
        [commandId, tenant.organizationId, id, kind, keys],
      );
    const [whole, lacking, run] = [newId(), newId(), newId()];
    await insertCommand(whole, 'snippet', ['PORTAL_PASSWORD']);
    await insertCommand(lacking, 'snippet', ['PORTAL_PASSWORD', 'NO_SUCH']);
    await insertCommand(run, 'run', ['NO_SUCH']);
    await waitFor('the push', () => worker.received.length === 1);
    expect(worker.received[0]).toMatchObject({
      commandId: whole,
      env: { PORTAL_PASSWORD: 'hunter2-of-the-vault' },
      payload: { secretNames: ['PORTAL_PASSWORD'] },
    });
    await waitFor('the failure', async () => (await readCommandRow(lacking)).status === 'failed');
    expect(await readCommandRow(lacking)).toMatchObject({
      errorCode: 'secret_missing',
      error: 'The vault has no NO_SUCH.',
    });
    await waitFor('the reason', async () => (await readCommandRow(run)).pushError === 'The vault has no NO_SUCH.');
    expect((await readCommandRow(run)).status).toBe('pending');
    const stored = JSON.stringify(await querySql('SELECT * FROM agent_command')) + harness.logs.join('');
    expect(stored).not.toContain('hunter2-of-the-vault');
  });
});
