import { storeCommandResult, requestUpload } from '@muster/commands';
import { terminateAgentAndRuns } from '@muster/jobs';
import type { CommandResultBody } from '@muster/contracts';
import { newId } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import { type Harness, makeAgent, makeJob, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('recordings', () => {
  let harness: Harness;
  let tenant: Tenant;
  let otherTenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    [tenant, otherTenant] = [await harness.makeTenant(), await harness.makeTenant()];
  });
  afterAll(() => harness.close());

  const makeOnline = async () =>
    (await makeAgent(harness.db, { organizationId: tenant.organizationId, name: newId(), status: 'online' })).id;
  const performAgentAction = (agentId: string, body: object) => tenant.api.post(`/api/agent/${agentId}/action`, body);
  const startRecording = async (agentId: string, name?: string) =>
    (await performAgentAction(agentId, { action: 'start_recording', ...(name ? { name } : {}) })).body as {
      recordingId: string;
      commandId: string;
    };
  const readRecording = async (id: string, client = tenant.as.viewer) =>
    (await client.get(`/api/recordings/${id}`)).body;
  const buildAgentRef = (agentId: string) => ({ organizationId: tenant.organizationId, agentId });
  const reportResult = (agentId: string, commandId: string, body: CommandResultBody) =>
    storeCommandResult(harness.db, { ...buildAgentRef(agentId), commandId }, body);
  /** Sends a file as a worker does: requests an upload URL and uploads the file. */
  const uploadFile = async (agentId: string, text: string, input: object = {}) => {
    const storage = harness.app.nest.get(ObjectStorage);
    const body = { filename: 'film.mkv', contentType: 'video/x-matroska', size: text.length, ...input };
    const ticket = await requestUpload(harness.db, storage, buildAgentRef(agentId), body, new Date());
    const { uploadUrl, method, headers } = ticket;
    expect((await fetch(uploadUrl, { method, headers, body: text })).status).toBe(200);
    return ticket.key;
  };

  it('a recording can be started, stopped, stored, listed and downloaded', async () => {
    const agentId = await makeOnline();
    const { recordingId, commandId } = await startRecording(agentId, 'Monday');
    expect(await readRecording(recordingId)).toEqual({
      id: recordingId,
      agentId,
      name: 'Monday',
      kind: null,
      startUrl: null,
      status: 'starting',
      createdAt: expect.any(String),
      startedAt: null,
      endedAt: null,
      error: null,
      artifactId: null,
      eventsArtifactId: null,
      contentType: null,
      size: null,
      downloadUrl: null,
      downloadUrlExpiresAt: null,
    });
    await reportResult(agentId, commandId, { status: 'success', output: { recordingId, recording: true } });
    expect(await readRecording(recordingId)).toMatchObject({
      status: 'recording',
      startedAt: expect.any(String),
      endedAt: null,
    });
    expect((await performAgentAction(agentId, { action: 'attach_recording', recordingId })).status).toBe(200);

    const stopped = await performAgentAction(agentId, { action: 'stop_recording', recordingId });
    expect(stopped.body).toMatchObject({ success: true, recordingId });
    expect((await readRecording(recordingId)).status).toBe('stopping');
    const key = await uploadFile(agentId, 'a film');
    await reportResult(agentId, stopped.body.commandId, { status: 'success', output: { recordingId, key } });

    const stored = await readRecording(recordingId);
    expect(stored).toMatchObject({ status: 'kept', error: null, size: 6, contentType: 'video/x-matroska' });
    expect(await (await fetch(stored.downloadUrl)).text()).toBe('a film');
    const leftMs = new Date(stored.downloadUrlExpiresAt).getTime() - Date.now();
    expect([leftMs > 3_500_000, leftMs <= 3_600_000]).toEqual([true, true]);
    const { downloadUrl, downloadUrlExpiresAt, ...item } = stored;
    const list = await tenant.as.viewer.get(`/api/agents/${agentId}/recordings`);
    expect(list.body).toEqual({ recordings: [item], nextCursor: null });
    const file = await tenant.as.viewer.get(`/api/artifacts/${stored.artifactId}`);
    expect(file.body).toMatchObject({ agentId, jobId: null, kind: 'video', filename: 'film.mkv', size: 6 });
  });

  it('the stop command of a recording has more than 15 minutes to upload the video', async () => {
    const agentId = await makeOnline();
    const { recordingId } = await startRecording(agentId);
    const { commandId } = (await performAgentAction(agentId, { action: 'stop_recording', recordingId })).body;
    const [row] = await harness.db.query<{ minutes: number }>(
      'system',
      'SELECT extract(epoch FROM deadline - created_at)::float8 / 60 AS minutes FROM agent_command WHERE id = $1',
      [commandId],
    );
    expect(row!.minutes).toBeGreaterThan(15);
  });

  it('recordings are listed newest first, page by page and by status', async () => {
    const agentId = await makeOnline();
    const started = [await startRecording(agentId), await startRecording(agentId), await startRecording(agentId)];
    await reportResult(agentId, started[1]!.commandId, { status: 'failed', error: 'no screen' });
    const listRecordings = async (query: string) =>
      (await tenant.api.get(`/api/agents/${agentId}/recordings?${query}`)).body;
    const listIds = ({ recordings }: { recordings: { id: string }[] }) => recordings.map(({ id }) => id);
    const [oldest, failed, newest] = started.map(({ recordingId }) => recordingId);
    const first = await listRecordings('limit=2');
    expect(listIds(first)).toEqual([newest, failed]);
    expect(listIds(await listRecordings(`limit=2&cursor=${first.nextCursor}`))).toEqual([oldest]);
    expect(listIds(await listRecordings('status=failed'))).toEqual([failed]);
    expect(listIds(await listRecordings('status=kept'))).toEqual([]);
    expect((await tenant.api.get(`/api/agents/${agentId}/recordings?status=paused`)).status).toBe(400);
    expect((await tenant.api.get(`/api/agents/${newId()}/recordings`)).body.code).toBe('agent_not_found');
  });

  it('recordings are found by part of their name, start URL or error, ignoring case, or by full id', async () => {
    const agentId = await makeOnline();
    const startBrowserRecording = async (input: object) =>
      (await performAgentAction(agentId, { action: 'start_recording', kind: 'browser', ...input })).body as {
        recordingId: string;
        commandId: string;
      };
    const named = await startBrowserRecording({ name: 'Monday 100%' });
    await reportResult(agentId, named.commandId, { status: 'failed', error: 'no Screen' });
    const started = await startBrowserRecording({ name: 'other', startUrl: 'https://portal.example/claims' });
    const searchRecordings = async (q: string, more = '') => {
      const { body } = await tenant.api.get(`/api/agents/${agentId}/recordings?q=${encodeURIComponent(q)}${more}`);
      return body.recordings.map(({ id }: { id: string }) => id);
    };
    expect(await searchRecordings('monDAY')).toEqual([named.recordingId]);
    expect(await searchRecordings('no screen')).toEqual([named.recordingId]);
    expect(await searchRecordings('PORTAL.example')).toEqual([started.recordingId]);
    expect(await searchRecordings(named.recordingId.toUpperCase())).toEqual([named.recordingId]);
    expect(await searchRecordings('%')).toEqual([named.recordingId]);
    expect(await searchRecordings('o')).toEqual([started.recordingId, named.recordingId]);
    expect(await searchRecordings('o', '&status=failed')).toEqual([named.recordingId]);
    expect(await searchRecordings(named.recordingId.slice(0, 8))).toEqual([]);
    const long = await tenant.api.get(`/api/agents/${agentId}/recordings?q=${'x'.repeat(201)}`);
    expect([long.status, long.body.errors[0].field]).toEqual([400, 'q']);
  });

  it.each(['stop_recording', 'attach_recording'])(
    'the action %s answers 404 for an unknown recording, and 409 for an ended one',
    async (action) => {
      const [agentId, otherId] = [await makeOnline(), await makeOnline()];
      const { recordingId, commandId } = await startRecording(agentId);
      const countCommands = async () => (await harness.db.query('system', 'SELECT FROM agent_command')).length;
      const before = await countCommands();
      for (const [agent, recording] of [
        [agentId, newId()],
        [otherId, recordingId],
      ] as const) {
        const answer = await performAgentAction(agent, { action, recordingId: recording });
        expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
      }
      expect((await performAgentAction(newId(), { action, recordingId })).body.code).toBe('agent_not_found');
      await reportResult(agentId, commandId, { status: 'failed', error: 'no screen' });
      const ended = await performAgentAction(agentId, { action, recordingId });
      expect([ended.status, ended.body.code, ended.body.recordingStatus]).toEqual([409, 'conflict', 'failed']);
      expect(await countCommands()).toBe(before);
      expect((await performAgentAction(agentId, { action })).status).toBe(400);
    },
  );

  it('a recording that is already stopping cannot be stopped again or attached', async () => {
    const agentId = await makeOnline();
    const { recordingId } = await startRecording(agentId);
    expect((await performAgentAction(agentId, { action: 'stop_recording', recordingId })).status).toBe(200);
    for (const action of ['stop_recording', 'attach_recording']) {
      const again = await performAgentAction(agentId, { action, recordingId });
      expect([again.status, again.body.recordingStatus]).toEqual([409, 'stopping']);
    }
  });

  it('a refused command changes no recording and creates none', async () => {
    const agentId = await makeOnline();
    const { recordingId } = await startRecording(agentId);
    await harness.db.query('system', `UPDATE agent SET status = 'offline', provider = 'external' WHERE id = $1`, [
      agentId,
    ]);
    expect((await performAgentAction(agentId, { action: 'stop_recording', recordingId })).body.code).toBe(
      'agent_not_ready',
    );
    expect((await performAgentAction(agentId, { action: 'start_recording' })).body.code).toBe('agent_not_ready');
    const { recordings } = (await tenant.api.get(`/api/agents/${agentId}/recordings`)).body;
    expect(recordings).toMatchObject([{ id: recordingId, status: 'starting' }]);
  });

  it('requests with the same Idempotency-Key create one recording', async () => {
    const agentId = await makeOnline();
    const once = tenant.api.with({ 'idempotency-key': newId() });
    const body = { action: 'start_recording', name: 'Monday' };
    const [first, again] = [
      await once.post(`/api/agent/${agentId}/action`, body),
      await once.post(`/api/agent/${agentId}/action`, body),
    ];
    expect(again.body).toEqual(first.body);
    expect((await tenant.api.get(`/api/agents/${agentId}/recordings`)).body.recordings).toHaveLength(1);
  });

  it('a recording fails when its agent is terminated', async () => {
    const agentId = await makeOnline();
    const { recordingId, commandId } = await startRecording(agentId);
    await reportResult(agentId, commandId, { status: 'success', output: { recordingId } });
    const caller = { kind: 'system' as const, id: 'spec', organizationId: tenant.organizationId };
    await harness.db.transaction({ organizationId: tenant.organizationId }, (tx) =>
      terminateAgentAndRuns(tx, caller as never, agentId, {}),
    );
    expect(await readRecording(recordingId)).toMatchObject({ status: 'failed', error: 'The agent was terminated.' });
  });

  it('only a recording of a browser, not one of the screen, may have a start URL', async () => {
    const agentId = await makeOnline();
    const input = { action: 'start_recording', kind: 'browser', startUrl: 'https://portal.example.com/in?a=b' };
    const { status, body } = await performAgentAction(agentId, input);
    expect(status).toBe(200);
    const { kind, startUrl } = input;
    expect(await readRecording(body.recordingId)).toMatchObject({ kind, startUrl, status: 'starting' });
    const [{ payload }] = await harness.db.query<any>('system', 'SELECT payload FROM agent_command WHERE id = $1', [
      body.commandId,
    ]);
    expect(payload).toEqual({ recordingId: body.recordingId, kind, startUrl });
    const countRecordings = async () =>
      (await tenant.api.get(`/api/agents/${agentId}/recordings`)).body.recordings.length;
    for (const bad of [
      { kind: 'sound' },
      { startUrl: 'file:///etc/passwd' },
      { startUrl: 'portal' },
      { kind: 'screen', startUrl: input.startUrl },
    ]) {
      expect((await performAgentAction(agentId, { action: 'start_recording', ...bad })).status).toBe(400);
    }
    expect(await countRecordings()).toBe(1);
  });

  it('recordings and files are hidden from other organizations', async () => {
    const agentId = await makeOnline();
    const { recordingId } = await startRecording(agentId);
    await uploadFile(agentId, 'ours');
    const [{ id }] = (await tenant.api.get(`/api/artifacts?agentId=${agentId}`)).body.artifacts;
    for (const path of [
      `/api/recordings/${recordingId}`,
      `/api/artifacts/${id}`,
      `/api/agents/${agentId}/recordings`,
    ]) {
      expect((await tenant.as.viewer.get(path)).status).toBe(200);
      expect((await otherTenant.api.get(path)).status).toBe(404);
    }
    expect((await otherTenant.api.get(`/api/artifacts?agentId=${agentId}`)).body.artifacts).toEqual([]);
  });

  describe('files', () => {
    it('files are listed newest first, by agent, job and kind, and are deleted with their job', async () => {
      const agentId = await makeOnline();
      const job = await makeJob(harness.db, { ...buildAgentRef(agentId), status: 'completed' });
      await uploadFile(agentId, 'film');
      await uploadFile(agentId, 'shot', { filename: 'a.png', contentType: 'image/png', jobId: job.id });
      await uploadFile(agentId, 'page', { filename: 'b.pdf', contentType: 'application/pdf', jobId: job.id });
      const listArtifactNames = async (query: string) =>
        (await tenant.api.get(`/api/artifacts?agentId=${agentId}&${query}`)).body.artifacts.map(
          ({ filename }: { filename: string }) => filename,
        );
      expect(await listArtifactNames('')).toEqual(['b.pdf', 'a.png', 'film.mkv']);
      expect(await listArtifactNames(`jobId=${job.id}`)).toEqual(['b.pdf', 'a.png']);
      expect(await listArtifactNames(`jobId=${job.id}&kind=image`)).toEqual(['a.png']);
      expect(await listArtifactNames(`jobId=${newId()}`)).toEqual([]);
      const first = await tenant.api.get(`/api/artifacts?agentId=${agentId}&limit=2`);
      expect(await listArtifactNames(`cursor=${first.body.nextCursor}`)).toEqual(['film.mkv']);
      const { id } = first.body.artifacts[0];
      const file = (await tenant.as.viewer.get(`/api/artifacts/${id}`)).body;
      expect(await (await fetch(file.downloadUrl)).text()).toBe('page');
      expect((await tenant.as.admin.delete(`/api/jobs/${job.id}`)).status).toBe(204);
      expect((await tenant.api.get(`/api/artifacts/${id}`)).status).toBe(404);
      expect(await listArtifactNames('')).toEqual(['film.mkv']);
    });

    it('a file is shown without a download URL if the URL cannot be signed', async () => {
      const agentId = await makeOnline();
      await uploadFile(agentId, 'page', { filename: 'b.pdf', contentType: 'application/pdf' });
      const [{ id }] = (await tenant.api.get(`/api/artifacts?agentId=${agentId}`)).body.artifacts;
      const signing = jest
        .spyOn(harness.app.nest.get(ObjectStorage), 'presignGet')
        .mockRejectedValue(new Error('no credentials'));
      try {
        const { status, body } = await tenant.api.get(`/api/artifacts/${id}`);
        expect([status, body.downloadUrl, body.downloadUrlExpiresAt]).toEqual([200, null, null]);
      } finally {
        signing.mockRestore();
      }
    });
  });
});
