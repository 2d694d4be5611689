import type { Harness } from '@muster/testing';
import { newId } from '@muster/platform';
import type { HttpClient } from '@muster/testing';
import { createHmac } from 'node:crypto';
import type { SeededRandom } from './seeded-random.harness';
import type { Batch, BillingStep, Claim, Office, Run, Usage } from './ledger.harness';
import { formatDayInZone } from './recompute.harness';
import type { MovableClock } from './movable-clock.harness';

export interface Machine {
  id: string;
  client: HttpClient;
  bootId: string;
  /** Price of the machine in USD per hour; null if the organization's price applies. */
  hourly: number | null;
}

const models = [
  { provider: 'openai', model: 'month-small' },
  { provider: 'anthropic', model: 'month-large' },
  { provider: 'nobody', model: 'month-unknown' },
] as const;
const outcomes = ['eob_uploaded', 'no_eob_found', 'failed'] as const;

/** Sends the reports of an organization's machines about their runs, and records them. */
export abstract class MachineReports {
  abstract readonly ledger: Office;
  protected signingSecret = '';

  constructor(
    protected readonly harness: Harness,
    protected readonly time: MovableClock,
    protected readonly random: SeededRandom,
  ) {}

  protected async postWebhook(machine: Machine, jobId: string, body: object): Promise<void> {
    await this.expectSuccess(machine.client.post('/api/job-webhook', { jobId, ...body }));
  }

  protected async reportSteps(
    machine: Machine,
    jobId: string,
    { first, count, preset }: { first: number; count: number; preset?: Pick<Usage, 'provider' | 'model' | 'reported'> },
  ): Promise<Usage[]> {
    const usages: Usage[] = [];
    for (let stepOrder = first; stepOrder < first + count; stepOrder += 1) {
      await this.passMinutes(this.random.drawInteger(1, 10));
      const at = this.time.clock.now().toISOString();
      const { provider, model } = preset ?? this.random.pickOne(models);
      const usage = {
        provider,
        model,
        input: this.random.drawInteger(0, 300_000),
        output: this.random.drawInteger(0, 30_000),
        reported: preset
          ? preset.reported
          : this.random.drawBoolean(0.5)
            ? this.random.drawInteger(0, 2_000_000) / 1_000_000
            : null,
      };
      const body = {
        jobId,
        stepOrder,
        status: 'passed',
        seq: stepOrder,
        startedAt: at,
        finishedAt: at,
        usage: {
          provider,
          model,
          inputTokens: usage.input,
          outputTokens: usage.output,
          ...(usage.reported === null ? {} : { costUsd: usage.reported }),
        },
      };
      const times = this.random.drawBoolean(0.3) ? 2 : 1;
      for (let time = 0; time < times; time += 1) {
        await this.expectSuccess(machine.client.post(`/api/agents/${machine.id}/step-status`, body));
      }
      usages.push({ ...usage, at });
    }
    return usages;
  }

  protected async reportBillingSteps(machine: Machine, jobId: string): Promise<BillingStep[]> {
    if (this.random.drawBoolean(0.5)) return [];
    const steps: BillingStep[] = [];
    for (let npi = 0; npi < this.random.drawInteger(1, 3); npi += 1) {
      steps.push({ type: 'select_org_provider', npi: `100000000${npi}` });
      for (let claim = 0; claim < this.random.drawInteger(0, 5); claim += 1) {
        const id = `K-${this.random.drawInteger(1, 4)}`;
        const named = this.random.pickOne([{ claim_id: id }, { claim_submission_id: id }, {}]);
        const own = this.random.drawBoolean(0.5) ? { npi: `100000000${this.random.drawInteger(0, 4)}` } : {};
        steps.push({ type: 'claim_result', ...own, ...named });
      }
    }
    for (const [at, metadata] of steps.entries()) {
      const body = { jobId, stepOrder: 1000 + at, status: 'passed', seq: 1, metadata };
      await this.expectSuccess(machine.client.post(`/api/agents/${machine.id}/step-status`, body));
    }
    return steps;
  }

  /** Reports claim outcomes once or twice. A later report replaces the outcomes of an earlier one. */
  protected async reportClaimResults(machine: Machine, jobId: string): Promise<Run['claims']> {
    const outcomesByClaim: Run['claims'] = {};
    for (let round = 0; round < this.random.drawInteger(1, 2); round += 1) {
      await this.passMinutes(1);
      const claimResults = Array.from({ length: this.random.drawInteger(1, 4) }, (_, at) => ({
        claimId: `C-${at}`,
        outcome: this.random.pickOne(outcomes),
      }));
      // No other test can advance the clock while this report is sent, because its signature is valid for only five
      // minutes.
      await this.time.runWithClockStopped(async () => {
        const t = Math.floor(this.time.clock.now().getTime() / 1000);
        const signed = `${t}.${jobId}.${JSON.stringify({ claimResults })}`;
        const signature = `t=${t},v1=${createHmac('sha256', this.signingSecret).update(signed).digest('hex')}`;
        const client = machine.client.with({ 'x-service-signature': signature });
        await this.expectSuccess(client.post(`/api/jobs/${jobId}/claim-results`, { claimResults }));
      });
      for (const { claimId, outcome } of claimResults) outcomesByClaim[claimId] = outcome;
    }
    return outcomesByClaim;
  }

  protected async reportSummary(machine: Machine, jobId: string | null): Promise<void> {
    const batchId = newId();
    const startedAt = this.time.clock.now().toISOString();
    const rounds = this.random.drawBoolean(0.3) ? 2 : 1;
    let claims: Claim[] = [];
    for (let round = 0; round < rounds; round += 1) {
      claims = Array.from({ length: this.random.drawInteger(0, 8) }, () => ({
        outcome: this.random.pickOne(outcomes),
        seconds: this.random.drawBoolean(0.8) ? this.random.drawInteger(1, 400_000) / 1000 : null,
      }));
      const rows = claims.map(({ outcome, seconds }, at) => ({
        claimId: `C-${at}`,
        outcome,
        ...(seconds === null ? {} : { processingSeconds: seconds }),
      }));
      const body = this.random.pickOne([
        { batchSummary: { batchId, startedAt, ...(jobId ? { jobId } : {}) }, claimResults: rows },
        {
          practiceRunSummary: { batchSummary: { batchId, startedAt, ...(jobId ? { jobId } : {}) }, claimResults: rows },
        },
        {
          practice_run_summary: {
            batch_summary: { batch_id: batchId, started_at: startedAt, ...(jobId ? { job_id: jobId } : {}) },
            claim_results: rows.map(({ claimId, processingSeconds, ...row }: any) => ({
              ...row,
              claim_id: claimId,
              ...(processingSeconds === undefined ? {} : { processing_seconds: processingSeconds }),
            })),
          },
        },
      ] as object[]);
      await this.expectSuccess(machine.client.post('/api/pilot/run-summary', body));
    }
    const day = formatDayInZone(this.ledger.zone, startedAt);
    const batch: Batch = { id: batchId, jobId, workflowId: null, day, claims };
    this.ledger.batches.push(batch);
  }

  protected async passMinutes(minutes: number): Promise<void> {
    await this.time.advanceTo(new Date(this.time.clock.now().getTime() + minutes * 60_000));
  }

  protected async expectSuccess<T extends { status: number; text: string }>(request: Promise<T>): Promise<T> {
    const answer = await request;
    if (answer.status >= 300) throw new Error(`${this.ledger.name}: ${answer.status} ${answer.text.slice(0, 500)}`);
    return answer;
  }
}
