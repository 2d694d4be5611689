import { newId } from '@muster/platform';
import {
  type Answer,
  type Harness,
  makeApiKey,
  makeJob,
  makeUser,
  startHarness,
  type Tenant,
  testPassword,
} from '@muster/testing';
import { gateway } from './gateway.harness';

interface Expiring {
  name: string;
  table: string;
  /** Creates the row. Returns the request that uses it, and which row it is. */
  create: () => Promise<{ where: string; value: string; use: () => Promise<Answer> }>;
  /** Status and error code of the request before and after the row has expired. */
  valid: [number, string | undefined];
  expired: [number, string | undefined];
}

/** Old rows are deleted some time after they have expired, so each request must compare the time by itself. */
describe('a row that has expired', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  const sql = (text: string, ...values: unknown[]) => harness.db.query<any>('system', text, values);
  const createInvitation = async () => {
    const email = `${newId()}@practice.example`;
    const { body } = await tenant.as.admin.post('/api/invitations', { email, role: 'viewer' });
    const token = (body.link as string).split('=')[1];
    const use = () => harness.http.post('/api/invitations/accept', { token, password: 'staple battery horse' });
    return { where: 'email', value: email, use };
  };
  const startDevice = async () => {
    const { body } = await harness.http.post('/api/auth/device', { device_name: newId() });
    return { codes: body as { user_code: string; device_code: string }, device: await findDevice(body.user_code) };
  };
  const findDevice = async (code: string) =>
    (await sql('SELECT id FROM device_login WHERE user_code = $1', code.replace('-', '')))[0].id as string;

  const rows: Expiring[] = [
    {
      name: 'the answer that is stored for an Idempotency-Key',
      table: 'idempotency_key',
      create: async () => {
        const key = newId();
        const client = tenant.as.admin.with({ 'idempotency-key': key });
        const post = () =>
          client.post('/api/users', { email: `${newId()}@practice.example`, password: testPassword, role: 'viewer' });
        expect((await post()).status).toBe(201);
        return { where: 'key', value: key, use: post };
      },
      valid: [422, 'idempotency_key_reused'],
      expired: [201, undefined],
    },
    {
      name: 'an API key',
      table: 'api_key',
      create: async () => {
        const { organizationId } = tenant;
        const { id, secret } = await makeApiKey(harness.db, { organizationId, scope: 'api' });
        return { where: 'id', value: id, use: () => harness.http.withKey(secret).get('/api/agents') };
      },
      valid: [200, undefined],
      expired: [401, 'unauthenticated'],
    },
    {
      name: 'a session',
      table: 'user_session',
      create: async () => {
        const user = await makeUser(harness.db, { organizationId: tenant.organizationId });
        const session = await harness.http.signIn(user.email, testPassword);
        return { where: 'user_id', value: user.id, use: () => session.get('/api/agents') };
      },
      valid: [200, undefined],
      expired: [401, 'unauthenticated'],
    },
    {
      name: 'an invitation',
      table: 'account_link',
      create: createInvitation,
      valid: [200, undefined],
      expired: [401, 'unauthenticated'],
    },
    {
      name: 'a code that a program shows for its sign-in',
      table: 'device_login',
      create: async () => {
        const { codes, device } = await startDevice();
        const body = { userCode: codes.user_code, allow: true };
        return { where: 'id', value: device, use: () => tenant.as.member.post('/api/auth/device/answer', body) };
      },
      valid: [200, undefined],
      expired: [404, 'not_found'],
    },
    {
      name: 'an approved sign-in of a program',
      table: 'device_login',
      create: async () => {
        const { codes, device } = await startDevice();
        const body = { userCode: codes.user_code, allow: true };
        expect((await tenant.as.member.post('/api/auth/device/answer', body)).status).toBe(200);
        const { device_code } = codes;
        return { where: 'id', value: device, use: () => harness.http.post('/api/auth/device/token', { device_code }) };
      },
      valid: [200, undefined],
      expired: [400, 'expired_token'],
    },
    {
      name: 'a question',
      table: 'question',
      create: async () => {
        const { organizationId } = tenant;
        const { id: jobId, agentId } = await makeJob(harness.db, { organizationId, status: 'running' });
        const id = newId();
        await sql(
          `INSERT INTO question (id, organization_id, job_id, agent_id, question_key, question, kind, expires_at)
           VALUES ($1, $2, $3, $4, 'key', 'Continue?', 'text', muster_now() + interval '1 hour')`,
          ...[id, organizationId, jobId, agentId],
        );
        const use = () => tenant.as.member.post(`/api/questions/${id}/answer`, { answer: 'yes' });
        return { where: 'id', value: id, use };
      },
      valid: [200, undefined],
      expired: [409, 'question_over'],
    },
  ];

  it.each(rows.map((row) => [row.name, row] as const))('%s is not accepted any more', async (_, row) => {
    const { table, create, valid, expired } = row;
    const results: [number, string | undefined][] = [];
    for (const isExpired of [false, true]) {
      const { where, value, use } = await create();
      if (isExpired)
        await sql(`UPDATE ${table} SET expires_at = muster_now() - interval '1 second' WHERE ${where} = $1`, value);
      const { status, body } = await use();
      results.push([status, body?.code]);
    }
    expect(results).toEqual([valid, expired]);
  });

  it('a session that has expired is not listed', async () => {
    const user = await makeUser(harness.db, { organizationId: tenant.organizationId });
    await harness.http.signIn(user.email, testPassword);
    await sql("UPDATE user_session SET expires_at = muster_now() - interval '1 second' WHERE user_id = $1", user.id);
    const session = await harness.http.signIn(user.email, testPassword);
    expect((await session.get('/api/auth/sessions')).body.sessions).toHaveLength(1);
  });
});
