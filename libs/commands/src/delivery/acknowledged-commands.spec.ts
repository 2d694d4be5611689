import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId, PubSub } from '@muster/platform';
import { type Harness, makeAgent, makeOrganization, makeWorkflow, startHarness } from '@muster/testing';
import type { CommandRow } from '../command/command-row';
import { AcknowledgedCommands } from './acknowledged-commands';

describe('acknowledgements of run commands', () => {
  let harness: Harness;
  let organizationId: string;
  let agentId: string;
  let workflowId: string;
  let pubSub: PubSub;
  let acknowledged: AcknowledgedCommands;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    organizationId = (await makeOrganization(harness.db)).id;
    agentId = (await makeAgent(harness.db, { organizationId })).id;
    workflowId = (await makeWorkflow(harness.db, { organizationId })).id;
    pubSub = harness.app.nest.get(PubSub, { strict: false });
  });
  afterAll(() => harness.close());
  beforeEach(() => {
    acknowledged = new AcknowledgedCommands(harness.db, pubSub);
    // The connections of the harness need their own timers.
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'setInterval', 'Date'] });
  });
  afterEach(async () => {
    await acknowledged.flushAndStop();
    jest.useRealTimers();
  });

  async function acknowledgeRun(): Promise<CommandRow> {
    const command = { id: newId(), jobId: newId(), kind: 'run' } as CommandRow;
    await harness.db.query(
      'system',
      `WITH job AS (INSERT INTO job (id, organization_id, agent_id, workflow_id, workflow_revision) VALUES ($2, $3, $4, $5, 1))
       INSERT INTO agent_command (id, job_id, organization_id, agent_id, kind, payload, deadline)
       VALUES ($1, $2, $3, $4, 'run', '{}', muster_now() + interval '1 hour')`,
      [command.id, command.jobId, organizationId, agentId, workflowId],
    );
    await acknowledged.recordAcknowledged(command);
    return command;
  }

  async function isWritten({ id }: CommandRow): Promise<boolean> {
    const [row] = await harness.db.query<{ takenAt: Date | null }>(
      'system',
      'SELECT taken_at FROM agent_command WHERE id = $1',
      [id],
    );
    return row!.takenAt !== null;
  }

  it('each acknowledgement is written when its own run has had enough time to report', async () => {
    const first = await acknowledgeRun();
    await jest.advanceTimersByTimeAsync(60);
    const second = await acknowledgeRun();
    await jest.advanceTimersByTimeAsync(45);
    while (!(await isWritten(first)));
    expect(await isWritten(second)).toBe(false);
    await jest.advanceTimersByTimeAsync(60);
    while (!(await isWritten(second)));
  });

  it('the acknowledgement of a run that reports in time is not written', async () => {
    const reported = await acknowledgeRun();
    const silent = await acknowledgeRun();
    pubSub.publish('job', [reported.jobId!]);
    await jest.advanceTimersByTimeAsync(105);
    while (!(await isWritten(silent)));
    expect(await isWritten(reported)).toBe(false);
  });
});
