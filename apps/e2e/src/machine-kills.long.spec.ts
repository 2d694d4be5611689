// Long: kills the dispatcher at each boundary of an order.
// Short: libs/agents/src/orders/wakes.spec.ts
import { isLongForm, waitFor } from '@muster/testing';
import { type Act, type Boundary, MachineKills, type Struck } from './machine-kills';
import type { MachineOrder } from './machine-park';

jest.setTimeout(300_000);

const each: Boundary[] = [
  { act: 'wake', moment: 'a job waits, its wake is not written', gate: 'wake begun', left: 'stopped' },
  { act: 'wake', moment: 'the wake is written, nobody is at it', gate: 'wake taken in hand', left: 'starting' },
  { act: 'wake', moment: 'the provider is called and does nothing', hold: 'not carried out', left: 'starting' },
  { act: 'wake', moment: 'the provider is called and starts', hold: 'carried out', left: 'starting' },
  { act: 'wake', moment: 'the provider has answered, which is not noted', gate: 'start noted', left: 'starting' },
  { act: 'wake', moment: 'the machine boots', left: 'starting' },
  { act: 'wake', moment: 'the machine has reported, its job is not given', gate: 'job given', left: 'online' },
  ...stopOf('idle stop'),
  { act: 'idle stop, then a job', moment: 'the machine is stopping', left: 'stopping' },
  { act: 'idle stop', moment: 'it is idle, the attempt is not written', gate: 'idle stop begun', left: 'online' },
  ...stopOf('manual stop'),
  { act: 'reboot', moment: 'it is ordered, nobody is at it', gate: 'order taken in hand', left: 'rebooting' },
  { act: 'reboot', moment: 'the provider is called and does nothing', hold: 'not carried out', left: 'rebooting' },
  { act: 'reboot', moment: 'the provider is called and reboots', hold: 'carried out', left: 'rebooting' },
  { act: 'reboot', moment: 'the provider has answered, which is not noted', gate: 'order noted', left: 'rebooting' },
  { act: 'reboot', moment: 'the machine boots', left: 'rebooting' },
  { act: 'terminate', moment: 'it is ordered, nobody is at it', gate: 'order taken in hand', left: 'terminated' },
  { act: 'terminate', moment: 'the provider is called and does nothing', hold: 'not carried out', left: 'terminated' },
  { act: 'terminate', moment: 'the provider is called and terminates', hold: 'carried out', left: 'terminated' },
  {
    act: 'terminate',
    moment: 'the provider has answered, which is not noted',
    gate: 'end settled',
    left: 'terminated',
  },
];
/** What a dead process had in hand is published again only after a while: those that leave something there come first. */
const chosen = isLongForm() ? each : each.filter(isFirstOfItsMoment);
const boundaries = [...chosen.filter(leavesMessage), ...chosen.filter((boundary) => !leavesMessage(boundary))];

/** In the short form each moment is struck once, whatever the machine was to do. */
function isFirstOfItsMoment(boundary: Boundary): boolean {
  const key = ({ gate, hold, moment }: Boundary) => gate ?? hold ?? moment;
  return each.find((other) => key(other) === key(boundary)) === boundary || boundary.act === 'terminate';
}

function leavesMessage({ gate, hold }: Boundary): boolean {
  return Boolean(gate ?? hold);
}

