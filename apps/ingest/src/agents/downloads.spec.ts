import { newId } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import {
  type Harness,
  HttpClient,
  makeAgent,
  makeApiKey,
  makeInstallation,
  makeOrganization,
  startHarness,
} from '@muster/testing';
import { ingest } from '../ingest.harness';

describe('the file of an extension command', () => {
  let harness: Harness;
  let tenant: Awaited<ReturnType<typeof makeTenant>>;
  let otherTenant: typeof tenant;
  let agentId: string;
  const querySql = (text: string, values: unknown[]) => harness.db.query('system', text, values);

  const makeTenant = async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const makeKey = async (scope: 'api' | 'worker') => (await makeApiKey(harness.db, { organizationId, scope })).secret;
    const [api, worker] = [harness.http.withKey(await makeKey('api')), harness.http.withKey(await makeKey('worker'))];
    return { organizationId, api, worker };
  };

  beforeAll(async () => {
    harness = await startHarness(ingest);
    [tenant, otherTenant] = [await makeTenant(), await makeTenant()];
    agentId = (await makeAgent(harness.db, { organizationId: tenant.organizationId, name: newId() })).id;
  });
  afterAll(() => harness.close());

  const storeArtifact = async (filename: string, content: string, { organizationId } = tenant, owner = agentId) => {
    const [id, key] = [newId(), `artifacts/${organizationId}/${newId()}-${filename}`];
    await harness.app.nest.get(ObjectStorage).put(key, Buffer.from(content), 'application/zip');
    await querySql(
      `INSERT INTO artifact (id, organization_id, agent_id, kind, filename, content_type, size, storage_key)
       VALUES ($1, $2, $3, 'file', $4, 'application/zip', $5, $6)`,
      [id, organizationId, owner, filename, content.length, key],
    );
    return { id, key };
  };
  const insertCommand = async (payload: object, kind = 'deploy_extension') => {
    const id = newId();
    await querySql(
      `INSERT INTO agent_command (id, organization_id, agent_id, kind, payload, deadline)
       VALUES ($1, $2, $3, $4, $5, now() + interval '1 minute')`,
      [id, tenant.organizationId, agentId, kind, payload],
    );
    return id;
  };
  const requestDownload = (commandId: string, worker: HttpClient = tenant.worker) =>
    worker.post(`/api/agents/${agentId}/downloads`, { commandId });
  const downloadFor = async (payload: object) => {
    const { status, body } = await requestDownload(await insertCommand(payload));
    return status === 200 ? (await fetch(body.downloadUrl)).text() : `${status} ${body.detail}`;
  };

  it('an extension command downloads the artifact whose key or id it names', async () => {
    const { id, key } = await storeArtifact('anything', 'named');
    expect(await downloadFor({ version: '1.0', key })).toBe('named');
    expect(await downloadFor({ version: '1.0', key: id })).toBe('named');
    expect(await downloadFor({ version: '1.0', key: 'extensions/none.zip' })).toBe(
      '404 There is no artifact with this key, and no pack with this key that has a pinned version or a version in the stage production or pilot.',
    );
  });

  it('without a key, an extension command gets the newest artifact with exactly its version in the name', async () => {
    await storeArtifact('marker-1.4.0.zip', 'first');
    await storeArtifact('marker_v1.4.0-final.crx', 'second');
    for (const name of [
      'marker-11.4.0.zip',
      'marker-1.4.0.1.zip',
      'marker-1.4.01.zip',
      'marker-1x4.0.zip',
      'marker-1.4.0.txt',
    ]) {
      await storeArtifact(name, 'another');
    }
    expect(await downloadFor({ version: '1.4.0' })).toBe('second');
    expect(await downloadFor({ version: 'v1.4.0' })).toBe('second');
    expect(await downloadFor({ version: '9.9' })).toMatch(/^404 No extension of version 9\.9 was uploaded/);
    expect(await downloadFor({ version: '.*' })).toMatch(/^404 /);
  });

  it('an extension command that names a pack gets the production bundle, or else the pinned or pilot one', async () => {
    const { organizationId } = tenant;
    const contents = [newId(), newId(), newId()];
    const { packId, versions } = await makeInstallation(harness.db, { organizationId, contents });
    for (const [at, { digest }] of versions.entries()) {
      const key = `packs/${organizationId}/bundles/${digest.slice(7)}.zip`;
      await harness.app.nest.get(ObjectStorage).put(key, Buffer.from(contents[at]!), 'application/zip');
    }
    const workerKey = `process-${packId}`;
    const setVersionStages = async (...each: string[]) => {
      for (const [at, stage] of each.entries()) {
        await querySql('UPDATE pack_version SET stage = $2 WHERE id = $1', [versions[at]!.versionId, stage]);
      }
      return downloadFor({ version: '1.0', key: workerKey });
    };
    // The first version in the list is the newest one and the one that is pinned.
    expect(await setVersionStages('production', 'production', 'pilot')).toBe(contents[0]);
    expect(await setVersionStages('pilot', 'production', 'production')).toBe(contents[1]);
    expect(await setVersionStages('deprecated', 'pilot', 'pilot')).toBe(contents[0]);
    await querySql('UPDATE pack_installation SET pinned_version_id = NULL WHERE pack_id = $1', [packId]);
    expect(await setVersionStages('deprecated', 'pilot', 'pilot')).toBe(contents[1]);
    expect(await downloadFor({ version: '1.0', key: packId })).toBe(contents[1]);
    const { body } = await requestDownload(await insertCommand({ version: '1.0', key: packId }));
    expect(body).toMatchObject({ filename: `${workerKey}-2.zip`, digest: versions[1]!.digest });
    expect(await setVersionStages('deprecated', 'draft', 'archived')).toMatch(
      /^404 There is no artifact with this key, and no/,
    );
    const foreign = await makeInstallation(harness.db, { organizationId: otherTenant.organizationId, contents: ['x'] });
    expect(await downloadFor({ version: '1.0', key: foreign.packId })).toMatch(/^404 /);
  });

  it('an extension download is presigned only for the agent of an open command', async () => {
    const { id: other } = await makeAgent(harness.db, { organizationId: otherTenant.organizationId, name: newId() });
    const { key } = await storeArtifact('marker-7.0.zip', 'theirs', otherTenant, other);
    expect(await downloadFor({ version: '7.0' })).toMatch(/^404 /);
    expect(await downloadFor({ version: '7.0', key })).toMatch(/^404 /);

    await storeArtifact('marker-1.4.0.zip', 'own');
    const command = await insertCommand({ version: '1.4.0' });
    expect((await requestDownload(command, otherTenant.worker)).status).toBe(404);
    expect((await requestDownload(command, tenant.api)).status).toBe(403);
    expect((await requestDownload(newId())).status).toBe(404);
    const { id: colleague } = await makeAgent(harness.db, { organizationId: tenant.organizationId, name: newId() });
    const answer = await tenant.worker.post(`/api/agents/${colleague}/downloads`, { commandId: command });
    expect(answer.status).toBe(404);
    expect((await requestDownload(await insertCommand({ version: '1.4.0' }, 'snippet'))).status).toBe(404);
    await querySql(`UPDATE agent_command SET status = 'failed', finished_at = now() WHERE id = $1`, [command]);
    expect((await requestDownload(command)).status).toBe(409);
  });
});
