import { newId } from '@muster/platform';
import { type Harness, type HttpClient, type Tenant, testPassword, waitFor } from '@muster/testing';
import type { SeededRandom } from './seeded-random.harness';
import { type Machine, MachineReports } from './machine-reports.harness';
import type { Office, Price, Run } from './ledger.harness';
import type { MovableClock } from './movable-clock.harness';

export interface OfficePlan {
  name: string;
  zone: string;
  labor: number;
  minutes: number;
  hourly: number;
  machines: (number | null)[];
  pricing: Office['pricing'];
}

/** Simulates a month of one organization: launches runs, sends the reports of their machines and records both. */
export class PracticeOffice extends MachineReports {
  readonly ledger: Office;
  private readonly machines: Machine[] = [];
  private workflowIds: string[] = [];
  private scheduleId = '';
  private hourly: number;

  private constructor(
    harness: Harness,
    time: MovableClock,
    random: SeededRandom,
    readonly tenant: Tenant,
    plan: OfficePlan,
  ) {
    super(harness, time, random);
    const { name, zone, labor, minutes, pricing } = plan;
    this.ledger = { name, zone, labor, minutes, pricing, prices: [], runs: [], batches: [] };
    this.hourly = plan.hourly;
  }

  static async open(
    harness: Harness,
    time: MovableClock,
    random: SeededRandom,
    plan: OfficePlan,
  ): Promise<PracticeOffice> {
    const office = new PracticeOffice(harness, time, random, await harness.makeTenant(plan.name), plan);
    await office.setUpOffice(plan);
    return office;
  }

  /** Adds model prices. Each applies from its own first day. */
  async setPrices(prices: Price[]): Promise<void> {
    this.ledger.prices = [...this.ledger.prices, ...prices];
    await this.expectSuccess(
      (await this.signIn()).put('/api/organization/model-prices', { prices: this.ledger.prices }),
    );
  }

  async setHourlyPrice(hourly: number): Promise<void> {
    this.hourly = hourly;
    await this.expectSuccess((await this.signIn()).patch('/api/organization/settings', { hourlyComputeUsd: hourly }));
  }

  /** Sends a heartbeat of each machine. */
  async sendHeartbeats(): Promise<void> {
    for (const { id: agentId, client, bootId } of this.machines) {
      await this.expectSuccess(client.post('/api/agent/heartbeat', { agentId, bootId }));
    }
  }

  /** Plays a run from its launch to its end some minutes later, and then the retry of the run if there is one. */
  async playRuns(): Promise<void> {
    const { random } = this;
    const machine = random.pickOne(this.machines);
    const isOverBudget = random.drawBoolean(0.06);
    const options = {
      ...(random.drawBoolean(0.3) ? { maxRetries: 1 } : {}),
      ...(isOverBudget ? { maxCostUsd: 0.5 } : {}),
    };
    const jobId = await random.pickOne([
      () => this.launchRun(machine, options),
      () => this.launchBatch(machine, options),
      () => (isOverBudget ? this.launchRun(machine, options) : this.launchBySchedule(machine, options)),
    ])();
    if (random.drawBoolean(0.06)) return this.cancelRun(machine, jobId);
    if (isOverBudget) return this.exceedBudget(machine, jobId);
    await this.performRun(machine, jobId);
    const [retry] = await this.harness.db.query<{ id: string }>('system', 'SELECT id FROM job WHERE retry_of = $1', [
      jobId,
    ]);
    if (retry) await this.performRun(machine, retry.id);
  }

