import type { SessionAction } from '@muster/contracts';
import type { SessionRow } from '../session/session-row';
import { checkActions } from './check-actions';

const session = {
  inputs: { PAGE: 'claims' },
  vaultKeys: ['PORTAL_PASSWORD'],
  task: { startUrl: 'https://portal.test/' },
} as unknown as SessionRow;

const checkTestActions = (actions: SessionAction[]) => checkActions(session, actions, session.vaultKeys);
const checkTestAction = (action: string, value: string) =>
  checkTestActions([{ action, name: 'a field', value, selectors: [] } as unknown as SessionAction]);

describe('checkActions', () => {
  it('an autopilot action may refer to inputs and secrets of its session, also with white space around their names', () => {
    expect(checkTestAction('fill', '{{PAGE}} {{ PORTAL_PASSWORD }} {{\tPAGE\n}}')).toBeNull();
    expect(checkTestAction('fill', '{{ OTHER }}')).toBe('{{OTHER}} is neither an input nor a vault key of the session');
    expect(checkTestAction('fill', '{{}} and {a}')).toBeNull();
  });

  it('the address of an autopilot navigation may contain inputs, but no secret', () => {
    expect(checkTestAction('navigate', '/{{ PAGE }}')).toBeNull();
    expect(checkTestAction('navigate', 'https://{{ PAGE }}.test/')).toContain('is not on the site');
    expect(checkTestAction('navigate', '/{{ PORTAL_PASSWORD }}')).toContain('must not contain the secret');
  });

  it('an autopilot attempt may have fifty actions, and an action fifty selectors', () => {
    const buildSelectors = (count: number) => Array.from({ length: count }, () => ({ selector: '#a' }));
    const buildActions = (count: number, selectorCount = 0) =>
      Array.from({ length: count }, () => ({
        action: 'click',
        name: 'a button',
        value: '',
        selectors: buildSelectors(selectorCount),
      })) as unknown as SessionAction[];
    expect(checkTestActions(buildActions(50, 50))).toBeNull();
    expect(checkTestActions(buildActions(51))).toBe('51 actions are more than the 50 of one attempt');
    expect(checkTestActions(buildActions(1, 51))).toBe('51 selectors are more than the 50 of one action');
  });

  it('the name, the value and the selectors of an autopilot action have a maximum length', () => {
    const checkFillOfLengths = (name: number, value: number, selector: number) =>
      checkTestActions([
        {
          action: 'fill',
          name: 'n'.repeat(name),
          value: 'v'.repeat(value),
          selectors: [{ selector: 's'.repeat(selector) }],
        } as unknown as SessionAction,
      ]);
    expect(checkFillOfLengths(500, 20_000, 2000)).toBeNull();
    expect(checkFillOfLengths(501, 20_000, 2000)).toBe('the name or the value of an action is too long');
    expect(checkFillOfLengths(500, 20_001, 2000)).toBe('the name or the value of an action is too long');
    expect(checkFillOfLengths(500, 20_000, 2001)).toBe('a selector is longer than 2000 characters');
  });

  it('a long value with unclosed braces is accepted as the value of an autopilot action', () => {
    expect(checkTestAction('fill', `{{${' '.repeat(19_000)}`)).toBeNull();
    expect(checkTestAction('fill', '{{ '.repeat(6000))).toBeNull();
  });
});
