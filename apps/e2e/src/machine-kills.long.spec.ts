// This test is long because it kills the dispatcher at each boundary of an order.
// A short test of the same code: libs/machines/src/orders/wakes.spec.ts
import { isLongRun, waitFor } from '@muster/testing';
import { type Act, type Boundary, MachineKills, type KillCase } from './machine-kills';
import type { MachineOrder } from './machine-park';

jest.setTimeout(300_000);

const each: Boundary[] = [
  { act: 'wake', moment: 'a job waits, the wake is not written', pausePoint: 'wake insert', left: 'stopped' },
  { act: 'wake', moment: 'the wake is written, not yet attempted', pausePoint: 'wake attempt', left: 'starting' },
  { act: 'wake', moment: 'the provider is called and has not acted', hold: 'not executed', left: 'starting' },
  { act: 'wake', moment: 'the provider is called and starts', hold: 'executed', left: 'starting' },
  {
    act: 'wake',
    moment: 'the provider has answered, which is not recorded',
    pausePoint: 'start recorded',
    left: 'starting',
  },
  { act: 'wake', moment: 'the machine boots', left: 'starting' },
  {
    act: 'wake',
    moment: 'the machine has reported, its job is not dispatched',
    pausePoint: 'run command insert',
    left: 'online',
  },
  ...stopOf('idle stop'),
  { act: 'idle stop, then a job', moment: 'the machine is stopping', left: 'stopping' },
  {
    act: 'idle stop',
    moment: 'the machine is idle, the stop is not written',
    pausePoint: 'stopping status update',
    left: 'online',
  },
  ...stopOf('manual stop'),
  {
    act: 'reboot',
    moment: 'the new status is written, the order is not',
    pausePoint: 'order insert',
    left: 'rebooting',
  },
  { act: 'reboot', moment: 'the provider is called and has not acted', hold: 'not executed', left: 'rebooting' },
  { act: 'reboot', moment: 'the provider is called and reboots', hold: 'executed', left: 'rebooting' },
  {
    act: 'reboot',
    moment: 'the provider has answered, which is not recorded',
    pausePoint: 'order issued',
    left: 'rebooting',
  },
  { act: 'reboot', moment: 'the machine boots', left: 'rebooting' },
  {
    act: 'terminate',
    moment: 'the new status is written, the order is not',
    pausePoint: 'order insert',
    left: 'terminated',
  },
  { act: 'terminate', moment: 'the provider is called and has not acted', hold: 'not executed', left: 'terminated' },
  { act: 'terminate', moment: 'the provider is called and terminates', hold: 'executed', left: 'terminated' },
  {
    act: 'terminate',
    moment: 'the provider has answered, which is not recorded',
    pausePoint: 'gone state update',
    left: 'terminated',
  },
];
/**
 * The boundaries at which the killed process leaves an unhandled message come first, because such a message is
 * published again only after some time.
 */
const chosen = isLongRun() ? each : each.filter(isFirstOfItsMoment);
const boundaries = [
  ...chosen.filter(stopsWithUnsentMessage),
  ...chosen.filter((boundary) => !stopsWithUnsentMessage(boundary)),
];

/** Whether the short form runs this boundary: the first boundary of each moment, and every termination. */
function isFirstOfItsMoment(boundary: Boundary): boolean {
  const getBoundaryKey = ({ pausePoint, hold, moment }: Boundary) => pausePoint ?? hold ?? moment;
  return (
    each.find((other) => getBoundaryKey(other) === getBoundaryKey(boundary)) === boundary ||
    boundary.act === 'terminate'
  );
}

function stopsWithUnsentMessage({ pausePoint, hold }: Boundary): boolean {
  return Boolean(pausePoint ?? hold);
}

function stopOf(act: 'idle stop' | 'manual stop'): Boundary[] {
  return [
    { act, moment: 'the new status is written, the order is not', pausePoint: 'order insert', left: 'stopping' },
    { act, moment: 'the provider is called and has not acted', hold: 'not executed', left: 'stopping' },
    { act, moment: 'the provider is called and stops', hold: 'executed', left: 'stopping' },
    { act, moment: 'the provider has answered, which is not recorded', pausePoint: 'order issued', left: 'stopping' },
    { act, moment: 'the machine is stopping', left: 'stopping' },
    {
      act,
      moment: 'the machine has stopped, which is not recorded',
      pausePoint: 'stopped status update',
      left: 'stopping',
    },
  ];
}

interface End {
  events: string[];
  states: string[];
  calls: MachineOrder[];
  boots: 0 | 1;
}
const ends: Record<Act, End> = {
  wake: { events: ['wake_requested', 'wake_ready'], states: ['starting', 'online'], calls: ['start'], boots: 1 },
  'idle stop': { ...buildIdleStopExpectation(), calls: ['stop'], boots: 0 },
  'idle stop, then a job': {
    events: ['idle_stop_attempt', 'idle_stop_success', 'wake_requested', 'wake_ready'],
    states: ['stopping', 'stopped', 'starting', 'online'],
    calls: ['stop', 'start'],
    boots: 1,
  },
  'manual stop': { ...buildIdleStopExpectation(), events: ['manual_stop'], calls: ['stop'], boots: 0 },
  reboot: { events: ['manual_reboot'], states: ['rebooting', 'online'], calls: ['reboot'], boots: 1 },
  terminate: { events: [], states: ['terminated'], calls: ['terminate'], boots: 0 },
};

function buildIdleStopExpectation() {
  return { events: ['idle_stop_attempt', 'idle_stop_success'], states: ['stopping', 'stopped'] };
}

const isMachineOff = ({ machine }: KillCase) => machine.state === 'stopped' || machine.state === 'gone';

