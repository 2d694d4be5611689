import { newId } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import { type Harness, HttpClient, makeAgent, makeApiKey, startHarness, waitFor } from '@muster/testing';
import { ingest } from '../ingest.harness';

describe('results of commands', () => {
  let harness: Harness;
  let organizationId: string;
  let worker: HttpClient;
  const querySql = (text: string, values: unknown[] = []) => harness.db.query<any>('system', text, values);
  const readAgentRow = async (id: string) => (await querySql('SELECT * FROM agent WHERE id = $1', [id]))[0];

  const makeMachine = async (columns: Record<string, unknown> = {}) => {
    const { id } = await makeAgent(harness.db, { organizationId, name: newId() });
    for (const [column, value] of Object.entries({ status: 'online', boot_id: 'boot-1', ...columns })) {
      await querySql(`UPDATE agent SET ${column} = $2 WHERE id = $1`, [id, value]);
    }
    return id;
  };
  const makeJob = async (agentId: string, status: string) => {
    const [workflowId, jobId] = [newId(), newId()];
    await querySql(`INSERT INTO workflow (id, organization_id, name) VALUES ($1, $2, 'w')`, [
      workflowId,
      organizationId,
    ]);
    await querySql(
      `INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, status)
       VALUES ($1, $2, $3, 1, $4, $5)`,
      [jobId, organizationId, workflowId, agentId, status],
    );
    return jobId;
  };
  const makeOrganization = async () => {
    const id = newId();
    await querySql(`INSERT INTO organization (id, name) VALUES ($1, 'o')`, [id]);
    await querySql('INSERT INTO organization_settings (organization_id) VALUES ($1)', [id]);
    const key = await makeApiKey(harness.db, { organizationId: id, scope: 'worker' });
    return { id, worker: harness.http.withKey(key.secret) };
  };

  const makeCommand = async (agentId: string, jobId: string | null) => {
    const id = newId();
    await querySql(
      `INSERT INTO agent_command (id, organization_id, agent_id, job_id, kind, payload, deadline)
       VALUES ($1, $2, $3, $4, $5, '{}', now() + interval '1 minute')`,
      [id, organizationId, agentId, jobId, jobId ? 'stop_job' : 'snippet'],
    );
    return id;
  };

  beforeAll(async () => {
    harness = await startHarness(ingest);
    ({ id: organizationId, worker } = await makeOrganization());
  });
  afterAll(() => harness.close());

  describe('the output of a command', () => {
    const readCommandOutput = async (commandId: string) =>
      (await querySql('SELECT status, output FROM agent_command WHERE id = $1', [commandId]))[0];

    it('the output of a command is accepted and stored until the command’s result replaces it', async () => {
      const id = await makeMachine();
      const commandId = await makeCommand(id, null);
      const path = `/api/agents/${id}/commands/${commandId}`;
      expect((await worker.post(`${path}/output`, { output: 'first\n' })).body).toEqual({ accepted: true });
      expect(await readCommandOutput(commandId)).toEqual({ status: 'pending', output: 'first\n' });
      await worker.post(`${path}/result`, { status: 'success', output: 'all of it\n' });
      const late = await worker.post(`${path}/output`, { output: 'first\n' });
      expect([late.status, late.body]).toEqual([200, { accepted: false, reason: 'already finished' }]);
      expect(await readCommandOutput(commandId)).toEqual({ status: 'success', output: 'all of it\n' });
    });

    it('command output is accepted only for a command that runs code, and only from its organization', async () => {
      const id = await makeMachine();
      const stop = await makeCommand(id, await makeJob(id, 'running'));
      const path = `/api/agents/${id}/commands/${stop}/output`;
      expect((await worker.post(path, { output: 'x' })).body.accepted).toBe(false);
      expect(await readCommandOutput(stop)).toEqual({ status: 'pending', output: null });
      const other = await makeOrganization();
      expect((await other.worker.post(path, { output: 'x' })).status).toBe(404);
    });
  });

  describe('a result', () => {
    it('a command result counts as activity and enqueues one message if the command belongs to a job', async () => {
      const id = await makeMachine();
      const commandId = await makeCommand(id, await makeJob(id, 'running'));
      const path = `/api/agents/${id}/commands/${commandId}/result`;
      const body = { status: 'success', output: { remaining: 0 } };
      expect((await worker.post(path, body)).body).toEqual({ accepted: true });
      expect((await readAgentRow(id)).lastActivityAt).toBeInstanceOf(Date);
      expect((await worker.post(path, body)).body).toEqual({ accepted: false, reason: 'already finished' });
      const enqueued = await querySql(`SELECT name FROM outbox WHERE payload->>'commandId' = $1`, [commandId]);
      expect(enqueued).toEqual([{ name: 'command-finished' }]);
    });

    it('a command result enqueues no message if the command does not belong to a job', async () => {
      const id = await makeMachine();
      const commandId = await makeCommand(id, null);
      await worker.post(`/api/agents/${id}/commands/${commandId}/result`, { status: 'failed', error: 'no' });
      expect(await querySql(`SELECT name FROM outbox WHERE payload->>'commandId' = $1`, [commandId])).toEqual([]);
    });
  });

  describe('a poll', () => {
    it('a waiting poll for commands is answered when the process stops', async () => {
      const id = await makeMachine();
      const database = { url: harness.databaseUrl, name: '', drop: async () => undefined };
      const ending = await startHarness({ ...ingest, database });
      const key = (await makeApiKey(harness.db, { organizationId, scope: 'worker', agentId: id })).secret;
      const waiting = ending.http.withKey(key).get(`/api/agents/${id}/commands?wait=25`);
      await new Promise((resolve) => setTimeout(resolve, 300));
      const began = Date.now();
      await Promise.all([waiting, ending.close()]);
      expect([(await waiting).status, (await waiting).body]).toEqual([200, { commands: [] }]);
      expect(Date.now() - began).toBeLessThan(20_000);
    });

    it('a poll for commands returns nothing until an operator releases a restored service', async () => {
      const id = await makeMachine();
      const commandId = await makeCommand(id, null);
      await querySql("INSERT INTO recovery_hold (backup, saved_at, restored_at) VALUES ('b', now(), now())");
      const database = { url: harness.databaseUrl, name: '', drop: async () => undefined };
      const restored = await startHarness({ ...ingest, database });
      const key = (await makeApiKey(harness.db, { organizationId, scope: 'worker', agentId: id })).secret;
      const pollCommands = async () =>
        (await restored.http.withKey(key).get(`/api/agents/${id}/commands`)).body.commands;
      try {
        expect(await pollCommands()).toEqual([]);
        await querySql('UPDATE recovery_hold SET released_at = now()');
        expect(await waitFor('its command', async () => (await pollCommands())[0])).toMatchObject({ commandId });
      } finally {
        await restored.close();
        await querySql('DELETE FROM recovery_hold');
      }
    });

    it('a poll for commands leaves out a command whose secrets cannot be decrypted', async () => {
      const id = await makeMachine();
      await querySql(
        `INSERT INTO vault_secret (organization_id, key, master_key_id, wrapped_key, sealed)
         VALUES ($1, 'SHUT', 'gone', 'x', 'x')`,
        [organizationId],
      );
      const [good, shut] = [await makeCommand(id, null), await makeCommand(id, null)];
      await querySql(`UPDATE agent_command SET vault_keys = '{SHUT}' WHERE id = $1`, [shut]);
      const { body } = await worker.get(`/api/agents/${id}/commands`);
      expect(body.commands.map(({ commandId }: { commandId: string }) => commandId)).toEqual([good]);
    });
  });

  describe('an upload', () => {
    const requestUpload = (agentId: string, body: object = {}, client = worker) =>
      client.post(`/api/agents/${agentId}/uploads`, {
        filename: 'EOB März/../x.pdf',
        contentType: 'application/pdf',
        size: 5,
        ...body,
      });

    it('an upload with the requested size and type goes directly to the object storage before it is recorded', async () => {
      const id = await makeMachine();
      const jobId = await makeJob(id, 'running');
      const { status, body } = await requestUpload(id, { jobId });
      expect(status).toBe(201);
      expect(body.key).toMatch(new RegExp(`^artifacts/${organizationId}/${jobId}/[0-9a-f-]{36}-EOB_Ma_rz_.._x.pdf$`));
      const putBytes = (headers: Record<string, string>, bytes: string) =>
        fetch(body.uploadUrl, { method: body.method, headers: { ...body.headers, ...headers }, body: bytes });
      expect((await putBytes({}, 'hello and more')).status).toBe(403);
      expect((await putBytes({ 'content-type': 'text/html' }, 'hello')).status).toBe(403);
      expect((await putBytes({}, 'hello')).status).toBe(200);
      const storage = harness.app.nest.get(ObjectStorage);
      expect((await storage.get(body.key))?.toString()).toBe('hello');
      const [row] = await querySql('SELECT * FROM artifact WHERE storage_key = $1', [body.key]);
      expect(row).toMatchObject({ agentId: id, jobId: jobId, filename: 'EOB März/../x.pdf', size: 5 });
    });

    it('an upload is refused if it is larger than 100 MiB or for another agent’s job', async () => {
      const [id, other] = [await makeMachine(), await makeMachine()];
      expect((await requestUpload(id, { size: 100 * 1024 * 1024 + 1 })).status).toBe(413);
      expect((await requestUpload(id, { jobId: await makeJob(other, 'running') })).body.code).toBe('not_found');
      expect((await requestUpload(newId())).body.code).toBe('agent_not_found');
      const foreign = await makeOrganization();
      expect((await requestUpload(id, {}, foreign.worker)).body.code).toBe('agent_not_found');
    });
  });
});
