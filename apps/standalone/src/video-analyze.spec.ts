import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '@muster/platform';
import { startHarness, waitFor } from '@muster/testing';
import { Client } from 'pg';
import { itWithFfmpeg, makeModelStep, VideoFixture } from './video.harness';
import { standalone } from './standalone';

describe('the analysis of a video or a recording', () => {
  let fixture: VideoFixture;
  let { model, harness, machines, tenant, agentId, folder }: VideoFixture = {} as VideoFixture;
  let {
    startWorker,
    uploadVideo,
    uploadBytes: upload,
    insertRecording,
    startAnalysis: analyze,
    waitForAnalysis: ended,
    readWorkflow: workflow,
  }: VideoFixture = {} as VideoFixture;

  beforeAll(async () => {
    fixture = await VideoFixture.start();
    ({ model, harness, machines, tenant, agentId, folder } = fixture);
    ({
      startWorker,
      uploadVideo,
      uploadBytes: upload,
      insertRecording,
      startAnalysis: analyze,
      waitForAnalysis: ended,
      readWorkflow: workflow,
    } = fixture);
  });
  beforeEach(() => model.reset());
  afterEach(() => expect(model.faults).toEqual([]));
  afterAll(() => fixture.close());

  it('the analysis of recorded events creates a draft without a model', async () => {
    const recordingId = await insertRecording([
      { type: 'navigate', url: 'https://portal.test/' },
      { type: 'change', value: '{{CLAIM_ID}}', selectors: [['aria/Claim']] },
    ]);
    const done = await ended({ recordingId, name: 'Claims' });
    expect(done).toMatchObject({
      status: 'completed',
      progress: 100,
      frames: 0,
      usage: { inputTokens: 0, costUsd: 0 },
    });
    const draft = await workflow(done.workflowId);
    expect(draft).toMatchObject({ name: 'Claims', source: { kind: 'video', recordingId }, variables: ['CLAIM_ID'] });
    expect(draft.steps).toMatchObject([
      { type: 'navigate', confidence: 1, atMs: null, frameUrl: null, review: null },
      { type: 'change', confidence: 1 },
    ]);
    expect(draft.script).not.toContain('SystemExit(');
    expect(model.calls).toEqual([]);
  });

  it('a run fails with errorCode step_not_confirmed before a step that nobody has confirmed', async () => {
    const step = { id: 's1', type: 'click', confidence: 0.4, review: 'needed', selectors: [['#pay']] };
    const created = await tenant.api.post('/api/workflows', { name: newId(), steps: [step] });
    const launched = await tenant.api.post('/api/jobs/launch', { workflowId: created.body.id, agentId });
    const job = await waitFor('the run to stop', async () => {
      const { body } = await tenant.api.get(`/api/jobs/${launched.body.jobId}`);
      return body.status === 'failed' && body;
    });
    expect(job).toMatchObject({
      errorCode: 'step_not_confirmed',
      error: expect.stringContaining('nobody has confirmed'),
    });
  });

  it.each([
    ['no steps', [], 'no_steps_found'],
    ['unreadable content', 'no JSON at all', 'recording_unreadable'],
  ])('the analysis of a recording with %s fails with the reason', async (_, steps, code) => {
    const state = await ended({ recordingId: await insertRecording(steps) });
    expect(state).toMatchObject({ status: 'failed', code, error: expect.any(String) });
    expect(state.workflowId).toBeUndefined();
  });

  itWithFfmpeg(
    'the analysis of a video creates a draft with a frame per scene change and steps that need a review',
    async () => {
      const uploadKey = await uploadVideo(4);
      const steps = [
        makeModelStep({ type: 'navigate', url: 'data:text/html,<p>Claims</p>', title: 'Open the portal', atMs: 0 }),
        makeModelStep({ confidence: 0.4, frame: 3, atMs: 2000 }),
        makeModelStep({ type: 'click', selectors: [], title: 'A click without a selector' }),
        makeModelStep({ frame: 99, confidence: 3 }),
      ];
      model.addResponses({ json: { steps }, usage: { inputTokens: 4000, outputTokens: 300 } });
      const done = await ended({ uploadKey, hint: 'A person reviews claims.' });
      expect(done).toMatchObject({ status: 'completed', frames: 4, usage: { inputTokens: 4000, outputTokens: 300 } });
      const [call] = model.calls;
      expect(call).toMatchObject({ schemaName: 'video_steps', body: { model: model.visionName } });
      expect(call!.pictures).toHaveLength(4);
      expect(call!.body.messages[0].content).toContain('untrusted');
      const request = JSON.parse(call!.lastUserText);
      expect(request.film.hint).toBe('A person reviews claims.');
      expect(request.frames.map(({ atMs }: { atMs: number }) => atMs)).toEqual([0, 1000, 2000, 3000]);

      const draft = await workflow(done.workflowId);
      expect(draft.source).toEqual({ kind: 'video', recordingId: null });
      expect(draft.steps).toMatchObject([
        { type: 'navigate', confidence: 0.9, review: null, atMs: 0, frameUrl: expect.any(String) },
        { type: 'click', confidence: 0.4, review: 'needed', atMs: 2000 },
        { type: 'click', confidence: 1, review: null, frameUrl: null },
      ]);
      const picture = Buffer.from(await (await fetch(draft.steps[1].frameUrl)).arrayBuffer());
      expect(picture.subarray(0, 3).toString('hex')).toBe('ffd8ff');
      const [id] = draft.steps.filter(({ review }: any) => review === 'needed').map((step: any) => step.id);
      expect(draft.script.match(/raise SystemExit\((.*)\)/)![1]).toContain('nobody has confirmed it');

      const launched = await tenant.api.post('/api/jobs/launch', { workflowId: draft.id, agentId });
      const job = await waitFor('the run to stop', async () => {
        const { body } = await tenant.api.get(`/api/jobs/${launched.body.jobId}`);
        return body.status === 'failed' && body;
      });
      expect(job.error).toMatch(/chromium|confirmed/i);

      const path = `/api/workflows/${draft.id}/steps/${id}`;
      expect(await tenant.as.viewer.patch(path, { review: 'confirmed' })).toMatchObject({ status: 403 });
      expect(await tenant.api.patch(path, { review: 'needed' })).toMatchObject({ status: 400 });
      expect(await tenant.api.patch(`/api/workflows/${draft.id}/steps/none`, { review: 'confirmed' })).toMatchObject({
        status: 404,
      });
      expect(await tenant.api.patch(path, { review: 'confirmed' })).toMatchObject({ status: 200 });
      const confirmed = await workflow(draft.id);
      expect(confirmed).toMatchObject({ revision: 2, steps: [{}, { review: 'confirmed' }, {}] });
      expect(confirmed.script).toBe(
        draft.script.replace(/ {4}muster\.error_code\("step_not_confirmed"\)\n {4}raise SystemExit\(.*\)\n/, ''),
      );
      const calls = await machines.querySql(`SELECT * FROM model_call WHERE purpose = 'video_analyze'`);
      expect(calls).toMatchObject([{ agentId, inputTokens: 4000, outcome: 'answered' }]);
      const command = await machines.querySql(
        `SELECT payload::text AS payload FROM agent_command WHERE kind = 'snippet'`,
      );
      for (const { payload } of command) expect(payload).not.toMatch(/Signature|uploads\//);
    },
  );

  itWithFfmpeg('an analysis whose process is gone is resumed, and creates one draft', async () => {
    model.addResponses({ hang: true }, { json: { steps: [makeModelStep()] } });
    const uploadKey = await uploadVideo(2);
    const ending = ended({ uploadKey, name: 'Taken over' });
    await waitFor('the model call', () => model.calls.length === 1);
    await machines.querySql(
      `UPDATE video_analysis SET due_at = now() - make_interval(secs => 1) WHERE upload_key = $1`,
      [uploadKey],
    );
    expect(await ending).toMatchObject({ status: 'completed', frames: 2 });
    await waitFor('the first process to give up', () => model.calls[0]!.isOver);
    expect(await machines.querySql(`SELECT id FROM workflow WHERE name = 'Taken over'`)).toHaveLength(1);
    const [row] = await machines.querySql('SELECT * FROM video_analysis WHERE upload_key = $1', [uploadKey]);
    expect(row).toMatchObject({ status: 'completed', code: null, turn: expect.any(Number) });
    const frames = await machines.querySql(`SELECT id FROM agent_command WHERE id = $1`, [row.commandId]);
    expect(frames).toHaveLength(1);
  });

  itWithFfmpeg(
    'an analysis pays for each answer once, even if the process dies before it applies the answer',
    async () => {
      const owner = new Client({ connectionString: harness.databaseUrl });
      await owner.connect();
      // The transaction that applies the answer fails, as if its process died there.
      await owner.query(`
      CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'died'; END $$;
      CREATE TRIGGER dies BEFORE UPDATE ON video_analysis FOR EACH ROW
        WHEN (NEW.asked > OLD.asked) EXECUTE FUNCTION die()`);
      model.addResponses({ json: { steps: [makeModelStep()] }, usage: { inputTokens: 4000, outputTokens: 300 } });
      const uploadKey = await uploadVideo(2);
      const ending = ended({ uploadKey, name: 'Paid once' });
      const countFaults = async () =>
        (await machines.querySql('SELECT faults FROM video_analysis WHERE upload_key = $1', [uploadKey]))[0]
          ?.faults as number;
      await waitFor('the failure', async () => (await countFaults()) > 0, 30_000);
      await owner.query('DROP FUNCTION die CASCADE');
      await owner.end();
      expect(await ending).toMatchObject({ status: 'completed', usage: { inputTokens: 4000, outputTokens: 300 } });
      expect(model.calls).toHaveLength(1);
      const [{ id }] = await machines.querySql('SELECT id FROM video_analysis WHERE upload_key = $1', [uploadKey]);
      const calls = await machines.querySql('SELECT outcome FROM model_call WHERE session_id = $1', [id]);
      expect(calls).toEqual([{ outcome: 'answered' }]);
    },
  );

  it.each([
    ['of more than an hour fails', 3601, 'recording_too_long'],
    ['of exactly an hour completes', 3600, undefined],
  ])('the analysis of a recording %s (%d seconds)', async (_, seconds, code) => {
    const recordingId = await insertRecording([{ type: 'navigate', url: 'https://portal.test/' }]);
    await machines.querySql(
      `UPDATE recording SET started_at = now() - $2 * interval '1 second', ended_at = now() WHERE id = $1`,
      [recordingId, seconds],
    );
    const state = await ended({ recordingId });
    expect(state.code).toBe(code);
    expect(state.status).toBe(code ? 'failed' : 'completed');
    expect(model.calls).toEqual([]);
  });

  itWithFfmpeg('the analysis of an uploaded video fails if the video is longer than an hour', async () => {
    const file = join(folder, 'long.mkv');
    const source = 'color=c=red:s=32x32:r=1/60:d=3780';
    const ffmpeg = spawnSync('ffmpeg', ['-f', 'lavfi', '-i', source, '-c:v', 'ffv1', file]);
    expect(ffmpeg.status).toBe(0);
    const state = await ended({ uploadKey: await upload(readFileSync(file)) });
    expect(state).toMatchObject({ status: 'failed', code: 'recording_too_long', frames: 0 });
    expect(model.calls).toEqual([]);
  });

  it('the analysis of a video fails if no model is configured; recorded events need no model', async () => {
    const bare = await startHarness({ ...standalone, env: { OUTBOX_SWEEP_MS: '100' } });
    const other = await bare.makeTenant();
    const { agent } = (await other.as.admin.post('/api/agents', { name: 'Bare', provider: 'external' })).body;
    const path = `/api/agents/${agent.id}/video-analyze`;
    const waitForAnalysisEnd = async (contentType: string, sent: string) => {
      const { uploadKey, uploadUrl, method, headers } = (
        await other.api.post('/api/uploads', { contentType, size: sent.length })
      ).body;
      expect((await fetch(uploadUrl, { method, headers, body: sent })).status).toBe(200);
      const { analysisId } = (await other.api.post(path, { uploadKey })).body;
      return waitFor('the analysis to end', async () => {
        const { body } = await other.api.get(`${path}?analysisId=${analysisId}`);
        return ['failed', 'completed'].includes(body.status) && body;
      });
    };
    const video = await waitForAnalysisEnd('video/mp4', 'A video');
    expect(video).toMatchObject({ code: 'model_not_configured', error: expect.stringContaining('language model') });
    const flow = { title: 'Claims', steps: [{ type: 'navigate', url: 'https://portal.example.com/' }] };
    const recorded = await waitForAnalysisEnd('application/json', JSON.stringify(flow));
    expect(recorded).toMatchObject({ status: 'completed', frames: 0, workflowId: expect.any(String) });
    const draft = (await other.api.get(`/api/workflows/${recorded.workflowId}`)).body;
    expect(draft.steps).toMatchObject([{ type: 'navigate' }]);
    await bare.close();
  });

  itWithFfmpeg.each([
    ['returns no steps', { json: { steps: [] } }, 'no_steps_found'],
    ['refuses', { refusal: 'No.' }, 'model_failed'],
    ['hangs', { hang: true as const }, 'execution_timeout'],
  ])('the analysis of a video fails if the model %s', async (_, script, code) => {
    model.addResponses(script);
    expect(await ended({ uploadKey: await uploadVideo(1) })).toMatchObject({ status: 'failed', code });
  });

  itWithFfmpeg('the analysis of an upload fails if the upload is not a video', async () => {
    const state = await ended({ uploadKey: await upload(Buffer.from('This is not a video.')) });
    expect(state).toMatchObject({ status: 'failed', code: 'recording_unreadable' });
  });

  it('the analysis of a video fails if the machine has no ffmpeg', async () => {
    const bare = await startWorker('bare', makePythonOnlyPath(folder));
    const state = await ended({ uploadKey: await upload(Buffer.from('A video')) }, bare);
    expect(state).toMatchObject({ status: 'failed', code: 'frames_unavailable' });
    expect(existsSync(join(folder, 'bare'))).toBe(true);
  });

  it('an unknown or ambiguous source is refused without starting an analysis', async () => {
    const before = await machines.querySql('SELECT id FROM video_analysis');
    expect(await analyze({ recordingId: newId() })).toMatchObject({
      status: 404,
      body: { code: 'recording_not_found' },
    });
    expect(await analyze({ uploadKey: 'uploads/x/y' })).toMatchObject({ body: { code: 'recording_not_found' } });
    expect(await analyze({})).toMatchObject({ status: 400 });
    expect(await analyze({ recordingId: newId(), uploadKey: 'x' })).toMatchObject({ status: 400 });
    expect(await analyze({ recordingId: newId() }, newId())).toMatchObject({ body: { code: 'agent_not_found' } });
    const other = await harness.makeTenant();
    const key = await upload(Buffer.from('Ours.'));
    expect(await analyze({ uploadKey: key }, agentId, other.api)).toMatchObject({ status: 404 });
    expect(await tenant.api.post('/api/uploads', { contentType: 'text/html', size: 1 })).toMatchObject({ status: 400 });
    const large = { contentType: 'video/mp4', size: 500 * 1024 * 1024 + 1 };
    expect(await tenant.api.post('/api/uploads', large)).toMatchObject({ status: 413 });
    expect(await machines.querySql('SELECT id FROM video_analysis')).toHaveLength(before.length);
  });
});

/** Creates a folder for PATH that contains only Python. */
function makePythonOnlyPath(folder: string): string {
  const path = join(folder, 'bin');
  const python = spawnSync('sh', ['-c', 'command -v python3']).stdout.toString().trim();
  spawnSync('sh', ['-c', `mkdir -p ${path} && ln -s ${python} ${path}/python3`]);
  return path;
}
