import { MessageLedger, newId } from '@muster/platform';
import { type Harness, makeAgent, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

/** A retry policy without a second attempt. */
const once = { attempts: 1, backoffMs: 1, maxBackoffMs: 1 };

describe('dead letters', () => {
  let harness: Harness;
  let tenant: Tenant;
  let otherTenant: Tenant;
  let agentId: string;
  let otherAgentId: string;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
    otherTenant = await harness.makeTenant();
    agentId = (await makeAgent(harness.db, tenant)).id;
    otherAgentId = (await makeAgent(harness.db, otherTenant)).id;
  });
  afterAll(() => harness.close());
  beforeEach(() => harness.db.query('system', 'DELETE FROM outbox'));

  /** Creates a dead letter; by default without an organization, so that only its payload names one. */
  const makeDeadLetter = async (agentId: string, organizationId: string | null = null) => {
    const id = newId();
    await harness.db.query(
      'system',
      `INSERT INTO outbox (id, queue, name, payload, organization_id, next_publish_at)
       VALUES ($1, 'dispatch', 'dispatch-agent', jsonb_build_object('agentId', $2::text), $3, now() + interval '1 hour')`,
      [id, agentId, organizationId],
    );
    const ledger = harness.app.nest.get(MessageLedger, { strict: false });
    expect(await ledger.recordFailure(id, new Error('broke'), once)).toBe('dead');
    return id;
  };
  const listDeadLetterIds = async (path: string, client: Tenant['api']) => {
    const { status, body } = await client.get(path);
    expect(status).toBe(200);
    return (body.deadLetters as { id: string }[]).map(({ id }) => id);
  };
  const isDeadLetter = async (id: string) => {
    const [row] = await harness.db.query('system', 'SELECT next_publish_at FROM outbox WHERE id = $1', [id]);
    return row!['nextPublishAt'] === null;
  };

  it('dead letters are listed newest first, to admins those of their organization, to a super_admin all', async () => {
    const first = await makeDeadLetter(agentId);
    const foreign = await makeDeadLetter(otherAgentId);
    const second = await makeDeadLetter(agentId, tenant.organizationId);
    expect(await listDeadLetterIds('/api/dead-letters', tenant.as.admin)).toEqual([second, first]);
    expect(await listDeadLetterIds('/api/dead-letters?queue=metering', tenant.as.admin)).toEqual([]);
    expect(await listDeadLetterIds('/api/dead-letters', otherTenant.as.admin)).toEqual([foreign]);
    expect(await listDeadLetterIds('/api/admin/dead-letters', tenant.as.super_admin)).toEqual([second, foreign, first]);
    const { body } = await tenant.as.admin.get('/api/dead-letters?limit=1');
    expect(body.deadLetters).toEqual([
      {
        id: second,
        organizationId: tenant.organizationId,
        queue: 'dispatch',
        name: 'dispatch-agent',
        payload: { agentId: agentId },
        attempts: 1,
        lastError: 'broke',
        createdAt: expect.any(String),
      },
    ]);
    expect(await listDeadLetterIds(`/api/dead-letters?limit=1&cursor=${body.nextCursor}`, tenant.as.admin)).toEqual([
      first,
    ]);
  });

  it('only an admin of its organization can replay a dead letter, and the replay is audited', async () => {
    const id = await makeDeadLetter(agentId);
    const path = `/api/dead-letters/${id}/replay`;
    expect((await otherTenant.as.admin.post(path)).body.code).toBe('not_found');
    expect((await tenant.as.member.post(path)).status).toBe(403);
    expect((await tenant.api.post(path)).status).toBe(403);
    expect(await isDeadLetter(id)).toBe(true);
    expect(await tenant.as.admin.post(path)).toMatchObject({ status: 202, body: { success: true } });
    expect(await isDeadLetter(id)).toBe(false);
    expect((await tenant.as.admin.post(path)).body.code).toBe('not_found');
    const { body } = await tenant.as.admin.get(`/api/audit?action=dead_letter.replay&targetId=${id}`);
    expect(body.entries).toHaveLength(1);
  });

  it('a message that has attempts left is not listed or replayed as a dead letter', async () => {
    const [{ id }] = (await harness.db.query<{ id: string }>(
      'system',
      `INSERT INTO outbox (id, queue, name, payload, organization_id, next_publish_at, attempts)
       VALUES (gen_random_uuid(), 'dispatch', 'dispatch-agent', '{}', $1, now() + interval '1 hour', 3) RETURNING id`,
      [tenant.organizationId],
    )) as [{ id: string }];
    expect(await listDeadLetterIds('/api/dead-letters', tenant.as.admin)).toEqual([]);
    expect((await tenant.as.admin.post(`/api/dead-letters/${id}/replay`)).status).toBe(404);
    const [row] = await harness.db.query('system', 'SELECT attempts FROM outbox WHERE id = $1', [id]);
    expect(row).toEqual({ attempts: 3 });
  });
});
