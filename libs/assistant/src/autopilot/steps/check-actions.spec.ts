import type { SessionAction } from '@muster/contracts';
import type { SessionRow } from '../session/session-row';
import { checkActions } from './check-actions';

const session = {
  inputs: { PAGE: 'claims' },
  vaultKeys: ['PORTAL_PASSWORD'],
  task: { startUrl: 'https://portal.test/' },
} as unknown as SessionRow;

const faultOf = (action: string, value: string) =>
  checkActions(session, [{ action, name: 'a field', value, selectors: [] } as unknown as SessionAction]);

describe('checkActions', () => {
  it('an autopilot action may refer to inputs and secrets of its session, also with white space around their names', () => {
    expect(faultOf('fill', '{{PAGE}} {{ PORTAL_PASSWORD }} {{\tPAGE\n}}')).toBeNull();
    expect(faultOf('fill', '{{ OTHER }}')).toBe('{{OTHER}} is neither an input nor a vault key of the session');
    expect(faultOf('fill', '{{}} and {a}')).toBeNull();
  });

  it('the address of an autopilot navigation may contain inputs, but no secret', () => {
    expect(faultOf('navigate', '/{{ PAGE }}')).toBeNull();
    expect(faultOf('navigate', 'https://{{ PAGE }}.test/')).toContain('is not on the site');
    expect(faultOf('navigate', '/{{ PORTAL_PASSWORD }}')).toContain('must not contain the secret');
  });

  it('a long value with unclosed braces is accepted as the value of an autopilot action', () => {
    expect(faultOf('fill', `{{${' '.repeat(19_000)}`)).toBeNull();
    expect(faultOf('fill', '{{ '.repeat(6000))).toBeNull();
  });
});
