import type { Step } from '../check-steps';
import { describeStep } from './describe-step';

const click = (...selectors: string[]) => describeStep({ type: 'click', selectors } as unknown as Step);

describe('describeStep', () => {
  it('names what is clicked by the selector that reads best', () => {
    expect(click('#send', 'aria/Send the claim[role="button"]')).toBe('Click “Send the claim”');
    expect(click('#send', 'text/Send')).toBe('Click “Send”');
    expect(click('#send')).toBe('Click #send');
  });

  it('is through with a selector of megabytes that opens and never closes', () => {
    expect(click(`aria/${'[name='.repeat(1_000_000)}`)).toHaveLength(120);
    expect(click(`text/${'long '.repeat(1_000_000)}`)).toHaveLength(120);
  });
});
