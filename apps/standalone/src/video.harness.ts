import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { newId } from '@muster/platform';
import {
  FakeMachines,
  FakeModel,
  type Harness,
  killAll,
  findProcesses,
  startHarness,
  type Tenant,
  waitFor,
} from '@muster/testing';
import { standalone } from './standalone';

const workerProgram = resolve(__dirname, '../../../dist/apps/worker/src/main.js');
const hasFfmpeg = spawnSync('ffmpeg', ['-version']).status === 0;
/** Skips tests that need ffmpeg if it is not installed. The error of a machine without ffmpeg is tested everywhere. */
export const itWithFfmpeg = hasFfmpeg ? it : it.skip;

/** A step as the model returns it. */
export const makeModelStep = (more: object = {}) => ({
  ...{ type: 'click', title: 'Open the claims', url: '', selectors: ['aria/Claims'], value: '' },
  ...{ atMs: 1000, frame: 1, confidence: 0.9 },
  ...more,
});

/** The whole service, a worker that extracts images from videos, and a fake model. */
export class VideoFixture {
  readonly folder = mkdtempSync(join(tmpdir(), 'muster-films-'));
  readonly tenant: Tenant;
  agentId!: string;
  private readonly workers: ChildProcess[] = [];

  private constructor(
    readonly harness: Harness,
    readonly model: FakeModel,
    readonly machines: FakeMachines,
  ) {
    this.tenant = machines.tenant;
  }

  static async start(): Promise<VideoFixture> {
    const model = await FakeModel.start();
    const env = { OUTBOUND_ALLOW: '127.0.0.0/8', COMMAND_SWEEP_MS: '50', OUTBOX_SWEEP_MS: '100', PUBLIC_APP_URL: '' };
    const harness = await startHarness({
      ...standalone,
      env: { ...env, ...model.environment, MODEL_TIMEOUT_MS: '3000' },
    });
    const fixture = new VideoFixture(harness, model, await FakeMachines.create(harness));
    fixture.agentId = await fixture.startWorker('with', process.env['PATH']!);
    return fixture;
  }

  async close(): Promise<void> {
    for (const worker of this.workers) worker.kill('SIGKILL');
    killAll(findProcesses(this.folder));
    await this.harness.close();
    await Promise.all([this.machines.close(), this.model.close()]);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }

  readonly startWorker = async (name: string, path: string): Promise<string> => {
    const { agent, workerKey } = (await this.tenant.as.admin.post('/api/agents', { name, provider: 'external' })).body;
    const runs = join(this.folder, name);
    this.workers.push(
      spawn(process.execPath, [workerProgram], {
        stdio: 'ignore',
        env: {
          ...{ PATH: path, HOME: this.folder, SERVICE_BASE_URL: this.harness.url, AGENT_ID: agent.id },
          ...{ SERVICE_API_KEY: workerKey, MUSTER_RUN_ROOT: runs, MUSTER_WORKER_DIR: join(runs, 'worker') },
        },
      }),
    );
    await waitFor(
      `the worker ${name}`,
      async () => (await this.tenant.api.get(`/api/agents/${agent.id}/status`)).body.status === 'online',
    );
    return agent.id as string;
  };

  /** Uploads a video with this number of scenes of one second each; returns its upload key. */
  readonly uploadVideo = async (scenes: number): Promise<string> => {
    const file = join(this.folder, `${newId()}.mkv`);
    const parts = Array.from({ length: scenes }, (_, at) => [
      ...['-f', 'lavfi', '-i', `color=c=${['red', 'blue', 'green', 'white'][at % 4]}:s=320x240:d=1:r=5`],
    ]).flat();
    const filter = `concat=n=${scenes}:v=1`;
    const ffmpeg = spawnSync('ffmpeg', [...parts, '-filter_complex', filter, '-c:v', 'mpeg4', file]);
    if (ffmpeg.status !== 0) throw new Error(ffmpeg.stderr.toString());
    return this.uploadBytes(readFileSync(file));
  };
  readonly uploadBytes = async (bytes: Buffer): Promise<string> => {
    const { status, body } = await this.tenant.api.post('/api/uploads', {
      contentType: 'video/x-matroska',
      size: bytes.length,
    });
    expect(status).toBe(201);
    const put = await fetch(body.uploadUrl, { method: body.method, headers: body.headers, body: bytes });
    expect(put.status).toBe(200);
    return body.uploadKey as string;
  };
  /** Inserts a browser recording as a worker uploads it. */
  readonly insertRecording = async (steps: object[] | string): Promise<string> => {
    const bytes = Buffer.from(typeof steps === 'string' ? steps : JSON.stringify({ title: 'Monday', steps }));
    const key = await this.uploadBytes(bytes);
    const [recordingId, artifactId] = [newId(), newId()];
    await this.machines.querySql(
      `INSERT INTO artifact (id, organization_id, agent_id, kind, filename, content_type, size, storage_key)
       VALUES ($1, $2, $3, 'file', 'events.json', 'application/json', $4, $5)`,
      [artifactId, this.tenant.organizationId, this.agentId, bytes.length, key],
    );
    await this.machines.querySql(
      `INSERT INTO recording (id, organization_id, agent_id, status, kind, events_artifact_id)
       VALUES ($1, $2, $3, 'kept', 'browser', $4)`,
      [recordingId, this.tenant.organizationId, this.agentId, artifactId],
    );
    return recordingId;
  };
  readonly startAnalysis = (body: object, agentId = this.agentId, client = this.tenant.api) =>
    client.post(`/api/agents/${agentId}/video-analyze`, body);
  readonly waitForAnalysis = async (body: object, agentId = this.agentId): Promise<any> => {
    const started = await this.startAnalysis(body, agentId);
    expect(started).toMatchObject({ status: 202, body: { analysisId: expect.any(String), status: 'queued' } });
    const path = `/api/agents/${agentId}/video-analyze?analysisId=${started.body.analysisId}`;
    return waitFor(
      'the analysis to end',
      async () => {
        const { body: state } = await this.tenant.api.get(path);
        return ['completed', 'failed'].includes(state.status) && state;
      },
      60_000,
    );
  };
  readonly readWorkflow = async (id: string) => (await this.tenant.api.get(`/api/workflows/${id}`)).body;
}