  private async performRun(machine: Machine, jobId: string): Promise<void> {
    const { random } = this;
    await this.beginRun(machine, jobId);
    const usages = await this.reportSteps(machine, jobId, { first: 1, count: random.drawInteger(0, 4) });
    const billing = await this.reportBillingSteps(machine, jobId);
    const claims = random.drawBoolean(0.6) ? await this.reportClaimResults(machine, jobId) : {};
    await this.passMinutes(random.drawInteger(1, 60));
    const reported = random.drawBoolean(0.4) ? random.drawInteger(0, 4_000_000) / 1_000_000 : null;
    const end = random.pickOne(['completed', 'completed', 'completed', 'failed', 'cancelled'] as const);
    const body = { status: end, seq: 5_000, ...(reported === null ? {} : { totalCostUsd: reported }) };
    await this.postWebhook(machine, jobId, body);
    // Repeats the report of the end, or sends a different end, which the service must ignore.
    if (random.drawBoolean(0.3)) await this.postWebhook(machine, jobId, body);
    if (random.drawBoolean(0.2))
      await this.postWebhook(machine, jobId, { status: 'failed', seq: 5_001, totalCostUsd: 999 });
    if (random.drawBoolean(0.2)) {
      await this.passMinutes(random.drawInteger(1, 30));
      usages.push(...(await this.reportSteps(machine, jobId, { first: 100, count: 2 })));
    }
    await this.recordEndedRun(machine, jobId, { usages, reported, billing, claims });
    if (random.drawBoolean(0.5)) await this.reportSummary(machine, jobId);
    if (random.drawBoolean(0.1)) await this.reportSummary(machine, null);
  }

  private async cancelRun(machine: Machine, jobId: string): Promise<void> {
    await this.passMinutes(this.random.drawInteger(1, 20));
    await this.expectSuccess(this.tenant.api.post(`/api/jobs/${jobId}/cancel`, {}));
    // If the machine has already received the run, it has to report that the run has stopped.
    await this.postWebhook(machine, jobId, { status: 'cancelled', seq: 9_000 });
    await this.recordEndedRun(machine, jobId, { usages: [], reported: null, billing: [], claims: {} });
  }

  /** Plays a run that the service ends at its budget. A later report of an end is ignored, but later usage counts. */
  private async exceedBudget(machine: Machine, jobId: string): Promise<void> {
    await this.beginRun(machine, jobId);
    const preset = { provider: 'nobody', model: 'month-unknown', reported: 0.75 } as const;
    const usages = await this.reportSteps(machine, jobId, { first: 1, count: 1, preset });
    await waitFor(`run ${jobId} to be stopped for its budget`, async () => {
      const { body } = await this.tenant.api.get(`/api/jobs/${jobId}`);
      return body.errorCode === 'budget_exceeded';
    });
    usages.push(...(await this.reportSteps(machine, jobId, { first: 50, count: 1, preset })));
    await this.postWebhook(machine, jobId, { status: 'completed', seq: 5_000, totalCostUsd: 999 });
    await this.recordEndedRun(machine, jobId, { usages, reported: null, billing: [], claims: {} });
    // Acts as the machine's confirmation that the processes of the run have ended.
    await this.harness.db.query('system', 'UPDATE agent SET clearing_command_id = NULL WHERE id = $1', [machine.id]);
  }

  /** Signs in again, because a user session does not last a month. */
  signIn(role: 'admin' | 'super_admin' = 'admin'): Promise<HttpClient> {
    return this.harness.http.signIn(`user-${this.tenant.userIds[role]}@example.com`, testPassword);
  }

  /** Deletes the run; its costs remain. */
  async deleteRun(run: Run): Promise<void> {
    await this.expectSuccess((await this.signIn()).delete(`/api/jobs/${run.id}`));
    run.deleted = true;
  }

  async backfillBill(run: Run): Promise<any> {
    const body = { job_id: run.id, create_default_model: true, force: this.random.drawBoolean(0.5) };
    return (await this.expectSuccess((await this.signIn()).post('/api/admin/client-pricing/backfill', body))).body;
  }

