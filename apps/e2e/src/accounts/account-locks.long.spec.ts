// This test is long because it kills each process while a run is signed in with an account that four other runs need.
// A short test of the same code: apps/standalone/src/accounts.spec.ts
import { waitFor } from '@muster/testing';
import { createSeededRandom } from '../seed';
import { AccountStage, type Victim, victims } from './account-stage';

jest.setTimeout(300_000);

const runs = 5;
const labels = ['claims'];
const account = 'front-office';
const pool = 'payer';
const script = `
import http.client, os, sys, urllib.parse
import muster

def sign_in(user):
    query = urllib.parse.urlencode({"user": user, "run": os.environ["MUSTER_JOB_ID"]})
    portal = http.client.HTTPConnection("127.0.0.1", int(os.environ["PORTAL_PORT"]), timeout=120)
    portal.request("POST", "/?" + query, headers={"X-Password": os.environ["PORTAL_PASSWORD"]})
    response = portal.getresponse()
    page = response.read().decode()
    if response.status != 200:
        muster.account_failed("PORTAL", reason="locked", message=page)
        sys.exit(3)
    muster.result({"page": page})
    # The connection, and with it the sign-in, stays open until the process has ended.
    return portal
`;

interface Use {
  jobId: string;
  agentId: string;
  from: string;
  to: string | null;
}

