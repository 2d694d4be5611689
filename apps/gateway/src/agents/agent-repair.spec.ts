import { join } from 'node:path';
import { KeyRing } from '@muster/vault';
import { FakeClock, type Harness, makeAgent, makeApiKey, startHarness, type Tenant } from '@muster/testing';
import { newId } from '@muster/platform';
import { gateway } from '../gateway.harness';

describe('the repair of an agent', () => {
  let harness: Harness;
  let tenant: Tenant;
  let otherTenant: Tenant;
  const clock = new FakeClock(new Date());

  beforeAll(async () => {
    harness = await startHarness({ ...gateway, clock });
    [tenant, otherTenant] = [await harness.makeTenant(), await harness.makeTenant()];
  });
  afterAll(() => harness.close());

  const querySql = (text: string, values: unknown[]) => harness.db.query<any>('system', text, values);
  const makeOnlineAgent = async ({ organizationId } = tenant) =>
    (await makeAgent(harness.db, { organizationId, name: newId(), status: 'online' })).id;
  const requestRepair = (id: string, apiKey?: string) =>
    tenant.api.post(`/api/agent/${id}/action`, { action: 'repair', apiKey });
  const makeWorkerKey = async (input: object = {}, { organizationId } = tenant) =>
    (await makeApiKey(harness.db, { organizationId, scope: 'worker', ...input })).secret;
  /** Returns everything that the service has stored and logged about the agent. */
  const readRepairTraces = async (id: string) =>
    JSON.stringify([
      await querySql('SELECT payload, env FROM agent_command WHERE agent_id = $1', [id]),
      await querySql('SELECT changes FROM audit_entry WHERE target_id = $1', [id]),
      await querySql('SELECT message, data FROM timeline_entry WHERE agent_id = $1', [id]),
      harness.logs,
    ]);

  it('a repair accepts a worker key of the organization or agent, and reveals the key only to the worker', async () => {
    const id = await makeOnlineAgent();
    const keys = [
      await makeWorkerKey(),
      await makeWorkerKey({ agentId: id }),
      await makeWorkerKey({ expiresAt: new Date(clock.now().getTime() + 60_000) }),
    ];
    // The library’s index does not export `decryptPayload`, so it is loaded from its file.
    const { decryptPayload } = jest.requireActual<{ decryptPayload: (...args: unknown[]) => unknown }>(
      join(__dirname, '../../../../libs/commands/src/command/sealed-payload'),
    );
    const keyRing = harness.app.nest.get(KeyRing);
    for (const apiKey of keys) {
      const answer = await requestRepair(id, apiKey);
      expect([answer.status, answer.body]).toEqual([
        200,
        { success: true, action: 'repair', status: 'online', commandId: expect.any(String) },
      ]);
      expect(await readRepairTraces(id)).not.toContain(apiKey.slice(-20));
      const [{ payload }] = await querySql('SELECT payload FROM agent_command WHERE id = $1', [answer.body.commandId]);
      expect(decryptPayload(keyRing, id, payload)).toEqual({ apiKey });
      expect(() => decryptPayload(keyRing, 'another agent', payload)).toThrow();
    }
  });

  it.each(['external', 'http'] as const)(
    'the repair of an offline %s agent stays pending for at least a day',
    async (provider) => {
      const { organizationId } = tenant;
      const { id } = await makeAgent(harness.db, { organizationId, name: newId(), status: 'offline', provider });
      const answer = await requestRepair(id, await makeWorkerKey());
      expect([answer.status, answer.body.status]).toEqual([200, 'offline']);
      const [{ deadline }] = await querySql('SELECT deadline FROM agent_command WHERE id = $1', [
        answer.body.commandId,
      ]);
      expect(deadline.getTime() - clock.now().getTime()).toBeGreaterThan(24 * 3_600_000);
      expect(await querySql('SELECT FROM agent_wake WHERE agent_id = $1', [id])).toEqual([]);
    },
  );

  it('a repair with a valid key restarts the offline worker of a local agent', async () => {
    const { organizationId } = tenant;
    const { id } = await makeAgent(harness.db, { organizationId, name: newId(), status: 'offline', provider: 'local' });
    expect((await requestRepair(id, await makeWorkerKey())).body).toMatchObject({ success: true, status: 'rebooting' });
    const kinds = await querySql('SELECT kind FROM agent_command WHERE agent_id = $1', [id]);
    expect(kinds).toEqual([{ kind: 'repair' }]);
  });

  it('a repair accepts the worker key that was created with the agent', async () => {
    const created = await tenant.as.admin.post('/api/agents', { name: newId(), provider: 'external' });
    const { agent, workerKey: apiKey } = created.body;
    await querySql(`UPDATE agent SET status = 'online' WHERE id = $1`, [agent.id]);
    expect((await requestRepair(agent.id, apiKey)).status).toBe(200);
  });

  it.each<[string, (agentId: string) => Promise<string | undefined>]>([
    ['a missing key', () => Promise.resolve(undefined)],
    ['a text that is not a key', () => Promise.resolve('rubbish-that-is-not-a-key')],
    ['an unknown key', () => Promise.resolve('msk_repaired1_0123456789abcdef0123456789')],
    [
      'a known key id with a wrong secret',
      async () => `${(await makeWorkerKey()).slice(0, 20)}0123456789abcdef0123456789`,
    ],
    ['an api-scoped key', async () => (await makeApiKey(harness.db, { organizationId: tenant.organizationId })).secret],
    ['another agent’s key', async () => makeWorkerKey({ agentId: await makeOnlineAgent() })],
    ['another organization’s key', () => makeWorkerKey({}, otherTenant)],
    ['a key that has expired', () => makeWorkerKey({ expiresAt: new Date(clock.now().getTime() - 1) })],
    ['a key that was revoked', makeRevokedKey],
  ])('a repair with %s is refused and changes nothing', async (_, make) => {
    const id = await makeOnlineAgent();
    const apiKey = await make(id);
    const answer = await requestRepair(id, apiKey);
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_payload']);
    expect(answer.body.errors.map(({ field }: { field: string }) => field)).toEqual(['apiKey']);
    expect(await querySql('SELECT FROM agent_command WHERE agent_id = $1', [id])).toEqual([]);
    expect(await querySql('SELECT FROM audit_entry WHERE target_id = $1', [id])).toEqual([]);
    if (apiKey) expect(answer.text + (await readRepairTraces(id))).not.toContain(apiKey.slice(-20));
  });

  it('a repair does not check its key if the agent is unknown or belongs to another organization', async () => {
    for (const id of [newId(), await makeOnlineAgent(otherTenant)]) {
      for (const apiKey of [await makeWorkerKey(), 'rubbish-that-is-not-a-key', undefined]) {
        expect((await requestRepair(id, apiKey)).body.code).toBe('agent_not_found');
      }
    }
  });

  async function makeRevokedKey(): Promise<string> {
    const { id, secret } = (await tenant.as.admin.post('/api/api-keys', { name: 'short', scope: 'worker' })).body;
    expect((await tenant.as.admin.delete(`/api/api-keys/${id}`)).status).toBe(204);
    return secret;
  }
});
