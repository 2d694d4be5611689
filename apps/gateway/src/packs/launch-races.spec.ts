import type { JobBundle } from '@muster/contracts';
import { newId } from '@muster/platform';
import { type Harness, makeAgent, makeWorkflow, startHarness, type Tenant, waitFor } from '@muster/testing';
import { gateway } from '../gateway.harness';
import { makePack, makeVersion } from './bundles.harness';

const [rounds, atOnce] = [4, 12];

interface Launched {
  id: string;
  sentAt: number;
  answeredAt: number;
}

describe('launches while the pin of their installation changes', () => {
  let harness: Harness;
  let tenant: Tenant;
  let packId: string;
  let installationId: string;
  let launch: () => Promise<string[]>;
  const jobs: Launched[] = [];

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
    const { organizationId } = tenant;
    packId = await makePack(tenant);
    const { id: agentId } = await makeAgent(harness.db, { organizationId, name: newId() });
    const { id: workflowId } = await makeWorkflow(harness.db, { organizationId });
    let count = 0;
    launch = async () => {
      const run = { workflowId, workflowPackInstallationId: installationId };
      count += 1;
      const isBatch = count % 5 === 0;
      const { status, body, text } = isBatch
        ? await tenant.api.post('/api/jobs/batch', { ...run, agentIds: [agentId], rows: [{}, {}] })
        : await tenant.api.post('/api/jobs/launch', { ...run, agentId });
      if (status !== 202 && status !== 201) throw new Error(`the launch failed with ${status}: ${text}`);
      return isBatch ? body.jobIds : [body.jobId];
    };
  });
  afterAll(() => harness.close());

  const launchUntil = async (isOver: () => boolean) => {
    while (!isOver()) {
      const sentAt = performance.now();
      for (const id of await launch()) jobs.push({ id, sentAt, answeredAt: performance.now() });
    }
  };
  /** Waits until `count` more jobs have been launched. */
  const waitForLaunches = async (count: number) => {
    const before = jobs.length;
    await waitFor('more launches', () => Promise.resolve(jobs.length >= before + count), 30_000);
  };

  it('a launch during a pin gets one complete pack version, and a rollback returns the replaced version’s queued jobs', async () => {
    const ways = ['internal_verified', 'pilot'];
    const base = await makeVersion(tenant, packId, ...ways);
    const others: string[] = [];
    for (let round = 0; round < rounds; round += 1) others.push(await makeVersion(tenant, packId, ...ways));
    const input = { packId, name: newId(), versionId: base };
    const created = await tenant.as.member.post('/api/workflow-pack-installations', input);
    installationId = created.body.id;
    const path = created.headers.get('location')!;

    let over = false;
    const launching = Array.from({ length: atOnce }, () => launchUntil(() => over));
    const pinChanges: { version: string; pinned: number; back: number; backAt: number; queuedJobs: string[] }[] = [];
    try {
      for (const version of others) {
        await waitForLaunches(20);
        const pin = await tenant.as.member.post(`${path}/pin`, { versionId: version });
        expect([pin.status, pin.body.pinnedVersionId]).toEqual([200, version]);
        const pinned = performance.now();
        await waitForLaunches(20);
        const back = performance.now();
        const { status, body } = await tenant.as.member.post(`${path}/rollback`);
        expect([status, body.installation?.pinnedVersionId]).toEqual([200, base]);
        pinChanges.push({ version, pinned, back, backAt: performance.now(), queuedJobs: body.queuedJobs });
      }
      await waitForLaunches(20);
    } finally {
      over = true;
    }
    await Promise.all(launching);

    const { versions } = (await tenant.as.viewer.get(`/api/workflow-packs/${packId}/versions`)).body;
    const bundles: Record<string, JobBundle> = Object.fromEntries(
      versions.map(({ versionId, runtimeBundleId, digest }: JobBundle) => [
        versionId,
        { installationId, versionId, runtimeBundleId, digest },
      ]),
    );
    const rows = await harness.db.query<{ id: string; bundle: JobBundle; lineage: Record<string, string> }>(
      'system',
      'SELECT id, bundle, lineage FROM job WHERE workflow_pack_installation_id = $1',
      [installationId],
    );
    expect(rows.map(({ id }) => id).sort()).toEqual(jobs.map(({ id }) => id).sort());
    for (const { bundle, lineage } of rows) {
      expect([base, ...others]).toContain(bundle.versionId);
      expect(bundle).toEqual(bundles[bundle.versionId]);
      expect(lineage).toMatchObject({
        SERVICE_WORKFLOW_PACK_VERSION_ID: bundle.versionId,
        SERVICE_RUNTIME_BUNDLE_ID: bundle.runtimeBundleId,
        SERVICE_RUNTIME_BUNDLE_DIGEST: bundle.digest,
      });
    }
    const filterIdsByVersion = (version: string) =>
      rows.filter(({ bundle }) => bundle.versionId === version).map(({ id }) => id);
    const times = new Map(jobs.map((job) => [job.id, job]));
    for (const { version, pinned, back, backAt, queuedJobs } of pinChanges) {
      // This version is not pinned again after the rollback, so the response of the rollback contains all queued jobs
      // that use it.
      expect([...queuedJobs].sort()).toEqual(filterIdsByVersion(version).sort());
      expect(queuedJobs.length).toBeGreaterThan(0);
      for (const { id, sentAt, answeredAt } of jobs) {
        if (sentAt > pinned && answeredAt < back) expect(queuedJobs).toContain(id);
      }
      for (const id of queuedJobs) expect(times.get(id)!.sentAt).toBeLessThan(backAt);
    }
    expect(filterIdsByVersion(base).length).toBeGreaterThan(0);
  });
});