describe('five runs on one account of a portal that locks it at a second sign-in', () => {
  let stage: AccountStage;
  let workflowId: string;
  let workflowWithoutAccount: string;
  const random = createSeededRandom();
  const pick = <T>(all: readonly T[]): T => all[random.between(0, all.length - 1)]!;

  beforeAll(async () => {
    process.stdout.write(`seed ${random.seed}\n`);
    stage = await AccountStage.open({ machines: runs, labels });
    for (const [key, value] of [
      ['PAYER_USER', 'ann@practice.example'],
      ['PAYER_PASSWORD', 'correct-horse-of-the-payer'],
      ['PORTAL_PASSWORD', 'correct-horse-of-another'],
    ])
      expect((await stage.admin.put(`/api/vault/${key}`, { value })).status).toBeLessThan(300);
    const vaultKeys = { username: 'PAYER_USER', password: 'PAYER_PASSWORD' };
    expect((await stage.admin.put(`/api/accounts/${account}`, { pool, vaultKeys })).status).toBe(200);
    const createWorkflow = async (name: string, user: string, input: object) => {
      const body = { name, variables: ['PORTAL_PORT'], script: `${script}\nportal = sign_in(${user})`, ...input };
      const created = await stage.admin.post('/api/workflows', body);
      expect([created.status, created.text]).toEqual([201, expect.anything()]);
      return created.body.id as string;
    };
    const accounts = [{ pool, as: 'PORTAL' }];
    workflowId = await createWorkflow('Claims', 'os.environ["PORTAL_USERNAME"]', { accounts });
    workflowWithoutAccount = await createWorkflow('Claims without an account', '"bob@practice.example"', {});
  });
  afterAll(() => stage?.close());

  const launch = async (input: object): Promise<string> => {
    const variables = { PORTAL_PORT: String(stage.portal.port) };
    const launched = await stage.request('POST', '/api/jobs/launch', { workflowId, variables, ...input });
    expect([launched.status, launched.text]).toEqual([202, expect.anything()]);
    return launched.body.jobId;
  };
  const waitForEnd = (jobId: string) =>
    waitFor(
      `the end of the run ${jobId}`,
      async () => {
        const job = await stage.read(`/api/jobs/${jobId}`);
        return job.finishedAt !== null && job;
      },
      180_000,
    );

  /** Returns the attempts of a run, which are runs of their own, in their final states. */
  async function waitForAttempts(jobId: string): Promise<any[]> {
    const job = await waitForEnd(jobId);
    const [retry] = await stage.fixture.query<{ id: string }>('SELECT id FROM job WHERE retry_of = $1', [jobId]);
    return [job, ...(retry ? await waitForAttempts(retry.id) : [])];
  }

  /** Launches five runs in any order, most on any machine and some on one, and returns their last attempts. */
  async function playRuns(onSignIn: (jobId: string, number: number) => Promise<void> | void): Promise<any[]> {
    const { portal } = stage;
    const before = portal.signIns.length;
    const failures: unknown[] = [];
    portal.onSignIn = async (jobId) => {
      await Promise.resolve(onSignIn(jobId, portal.signIns.length - before)).catch((error) => failures.push(error));
    };
    const jobIds = await Promise.all(
      Array.from({ length: runs }, () =>
        launch({
          ...(random.between(1, 3) === 1
            ? { agentId: pick(stage.machines).agentId }
            : { target: { labels, prefer: pick(['running', 'spread']) } }),
          ...{ priority: random.between(1, 9), maxRetries: 2, retryDelayMs: 0 },
        }),
      ),
    );
    const attempts = await Promise.all(jobIds.map(waitForAttempts));
    expect(failures).toEqual([]);
    expect([portal.locks, stage.output]).toEqual([[], expect.anything()]);
    const signedIn = portal.signIns.slice(before);
    const attemptIds = attempts.flat().map(({ id }) => id as string);
    expect(signedIn.sort()).toEqual(attemptIds.sort());
    await requireSeparateUses(attemptIds);
    return attempts.map((each) => each.at(-1));
  }

  async function requireSeparateUses(jobIds: string[]): Promise<void> {
    const { uses } = (await stage.read(`/api/accounts/${account}/uses?limit=200`)) as { uses: Use[] };
    const own = uses.filter(({ jobId }) => jobIds.includes(jobId)).reverse();
    expect([...new Set(own.map(({ jobId }) => jobId))].sort()).toEqual([...jobIds].sort());
    for (const [at, { to }] of own.entries()) {
      expect(to).not.toBeNull();
      const next = own[at + 1];
      if (next) expect([to! <= next.from, own]).toEqual([true, own]);
    }
    const { accounts } = await stage.read(`/api/accounts?pool=${pool}`);
    expect(accounts).toMatchObject([{ name: account, status: 'free', setAside: null }]);
  }

  it('two runs that sign in without an account lock the portal’s account', async () => {
    const { portal } = stage;
    portal.onSignIn = () => waitFor('the second sign-in', () => portal.locks.length > 0).then(() => undefined);
    const input = { workflowId: workflowWithoutAccount, vaultKeys: ['PORTAL_PASSWORD'], target: { labels } };
    const jobIds = await Promise.all([launch(input), launch(input)]);
    const jobs = await Promise.all(jobIds.map(waitForEnd));
    expect(jobs.map(({ status }) => status).sort()).toEqual(['completed', 'failed']);
    expect(portal.locks).toEqual([
      { user: 'bob@practice.example', first: portal.signIns[0], second: portal.signIns[1] },
    ]);
    portal.locks.length = 0;
  });

  it('the account is never locked, and each run signs in once', async () => {
    const before = stage.portal.signIns.length;
    const jobs = await playRuns(() => undefined);
    expect(jobs.map(({ status, attempt }) => [status, attempt])).toEqual(jobs.map(() => ['completed', 1]));
    expect(stage.portal.signIns).toHaveLength(before + runs);
  });

  it.each(victims)('the account is never locked if %s is killed while a run is signed in', async (victim) => {
    const killedAt = random.between(1, runs - 1);
    const jobs = await playRuns((jobId, number) =>
      number === killedAt ? stage.killAndRestart(victim, jobId) : undefined,
    );
    expect(jobs.map(({ status, error }) => [status, error])).toEqual(jobs.map(() => ['completed', null]));
    // Only the run whose script was killed is repeated.
    expect(jobs.map(({ attempt }) => attempt).sort()).toEqual([1, 1, 1, 1, victim === 'machine' ? 2 : 1]);
  });

  it('the account is never locked if one process after the other is killed, one at each sign-in', async () => {
    const left = [...victims];
    const jobs = await playRuns(async (jobId) => {
      const [victim] = left.splice(random.between(0, Math.max(0, left.length - 1)), 1) as [Victim | undefined];
      if (victim) await stage.killAndRestart(victim, jobId);
    });
    expect(jobs.map(({ status, error }) => [status, error])).toEqual(jobs.map(() => ['completed', null]));
  });

  it('the account is never locked if runs are cancelled while they are signed in', async () => {
    const cancelled = new Set<string>();
    const jobs = await playRuns(async (jobId, number) => {
      if (number % 2 === 0) return;
      cancelled.add(jobId);
      expect((await stage.request('POST', `/api/jobs/${jobId}/cancel`, {})).status).toBeLessThan(300);
      // The script stays signed in until the worker has killed it.
      await waitForEnd(jobId);
    });
    expect(jobs.map(({ id, status }) => [id, status])).toEqual(
      jobs.map(({ id }) => [id, cancelled.has(id) ? 'cancelled' : 'completed']),
    );
    expect(cancelled.size).toBe(3);
  });
});
