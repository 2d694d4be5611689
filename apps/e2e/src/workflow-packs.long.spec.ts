// This test is long because it publishes a pack from a folder, runs it and rolls it back.
// A short test of the same code: apps/gateway/src/packs/versions.spec.ts
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type HttpClient, waitFor } from '@muster/testing';
import { root } from './service-process';
import { openPracticeOrganization } from './shared-service';

jest.setTimeout(240_000);

/** Reports which bundle the run uses. If FLAG is a path, the first attempt fails. */
const script = `
import os, muster, claims
muster.result({
    "version": claims.version,
    "from": os.path.relpath(claims.__file__, os.environ["MUSTER_RUN_ROOT"]),
    "versionId": os.environ["SERVICE_WORKFLOW_PACK_VERSION_ID"],
})
flag = os.environ["FLAG"]
if flag != "none" and not os.path.exists(flag):
    open(flag, "w").close()
    raise SystemExit("the first attempt fails")
`;
/** Occupies the agent until the file FLAG exists. */
const holder = `
import os, time
while not os.path.exists(os.environ["FLAG"]):
    time.sleep(0.05)
`;

describe('a workflow pack', () => {
  let folder: string;
  let home: string;
  let file: string;
  let worker: ChildProcess;
  let admin: HttpClient;
  let agentId: string;
  let packId: string;
  let installationId: string;
  let workflowId: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'muster-packs-'));
    const practice = await openPracticeOrganization();
    admin = practice.api;
    const created = (await admin.post('/api/agents', { name: 'Front desk', provider: 'external' })).body;
    agentId = created.agent.id;
    home = join(folder, 'worker');
    mkdirSync(home);
    file = join(folder, 'muster-worker.js');
    execFileSync(process.execPath, [join(root, 'apps/worker/one-file.mjs'), file]);
    worker = spawn(process.execPath, [file], {
      cwd: folder,
      stdio: 'ignore',
      env: {
        PATH: process.env['PATH'],
        SERVICE_BASE_URL: practice.address,
        SERVICE_API_KEY: created.workerKey,
        AGENT_ID: agentId,
        MUSTER_WORKER_DIR: home,
      },
    });
    await waitFor(
      'the agent to be online',
      async () => (await admin.get(`/api/agents/${agentId}`)).body.status === 'online',
      60_000,
    );
    workflowId = (await admin.post('/api/workflows', { name: 'Claims', script, variables: ['FLAG'] })).body.id;
    await admin.put('/api/process-library/claims', { name: 'Claims', description: '' });
    packId = (await admin.post('/api/workflow-packs', { workerKey: 'claims' })).body.id;
  });
  afterAll(async () => {
    worker?.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });

  /** Publishes from the worker's machine; only the folder and the pack are specified. */
  const publishPack = (source: string, ...more: string[]) =>
    new Promise<{ code: number; output: string }>((resolve) => {
      const args = [file, 'pack', 'publish', source, '--pack', packId, '--worker-dir', home, ...more];
      const child = execFile(process.execPath, args, { env: { PATH: process.env['PATH'] } }, (_error, out, err) =>
        resolve({ code: child.exitCode ?? -1, output: `${out}${err}` }),
      );
    });
  const writePackSource = (name: string, version: number) => {
    const source = join(folder, name);
    mkdirSync(source, { recursive: true });
    writeFileSync(join(source, 'claims.py'), `version = ${version}\n`);
    return source;
  };
  const postSuccessfully = async (path: string, body: object, status = 200) => {
    const answer = await admin.post(path, body);
    expect([answer.status, answer.text]).toEqual([status, expect.any(String)]);
    return answer.body;
  };
  /** Creates a version of the draft and promotes it to production. */
  const publishAndPromoteVersion = async (label: string): Promise<string> => {
    const { versionId } = await postSuccessfully(`/api/workflow-packs/${packId}/versions`, { label }, 201);
    for (const stage of ['internal_verified', 'pilot', 'production']) {
      await postSuccessfully(`/api/workflow-packs/${packId}/versions/${versionId}/promote`, { stage });
    }
    return versionId;
  };
  const launchJob = async (input: object = {}): Promise<string> => {
    const body = {
      workflowId,
      agentId,
      variables: { FLAG: 'none' },
      workflowPackInstallationId: installationId,
      ...input,
    };
    return (await postSuccessfully('/api/jobs/launch', body, 202)).jobId;
  };
  const waitForJobEnd = (jobId: string) =>
    waitFor(
      'the end of the job',
      async () => {
        const job = (await admin.get(`/api/jobs/${jobId}`)).body;
        return ['completed', 'failed', 'cancelled'].includes(job.status) && job;
      },
      60_000,
    );
  const expectedRun = (version: number, versionId: string) => ({
    status: 'completed',
    bundle: { installationId, versionId },
    result: { version, from: 'bundle/claims.py', versionId },
  });

  it('launched jobs keep the version of their pack when the installation is pinned or rolled back', async () => {
    const source = writePackSource('pack', 1);
    expect(await publishPack(source)).toEqual({ code: 0, output: expect.stringContaining('published as the draft') });
    const first = await publishAndPromoteVersion('one');
    installationId = (await postSuccessfully('/api/workflow-pack-installations', { packId, name: 'Front office' }, 201))
      .id;
    const early = { workflowId, agentId, variables: { FLAG: 'none' }, workflowPackInstallationId: installationId };
    expect(await postSuccessfully('/api/jobs/launch', early, 409)).toMatchObject({ code: 'no_pinned_version' });
    await postSuccessfully(`/api/workflow-pack-installations/${installationId}/pin`, { versionId: first });
    expect(await waitForJobEnd(await launchJob())).toMatchObject(expectedRun(1, first));

    writePackSource('pack', 2);
    expect((await publishPack(source)).code).toBe(0);
    const second = await publishAndPromoteVersion('two');
    await postSuccessfully(`/api/workflow-pack-installations/${installationId}/pin`, { versionId: second });
    expect(await waitForJobEnd(await launchJob())).toMatchObject(expectedRun(2, second));

    // A publication from a folder without the last draft would replace that draft, so it is refused.
    const blind = await publishPack(writePackSource('elsewhere', 3));
    expect([blind.code, blind.output]).toEqual([3, expect.stringContaining('nothing was published')]);

    const [released, retried] = [join(folder, 'release'), join(folder, 'retried')];
    const held = await postSuccessfully('/api/workflows', { name: 'Holder', script: holder, variables: ['FLAG'] }, 201);
    const holding = await launchJob({
      workflowId: held.id,
      variables: { FLAG: released },
      workflowPackInstallationId: undefined,
    });
    await waitFor(
      'the job that occupies the agent',
      async () => (await admin.get(`/api/jobs/${holding}`)).body.status === 'running',
      30_000,
    );
    const queued = await launchJob();
    const failing = await launchJob({ variables: { FLAG: retried }, maxRetries: 1, retryDelayMs: 100 });
    const back = await postSuccessfully(`/api/workflow-pack-installations/${installationId}/rollback`, {
      reason: 'it reads worse',
    });
    expect(back.installation).toMatchObject({ pinnedVersionId: first, previousVersionId: second });
    expect([...back.queuedJobs].sort()).toEqual([queued, failing].sort());
    const after = await launchJob();
    writeFileSync(released, '');

    expect(await waitForJobEnd(queued)).toMatchObject(expectedRun(2, second));
    expect(await waitForJobEnd(failing)).toMatchObject({ status: 'failed', bundle: { versionId: second } });
    const retry = await waitFor('the retry', async () => {
      const { jobs } = (await admin.get('/api/jobs')).body;
      return jobs.find((job: { retryOf: string | null }) => job.retryOf === failing);
    });
    expect(await waitForJobEnd(retry.id)).toMatchObject(expectedRun(2, second));
    expect(await waitForJobEnd(after)).toMatchObject(expectedRun(1, first));
    const replay = await postSuccessfully(`/api/jobs/${queued}/replay`, {}, 202);
    expect(await waitForJobEnd(replay.jobId)).toMatchObject(expectedRun(2, second));
    expect(readdirSync(join(home, 'bundles')).filter((name) => name.endsWith('.zip'))).toHaveLength(2);
    rmSync(source, { recursive: true });
  });
});
