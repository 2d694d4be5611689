import { writeFileSync } from 'node:fs';
import { newId } from '@muster/platform';
import { waitFor } from '@muster/testing';
import { AutopilotHarness } from './autopilot/autopilot.harness';
import { createQuestionHelpers } from './questions.harness';

jest.setTimeout(120_000);

/** Runs the whole service and a real worker, whose scripts borrow accounts. */
describe('a run with an account', () => {
  let pilot: AutopilotHarness;

  beforeAll(async () => {
    pilot = await AutopilotHarness.start();
  });
  afterAll(() => pilot.close());

  const { job, ended, rows } = createQuestionHelpers(() => pilot);

  /** Creates an account in a pool of its own, whose secrets no other account has. */
  const makeAccount = async (secrets: Record<string, string>) => {
    const { admin } = pilot.tenant.as;
    const name = newId();
    const vaultKeys: Record<string, string> = {};
    for (const [key, value] of Object.entries(secrets)) {
      vaultKeys[key] = `K_${newId().replaceAll('-', '_')}`;
      await admin.put(`/api/vault/${vaultKeys[key]}`, { value });
    }
    const created = await admin.put(`/api/accounts/${name}`, { pool: `pool of ${name}`, vaultKeys });
    expect(created.status).toBe(200);
    return { name, pool: created.body.pool as string, vaultKeys };
  };
  const launchWithAccount = async (pool: string, script: string) => {
    const body = { name: newId(), variables: [], script: `import muster, os\n${script}` };
    const workflow = await pilot.tenant.as.member.post('/api/workflows', body);
    const accounts = [{ pool, as: 'PORTAL' }];
    const request = { workflowId: workflow.body.id, agentId: pilot.agentId, accounts };
    const launched = await pilot.tenant.api.post('/api/jobs/launch', request);
    expect(launched.status).toBe(202);
    return launched.body.jobId as string;
  };
  const readAccountStatus = async (pool: string) => {
    const { body } = await pilot.tenant.api.get(`/api/accounts?${new URLSearchParams({ pool }).toString()}`);
    return body.accounts[0];
  };

  it('a script gets its account’s secrets, whose values appear in no log line, database row or response', async () => {
    const [username, password] = ['ann@practice.example', `tr0ub4dor-${newId()}`];
    const { name, pool } = await makeAccount({ username, password });
    const jobId = await launchWithAccount(
      pool,
      [
        'print("the password is", os.environ["PORTAL_PASSWORD"])',
        'muster.log("info", "as " + os.environ["PORTAL_USERNAME"])',
        'muster.result({"length": len(os.environ["PORTAL_PASSWORD"]), "password": os.environ["PORTAL_PASSWORD"]})',
      ].join('\n'),
    );
    expect(await ended(jobId)).toMatchObject({
      status: 'completed',
      result: { length: password.length, password: '[redacted]' },
    });
    expect(await readAccountStatus(pool)).toMatchObject({ status: 'free' });
    const { uses } = (await pilot.tenant.api.get(`/api/accounts/${name}/uses`)).body;
    expect(uses).toEqual([
      { jobId, agentId: pilot.agentId, from: expect.any(String), to: expect.stringMatching(/^20/) },
    ]);
    const tables = await rows(`SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`);
    for (const { tableName } of tables) {
      for (const secret of [username, password]) {
        const [{ found }] = await rows(
          `SELECT count(*)::int AS found FROM "${tableName}" t WHERE t::text LIKE $1`,
          `%${secret}%`,
        );
        expect([tableName, secret, found]).toEqual([tableName, secret, 0]);
      }
    }
    expect(pilot.harness.logs.join('')).not.toContain(password);
  });

  it('an account that a run reports as failed is set aside, and the next run waits until it is put back', async () => {
    const { name, pool } = await makeAccount({ password: `locked-${newId()}` });
    const failing = await launchWithAccount(
      pool,
      [
        'try:',
        '    muster.account_failed("OTHER")',
        'except ValueError as error:',
        '    print(error)',
        'muster.account_failed("PORTAL", reason="locked", message="wait for a day")',
      ].join('\n'),
    );
    expect(await ended(failing)).toMatchObject({ status: 'completed', incomplete: [] });
    const account = await waitFor('the account to be set aside', async () => {
      const found = await readAccountStatus(pool);
      return found.status === 'set_aside' && found;
    });
    expect(account.setAside).toEqual({
      reason: 'locked',
      message: 'wait for a day',
      since: expect.any(String),
      jobId: failing,
    });
    const next = await launchWithAccount(pool, 'pass');
    await waitFor('the run to wait', async () => (await job(next)).waiting?.reason === 'account_busy');
    expect((await job(next)).waiting.detail).toEqual({ pool, holders: [] });
    expect((await pilot.tenant.as.admin.patch(`/api/accounts/${name}`, { enabled: true })).status).toBe(200);
    expect(await ended(next)).toMatchObject({ status: 'completed' });
  });

  it('a run that waits for a resting account starts automatically when the rest period has ended', async () => {
    const { name, pool, vaultKeys } = await makeAccount({ password: `resting-${newId()}` });
    await pilot.tenant.as.admin.put(`/api/accounts/${name}`, { pool, vaultKeys, cooldownSeconds: 1 });
    const file = `/tmp/muster-account-${newId()}`;
    const first = await launchWithAccount(pool, `import time\nwhile not os.path.exists("${file}"): time.sleep(0.05)`);
    await waitFor('the first run', async () => (await job(first)).status === 'running');
    const second = await launchWithAccount(pool, `os.remove("${file}")`);
    await waitFor('the second run to wait', async () => (await job(second)).waiting !== null);
    writeFileSync(file, '');
    expect(await ended(first)).toMatchObject({ status: 'completed' });
    expect(await ended(second)).toMatchObject({ status: 'completed' });
    const { uses } = (await pilot.tenant.api.get(`/api/accounts/${name}/uses`)).body;
    expect(uses.map((use: { jobId: string }) => use.jobId)).toEqual([second, first]);
    expect(Date.parse(uses[0].from) - Date.parse(uses[1].to)).toBeGreaterThanOrEqual(1000);
  });
});
