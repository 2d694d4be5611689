import { FakeClock, type Harness, makeAgent, makeWorkflow, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

/** A gateway whose clock is stopped at 09:00:20, with a new tenant, workflow and agent for each test. */
export class SchedulesFixture {
  readonly clock = new FakeClock();
  harness!: Harness;
  tenant!: Tenant;
  scriptId!: string;
  agentId!: string;

  async open(): Promise<void> {
    this.harness = await startHarness({ ...gateway, clock: this.clock });
  }

  async begin(): Promise<void> {
    this.clock.set('2026-03-02T09:00:20.000Z');
    this.tenant = await this.harness.makeTenant();
    const { organizationId } = this.tenant;
    this.scriptId = (await makeWorkflow(this.harness.db, { organizationId, variables: ['CLAIM_ID'] })).id;
    this.agentId = (await makeAgent(this.harness.db, { organizationId, status: 'online' })).id;
  }

  body(more: object = {}): object {
    const { scriptId, agentId } = this;
    const cronExpression = '*/5 * * * *';
    return { name: 'Nightly', scriptId, agentId, cronExpression, variables: { CLAIM_ID: 'C-1' }, ...more };
  }

  async make(more: object = {}): Promise<string> {
    const created = await this.tenant.api.post('/api/schedules', this.body(more));
    expect([created.status, created.text]).toEqual([201, expect.any(String)]);
    return created.body.id;
  }

  async read(id: string): Promise<any> {
    return (await this.tenant.api.get(`/api/schedules/${id}`)).body;
  }

  async execute(more: object = {}): Promise<any> {
    const answer = await this.tenant.api.post('/api/schedules/execute', more);
    expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
    return answer.body;
  }

  async jobs(): Promise<any[]> {
    return (await this.tenant.api.get('/api/jobs')).body.jobs;
  }

  rows(sql: string, ...values: unknown[]): Promise<any[]> {
    return this.harness.db.query<any>('system', sql, values);
  }

  setting(change: string): Promise<any[]> {
    const { organizationId } = this.tenant;
    return this.rows(`UPDATE organization_settings SET ${change} WHERE organization_id = $1`, organizationId);
  }
}
