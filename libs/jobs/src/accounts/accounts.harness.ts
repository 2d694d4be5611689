import { putSecret } from '@muster/access';
import type { AccountFailure, PutAccountBody } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import { KeyRing } from '@muster/vault';
import { findJob } from '../lists/job-row';
import { applyJobReport } from '../reports/apply-job-report';
import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';
import { listAccounts, listAccountUses } from './account-row';
import { setAsideAccountOfRun } from './fail-account';
import { putAccount } from './save-account';

const vaultKeys = { username: 'PORTAL_USER', password: 'PORTAL_PASS' };

/** Functions for specs of accounts. Each test has a pool of its own. */
export class AccountsFixture {
  pool = '';

  private constructor(readonly jobs: JobsFixture) {}

  static async open(): Promise<AccountsFixture> {
    const fixture = new AccountsFixture(await openJobsFixture());
    const keyRing = fixture.jobs.harness.app.nest.get(KeyRing, { strict: false });
    await fixture.runInTransaction(async (tx) => {
      for (const key of [...Object.values(vaultKeys), 'OTHER'])
        await putSecret(tx, keyRing, fixture.jobs.caller, key, { value: `value of ${key}` });
    });
    return fixture;
  }

  close(): Promise<void> {
    return this.jobs.close();
  }

  useNewPool(): void {
    this.pool = `pool ${newId()}`;
  }

  runInTransaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.jobs.harness.db.transaction({ organizationId: this.jobs.organizationId }, work);
  }

  putAccount(name: string, body: Partial<PutAccountBody> = {}) {
    return this.runInTransaction((tx) =>
      putAccount(tx, this.jobs.caller, name, { vaultKeys, pool: this.pool, ...body }),
    );
  }

  readJob(id: string) {
    return findJob(this.jobs.harness.db, this.jobs.organizationId, id);
  }

  endRun(jobId: string, status: 'completed' | 'failed' = 'completed') {
    return this.reportStatus(jobId, status);
  }

  reportStatus(jobId: string, status: 'running' | 'completed' | 'failed') {
    const { harness, organizationId } = this.jobs;
    return applyJobReport(harness.db, { organizationId, agentId: null }, { jobId, status });
  }

  listRequests() {
    return [{ pool: this.pool, as: 'PORTAL' }];
  }

  listHolders() {
    return this.jobs.query<{ jobId: string; account: string }>(
      'SELECT job_id, account FROM account_use WHERE since IS NOT NULL AND until IS NULL AND pool = $1 ORDER BY since',
      [this.pool],
    );
  }

  async listHoldingJobs() {
    return (await this.listHolders()).map(({ jobId }) => jobId);
  }

  async readStatus(name: string) {
    const { harness, organizationId } = this.jobs;
    const page = { limit: 200, after: null };
    const accounts = await listAccounts(harness.db, organizationId, { page, pool: this.pool });
    return accounts.find((account) => account.name === name)?.status;
  }

  listUses(name: string) {
    const { harness, organizationId } = this.jobs;
    return listAccountUses(harness.db, organizationId, { name, page: { limit: 200, after: null } });
  }

  failAccountOfRun(jobId: string, reason: AccountFailure = 'locked', agentId: string | null = null) {
    const { harness, organizationId } = this.jobs;
    return setAsideAccountOfRun(harness.db, { organizationId, agentId }, { jobId, pool: this.pool, reason });
  }

  /** Launches a job on each of `count` new agents. */
  async launchOnAgents(count: number, input: object = { accounts: this.listRequests() }) {
    const agents = await Promise.all(Array.from({ length: count }, () => this.jobs.makeOnlineAgent()));
    const jobs: string[] = [];
    for (const id of agents) jobs.push(await this.jobs.launch({ agentId: id, ...input }));
    return {
      agents,
      jobs,
      dispatchAll: () => Promise.all(agents.map((id) => this.jobs.dispatch.startNextJob(id))),
    };
  }

  listDispatchMessages(agentId: string) {
    return this.jobs.query(`SELECT FROM outbox WHERE name = 'dispatch-agent' AND payload ->> 'agentId' = $1`, [
      agentId,
    ]);
  }
}
