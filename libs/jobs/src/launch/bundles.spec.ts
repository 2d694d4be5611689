import { makeInstallation, makeOrganization, makeWorkflow, type MadeInstallation } from '@muster/testing';
import { launchBatch } from '../batches/launch-batch';
import { finishJob } from '../ends/finish-job';
import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';
import { replayJob } from './replay-job';

describe('A run of an installation', () => {
  let fixture: JobsFixture;
  let agentId: string;

  beforeAll(async () => {
    fixture = await openJobsFixture();
  });
  beforeEach(async () => {
    agentId = await fixture.makeOnlineAgent();
  });
  afterAll(() => fixture.close());

  const install = (...contents: string[]) =>
    makeInstallation(fixture.harness.db, { organizationId: fixture.organizationId, contents });
  const pin = ({ installationId }: MadeInstallation, versionId: string) =>
    fixture.query('UPDATE pack_installation SET pinned_version_id = $2 WHERE id = $1', [installationId, versionId]);
  const bundle = ({ installationId, versions }: MadeInstallation, at = 0) => ({ installationId, ...versions[at]! });
  const jobOf = async (id: string) =>
    (
      await fixture.query<any>(
        'SELECT bundle, lineage, workflow_pack_installation_id AS installation FROM job WHERE id = $1',
        [id],
      )
    )[0]!;
  const jobs = async () => (await fixture.query<{ count: number }>('SELECT count(*)::int AS count FROM job'))[0]!.count;
  const inOrganization = <T>(work: Parameters<typeof fixture.harness.db.transaction<T>>[1]) =>
    fixture.harness.db.transaction({ organizationId: fixture.organizationId }, work);

  it('a run, its retry and its replay have the pack version that was pinned at the launch', async () => {
    const installation = await install('new', 'old');
    const { installationId: workflowPackInstallationId, packId, versions } = installation;
    const jobId = await fixture.launch({ agentId, workflowPackInstallationId, maxRetries: 1 });
    await pin(installation, versions[1]!.versionId);
    const fixed = await jobOf(jobId);
    expect(fixed).toEqual({
      installation: workflowPackInstallationId,
      bundle: bundle(installation),
      lineage: {
        SERVICE_WORKFLOW_PACK_ID: packId,
        SERVICE_WORKFLOW_PACK_VERSION_ID: versions[0]!.versionId,
        SERVICE_WORKFLOW_PACK_INSTALLATION_ID: workflowPackInstallationId,
        SERVICE_RUNTIME_BUNDLE_ID: versions[0]!.runtimeBundleId,
        SERVICE_RUNTIME_BUNDLE_MANIFEST_KEY: `packs/${fixture.organizationId}/manifests/${versions[0]!.runtimeBundleId}.json`,
        SERVICE_RUNTIME_BUNDLE_DIGEST: versions[0]!.digest,
      },
    });
    await inOrganization((tx) =>
      finishJob(tx, {
        organizationId: fixture.organizationId,
        jobId,
        to: 'failed',
        errorCode: 'agent_stopped',
        source: 'watchdog',
      }),
    );
    const [retry] = await fixture.query<{ id: string }>('SELECT id FROM job WHERE retry_of = $1', [jobId]);
    expect(await jobOf(retry!.id)).toEqual(fixed);
    const replay = await inOrganization((tx) => replayJob(tx, fixture.caller, jobId, new Date()));
    expect(await jobOf(replay.jobId)).toEqual(fixed);
    const next = await fixture.launch({ agentId, workflowPackInstallationId });
    expect((await jobOf(next)).bundle).toEqual(bundle(installation, 1));
  });

  it('a run uses the pack installation of its launch, otherwise that of its workflow, otherwise none', async () => {
    const [ofLaunch, ofWorkflow] = [await install('launch'), await install('workflow')];
    const { id: workflowId } = await makeWorkflow(fixture.harness.db, {
      organizationId: fixture.organizationId,
    });
    await fixture.query('UPDATE workflow SET workflow_pack_installation_id = $2 WHERE id = $1', [
      workflowId,
      ofWorkflow.installationId,
    ]);
    const launched = await fixture.launch({ agentId, workflowId });
    expect((await jobOf(launched)).bundle).toEqual(bundle(ofWorkflow));
    const named = await fixture.launch({ agentId, workflowId, workflowPackInstallationId: ofLaunch.installationId });
    expect((await jobOf(named)).bundle).toEqual(bundle(ofLaunch));
    expect(await jobOf(await fixture.launch({ agentId }))).toEqual({ installation: null, bundle: null, lineage: {} });
  });

  it('a launch is rejected if its pack installation does not exist or has no pinned version', async () => {
    const before = await jobs();
    const unpinned = await install();
    const { id: organizationId } = await makeOrganization(fixture.harness.db);
    const foreign = await makeInstallation(fixture.harness.db, { organizationId, contents: ['theirs'] });
    const launch = (workflowPackInstallationId: string) => fixture.launch({ agentId, workflowPackInstallationId });
    await expect(launch(unpinned.installationId)).rejects.toMatchObject({ code: 'no_pinned_version' });
    await expect(launch(foreign.installationId)).rejects.toMatchObject({ code: 'not_found' });
    expect(await jobs()).toBe(before);
  });

  it('the command of a pack’s run has an empty script and the bundle’s storage key, but no URL', async () => {
    const { id: workflowId } = await makeWorkflow(fixture.harness.db, {
      organizationId: fixture.organizationId,
      script: '',
    });
    await expect(fixture.launch({ agentId, workflowId })).rejects.toMatchObject({ code: 'nothing_to_run' });
    const installation = await install('code');
    const { installationId: workflowPackInstallationId, versions } = installation;
    const jobId = await fixture.dispatched({ agentId, workflowId, workflowPackInstallationId });
    const [command] = await fixture.query<any>('SELECT payload, env FROM agent_command WHERE job_id = $1', [jobId]);
    const { digest } = versions[0]!;
    expect(command!.payload).toMatchObject({
      script: '',
      bundle: { digest, objectKey: `packs/${fixture.organizationId}/bundles/${digest.slice(7)}.zip` },
    });
    expect(command!.env).toMatchObject({ SERVICE_RUNTIME_BUNDLE_DIGEST: digest });
    expect(JSON.stringify(command)).not.toMatch(/https?:/);
  });

  it('all runs of a batch have the same pack version', async () => {
    const installation = await install('batch');
    const { installationId: workflowPackInstallationId } = installation;
    const { id: workflowId } = await makeWorkflow(fixture.harness.db, {
      organizationId: fixture.organizationId,
      script: '',
    });
    const rows = [1, 2, 3].map((row) => ({ row, cells: new Map(), errors: [] }));
    const batch = (input = {}) =>
      inOrganization((tx) =>
        launchBatch(tx, fixture.caller, {
          input: { workflowId, agentIds: [agentId], ...input },
          rows,
          now: new Date(),
        }),
      );
    await expect(batch()).rejects.toMatchObject({ code: 'nothing_to_run' });
    const { jobIds, batchId } = await batch({ workflowPackInstallationId });
    for (const id of jobIds) expect((await jobOf(id)).bundle).toEqual(bundle(installation));
    expect(
      await fixture.query('SELECT workflow_pack_installation_id AS id FROM batch WHERE id = $1', [batchId]),
    ).toEqual([{ id: workflowPackInstallationId }]);
    expect(jobIds).toHaveLength(3);
  });
});
