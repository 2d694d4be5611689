import { failSilentAgents, MachineControl, MachinesModule, stopIfIdle } from '@muster/machines';
import { applyHandshake } from '@muster/commands';
import { newId } from '@muster/platform';
import { chooseSize, makeAgent, createSeededRandom } from '@muster/testing';
import { type MachineProvider, Machines } from '@muster/vm';
import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';

jest.setTimeout(300_000);

/** Number of agents; in each round, each of them gets a job and an idle stop at the same time. */
const machines = 25;
const rounds = chooseSize('IDLE_RACE_ROUNDS', { short: 10, long: 400 });

describe('a job that is launched during an idle stop', () => {
  let fixture: JobsFixture;
  let agentIds: string[];
  let machine: MachineControl;

  beforeAll(async () => {
    fixture = await openJobsFixture({}, [MachinesModule]);
    const provider: MachineProvider = {
      describe: async () => ({ state: 'stopped', ip: null }),
      start: async () => undefined,
      stop: async () => undefined,
      reboot: async () => undefined,
      terminate: async () => undefined,
    };
    jest.spyOn(fixture.harness.app.nest.get(Machines, { strict: false }), 'get').mockReturnValue(provider);
    machine = fixture.harness.app.nest.get(MachineControl, { strict: false });
    const { organizationId } = fixture;
    agentIds = await Promise.all(
      Array.from({ length: machines }, async (_, n) => {
        const input = { organizationId, name: `Racer ${n}`, status: 'online', provider: 'ec2' } as const;
        return (await makeAgent(fixture.harness.db, input)).id;
      }),
    );
  });
  afterAll(() => fixture.close());

  const random = createSeededRandom(20_261_121);

  /** Resets the agents: online, without a job, and idle for longer than the limit. */
  const reset = () =>
    fixture.query(
      `WITH jobs AS (DELETE FROM job WHERE agent_id = ANY($1)),
         wakes AS (DELETE FROM agent_wake WHERE agent_id = ANY($1)),
         messages AS (DELETE FROM outbox)
       UPDATE agent SET status = 'online', current_job_id = NULL, dispatched_at = NULL, boot_id = 'boot',
         last_seen = now(), status_since = now() - interval '2 hours', last_activity_at = now() - interval '31 minutes',
         idle_stop_failed_at = NULL
       WHERE id = ANY($1)`,
      [agentIds],
    );
  const enqueued = async (agentId: string) =>
    (await fixture.query<{ name: string }>(`SELECT name FROM outbox WHERE payload->>'agentId' = $1`, [agentId])).map(
      ({ name }) => name,
    );
  const pause = async (upTo: number) => {
    for (let turns = Math.floor(random() * upTo); turns > 0; turns -= 1) await new Promise(setImmediate);
  };

  /** Launches a job and dispatches its agent. Random pauses place this before, during or after the idle stop. */
  async function launchAndDispatch(agentId: string): Promise<void> {
    await pause(12);
    await fixture.launch({ agentId });
    await pause(4);
    await fixture.dispatch.startNextJob(agentId);
  }

  async function stopAgentIfIdle(agentId: string): Promise<boolean> {
    await pause(24);
    return (await stopIfIdle(fixture.harness.db, agentId, { now: new Date() }))?.action === 'stop';
  }

  /**
   * Does what the provider and the message handlers would do after the race, using only the stored rows and messages.
   * Returns the outcome.
   */
  async function resolveRaceOutcome(agentId: string): Promise<'prevented' | 'woken' | string> {
    const read = async () =>
      (
        await fixture.query(
          `SELECT a.status, a.current_job_id, j.id AS job_id, j.command_id,
                  (SELECT count(*)::int FROM agent_wake w WHERE w.agent_id = a.id AND w.state = 'open') AS wakes
           FROM agent a JOIN job j ON j.agent_id = a.id WHERE a.id = $1`,
          [agentId],
        )
      )[0]!;
    const before = await read();
    if (before.status === 'online') {
      return before.currentJobId === before.jobId && before.commandId
        ? 'prevented'
        : 'online, but the job was not dispatched';
    }
    if (before.status !== 'stopping') return `the agent is ${before.status}`;
    if (before.commandId) return 'stopping although a job was dispatched';
    if (!(await enqueued(agentId)).includes('control-agent')) return 'stopping without a message for the provider';
    await fixture.query(`DELETE FROM outbox WHERE payload->>'agentId' = $1`, [agentId]);
    await machine.executeOrder(agentId);
    if (!(await enqueued(agentId)).includes('dispatch-agent')) return 'stopped without a message for its jobs';
    await fixture.dispatch.startNextJob(agentId);
    const after = await read();
    if (after.status !== 'starting' || after.wakes !== 1) return `stopped with a job, but not woken: ${after.status}`;
    await fixture.harness.db.transaction('system', (tx) =>
      applyHandshake(tx, fixture.organizationId, { agentId, bootId: newId(), workerVersion: '1' }),
    );
    await fixture.dispatch.startNextJob(agentId);
    return (await read()).commandId ? 'woken' : 'woken, but the job was not dispatched';
  }

  it('a job launched during an idle stop prevents the stop or has the machine woken again', async () => {
    const outcomes: Record<string, number> = {};
    for (let round = 0; round < rounds; round += 1) {
      await reset();
      const stopped = await Promise.all(
        agentIds.map(async (agentId) => {
          const [stop] = await Promise.all([stopAgentIfIdle(agentId), launchAndDispatch(agentId)]);
          return stop;
        }),
      );
      const ends = await Promise.all(agentIds.map((agentId) => resolveRaceOutcome(agentId)));
      for (const [n, end] of ends.entries()) {
        const outcome = `${stopped[n] ? 'stop' : 'no stop'}: ${end}`;
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      }
    }
    process.stdout.write(
      `idle stops concurrent with launches, ${machines * rounds} cases: ${JSON.stringify(outcomes)}\n`,
    );
    expect(Object.keys(outcomes).sort()).toEqual(['no stop: prevented', 'stop: woken']);
    // Both outcomes occurred in at least one of 50 cases, so the test covers both.
    for (const count of Object.values(outcomes)) expect(count).toBeGreaterThan((machines * rounds) / 50);
  });

  it('idle stops concurrent with the check for silent agents leave no silent agent online', async () => {
    await reset();
    await fixture.query(`UPDATE agent SET last_seen = now() - interval '1 hour' WHERE id = ANY($1)`, [agentIds]);
    await Promise.all([
      failSilentAgents(fixture.harness.db, { offlineAfterMs: 60_000 }),
      ...agentIds.map((agentId) => stopIfIdle(fixture.harness.db, agentId, { now: new Date() })),
    ]);
    const left = await fixture.query<{ status: string }>('SELECT DISTINCT status FROM agent WHERE id = ANY($1)', [
      agentIds,
    ]);
    expect(left.map(({ status }) => status)).not.toContain('online');
  });
});
