import { AccessModule } from '@muster/access';
import { Database, DatabaseModule } from '@muster/database';
import { Dispatch, DispatchConfig, JobsModule, placeJob, sweepPlacements } from '@muster/jobs';
import { BaseConfig, createApp, loadConfig, Round } from '@muster/platform';
import { StorageConfig } from '@muster/storage';
import { readPlans } from '@muster/testing';
import { VaultModule } from '@muster/vault';
import { VmConfig } from '@muster/vm';
import { Client } from 'pg';

// Starts jobs that name their agent and jobs that do not, on the database that the environment specifies.

export interface PlacementQuestion {
  /** `freed`: an agent takes its next waiting job. `launched`: a new job gets an idle agent. `sweep`: no agent is idle. */
  work: 'freed' | 'launched' | 'sweep';
  organizationId: string;
  unplaced: boolean;
  starts: number;
  concurrency: number;
  /** Whether the statements are explained instead of timed. */
  explain: boolean;
}

export interface PlacementAnswer {
  /** Milliseconds of each start. */
  ms: number[];
  statements: number;
  looked: number;
}

class Subject {
  private next = 0;

  constructor(
    private readonly database: Database,
    private readonly dispatch: Dispatch,
  ) {}

  async answerQuestion(question: PlacementQuestion): Promise<PlacementAnswer> {
    const answer: PlacementAnswer = { ms: [], statements: 0, looked: 0 };
    const agents = await this.querySql<{ id: string }>('SELECT id FROM agent WHERE organization_id = $1 ORDER BY id', [
      question.organizationId,
    ]);
    for (let at = 0; at < question.starts; at += question.concurrency) {
      const agentIds = Array.from({ length: question.concurrency }, () => agents[this.next++ % agents.length]!.id);
      await this.endRunsOfAgents(agentIds);
      const start = await this.prepareAgents(question, agentIds);
      if (question.explain) await this.countReadBuffers(answer, start, agentIds);
      else {
        const began = performance.now();
        await start();
        answer.ms.push((performance.now() - began) / question.concurrency);
        await this.requireStarted(question, agentIds);
      }
    }
    return answer;
  }

  /** Prepares the agents for a question, and returns the function to measure. */
  private async prepareAgents(
    { work, organizationId, unplaced }: PlacementQuestion,
    agentIds: string[],
  ): Promise<() => Promise<unknown>> {
    const { database, dispatch } = this;
    const parts = { database, dispatch, now: () => new Date(), wakeTimeoutMs: 60_000 };
    if (work === 'sweep') {
      await this.querySql('UPDATE agent SET current_job_id = gen_random_uuid() WHERE organization_id = $1', [
        organizationId,
      ]);
      return () => sweepPlacements(parts, new Round('bench'));
    }
    if (work === 'freed') return () => Promise.all(agentIds.map((agentId) => dispatch.startNextJob(agentId)));
    const jobs = await this.querySql<{ id: string }>(
      `INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, status, target_labels,
                        target_prefer, target_group)
       SELECT gen_random_uuid(), $1, $1, 1, CASE WHEN NOT $3 THEN agent_id END, 'queued',
              CASE WHEN $3 THEN ARRAY['any'] END, CASE WHEN $3 THEN 'running' END, CASE WHEN $3 THEN $1::uuid END
       FROM unnest($2::uuid[]) AS agent_id RETURNING id`,
      [organizationId, agentIds, unplaced],
    );
    return unplaced
      ? () => Promise.all(jobs.map(({ id }) => placeJob(parts, id)))
      : () => Promise.all(agentIds.map((agentId) => dispatch.startNextJob(agentId)));
  }

  /**
   * Explains the statements of a start. They are explained after the start, so the start is undone first; then they
   * read what the start has read.
   */
  private async countReadBuffers(
    answer: PlacementAnswer,
    start: () => Promise<unknown>,
    agentIds: string[],
  ): Promise<void> {
    const { query } = Client.prototype;
    const plans = await readPlans(process.env['DATABASE_URL']!, async () => {
      const patched = Client.prototype.query;
      Client.prototype.query = function (
        this: Client,
        request: { statements?: { name?: string }[] },
        ...rest: unknown[]
      ) {
        if (Array.isArray(request.statements))
          answer.statements += request.statements.filter(({ name }) => name && !name.startsWith('muster_')).length;
        return (patched as (...values: unknown[]) => unknown).call(this, request, ...rest);
      } as never;
      await start();
      Client.prototype.query = query;
      await this.undoStart(agentIds);
    });
    answer.looked += plans.reduce((sum, { looked }) => sum + looked, 0);
  }

  /** Ends the runs of the agents in as few statements as possible; it is not measured. */
  private async endRunsOfAgents(agentIds: string[]): Promise<void> {
    await this.querySql(
      `UPDATE job SET status = 'completed', finished_at = now(), billed_at = now()
       WHERE agent_id = ANY($1) AND status = 'queued' AND command_id IS NOT NULL`,
      [agentIds],
    );
    await this.querySql(
      'UPDATE agent SET current_job_id = NULL, dispatched_at = NULL, last_activity_at = now() WHERE id = ANY($1)',
      [agentIds],
    );
  }

  private async undoStart(agentIds: string[]): Promise<void> {
    await this.querySql(
      `UPDATE job SET command_id = NULL, agent_id = CASE WHEN target_group IS NULL THEN agent_id END
       WHERE agent_id = ANY($1) AND status = 'queued' AND command_id IS NOT NULL`,
      [agentIds],
    );
    await this.endRunsOfAgents(agentIds);
  }

  private async requireStarted({ work }: PlacementQuestion, agentIds: string[]): Promise<void> {
    if (work !== 'freed') return;
    const busy = await this.querySql('SELECT FROM agent WHERE id = ANY($1) AND current_job_id IS NOT NULL', [agentIds]);
    if (busy.length !== agentIds.length) throw new Error(`${busy.length} of ${agentIds.length} agents took a job`);
  }

  private querySql<T extends object>(sql: string, values: unknown[]): Promise<T[]> {
    return this.database.query<T>('system', sql, values);
  }
}

void (async () => {
  const { nest } = await createApp({
    name: 'gateway',
    configs: [
      loadConfig(BaseConfig, process.env),
      loadConfig(DispatchConfig, process.env),
      loadConfig(VmConfig, process.env),
      loadConfig(StorageConfig, process.env),
    ],
    modules: [DatabaseModule, AccessModule, VaultModule, JobsModule],
  });
  await nest.init();
  const subject = new Subject(nest.get(Database, { strict: false }), nest.get(Dispatch, { strict: false }));
  process.on('message', (question: PlacementQuestion) => {
    void subject.answerQuestion(question).then((answer) => process.send!(answer));
  });
  process.send!({});
})();
