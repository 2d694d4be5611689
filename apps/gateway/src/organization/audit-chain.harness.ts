import { createHash } from 'node:crypto';
import { audit, closeAuditDays, linkNewAuditRows, verifyAuditLogs } from '@muster/access';
import { createOwnerDataSource, type Transaction } from '@muster/database';
import { newId, Round } from '@muster/platform';
import { type Harness, makeAgent, makeJob, startHarness, type Tenant, waitFor } from '@muster/testing';
import { gateway } from '../gateway.harness';

export const minuteMs = 60_000;
export const dayMs = 86_400_000;

/** A gateway for specs of the audit chain, which move its clock from day to day, with the steps that they share. */
export class ChainHarness {
  private constructor(
    readonly harness: Harness,
    private readonly state: { offset: number },
  ) {}

  static async start(): Promise<ChainHarness> {
    const state = { offset: 0 };
    const clock = { now: () => new Date(Date.now() + state.offset) };
    return new ChainHarness(await startHarness({ ...gateway, clock }), state);
  }

  get db() {
    return this.harness.db;
  }

  getNow(): Date {
    return new Date(Date.now() + this.state.offset);
  }

  formatDay(offsetDays = 0): string {
    return new Date(this.getNow().getTime() + offsetDays * dayMs).toISOString().slice(0, 10);
  }

  /** Moves the clock to the next day, `ms` milliseconds after midnight. */
  moveToNextDay(ms: number): void {
    const midnight = Math.floor(this.getNow().getTime() / dayMs + 1) * dayMs;
    this.state.offset += midnight + ms - this.getNow().getTime();
  }

  advanceClock(ms: number): void {
    this.state.offset += ms;
  }

  async insertAuditEntry(organizationId: string, note: string): Promise<void> {
    await this.db.transaction({ organizationId }, (tx) => {
      this.insertEntryInTransaction(tx, organizationId, note);
      return Promise.resolve();
    });
  }

  insertEntryInTransaction(tx: Transaction, organizationId: string, note: string): void {
    const actor = { kind: 'system', id: 'test', organizationId } as const;
    audit(tx, actor, { action: 'test.note', target: { type: 'test', id: note }, changes: { note, cost: 1.5 } });
  }

  /** Reads a run of the tenant, and waits until the access log shows it. Returns the id of the run. */
  async readRunAndWaitForLog({ organizationId, as }: Tenant): Promise<string> {
    const { id: agentId } = await makeAgent(this.db, { organizationId, name: newId() });
    const { id } = await makeJob(this.db, { organizationId, agentId });
    expect((await as.viewer.get(`/api/jobs/${id}`)).status).toBe(200);
    await waitFor('the read in the access log', async () => {
      const { body } = await as.admin.get(`/api/access-log?subject=${id}`);
      return body.entries.length > 0;
    });
    return id;
  }

  async readDayProof({ as }: Tenant, day: string): Promise<any> {
    const answer = await as.admin.get(`/api/audit/proof?day=${day}`);
    expect([answer.status, answer.body.day]).toEqual([200, day]);
    return answer.body;
  }

  /** Returns the rows of a log on a day as the API lists them, in the order of their ids. */
  async listDayRows({ as }: Tenant, log: 'audit' | 'access-log', day: string): Promise<any[]> {
    const rows: any[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const { body }: { body: any } = await as.admin.get(`/api/${log}?limit=200${cursor ? `&cursor=${cursor}` : ''}`);
      rows.push(...body.entries);
      cursor = body.nextCursor;
    }
    return rows.filter(({ at }) => at.startsWith(day)).reverse();
  }

  linkNewRows(): Promise<{ linked: number }> {
    return linkNewAuditRows(this.db);
  }

  /** Closes days until all days before today are closed. Open transactions of other tests delay this. */
  async closeFinishedDays(): Promise<void> {
    await waitFor('the days to close', async () => {
      await this.closeDaysOnce();
      const [row] = await this.db.query<{ closedBefore: Date }>('system', 'SELECT closed_before FROM audit_chain');
      return row!.closedBefore?.toISOString().startsWith(this.formatDay());
    });
  }

  closeDaysOnce(): Promise<{ closed: number }> {
    return closeAuditDays(this.db, this.getNow(), new Round('test'));
  }

  async findFaults(organizationId: string): Promise<string[]> {
    return (await verifyAuditLogs(this.db, organizationId)).faults;
  }

  /** Changes rows without the service, as an attacker with full access to the database could. */
  async tamperWithRows(sql: string, values: unknown[] = []): Promise<void> {
    const owner = await createOwnerDataSource(this.harness.databaseUrl).initialize();
    try {
      await owner.query(sql, values);
    } finally {
      await owner.destroy();
    }
  }
}

/** Returns the hash of a day's rows, computed as the API contract describes it, without the service's code. */
export function computeChainHash(previous: string, rows: object[]): string {
  const serializeSorted = (value: any): string =>
    value === null || typeof value !== 'object'
      ? JSON.stringify(value)
      : Array.isArray(value)
        ? `[${value.map(serializeSorted).join(',')}]`
        : `{${Object.keys(value)
            .sort()
            .map((name) => `${JSON.stringify(name)}:${serializeSorted(value[name])}`)
            .join(',')}}`;
  return createHash('sha256')
    .update([previous, ...rows.map(serializeSorted), ''].join('\n'))
    .digest('hex');
}
