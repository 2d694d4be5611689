// This test is long because it kills each process while a run waits for a one-time code.
// A short test of the same code: apps/standalone/src/codes.spec.ts
import { findChromiumPath } from '../console/console-browser';
import { victims } from './asking-stage';
import { expectNoStoredSecrets } from './collect-texts';
import { openSignIns, type SignIns } from './sign-ins';

jest.setTimeout(300_000);

const describeInBrowser = findChromiumPath() ? describe : describe.skip;
const ways = ['TOTP', 'SMS gateway'] as const;

describeInBrowser('a portal asks for a password and then for a code, which arrives without a person', () => {
  let signIns: SignIns;

  beforeAll(async () => {
    signIns = await openSignIns(ways);
  });
  afterAll(() => signIns?.stage.close());

  it.each(ways)('a run that gets its code by %s signs in, and the portal receives the code once', (way) =>
    signIns.play(way),
  );

  it.each(ways.flatMap((way) => victims.map((victim) => [way, victim] as const)))(
    'a run that gets its code by %s signs in even if %s is killed during the question; the portal gets the code once',
    (way, victim) => signIns.play(way, victim),
  );

  it('an autopilot session and the workflow that it has learned sign in with codes that a person enters in the inbox', () =>
    signIns.playAutopilot());

  it('after the runs, no code, password or TOTP secret is stored anywhere unsealed', () =>
    expectNoStoredSecrets(signIns.stage, ways.length * (victims.length + 1) + 2));
});
