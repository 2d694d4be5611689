// This test is long because it kills processes at every boundary of an autopilot session.
// A short test of the same code: apps/standalone/src/autopilot/session-trouble.spec.ts
import { chooseSize } from '@muster/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSeededRandom } from '../seed';
import { apps, type PausePoint, pausePointTriggers } from './kill-pause-points';
import { SessionKills, type Sessions } from './session-kills';

jest.setTimeout(600_000);

const rounds = chooseSize('SESSION_KILL_ROUNDS', { short: 1, long: 20 });
const seed = Number(process.env['MUSTER_SEED'] ?? 7);

describe('autopilot sessions while the service’s processes are killed', () => {
  let stage: SessionKills;
  /** Functions that release the held model calls, by session title. */
  const heldQuestions = new Map<string, () => void>();

  beforeAll(async () => {
    stage = await SessionKills.openFixture();
    stage.model.addRule(async (call) => {
      const { task, step } = JSON.parse(call.lastUserText) as { task: { title: string }; step: { id: string } };
      if (task.title === heldTitle) await new Promise<void>((resolve) => heldQuestions.set(task.title, resolve));
      const selectors = [{ kind: 'role', selector: `aria/${step.id}[role="button"]` }];
      const action = { action: 'click', name: step.id, selectors, value: '', all: false, submits: step.id === 'send' };
      return { json: { status: 'act', reason: '', question: '', confidence: 1, actions: [action] } };
    });
  });
  afterAll(() => stage.closeFixture());
  let heldTitle = '';

  const expectWholeSession = async (session: Sessions): Promise<void> => {
    const { status, error, pausedFor, steps } = await stage.waitForStatus(session, [
      'completed',
      'failed',
      'paused',
      'cancelled',
    ]);
    expect([session.title, status, error, pausedFor]).toEqual([session.title, 'completed', null, null]);
    expect(steps.map((step) => step.status)).toEqual(['passed', 'passed', 'passed']);
    expect([session.title, stage.browsers.sent.get(session.sessionId!)]).toEqual([session.title, 1]);
    expect(await stage.countWorkflows(session)).toBe(1);
  };

  it('autopilot sessions finish and submit nothing twice if all processes are killed together at each pause point', async () => {
    // Only requests to the gateway reach these pause points. The test sends these requests below.
    const requestPausePoints: PausePoint[] = [
      'session insert',
      'open command insert',
      'session resumed',
      'resumed session continued',
      'session cancelled',
    ];
    const boundaries = (Object.keys(pausePointTriggers) as PausePoint[]).filter(
      (pausePoint) => !requestPausePoints.includes(pausePoint),
    );
    const makeKillAgent = (name: string) => stage.makeAgent(name);
    const killCases = await Promise.all(
      boundaries.map(async (pausePoint) => ({ pausePoint, session: await makeKillAgent(pausePoint) })),
    );
    const [starting, ordered, resumed, continued, cancelled, questioned, sending] = await Promise.all(
      [...requestPausePoints, 'question', 'sending'].map(makeKillAgent),
    );
    // The browsers open only after all pause points are set, so that no session passes its pause point before it is
    // set.
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    stage.browsers.pauseBeforeCommand = () => released;
    heldTitle = questioned!.title;
    let isSending!: () => void;
    const sent = new Promise<void>((resolve) => (isSending = resolve));
    let go!: () => void;
    const gone = new Promise<void>((resolve) => (go = resolve));
    stage.browsers.afterSending = (sessionId) => {
      if (sessionId !== sending!.sessionId) return;
      isSending();
      return gone;
    };
    await Promise.all(killCases.map(({ session }) => stage.beginSession(session)));
    await Promise.all([questioned!, sending!].map((session) => stage.beginSession(session)));
    await Promise.all(
      [resumed!, continued!, cancelled!].map((session) => stage.beginSession(session, { approve: 'before_submit' })),
    );
    for (const { pausePoint, session } of killCases) await stage.pauseAt(session, pausePoint);
    await stage.pauseAt(starting!, 'session insert');
    await stage.pauseAt(ordered!, 'open command insert');
    await stage.pauseAt(cancelled!, 'session cancelled');
    await stage.pauseAt(resumed!, 'session resumed');
    await stage.pauseAt(continued!, 'resumed session continued');
    release();
    for (const session of [resumed!, continued!, cancelled!]) await stage.waitForStatus(session, ['paused']);
    // These requests get no answer before the kill. `beginSession` repeats its request; the test repeats the others
    // below.
    const cut = [
      ...[starting!, ordered!].map((session) => stage.beginSession(session)),
      ...[stage.resumeOrCancel(cancelled!, 'cancel'), stage.resumeOrCancel(resumed!, 'resume')],
    ];
    await stage.resumeOrCancel(continued!, 'resume');
    try {
      await Promise.all([
        ...killCases.map(({ pausePoint, session }) => stage.waitUntilReached(session, pausePoint)),
        ...[
          stage.waitUntilReached(starting!, 'session insert'),
          stage.waitUntilReached(ordered!, 'open command insert'),
        ],
        ...[
          stage.waitUntilReached(cancelled!, 'session cancelled'),
          stage.waitUntilReached(resumed!, 'session resumed'),
        ],
        ...[stage.waitUntilReached(continued!, 'resumed session continued'), sent],
      ]);
      expect(heldQuestions.has(questioned!.title)).toBe(true);
      await stage.killApps(...apps);
      await stage.pausePoints.releaseAll();
      heldTitle = '';
      for (const answer of heldQuestions.values()) answer();
      go();
      await Promise.all(apps.map((app) => stage.startApp(app)));
      await Promise.all(cut);
      expect((await stage.resumeOrCancel(resumed!, 'resume'))!.status).toBe(202);
      expect((await stage.resumeOrCancel(cancelled!, 'cancel'))!.status).toBe(202);
      const all = [
        ...killCases.map(({ session }) => session),
        starting!,
        ordered!,
        resumed!,
        continued!,
        questioned!,
        sending!,
      ];
      await Promise.all(all.map(expectWholeSession));
      expect((await stage.waitForStatus(cancelled!, ['cancelled', 'completed', 'failed'])).status).toBe('cancelled');
      expect(stage.browsers.sent.get(cancelled!.sessionId!)).toBeUndefined();
      process.stdout.write(
        `killed all processes at ${all.length + 1} boundaries at once: all finished, nothing submitted twice\n`,
      );
    } catch (error) {
      process.stdout.write(`${await stage.describeState()}\n`);
      throw error;
    }
  });

  it('autopilot sessions finish and submit nothing twice if processes are killed one by one at random times', async () => {
    const random = createSeededRandom(seed);
    let kills = 0;
    stage.browsers.pauseBeforeCommand = () => sleep(random.between(0, 150));
    for (let round = 0; round < rounds; round += 1) {
      const sessions = await Promise.all(Array.from({ length: 6 }, (_, at) => stage.makeAgent(`any ${round}-${at}`)));
      const starting = sessions.map((session) => stage.beginSession(session));
      for (let times = 0; times < 3; times += 1) {
        await sleep(random.between(100, 1500));
        const app = apps[random.between(0, apps.length - 1)]!;
        await stage.killApps(app);
        await stage.startApp(app);
        kills += 1;
      }
      await Promise.all(starting);
      try {
        await Promise.all(sessions.map(expectWholeSession));
      } catch (error) {
        process.stdout.write(`${await stage.describeState()}\n`);
        throw error;
      }
    }
    process.stdout.write(`seed ${seed}: ${kills} kills, ${rounds * 6} sessions finished, nothing submitted twice\n`);
  });
});
