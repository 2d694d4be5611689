import { createHash } from 'node:crypto';
import { packStages } from '@muster/contracts';
import { newId } from '@muster/platform';
import { type Harness, makeJob, makeUser, startHarness, type Tenant, testPassword } from '@muster/testing';
import { gateway } from '../gateway.harness';
import { makeAnyBundle, makeBundle, makePack, makeVersion, putDraft } from './bundles.harness';

/** For each stage, the promotions after which a new version has this stage. */
const promotionsTo: Record<string, string[]> = {
  draft: [],
  internal_verified: ['internal_verified'],
  pilot: ['internal_verified', 'pilot'],
  production: ['internal_verified', 'pilot', 'production'],
  deprecated: ['internal_verified', 'pilot', 'production', 'deprecated'],
  archived: ['archived'],
};
const allowed: Record<string, string[]> = {
  draft: ['internal_verified', 'archived'],
  internal_verified: ['pilot', 'draft', 'archived'],
  pilot: ['production', 'internal_verified', 'archived'],
  production: ['deprecated', 'pilot'],
  deprecated: ['production', 'archived'],
  archived: [],
};
const installations = '/api/workflow-pack-installations';

describe('versions of packs', () => {
  let harness: Harness;
  let tenant: Tenant;
  let packId: string;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
    packId = await makePack(tenant);
  });
  afterAll(() => harness.close());

  const getVersionsPath = (id: string) => `/api/workflow-packs/${id}/versions`;
  const promoteVersion = (versionId: string, body: object, client = tenant.as.admin) =>
    client.post(`${getVersionsPath(packId)}/${versionId}/promote`, body);
  const createInstallation = async (body: object = {}) =>
    tenant.as.member.post(installations, { packId, name: newId(), ...body });

  it('each pack draft can be published once, as a version with the next number', async () => {
    const id = await makePack(tenant);
    const none = await tenant.as.member.post(getVersionsPath(id));
    expect([none.status, none.body.code]).toEqual([409, 'draft_not_found']);
    const bundle = makeAnyBundle();
    const draft = (await putDraft(tenant.as.member, id, bundle)).body;
    const first = await tenant.as.member.post(getVersionsPath(id), { label: '2026-01', notes: 'n' });
    expect(first).toMatchObject({
      status: 201,
      body: {
        ...{ packId: id, number: 1, label: '2026-01', notes: 'n', stage: 'draft', history: [] },
        ...{ runtimeBundleId: draft.runtimeBundleId, digest: bundle.digest, size: bundle.zip.length },
      },
    });
    const twice = await tenant.as.member.post(getVersionsPath(id));
    expect([twice.status, twice.body.code]).toEqual([409, 'draft_already_published']);
    await putDraft(tenant.as.member, id, makeAnyBundle());
    const [one, other] = await Promise.all([1, 2].map(() => tenant.as.member.post(getVersionsPath(id))));
    expect([one!.status, other!.status].sort()).toEqual([201, 409]);
    const { versions } = (await tenant.as.viewer.get(getVersionsPath(id))).body;
    expect(versions.map(({ number }: { number: number }) => number)).toEqual([2, 1]);
    expect(versions[1]).toEqual(first.body);
    const page = (await tenant.as.viewer.get(`${getVersionsPath(id)}?limit=1`)).body;
    expect(
      (await tenant.as.viewer.get(`${getVersionsPath(id)}?limit=1&cursor=${page.nextCursor}`)).body.versions,
    ).toEqual([first.body]);
  });

  it.each(packStages.flatMap((from) => packStages.map((to) => [from, to] as const)))(
    'a pack version can change from stage %s to %s only if the table of stages allows it',
    async (from, to) => {
      const versionId = await makeVersion(tenant, packId, ...promotionsTo[from]!);
      const promotion = await promoteVersion(versionId, { stage: to, reason: 'because' });
      const readNewestVersion = async () =>
        (await tenant.as.viewer.get(`${getVersionsPath(packId)}?limit=1`)).body.versions[0] as Record<string, any>;
      if (!allowed[from]!.includes(to)) {
        expect([promotion.status, promotion.body.code]).toEqual([409, 'stage_transition_not_allowed']);
        expect((await readNewestVersion())['stage']).toBe(from);
        return;
      }
      expect([promotion.status, promotion.body.stage]).toEqual([200, to]);
      expect(promotion.body.history).toHaveLength(promotionsTo[from]!.length + 1);
      expect(promotion.body.history.at(-1)).toEqual({
        ...{ from, to, reason: 'because', by: expect.stringContaining('@') },
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      });
      expect(await readNewestVersion()).toEqual(promotion.body);
    },
  );

  it('only an admin can promote a pack version to production, deprecated or archived', async () => {
    const versionId = await makeVersion(tenant, packId);
    for (const stage of ['production', 'deprecated', 'archived']) {
      expect((await promoteVersion(versionId, { stage }, tenant.as.member)).status).toBe(403);
    }
    expect((await promoteVersion(versionId, { stage: 'internal_verified' }, tenant.as.member)).status).toBe(200);
    expect((await promoteVersion(versionId, { stage: 'internal_verified' }, tenant.as.viewer)).status).toBe(403);
    expect((await promoteVersion(versionId, { stage: 'nonsense' })).status).toBe(400);
  });

  it('a role of the organization needs packs.release to promote a pack version to a stage that is reserved for admins', async () => {
    const signInWith = async (name: string, permissions: string[]) => {
      expect((await tenant.as.admin.post('/api/roles', { name, permissions })).status).toBe(201);
      const { email } = await makeUser(harness.db, { organizationId: tenant.organizationId, role: name });
      return harness.http.signIn(email, testPassword);
    };
    const writer = await signInWith('Writer', ['packs.read', 'packs.write']);
    const releaser = await signInWith('Releaser', ['packs.read', 'packs.write', 'packs.release']);
    const versionId = await makeVersion(tenant, packId, ...promotionsTo['pilot']!);
    const refused = await promoteVersion(versionId, { stage: 'production' }, writer);
    expect([refused.status, refused.body.code]).toEqual([403, 'permission_denied']);
    expect((await promoteVersion(versionId, { stage: 'production' }, releaser)).status).toBe(200);
  });

  it('a pack version stays in production while an installation that is not a pilot is pinned to it', async () => {
    const versionId = await makeVersion(tenant, packId, ...promotionsTo['production']!);
    const used = (await createInstallation({ versionId })).body;
    await createInstallation({ versionId, metadata: { ring: 'pilot' } });
    const refused = await promoteVersion(versionId, { stage: 'pilot' });
    expect(refused).toMatchObject({ status: 409, body: { code: 'stage_in_use', installationIds: [used.id] } });
    await tenant.as.member.patch(`${installations}/${used.id}`, { metadata: { ring: 'pilot' } });
    expect((await promoteVersion(versionId, { stage: 'pilot' })).status).toBe(200);
  });

  describe('installations of packs', () => {
    it('a pack installation can be pinned to pilot and production versions of its pack, and rolled back', async () => {
      const [first, second] = [
        await makeVersion(tenant, packId, ...promotionsTo['pilot']!),
        await makeVersion(tenant, packId, ...promotionsTo['production']!),
      ];
      const draft = await makeVersion(tenant, packId);
      const foreign = await makeVersion(tenant, await makePack(tenant), ...promotionsTo['pilot']!);
      const created = await createInstallation();
      expect(created).toMatchObject({ status: 201, body: { packId, pinnedVersionId: null, previousVersionId: null } });
      const path = created.headers.get('location')!;
      const pinVersion = (versionId: string, client = tenant.as.member) =>
        client.post(`${path}/pin`, { versionId, reason: 'r' });
      const rollBackInstallation = () => tenant.as.member.post(`${path}/rollback`, { reason: 'worse' });
      expect(await rollBackInstallation()).toMatchObject({ status: 409, body: { code: 'no_previous_version' } });
      expect(await pinVersion(draft)).toMatchObject({ status: 409, body: { code: 'version_not_installable' } });
      expect((await pinVersion(foreign)).status).toBe(404);
      expect((await pinVersion(newId())).status).toBe(404);
      expect((await pinVersion(first)).body).toMatchObject({ pinnedVersionId: first, previousVersionId: null });
      const pinned = await pinVersion(second);
      expect(pinned.body).toMatchObject({ pinnedVersionId: second, previousVersionId: first });
      const again = await pinVersion(second);
      expect([again.status, again.body, again.headers.get('etag')]).toEqual([
        200,
        pinned.body,
        pinned.headers.get('etag'),
      ]);
      expect((await pinVersion(first, tenant.as.member.with({ 'if-match': '"1"' }))).status).toBe(412);

      const bundle = { installationId: created.body.id, runtimeBundleId: newId(), digest: 'sha256:0' };
      const { organizationId } = tenant;
      const common = { organizationId, workflowPackInstallationId: created.body.id };
      const waiting = await makeJob(harness.db, { ...common, bundle: { ...bundle, versionId: second } });
      await makeJob(harness.db, { ...common, bundle: { ...bundle, versionId: first } });
      await makeJob(harness.db, { ...common, status: 'completed', bundle: { ...bundle, versionId: second } });
      const rolled = await rollBackInstallation();
      expect(rolled.body).toMatchObject({
        installation: { pinnedVersionId: first, previousVersionId: second },
        queuedJobs: [waiting.id],
      });
      const { history } = (await tenant.as.viewer.get(`${path}/history`)).body;
      expect(history.map(({ action, from, to, reason }: any) => [action, from, to, reason])).toEqual([
        ['rollback', second, first, 'worse'],
        ['pin', first, second, 'r'],
        ['pin', null, first, 'r'],
      ]);
      expect((await rollBackInstallation()).body.installation).toMatchObject({
        pinnedVersionId: second,
        previousVersionId: first,
      });
      const audited = await tenant.as.admin.get('/api/audit?limit=200');
      const acts = audited.body.entries.filter((entry: any) => entry.target.id === created.body.id);
      expect(acts.map(({ action }: any) => action)).toEqual([
        ...['installation.rollback', 'installation.rollback', 'installation.pin', 'installation.pin'],
        'installation.create',
      ]);
    });

    it('a pack installation can roll back to a deprecated version, but not to an archived version', async () => {
      const old = await makeVersion(tenant, packId, ...promotionsTo['production']!);
      const path = (await createInstallation({ versionId: old })).headers.get('location')!;
      expect((await tenant.as.viewer.get(`${path}/history`)).body.history).toHaveLength(1);
      const next = await makeVersion(tenant, packId, ...promotionsTo['pilot']!);
      await tenant.as.member.post(`${path}/pin`, { versionId: next });
      await promoteVersion(old, { stage: 'deprecated' });
      expect((await tenant.as.member.post(`${path}/rollback`)).status).toBe(200);
      await tenant.as.member.post(`${path}/rollback`);
      await promoteVersion(old, { stage: 'archived' });
      expect(await tenant.as.member.post(`${path}/rollback`)).toMatchObject({
        status: 409,
        body: { code: 'version_not_installable' },
      });
      expect(await tenant.as.member.post(`${path}/pin`, { versionId: old })).toMatchObject({
        status: 409,
        body: { code: 'version_not_installable' },
      });
    });

    it('a pack installation has a unique name in its pack and is hidden from other organizations', async () => {
      const otherTenant = await harness.makeTenant();
      const name = newId();
      const created = await createInstallation({ name });
      expect(await createInstallation({ name })).toMatchObject({ status: 409, body: { code: 'conflict' } });
      const other = (await createInstallation()).headers.get('location')!;
      expect((await tenant.as.member.patch(other, { name })).status).toBe(409);
      expect((await otherTenant.as.member.post(installations, { packId, name: newId() })).status).toBe(404);
      expect((await otherTenant.as.admin.get(created.headers.get('location')!)).status).toBe(404);
      expect((await otherTenant.as.admin.get(installations)).body.installations).toEqual([]);
      const versionId = await makeVersion(tenant, packId);
      expect(await createInstallation({ versionId })).toMatchObject({
        status: 409,
        body: { code: 'version_not_installable' },
      });
    });
  });

  it('a pack is returned with the newest 200 rows of each of its lists', async () => {
    const id = await makePack(tenant);
    await makeVersion(tenant, id);
    await harness.db.query(
      'system',
      `WITH first AS (SELECT * FROM runtime_bundle WHERE pack_id = $1),
       bundles AS (
         INSERT INTO runtime_bundle (id, organization_id, pack_id, digest, file_count, unpacked_size, created_by, stored_at)
         SELECT gen_random_uuid(), organization_id, pack_id, digest, 1, 1, 'test', now() FROM first, generate_series(2, 201)
         RETURNING id, organization_id),
       installed AS (
         INSERT INTO pack_installation (id, organization_id, pack_id, name)
         SELECT gen_random_uuid(), organization_id, pack_id, 'place ' || n FROM first, generate_series(1, 201) n)
       INSERT INTO pack_version (id, organization_id, pack_id, number, stage, runtime_bundle_id, created_by)
       SELECT gen_random_uuid(), organization_id, $1, row_number() OVER () + 1, 'draft', id, 'test' FROM bundles`,
      [id],
    );
    const {
      versions,
      installations: installed,
      runtimeBundles,
    } = (await tenant.as.viewer.get(`/api/workflow-packs/${id}`)).body;
    expect([versions.length, installed.length, runtimeBundles.length]).toEqual([200, 200, 200]);
    expect(versions.map(({ number }: { number: number }) => number)).toEqual(
      Array.from({ length: 200 }, (_, at) => 201 - at),
    );
  });

  it('pack versions can be compared file by file and exported to another pack', async () => {
    const id = await makePack(tenant);
    const publishFiles = async (files: Record<string, string>) => {
      await putDraft(tenant.as.member, id, makeBundle(files));
      return (await tenant.as.member.post(getVersionsPath(id))).body;
    };
    const before = await publishFiles({ 'main.py': '1', 'old.py': 'x', 'same.py': 's' });
    const after = await publishFiles({ 'main.py': '2', 'new.py': 'x', 'same.py': 's' });
    const computeDigest = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;
    const diff = await tenant.as.viewer.get(`${getVersionsPath(id)}/${after.versionId}/diff?from=${before.versionId}`);
    expect(diff.body).toEqual({
      added: ['new.py'],
      removed: ['old.py'],
      changed: [{ path: 'main.py', from: computeDigest('1'), to: computeDigest('2') }],
    });
    expect(
      (await tenant.as.viewer.get(`${getVersionsPath(packId)}/${after.versionId}/diff?from=${newId()}`)).status,
    ).toBe(404);

    const exported = await fetch(`${harness.url}${getVersionsPath(id)}/${after.versionId}/export`, {
      headers: tenant.as.viewer.headers,
    });
    expect(exported.headers.get('content-type')).toBe('application/zip');
    const bytes = Buffer.from(await exported.arrayBuffer());
    const target = await makePack(tenant);
    const sendImport = async (file: Buffer, fields: Record<string, string> = {}, headers = {}) => {
      const form = new FormData();
      for (const [name, value] of Object.entries(fields)) form.set(name, value);
      form.set('file', new Blob([new Uint8Array(file)]), 'export.zip');
      const answer = await fetch(`${harness.url}/api/workflow-packs/${target}/import`, {
        method: 'POST',
        headers: { ...tenant.as.member.headers, ...headers },
        body: form,
      });
      return { status: answer.status, headers: answer.headers, body: (await answer.json()) as any };
    };
    const changed = Buffer.from(bytes);
    changed.write('3', changed.indexOf('main.py2') + 7);
    expect((await sendImport(changed)).status).toBe(422);
    expect((await sendImport(makeBundle({ 'main.py': '1' }).zip)).body.errors).toEqual([
      { path: 'manifest.json', reason: 'missing_in_zip' },
    ]);
    const once = { 'idempotency-key': newId() };
    const imported = await sendImport(bytes, {}, once);
    expect(imported).toMatchObject({ status: 201, body: { digest: after.digest, baseRuntimeBundleId: null } });
    const again = await sendImport(bytes, {}, once);
    expect([again.headers.get('idempotency-replayed'), again.body]).toEqual(['true', imported.body]);
    expect((await sendImport(bytes, { baseRuntimeBundleId: newId() })).body.code).toBe('draft_head_conflict');
    expect((await tenant.as.viewer.get(`/api/workflow-packs/${target}/draft`)).body.files).toEqual(
      (await tenant.as.viewer.get(`/api/workflow-packs/${id}/draft`)).body.files,
    );
  });
});