function stopOf(act: 'idle stop' | 'manual stop'): Boundary[] {
  return [
    { act, moment: 'it is written, nobody is at it', gate: 'order taken in hand', left: 'stopping' },
    { act, moment: 'the provider is called and does nothing', hold: 'not carried out', left: 'stopping' },
    { act, moment: 'the provider is called and stops', hold: 'carried out', left: 'stopping' },
    { act, moment: 'the provider has answered, which is not noted', gate: 'order noted', left: 'stopping' },
    { act, moment: 'the machine is stopping', left: 'stopping' },
    { act, moment: 'the machine has stopped, which is not settled', gate: 'stop settled', left: 'stopping' },
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
  'idle stop': { ...idleStop(), calls: ['stop'], boots: 0 },
  'idle stop, then a job': {
    events: ['idle_stop_attempt', 'idle_stop_success', 'wake_requested', 'wake_ready'],
    states: ['stopping', 'stopped', 'starting', 'online'],
    calls: ['stop', 'start'],
    boots: 1,
  },
  'manual stop': { ...idleStop(), events: ['manual_stop'], calls: ['stop'], boots: 0 },
  reboot: { events: ['manual_reboot'], states: ['rebooting', 'online'], calls: ['reboot'], boots: 1 },
  terminate: { events: [], states: ['terminated'], calls: ['terminate'], boots: 0 },
};

function idleStop() {
  return { events: ['idle_stop_attempt', 'idle_stop_success'], states: ['stopping', 'stopped'] };
}

const isOff = ({ machine }: Struck) => machine.state === 'stopped' || machine.state === 'gone';

const named = (boundary: Boundary) => `${boundary.act}: ${boundary.moment}`;
const numbered = boundaries.map((boundary, index) => [named(boundary), index] as const);
describe('a dispatcher that is killed while it wakes and stops machines', () => {
  let stage: MachineKills;

  beforeAll(async () => {
    stage = await MachineKills.open();
    await stage.prepare(boundaries);
  });
  afterAll(() => stage?.close());

  const settled = async (what: string, done: () => Promise<boolean>) => {
    await waitFor(what, done, 120_000).catch(async (error: Error) => {
      throw new Error(`${error.message}\n${await stage.account()}`);
    });
  };

  it.each(numbered)('dies there: %s', async (_, index) => {
    const struck = stage.struck[index]!;
    const { act, agentId, machine, left } = struck;
    await stage.bringTo(struck);

    await stage.kill(struck);

    expect(await stage.statusOf(struck)).toBe(left);
    if (act === 'idle stop, then a job') {
      await stage.pin(agentId, true);
      await stage.launch(struck);
    }
    // Some machines get there while there is no dispatcher, and the others when there is one again.
    if (index % 2 === 0) machine.goOn();
    await stage.start('dispatcher');
    machine.goOn();
  });

  it('leaves nothing that the next one does not finish', async () => {
    for (const struck of stage.struck) {
      const { states } = ends[struck.act];
      await settled(named(struck), async () => {
        const told = await stage.told(struck);
        return (await stage.statusOf(struck)) === states.at(-1) && told.states.length >= states.length;
      });
    }
    await settled('every job done', async () => {
      return (await stage.rows(`SELECT FROM job WHERE status IN ('queued', 'running')`)).length === 0;
    });
    await settled('every message answered', async () => {
      return (await stage.rows(`SELECT FROM outbox WHERE queue = 'dispatch'`)).length === 0;
    });
    expect(await stage.rows(`SELECT * FROM agent_wake WHERE state <> 'ready'`)).toEqual([]);
    // What is left of an order is dropped when its time comes; none is still to be carried out. A machine is terminated
    // for its organization as soon as that is asked for, so its order may still be in the hands of the next dispatcher.
    await settled('every order carried out', async () => {
      const left = 'SELECT FROM agent_control c JOIN agent a ON (a.id, a.status) = (c.agent_id, c.status)';
      return (await stage.rows(left)).length === 0;
    });
    await settled('every machine off that is to be', async () => {
      return stage.struck.every((struck) => isOff(struck) || ends[struck.act].boots === 1);
    });
    expect(await stage.rows('SELECT id FROM agent WHERE current_job_id IS NOT NULL')).toEqual([]);
    expect(await stage.rows(`SELECT id FROM agent_command WHERE status = 'pending'`)).toEqual([]);
  });

  it.each(numbered)('once, and told so: %s', async (_, index) => {
    const struck = stage.struck[index]!;
    const { act, hold, machine } = struck;
    const { events, states, calls, boots } = ends[act];
    expect(await stage.told(struck)).toEqual({ events, states });
    // Nobody can know that an order was lost on its way but by looking, and then it is given again.
    expect(machine.calls).toEqual(hold === 'not carried out' ? [...calls, ...calls] : calls);
    expect(machine.boots).toBe(boots);
    expect(isOff(struck)).toBe(boots === 0);
  });

  it('begins each job once, on the one wake that it asked for', async () => {
    const woken = stage.struck.filter(({ jobId }) => jobId);
    expect(stage.starts.sort()).toEqual(woken.map(({ jobId }) => jobId).sort());
    const jobs = await stage.rows<{ status: string; wakes: number; commands: number }>(`
      SELECT status, (SELECT count(*)::int FROM agent_wake w WHERE w.agent_id = j.agent_id) AS wakes,
             (SELECT count(*)::int FROM agent_command c WHERE c.agent_id = j.agent_id) AS commands FROM job j`);
    expect(jobs).toEqual(woken.map(() => ({ status: 'completed', wakes: 1, commands: 1 })));
  });

  it('leaves no machine on once they are idle, and calls no control plane without its signature', async () => {
    const on = stage.struck.filter((struck) => !isOff(struck));
    await Promise.all(on.map(({ agentId }) => stage.pin(agentId, false)));
    await settled('every machine off', async () => stage.struck.every(isOff));
    for (const struck of on) {
      await settled(`${named(struck)}, stopped`, async () => (await stage.statusOf(struck)) === 'stopped');
      const { events } = await stage.told(struck);
      expect(events).toEqual([...ends[struck.act].events, 'idle_stop_attempt', 'idle_stop_success']);
    }
    expect(stage.park.unsigned).toBe(0);
    report();
  });

  const report = () => {
    const calls: Record<string, number> = {};
    for (const order of stage.struck.flatMap(({ machine }) => machine.calls)) calls[order] = (calls[order] ?? 0) + 1;
    const counts = { kills: stage.kills, calls, jobs: stage.starts.length };
    process.stdout.write(`dispatcher killed at work on machines: ${JSON.stringify(counts)}\n`);
  };
});
