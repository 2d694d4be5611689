import {
  type Harness,
  appendEntries,
  makeLogLine,
  makeApiKey,
  makeJob,
  startHarness,
  type Tenant,
} from '@muster/testing';
import { gateway } from '../gateway.harness';
import { createToolHelpers } from './manage.harness';

describe('results of the assistant’s tools', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  const { anAgent, call, answerNext } = createToolHelpers(
    () => harness,
    () => tenant,
  );

  it('a tool result contains no secret, wherever a script has put one', async () => {
    const secret = 'Sesame-open-42';
    await tenant.as.admin.put('/api/vault/PORTAL_PASSWORD', { value: secret });
    const { signingSecret } = (await tenant.as.admin.get('/api/organization/signing-secret')).body;
    const { secret: key } = await makeApiKey(harness.db, { organizationId: tenant.organizationId });
    const agentId = await anAgent();
    const agentRef = { organizationId: tenant.organizationId, agentId };
    const { id: jobId } = await makeJob(harness.db, { ...agentRef, error: `no entry with ${secret}` });
    const leaks = [
      secret,
      encodeURIComponent(secret),
      Buffer.from(`user:${secret}`).toString('base64'),
      signingSecret,
      key,
    ];
    await appendEntries(harness.db, agentRef, ...leaks.map((leak) => makeLogLine(`it is ${leak} indeed`, jobId)));
    const logs = await call(tenant.as.viewer, agentId, 'read_logs', { jobId });
    expect(logs.body.result.entries).toHaveLength(leaks.length);
    for (const { message } of logs.body.result.entries) expect(message).toContain('[secret]');
    const run = await call(tenant.as.viewer, agentId, 'get_run', { jobId });
    expect(run.body.result).toMatchObject({ id: jobId, error: 'no entry with [secret]' });
    const [file] = await Promise.all([
      call(tenant.as.viewer, agentId, 'read_file', { path: 'a' }),
      answerNext(agentId, { status: 'success', output: { content: JSON.stringify({ password: secret, key }) } }),
    ]);
    expect(file.body.result.content).toBe('{"password":"[secret]","key":"[secret]"}');
    for (const leak of leaks) expect(logs.text + run.text + file.text).not.toContain(leak);
  });

  it('a large tool result is cut and marked as cut', async () => {
    const agentId = await anAgent();
    const agentRef = { organizationId: tenant.organizationId, agentId };
    const line = 'a long line '.repeat(4000);
    for (let at = 0; at < 60; at += 1) await appendEntries(harness.db, agentRef, makeLogLine(`${at} ${line}`));
    const { body, text } = await call(tenant.as.viewer, agentId, 'read_logs');
    expect(text.length).toBeLessThan(2_000_000);
    expect(body.result.cut).toContain('a part of it');
    expect(body.result.entries[0].message).toMatch(/^59 a long line/);
  });
});
