import { newId } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import { type Harness, HttpClient, makeAgent, makeApiKey, makeOrganization, startHarness } from '@muster/testing';
import { ingest } from '../ingest.harness';

describe('the file that a command is about', () => {
  let harness: Harness;
  let ours: Awaited<ReturnType<typeof makeTenant>>;
  let theirs: typeof ours;
  let agentId: string;
  const sql = (text: string, values: unknown[]) => harness.db.query('system', text, values);

  const makeTenant = async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const keyOf = async (scope: 'api' | 'worker') => (await makeApiKey(harness.db, { organizationId, scope })).secret;
    const [api, worker] = [harness.http.withKey(await keyOf('api')), harness.http.withKey(await keyOf('worker'))];
    return { organizationId, api, worker };
  };

  beforeAll(async () => {
    harness = await startHarness(ingest);
    [ours, theirs] = [await makeTenant(), await makeTenant()];
    agentId = (await makeAgent(harness.db, { organizationId: ours.organizationId, name: newId() })).id;
  });
  afterAll(() => harness.close());

  const send = async (filename: string, content: string, { organizationId } = ours, of = agentId) => {
    const [id, key] = [newId(), `artifacts/${organizationId}/${newId()}-${filename}`];
    await harness.app.nest.get(ObjectStorage).put(key, Buffer.from(content), 'application/zip');
    await sql(
      `INSERT INTO artifact (id, organization_id, agent_id, kind, filename, content_type, size, storage_key)
       VALUES ($1, $2, $3, 'file', $4, 'application/zip', $5, $6)`,
      [id, organizationId, of, filename, content.length, key],
    );
    return { id, key };
  };
  const order = async (payload: object, kind = 'deploy_extension') => {
    const id = newId();
    await sql(
      `INSERT INTO agent_command (id, organization_id, agent_id, kind, payload, deadline)
       VALUES ($1, $2, $3, $4, $5, now() + interval '1 minute')`,
      [id, ours.organizationId, agentId, kind, payload],
    );
    return id;
  };
  const ask = (commandId: string, worker: HttpClient = ours.worker) =>
    worker.post(`/api/agents/${agentId}/downloads`, { commandId });
  const contentOf = async (payload: object) => {
    const { status, body } = await ask(await order(payload));
    return status === 200 ? (await fetch(body.downloadUrl)).text() : `${status} ${body.detail}`;
  };

  it('is the one that the order names, by its key or its id', async () => {
    const { id, key } = await send('anything', 'named');
    expect(await contentOf({ version: '1.0', key })).toBe('named');
    expect(await contentOf({ version: '1.0', key: id })).toBe('named');
    expect(await contentOf({ version: '1.0', key: 'extensions/none.zip' })).toBe(
      '404 There is no artifact of that key.',
    );
  });

  it('is else the newest with the version in its name, and no longer number', async () => {
    await send('marker-1.4.0.zip', 'first');
    await send('marker_v1.4.0-final.crx', 'second');
    for (const name of [
      'marker-11.4.0.zip',
      'marker-1.4.0.1.zip',
      'marker-1.4.01.zip',
      'marker-1x4.0.zip',
      'marker-1.4.0.txt',
    ]) {
      await send(name, 'another');
    }
    expect(await contentOf({ version: '1.4.0' })).toBe('second');
    expect(await contentOf({ version: 'v1.4.0' })).toBe('second');
    expect(await contentOf({ version: '9.9' })).toMatch(/^404 No extension of version 9.9 has been uploaded/);
    expect(await contentOf({ version: '.*' })).toMatch(/^404 /);
  });

  it('is lent to its machine alone, while its command is open, and is of no other organization', async () => {
    const { id: other } = await makeAgent(harness.db, { organizationId: theirs.organizationId, name: newId() });
    const { key } = await send('marker-7.0.zip', 'theirs', theirs, other);
    expect(await contentOf({ version: '7.0' })).toMatch(/^404 /);
    expect(await contentOf({ version: '7.0', key })).toMatch(/^404 /);

    const command = await order({ version: '1.4.0' });
    expect((await ask(command, theirs.worker)).status).toBe(404);
    expect((await ask(command, ours.api)).status).toBe(403);
    expect((await ask(newId())).status).toBe(404);
    expect((await ask(await order({ version: '1.4.0' }, 'snippet'))).status).toBe(404);
    await sql(`UPDATE agent_command SET status = 'failed', finished_at = now() WHERE id = $1`, [command]);
    expect((await ask(command)).status).toBe(409);
  });
});
