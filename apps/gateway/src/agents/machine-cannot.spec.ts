import { newId } from '@muster/platform';
import { type Harness, makeAgent, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('a command', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  const querySql = <T extends object>(sql: string, values: unknown[]) => harness.db.query<T>('system', sql, values);

  it('a command is refused only if its machine is known to lack a required capability', async () => {
    const id = (await makeAgent(harness.db, { organizationId: tenant.organizationId, name: newId(), status: 'online' }))
      .id;
    const images = { imagingPath: '/a', patimageid: 1, images: [{ ordinal: 1, filename: 'a.tif' }] };
    const requests: [string, object, string[]][] = [
      [`/api/agents/${id}/run-snippet`, { code: 'print(1)' }, ['python']],
      [`/api/agents/${id}/builder/run`, { code: 'print(1)', phase: 'login' }, ['python']],
      [`/api/agents/${id}/imaging-images`, images, ['python', 'pillow']],
      [`/api/agent/${id}/action`, { action: 'start_recording', startUrl: 'https://a.example.com' }, ['chromium']],
    ];
    const setCapabilities = (names: string[], available: boolean) =>
      querySql('UPDATE agent SET capabilities = $2 WHERE id = $1', [
        id,
        JSON.stringify(names.map((name) => ({ name, available, detail: null }))),
      ]);
    const names = ['python', 'chromium', 'pillow'];
    await setCapabilities(names, false);
    for (const [path, body, missing] of requests) {
      const { status, body: problem } = await tenant.api.post(path, body);
      expect([path, status, problem]).toEqual([
        path,
        409,
        expect.objectContaining({ code: 'machine_cannot', missing }),
      ]);
    }
    const listCommandKinds = () =>
      querySql<{ kind: string }>('SELECT kind FROM agent_command WHERE agent_id = $1', [id]);
    expect(await listCommandKinds()).toEqual([]);
    expect((await tenant.api.get(`/api/agents/${id}`)).body.capabilities).toContainEqual({
      ...{ name: 'pillow', available: false, detail: null },
    });
    // Commands are accepted if the capability is available or not reported.
    await setCapabilities(['python', 'pillow'], true);
    for (const [path, body] of requests)
      expect([path, (await tenant.api.post(path, body)).status < 300]).toEqual([path, true]);
    const [path, composite] = [`/api/agents/${id}/imaging-composite`, { patientLookup: '1234', teeth: [3] }] as const;
    const reportOdbc = (odbc: object) =>
      querySql('UPDATE agent SET capabilities = $2 WHERE id = $1', [
        id,
        JSON.stringify([{ name: 'odbc', available: false, detail: null, ...odbc }]),
      ]);
    // ODBC is needed only on a machine whose practice database is reached by it.
    await reportOdbc({ required: true });
    expect((await tenant.api.post(path, composite)).body).toMatchObject({ code: 'machine_cannot', missing: ['odbc'] });
    for (const odbc of [{}, { required: true, available: true }]) {
      await reportOdbc(odbc);
      expect((await tenant.api.post(path, composite)).status).toBe(202);
    }
    await querySql('UPDATE agent SET capabilities = NULL WHERE id = $1', [id]);
    expect((await tenant.api.get(`/api/agents/${id}`)).body.capabilities).toBeNull();
    expect((await tenant.api.post(requests[0]![0], requests[0]![1])).status).toBe(202);
  });
});