const formatBoundaryName = (boundary: Boundary) => `${boundary.act}: ${boundary.moment}`;
const numbered = boundaries.map((boundary, index) => [formatBoundaryName(boundary), index] as const);
describe('a dispatcher that is killed while it starts and stops machines', () => {
  let stage: MachineKills;

  beforeAll(async () => {
    stage = await MachineKills.open();
    await stage.prepareAgents(boundaries);
  });
  afterAll(() => stage?.close());

  const waitForOrDescribeState = async (description: string, done: () => Promise<boolean>) => {
    await waitFor(description, done, 120_000).catch(async (error: Error) => {
      throw new Error(`${error.message}\n${await stage.describeState()}`);
    });
  };

  it.each(numbered)('an agent has the expected status after the dispatcher is killed at %s', async (_, index) => {
    const killCase = stage.killCases[index]!;
    const { act, agentId, machine, left } = killCase;
    await stage.bringToBoundary(killCase);

    await stage.performKill(killCase);

    expect(await stage.readStatus(killCase)).toBe(left);
    if (act === 'idle stop, then a job') {
      await stage.pinAgent(agentId, true);
      await stage.launchRun(killCase);
    }
    // Half of the machines continue while no dispatcher runs, the other half after its restart.
    if (index % 2 === 0) machine.releaseOrder();
    await stage.startApp('dispatcher');
    machine.releaseOrder();
  });

  it('the next dispatcher finishes all orders, jobs and messages that a killed dispatcher left unfinished', async () => {
    for (const killCase of stage.killCases) {
      const { states } = ends[killCase.act];
      await waitForOrDescribeState(formatBoundaryName(killCase), async () => {
        const recorded = await stage.readRecorded(killCase);
        return (await stage.readStatus(killCase)) === states.at(-1) && recorded.states.length >= states.length;
      });
    }
    await waitForOrDescribeState('every job to end', async () => {
      return (await stage.queryRows(`SELECT FROM job WHERE status IN ('queued', 'running')`)).length === 0;
    });
    await waitForOrDescribeState('every message to be handled', async () => {
      return (await stage.queryRows(`SELECT FROM outbox WHERE queue = 'dispatch'`)).length === 0;
    });
    expect(await stage.queryRows(`SELECT * FROM agent_wake WHERE state <> 'ready'`)).toEqual([]);
    // Rows of old orders may remain until they expire, but no order for an agent's current status may remain. An agent
    // has the status `terminated` as soon as the termination is requested, so its order may still be in progress.
    await waitForOrDescribeState('every order to be executed', async () => {
      const left = 'SELECT FROM agent_control c JOIN agent a ON (a.id, a.status) = (c.agent_id, c.status)';
      return (await stage.queryRows(left)).length === 0;
    });
    await waitForOrDescribeState('every machine that should be off to be off', async () => {
      return stage.killCases.every((killCase) => isMachineOff(killCase) || ends[killCase.act].boots === 1);
    });
    expect(await stage.queryRows('SELECT id FROM agent WHERE current_job_id IS NOT NULL')).toEqual([]);
    expect(await stage.queryRows(`SELECT id FROM agent_command WHERE status = 'pending'`)).toEqual([]);
  });

  it.each(numbered)(
    'each order is executed and recorded once after a kill of the dispatcher at %s',
    async (_, index) => {
      const killCase = stage.killCases[index]!;
      const { act, hold, machine } = killCase;
      const { events, states, calls, boots } = ends[act];
      expect(await stage.readRecorded(killCase)).toEqual({ events, states });
      // If a call had no effect, the dispatcher learns this only when it checks the machine, and then calls again.
      expect(machine.calls).toEqual(hold === 'not executed' ? [...calls, ...calls] : calls);
      expect(machine.boots).toBe(boots);
      expect(isMachineOff(killCase)).toBe(boots === 0);
    },
  );

  it('each job is started once and wakes its machine once, even if the dispatcher is killed', async () => {
    const woken = stage.killCases.filter(({ jobId }) => jobId);
    expect(stage.starts.sort()).toEqual(woken.map(({ jobId }) => jobId).sort());
    const jobs = await stage.queryRows<{ status: string; wakes: number; commands: number }>(`
      SELECT status, (SELECT count(*)::int FROM agent_wake w WHERE w.agent_id = j.agent_id) AS wakes,
             (SELECT count(*)::int FROM agent_command c WHERE c.agent_id = j.agent_id) AS commands FROM job j`);
    expect(jobs).toEqual(woken.map(() => ({ status: 'completed', wakes: 1, commands: 1 })));
  });

  it('every machine is stopped once it is idle, and every call to its control plane is signed', async () => {
    const on = stage.killCases.filter((killCase) => !isMachineOff(killCase));
    await Promise.all(on.map(({ agentId }) => stage.pinAgent(agentId, false)));
    await waitForOrDescribeState('every machine to be off', async () => stage.killCases.every(isMachineOff));
    for (const killCase of on) {
      await waitForOrDescribeState(
        `${formatBoundaryName(killCase)}: the agent to be stopped`,
        async () => (await stage.readStatus(killCase)) === 'stopped',
      );
      const { events } = await stage.readRecorded(killCase);
      expect(events).toEqual([...ends[killCase.act].events, 'idle_stop_attempt', 'idle_stop_success']);
    }
    expect(stage.park.unsigned).toBe(0);
    printMachineCalls();
  });

  const printMachineCalls = () => {
    const calls: Record<string, number> = {};
    for (const order of stage.killCases.flatMap(({ machine }) => machine.calls)) calls[order] = (calls[order] ?? 0) + 1;
    const counts = { kills: stage.kills, calls, jobs: stage.starts.length };
    process.stdout.write(`dispatcher killed while it managed machines: ${JSON.stringify(counts)}\n`);
  };
});
