import { putSecret } from '@muster/access';
import type { LaunchJobBody } from '@muster/contracts';
import type { AgentEntity, Transaction } from '@muster/database';
import { makeAgent } from '@muster/testing';
import { KeyRing } from '@muster/vault';
import { putAccount } from '../accounts/save-account';
import { applyStopResult } from '../ends/apply-stop-result';
import { cancelJobsOfStoppedAgent } from '../ends/cancel-jobs-of-stopped-agent';
import { finishJob } from '../ends/finish-job';
import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';
import { placeJob, type PlacementParts } from './place-job';
import { placeJobsOfOrganization } from './sweep-placements';

interface Message {
  name: string;
  payload: Record<string, string>;
}

/** Functions for specs of placement. Messages are handled here, and no loop runs, so nothing hides a lost message. */
export class PlacementFixture {
  private agents = 0;

  private constructor(readonly jobs: JobsFixture) {}

  static async openFixture(env: Record<string, string> = {}): Promise<PlacementFixture> {
    const fixture = new PlacementFixture(await openJobsFixture(env));
    const keyRing = fixture.jobs.harness.app.nest.get(KeyRing, { strict: false });
    await fixture.runInTransaction((tx) =>
      putSecret(tx, keyRing, fixture.jobs.caller, 'PASSWORD', { value: 'hunter2' }),
    );
    return fixture;
  }

  closeFixture(): Promise<void> {
    return this.jobs.close();
  }

  /** Deletes everything except the organization and its workflow. */
  async deleteJobsAndAgents(): Promise<void> {
    for (const table of ['job', 'outbox', 'concurrency_lease', 'concurrency_limit', 'account_use', 'account', 'agent'])
      await this.jobs.query(`DELETE FROM ${table}`);
    await this.jobs.query('UPDATE organization_settings SET vm_auto_wake_on_job = false, max_concurrent_runs = NULL');
  }

  get parts(): PlacementParts {
    const { harness, dispatch } = this.jobs;
    return { database: harness.db, dispatch, now: () => harness.db.now(), wakeTimeoutMs: 60_000 };
  }

  runInTransaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.jobs.harness.db.transaction({ organizationId: this.jobs.organizationId }, work);
  }

  async makeAgent(input: Partial<AgentEntity> = {}): Promise<string> {
    this.agents += 1;
    const { harness, organizationId } = this.jobs;
    const agent = { organizationId, name: `Placed ${this.agents}`, status: 'online' as const, labels: ['any'] };
    return (await makeAgent(harness.db, { ...agent, ...input })).id;
  }

  putAccount(name: string, input: object = {}) {
    const body = { pool: 'portal', vaultKeys: { password: 'PASSWORD' }, ...input };
    return this.runInTransaction((tx) => putAccount(tx, this.jobs.caller, name, body));
  }

  /** Launches a job that any agent with the labels can take. */
  launchWithLabels(labels: string[] = ['any'], input: Partial<LaunchJobBody> = {}): Promise<string> {
    return this.jobs.launch({ target: { labels }, ...input });
  }

  endJob(jobId: string, input: object = { to: 'completed' }) {
    const { organizationId } = this.jobs;
    return this.runInTransaction((tx) =>
      finishJob(tx, { organizationId, jobId, source: 'watchdog', ...input } as never),
    );
  }

  /** Handles the messages of the dispatcher that are about placement until there are none. Returns their names. */
  async handleMessages(): Promise<string[]> {
    const names: string[] = [];
    for (;;) {
      const messages = await this.jobs.query<Message>(
        'WITH messages AS (DELETE FROM outbox RETURNING id, name, payload) SELECT name, payload FROM messages ORDER BY id',
      );
      if (messages.length === 0) return names;
      names.push(...messages.map(({ name }) => name));
      await Promise.all(messages.map((message) => this.handleMessage(message)));
    }
  }

  private async handleMessage({ name, payload }: Message): Promise<unknown> {
    const { agentId, jobId, organizationId, commandId } = payload as Record<
      'agentId' | 'jobId' | 'organizationId' | 'commandId',
      string
    >;
    switch (name) {
      case 'dispatch-agent':
        return this.jobs.dispatch.startNextJob(agentId);
      case 'place-job':
        return placeJob(this.parts, jobId);
      case 'place-jobs':
        return placeJobsOfOrganization(this.parts, organizationId);
      case 'command-finished':
        return applyStopResult(this.jobs.harness.db, commandId);
      case 'agent-stopped':
        return cancelJobsOfStoppedAgent(this.jobs.harness.db, agentId);
      default:
        return undefined;
    }
  }

  /** Returns the agents of the jobs, in the order of the jobs; null for a job that has none. */
  async listAgentsOfJobs(jobIds: string[]): Promise<(string | null)[]> {
    const rows = await this.jobs.query<{ id: string; agentId: string | null }>(
      'SELECT id, agent_id FROM job WHERE id = ANY($1) AND (command_id IS NOT NULL OR agent_id IS NULL)',
      [jobIds],
    );
    return jobIds.map((jobId) => rows.find(({ id }) => id === jobId)?.agentId ?? null);
  }
}
