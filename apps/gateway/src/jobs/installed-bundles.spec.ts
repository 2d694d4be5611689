import { makeInstallation, type MadeInstallation } from '@muster/testing';
import { SchedulesFixture } from '../schedules/schedules.harness';

describe('the bundle of an installation', () => {
  const fixture = new SchedulesFixture();
  const nowhere = '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e';

  beforeAll(() => fixture.openFixture());
  afterAll(() => fixture.harness.close());
  beforeEach(() => fixture.resetState());

  const installBundle = (...contents: string[]): Promise<MadeInstallation> =>
    makeInstallation(fixture.harness.db, { organizationId: fixture.tenant.organizationId, contents });
  const buildExpectedBundle = ({ installationId, versions }: MadeInstallation) => ({ installationId, ...versions[0]! });
  const readJob = async (id: string) => (await fixture.tenant.api.get(`/api/jobs/${id}`)).body;
  const buildRunBody = () => ({
    workflowId: fixture.scriptId,
    agentId: fixture.agentId,
    variables: { CLAIM_ID: 'C-1' },
  });

  it('a job shows the bundle of its pack installation in every response, however the job was launched', async () => {
    const installation = await installBundle('code');
    const { installationId: workflowPackInstallationId } = installation;
    const { api } = fixture.tenant;
    const { workflowId, agentId, variables } = buildRunBody();
    const launched = await api.post('/api/jobs/launch', { ...buildRunBody(), workflowPackInstallationId });
    expect(launched.status).toBe(202);
    const named = { workflowId, variables, workflowPackInstallationId };
    const onAgent = await api.post(`/api/agents/${agentId}/run`, named);
    const rows = [variables];
    const batch = await api.post('/api/jobs/batch', {
      workflowId,
      agentIds: [agentId],
      rows,
      workflowPackInstallationId,
    });
    for (const id of [launched.body.jobId, onAgent.body.jobId, batch.body.jobIds[0]]) {
      expect((await readJob(id)).bundle).toEqual(buildExpectedBundle(installation));
    }
    expect((await fixture.listJobs()).map((each) => each.bundle)).toEqual(
      [1, 2, 3].map(() => buildExpectedBundle(installation)),
    );
    const without = await api.post('/api/jobs/launch', buildRunBody());
    expect((await readJob(without.body.jobId)).bundle).toBeNull();
  });

  it('a launch with an unknown or unpinned pack installation is refused in every launch route, and queues nothing', async () => {
    const { installationId: unpinned } = await installBundle();
    const { api } = fixture.tenant;
    const { agentId, workflowId, variables } = buildRunBody();
    const buildInvalidCalls = (workflowPackInstallationId: string) => [
      api.post('/api/jobs/launch', { ...buildRunBody(), workflowPackInstallationId }),
      api.post(`/api/agents/${agentId}/run`, { workflowId, variables, workflowPackInstallationId }),
      api.post('/api/jobs/batch', { workflowId, agentIds: [agentId], rows: [variables], workflowPackInstallationId }),
    ];
    for (const answer of await Promise.all(buildInvalidCalls(nowhere)))
      expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
    for (const answer of await Promise.all(buildInvalidCalls(unpinned))) {
      expect([answer.status, answer.body.code]).toEqual([409, 'no_pinned_version']);
    }
    expect((await api.post('/api/jobs/launch', { ...buildRunBody(), workflowPackInstallationId: 'x' })).status).toBe(
      400,
    );
    expect(await fixture.listJobs()).toEqual([]);
  });

  it('a workflow’s pack installation applies to its runs until it is removed from the workflow', async () => {
    const installation = await installBundle('code');
    const { installationId: workflowPackInstallationId } = installation;
    const { api } = fixture.tenant;
    const created = await api.post('/api/workflows', { name: 'Of a pack', workflowPackInstallationId });
    expect([created.status, created.body.workflowPackInstallationId]).toEqual([201, workflowPackInstallationId]);
    const path = `/api/workflows/${created.body.id}`;
    const launchCreatedWorkflow = () =>
      api.post('/api/jobs/launch', { workflowId: created.body.id, agentId: fixture.agentId });
    expect((await readJob((await launchCreatedWorkflow()).body.jobId)).bundle).toEqual(
      buildExpectedBundle(installation),
    );
    expect((await api.patch(path, { name: 'Renamed' })).body.workflowPackInstallationId).toBe(
      workflowPackInstallationId,
    );
    expect((await api.patch(path, { workflowPackInstallationId: null })).body.workflowPackInstallationId).toBeNull();
    expect([(await launchCreatedWorkflow()).status, (await launchCreatedWorkflow()).body.code]).toEqual([
      409,
      'nothing_to_run',
    ]);
    const listed = (await api.get('/api/workflows')).body.workflows.find((each: any) => each.id === created.body.id);
    expect(listed.workflowPackInstallationId).toBeNull();
    expect((await api.patch(path, { workflowPackInstallationId: nowhere })).status).toBe(404);
    expect((await api.post('/api/workflows', { name: 'x', workflowPackInstallationId: nowhere })).status).toBe(404);
    const { entries } = (await fixture.tenant.as.admin.get('/api/audit?action=workflow.update&limit=1')).body;
    expect(entries[0].changes).toEqual({ workflowPackInstallationId: [workflowPackInstallationId, null] });
  });

  it('a schedule uses its own pack installation instead of its workflow’s, even one without a pinned version', async () => {
    const [ofSchedule, ofWorkflow] = [await installBundle('schedule'), await installBundle('workflow')];
    const { api } = fixture.tenant;
    const buildInstallationField = (installation: MadeInstallation | null) => ({
      workflowPackInstallationId: installation?.installationId ?? null,
    });
    await api.patch(`/api/workflows/${fixture.scriptId}`, buildInstallationField(ofWorkflow));
    const id = await fixture.createSchedule(buildInstallationField(ofSchedule));
    const executeSchedule = async () => (await fixture.executeSchedules({ scheduleId: id, force: true })).launched[0];
    expect((await readJob((await executeSchedule()).jobId)).bundle).toEqual(buildExpectedBundle(ofSchedule));
    expect(
      (await api.put(`/api/schedules/${id}`, buildInstallationField(null))).body.workflowPackInstallationId,
    ).toBeNull();
    fixture.clock.advance(1000);
    expect((await readJob((await executeSchedule()).jobId)).bundle).toEqual(buildExpectedBundle(ofWorkflow));
    await api.put(`/api/schedules/${id}`, buildInstallationField(await installBundle()));
    fixture.clock.advance(1000);
    expect(await executeSchedule()).toBeUndefined();
    expect((await fixture.readSchedule(id)).recentRuns[0]).toMatchObject({
      outcome: 'failed',
      reason: 'no_pinned_version',
      jobId: null,
    });
    expect((await api.put(`/api/schedules/${id}`, { workflowPackInstallationId: nowhere })).status).toBe(404);
    expect((await api.post('/api/schedules', fixture.buildBody({ workflowPackInstallationId: nowhere }))).status).toBe(
      404,
    );
  });

  it('a schedule for a workflow without a script is allowed if the schedule has a pack installation', async () => {
    const { api } = fixture.tenant;
    const { body } = await api.post('/api/workflows', { name: 'Empty' });
    const schedule = { scriptId: body.id, variables: {} };
    expect((await api.post('/api/schedules', fixture.buildBody(schedule))).body.code).toBe('nothing_to_run');
    const { installationId: workflowPackInstallationId } = await installBundle('code');
    const id = await fixture.createSchedule({ ...schedule, workflowPackInstallationId });
    const removed = await api.put(`/api/schedules/${id}`, { workflowPackInstallationId: null });
    expect([removed.status, removed.body.code]).toEqual([409, 'nothing_to_run']);
    expect((await fixture.readSchedule(id)).workflowPackInstallationId).toBe(workflowPackInstallationId);
  });

  it('a builder command can name its bundle in several ways, and unknown names are passed through to the worker', async () => {
    const { packId, installationId, versions } = await installBundle('code');
    const { versionId, runtimeBundleId, digest } = versions[0]!;
    const { organizationId } = fixture.tenant;
    const runBuilder = async (names: object) => {
      const started = await fixture.tenant.api.post(`/api/agents/${fixture.agentId}/builder/run`, {
        phase: 'x',
        code: 'pass',
        ...names,
      });
      expect(started.status).toBe(202);
      const [command] = await fixture.queryRows(
        'SELECT payload, env FROM agent_command WHERE id = $1',
        started.body.commandId,
      );
      return command!;
    };
    const manifestKey = `packs/${organizationId}/manifests/${runtimeBundleId}.json`;
    for (const names of [
      { workflowPackInstallationId: installationId },
      { workflowPackVersionId: versionId },
      { runtimeBundleId },
      { runtimeBundleManifestKey: manifestKey },
    ]) {
      const { payload, env } = await runBuilder(names);
      expect(payload.bundle).toEqual({ digest, objectKey: `packs/${organizationId}/bundles/${digest.slice(7)}.zip` });
      expect(env).toMatchObject({
        SERVICE_WORKFLOW_PACK_ID: packId,
        SERVICE_WORKFLOW_PACK_VERSION_ID: versionId,
        SERVICE_RUNTIME_BUNDLE_ID: runtimeBundleId,
        SERVICE_RUNTIME_BUNDLE_MANIFEST_KEY: manifestKey,
        SERVICE_RUNTIME_BUNDLE_DIGEST: digest,
      });
    }
    const unknown = await runBuilder({ workflowPackId: 'release-7', runtimeBundleId: nowhere });
    expect(unknown.payload.bundle).toBeUndefined();
    expect(unknown.env).toEqual({ SERVICE_WORKFLOW_PACK_ID: 'release-7', SERVICE_RUNTIME_BUNDLE_ID: nowhere });
  });
});
