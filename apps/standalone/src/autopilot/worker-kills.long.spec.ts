// This test is long because it kills a worker at each boundary of a session.
// A short test of the same code: apps/standalone/src/autopilot/session-trouble.spec.ts
import { setTimeout as sleep } from 'node:timers/promises';
import { killAll, findProcesses, createSeededRandom, waitFor } from '@muster/testing';
import { AutopilotHarness, chromium, noChromium } from './autopilot.harness';
import { scriptStepAnswers, type StepQuestion } from './portal-model.harness';

jest.setTimeout(300_000);

const itPlays = chromium ? it : it.skip;

describe(`a session whose worker is killed${noChromium}`, () => {
  let pilot: AutopilotHarness;
  /** Function that the fake model calls before it answers a question about a step. */
  let runWhenModelAsked: (question: StepQuestion) => Promise<void> = () => Promise.resolve();

  beforeAll(async () => {
    if (!chromium) return;
    pilot = await AutopilotHarness.start();
    scriptStepAnswers(pilot.model);
    pilot.model.addRule(async (call) => {
      if (call.schemaName === 'autopilot_step') await runWhenModelAsked(JSON.parse(call.lastUserText) as StepQuestion);
      return undefined;
    });
  });
  afterAll(async () => {
    if (chromium) await pilot.close();
  });
  beforeEach(() => {
    runWhenModelAsked = () => Promise.resolve();
    if (pilot) pilot.portal.onSubmit = () => undefined;
  });

  const killAndStart = async (): Promise<void> => {
    await pilot.killWorker();
    await pilot.startWorker();
  };
  const findSessionBrowsers = (sessionId: string) => findProcesses(`MUSTER_RUN_ID=${sessionId}`);
  const expectOneSubmission = async (sessionId: string, claim: string): Promise<void> => {
    const session = await pilot.waitForStatus(sessionId);
    expect([session.status, session.error, session.pausedFor]).toEqual(['completed', null, null]);
    expect(pilot.portal.countSubmissions(claim)).toBe(1);
    await waitFor('its browser to end', () => findSessionBrowsers(sessionId).length === 0);
  };

  itPlays(
    'a session continues in the same browser if its worker is killed at model calls and during the submission',
    async () => {
      const kills: string[] = [];
      runWhenModelAsked = async ({ step }) => {
        if (kills.includes(step.id)) return;
        kills.push(step.id);
        await killAndStart();
      };
      pilot.portal.onSubmit = async () => {
        kills.push('submitted');
        await killAndStart();
      };
      await expectOneSubmission(await pilot.beginSession(pilot.startClaimSession('C-1001')), 'C-1001');
      expect(kills).toEqual(['sign-in', 'open-form', 'fill-form', 'send', 'submitted']);
    },
  );

  itPlays.each([11, 12, 13])(
    'a session submits once if its worker is killed at random times, seed %d',
    async (seed) => {
      const random = createSeededRandom(seed);
      const claim = `C-10${seed}`;
      const sessionId = await pilot.beginSession(pilot.startClaimSession(claim));
      for (let kills = 0; kills < 4; kills += 1) {
        await sleep(random() * 1500);
        await killAndStart();
      }
      await expectOneSubmission(sessionId, claim);
    },
  );

  itPlays('a session restarts if worker and browser are killed before the submission, and submits once', async () => {
    const sessionId = await pilot.beginSession(pilot.startClaimSession('C-1005'));
    await waitFor('the form', () =>
      pilot.portal.requests.some(({ path, query }) => path === '/submit' && query['claim'] === 'C-1005'),
    );
    await pilot.killWorker();
    killAll(findSessionBrowsers(sessionId));
    const sent = pilot.portal.countSubmissions('C-1005');
    await pilot.startWorker();
    const session = await pilot.waitForStatus(sessionId);
    // If the submission was in progress at the kill, the session asks for its outcome and never repeats it.
    if (session.status === 'paused') expect(session.pausedFor!.reason).toBe('outcome_unknown');
    else expect(session.status).toBe('completed');
    expect(pilot.portal.countSubmissions('C-1005')).toBe(session.status === 'paused' ? sent : 1);
    if (session.status === 'paused') await cancelSession(sessionId);
  });

  itPlays(
    'a session asks for the outcome if worker and browser are killed during the submission, and submits once',
    async () => {
      let sessionId = '';
      pilot.portal.onSubmit = async () => {
        await pilot.killWorker();
        killAll(findSessionBrowsers(sessionId));
      };
      sessionId = await pilot.beginSession(pilot.startClaimSession('C-1006'));
      await waitFor('the submission', () => pilot.portal.countSubmissions('C-1006') === 1, 60_000);
      await waitFor('the end of its browser', () => findSessionBrowsers(sessionId).length === 0);
      await pilot.startWorker();
      const session = await pilot.waitForStatus(sessionId);
      expect(session).toMatchObject({ status: 'paused', pausedFor: { reason: 'outcome_unknown' } });
      expect(session.steps[3]!.attempts.at(-1)).toMatchObject({ outcome: 'unknown' });
      expect(pilot.portal.countSubmissions('C-1006')).toBe(1);
      await cancelSession(sessionId);
      expect(pilot.portal.countSubmissions('C-1006')).toBe(1);
    },
  );

  const cancelSession = async (sessionId: string): Promise<void> => {
    expect((await pilot.tenant.api.post(pilot.path, { action: 'cancel', sessionId })).status).toBe(202);
    expect((await pilot.waitForStatus(sessionId, ['cancelled'])).status).toBe('cancelled');
    await waitFor('its browser to end', () => findSessionBrowsers(sessionId).length === 0);
  };
});