  private async setUpOffice(plan: OfficePlan): Promise<void> {
    const { admin } = this.tenant.as;
    await this.expectSuccess(
      admin.patch('/api/organization/settings', {
        timezone: plan.zone,
        laborRateUsdPerHour: plan.labor,
        minutesSavedPerClaim: plan.minutes,
        hourlyComputeUsd: plan.hourly,
        autoStopEnabled: false,
      }),
    );
    this.signingSecret = (await admin.get('/api/organization/signing-secret')).body.signingSecret;
    for (const hourly of plan.machines) {
      const config = hourly === null ? {} : { providerConfig: { hourlyUsd: hourly } };
      const created = await this.expectSuccess(
        admin.post('/api/agents', { name: newId(), provider: 'external', ...config }),
      );
      const client = this.harness.http.withKey(created.body.workerKey);
      const { id } = created.body.agent;
      const bootId = newId();
      await this.expectSuccess(client.post('/api/agents/handshake', { agentId: id, bootId, workerVersion: '1' }));
      this.machines.push({ id, client, bootId, hourly });
    }
    for (const name of ['EOBs', 'Eligibility']) {
      const created = await this.expectSuccess(admin.post('/api/workflows', { name, script: 'print(1)' }));
      this.workflowIds.push(created.body.id);
    }
    const schedule = await this.expectSuccess(
      admin.post('/api/schedules', {
        name: 'Nightly',
        scriptId: this.workflowIds[0],
        agentId: this.machines[0]!.id,
        cronExpression: '0 3 1 1 *',
      }),
    );
    this.scheduleId = schedule.body.id;
    await this.expectSuccess(admin.put(`/api/admin/client-pricing/${this.tenant.organizationId}`, plan.pricing));
  }

  private async launchRun(machine: Machine, options: object): Promise<string> {
    const workflowId = this.random.pickOne(this.workflowIds);
    const body = { workflowId, agentId: machine.id, ...options };
    return (await this.expectSuccess(this.tenant.api.post('/api/jobs/launch', body))).body.jobId;
  }

  private async launchBatch(machine: Machine, options: object): Promise<string> {
    const workflowId = this.random.pickOne(this.workflowIds);
    const body = { workflowId, agentIds: [machine.id], rows: [{}], ...options };
    return (await this.expectSuccess(this.tenant.api.post('/api/jobs/batch', body))).body.jobIds[0];
  }

  /** Launches a run by the schedule if the machine is the schedule's machine, the first one; otherwise directly. */
  private async launchBySchedule(machine: Machine, options: object): Promise<string> {
    if (machine !== this.machines[0]) return this.launchRun(machine, options);
    const response = await this.expectSuccess(
      this.tenant.api.post('/api/schedules/execute', { scheduleId: this.scheduleId, force: true }),
    );
    const [launched] = response.body.launched;
    return launched ? launched.jobId : this.launchRun(machine, options);
  }

  private async beginRun(machine: Machine, jobId: string): Promise<void> {
    await this.waitUntilDispatched(jobId);
    await this.passMinutes(this.random.drawInteger(1, 5));
    await this.postWebhook(machine, jobId, { status: 'running', seq: 1 });
  }

  private async waitUntilDispatched(jobId: string): Promise<void> {
    await waitFor(`job ${jobId} to be dispatched to its machine`, async () => {
      const [job] = await this.harness.db.query<{
        dispatched: boolean;
        waitingReason: string | null;
        agentStatus: string;
      }>(
        'system',
        `SELECT j.command_id IS NOT NULL AS dispatched, j.waiting_reason, a.status AS agent_status
         FROM job j JOIN agent a ON a.id = j.agent_id WHERE j.id = $1`,
        [jobId],
      );
      if (!job!.dispatched)
        throw new Error(`the job waits for ${job!.waitingReason}, its agent is ${job!.agentStatus}`);
      return true;
    });
  }

  /** Records the ended run in the ledger: its times and status from the service, and its generated input. */
  private async recordEndedRun(
    machine: Machine,
    jobId: string,
    input: Pick<Run, 'usages' | 'reported' | 'billing' | 'claims'>,
  ): Promise<void> {
    const { body: job } = await this.expectSuccess(this.tenant.api.get(`/api/jobs/${jobId}`));
    if (!job.finishedAt) throw new Error(`run ${jobId} has not ended: ${job.status}`);
    const { workflowId, agentId, scheduleId, status, startedAt, finishedAt } = job;
    const hourly = machine.hourly ?? this.hourly;
    this.ledger.runs.push({
      ...{ id: jobId, workflowId, agentId, scheduleId, status, startedAt, finishedAt, hourly, deleted: false },
      ...input,
    });
  }
}
