import { FakeClock, type Harness, makeAgent, makeWorkflow, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

/** A gateway whose clock is stopped at 09:00:20, with a new tenant, workflow and agent for each test. */
export class SchedulesFixture {
  readonly clock = new FakeClock();
  harness!: Harness;
  tenant!: Tenant;
  scriptId!: string;
  agentId!: string;

  async openFixture(): Promise<void> {
    this.harness = await startHarness({ ...gateway, clock: this.clock });
  }

  async resetState(): Promise<void> {
    this.clock.set('2026-03-02T09:00:20.000Z');
    this.tenant = await this.harness.makeTenant();
    const { organizationId } = this.tenant;
    this.scriptId = (await makeWorkflow(this.harness.db, { organizationId, variables: ['CLAIM_ID'] })).id;
    this.agentId = (await makeAgent(this.harness.db, { organizationId, status: 'online' })).id;
  }

  buildBody(more: object = {}): object {
    const { scriptId, agentId } = this;
    const cronExpression = '*/5 * * * *';
    return { name: 'Nightly', scriptId, agentId, cronExpression, variables: { CLAIM_ID: 'C-1' }, ...more };
  }

  async createSchedule(more: object = {}): Promise<string> {
    const created = await this.tenant.api.post('/api/schedules', this.buildBody(more));
    expect([created.status, created.text]).toEqual([201, expect.any(String)]);
    return created.body.id;
  }

  async readSchedule(id: string): Promise<any> {
    return (await this.tenant.api.get(`/api/schedules/${id}`)).body;
  }

  async executeSchedules(more: object = {}): Promise<any> {
    const answer = await this.tenant.api.post('/api/schedules/execute', more);
    expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
    return answer.body;
  }

  async listJobs(): Promise<any[]> {
    return (await this.tenant.api.get('/api/jobs')).body.jobs;
  }

  queryRows(sql: string, ...values: unknown[]): Promise<any[]> {
    return this.harness.db.query<any>('system', sql, values);
  }

  updateSetting(change: string): Promise<any[]> {
    const { organizationId } = this.tenant;
    return this.queryRows(`UPDATE organization_settings SET ${change} WHERE organization_id = $1`, organizationId);
  }
}
