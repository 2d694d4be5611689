// This test is long because it runs many sessions at once.
// A short test of the same code: apps/standalone/src/autopilot/sessions.spec.ts
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { AutopilotSession } from '@muster/contracts';
import { chooseSize, waitFor } from '@muster/testing';
import { FakeBrowsers, createTask } from './fake-browser.harness';

jest.setTimeout(420_000);

setFlagsFromString('--expose_gc');
const collectGarbage = runInNewContext('gc') as () => void;

const count = chooseSize('AUTOPILOT_SESSIONS', { short: 6, long: 100 });
const maxConcurrentCalls = 8;

describe(`${count} sessions at once`, () => {
  let browsers: FakeBrowsers;

  beforeAll(async () => {
    browsers = await FakeBrowsers.start({ MODEL_MAX_CONCURRENT: String(maxConcurrentCalls) });
  });
  afterAll(() => browsers.end());

  const createThreeStepTask = () =>
    createTask({
      steps: ['open', 'fill', 'send'].map((id) => ({ id, title: id, instruction: `Do ${id}.`, kind: 'browse' })),
    });

  it('concurrent autopilot sessions all complete in similar times, within the limit of concurrent model calls', async () => {
    let open = 0;
    let maxOpen = 0;
    browsers.model.addRule(async (call) => {
      open += 1;
      maxOpen = Math.max(maxOpen, open);
      await new Promise((resolve) => setTimeout(resolve, 50));
      open -= 1;
      const { step } = JSON.parse(call.lastUserText) as { step: { id: string } };
      const selectors = [{ kind: 'role', selector: `aria/${step.id}[role="button"]` }];
      const action = { action: 'click', name: step.id, selectors, value: '', all: false, submits: step.id === 'send' };
      return { json: { status: 'act', reason: '', question: '', confidence: 1, actions: [action] } };
    });
    const runWaveOfSessions = async () => {
      const agents = await Promise.all(Array.from({ length: count }, () => browsers.makeAgent()));
      const sessions = await Promise.all(
        agents.map(async (agentId) => {
          const agent = browsers.getClient(agentId);
          const { body } = await agent.act({ action: 'start', task: createThreeStepTask() });
          return { agent, sessionId: body.sessionId as string };
        }),
      );
      const ended = await waitFor(
        'all sessions to end',
        async () => {
          const read = await Promise.all(sessions.map(({ agent, sessionId }) => agent.read(sessionId)));
          return read.every(({ finishedAt }) => finishedAt !== null) && read;
        },
        180_000,
      ).catch(async (error: Error) => {
        throw new Error(`${error.message}\n${await describeUnfinished(browsers)}`);
      });
      return { sessions, ended };
    };
    const { sessions, ended } = await runWaveOfSessions();
    const first = measureMemory(browsers);
    await runWaveOfSessions();
    const second = measureMemory(browsers);
    expect(ended.map(({ status }) => status)).toEqual(Array<string>(count).fill('completed'));
    expect(sessions.map(({ sessionId }) => browsers.sent.get(sessionId))).toEqual(Array<number>(count).fill(1));
    expect(maxOpen).toBeLessThanOrEqual(maxConcurrentCalls);
    const times = ended.map(computeDuration).sort((a, b) => a - b);
    const more = { heap: second.heapMiB - first.heapMiB, all: second.residentMiB - first.residentMiB };
    process.stdout.write(
      `${count} sessions: p50 ${formatQuantileSeconds(times, 0.5)} s, slowest ${formatQuantileSeconds(times, 1)} s, ${maxOpen} model calls at once; ` +
        `${count} more after them: heap ${more.heap.toFixed(1)} MiB more, resident ${more.all.toFixed(1)} MiB more\n`,
    );
    // Sessions are stored in the database only, so the second wave must not increase the memory of the process.
    expect(more.heap).toBeLessThan(12);
    expect(more.all).toBeLessThan(80);
    // The sessions are processed fairly: the slowest session takes not much longer than the median.
    expect(times.at(-1)!).toBeLessThan(10 * times[Math.floor(times.length / 2)]! + 5000);
  });
});

/** Describes the sessions that have not ended, with their pending commands and the messages in the outbox. */
async function describeUnfinished({ harness }: FakeBrowsers): Promise<string> {
  const rows = await harness.db.query<object>(
    'system',
    `SELECT s.id, s.status, s.phase, s.due_at, s.ring_at, s.faults, s.asking, s.command_id, c.status AS command,
            c.taken_at, c.deadline, now(), (SELECT count(*)::int FROM outbox) AS messages
     FROM autopilot_session s LEFT JOIN agent_command c ON c.id = s.command_id WHERE s.finished_at IS NULL`,
  );
  return rows.map((row) => JSON.stringify(row)).join('\n');
}

/** Returns the memory of the idle process, without the records of the test itself. */
function measureMemory(browsers: FakeBrowsers): { heapMiB: number; residentMiB: number } {
  browsers.clearRecords();
  for (let times = 0; times < 3; times += 1) collectGarbage();
  const { heapUsed, rss } = process.memoryUsage();
  return { heapMiB: heapUsed / 2 ** 20, residentMiB: rss / 2 ** 20 };
}

function computeDuration({ createdAt, finishedAt }: AutopilotSession): number {
  return Date.parse(finishedAt!) - Date.parse(createdAt);
}

function formatQuantileSeconds(times: number[], part: number): string {
  return (times[Math.min(times.length - 1, Math.floor(times.length * part))]! / 1000).toFixed(1);
}
