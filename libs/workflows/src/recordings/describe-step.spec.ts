import type { Step } from '../check-steps';
import { describeStep } from './describe-step';

const describeClick = (...selectors: string[]) => describeStep({ type: 'click', selectors } as unknown as Step);

describe('describeStep', () => {
  it('a click step is described by the most readable selector of its element', () => {
    expect(describeClick('#send', 'aria/Send the claim[role="button"]')).toBe('Click “Send the claim”');
    expect(describeClick('#send', 'text/Send')).toBe('Click “Send”');
    expect(describeClick('#send')).toBe('Click #send');
  });

  it('the description of a step is short, even for a selector of megabytes with unclosed brackets', () => {
    expect(describeClick(`aria/${'[name='.repeat(1_000_000)}`)).toHaveLength(120);
    expect(describeClick(`text/${'long '.repeat(1_000_000)}`)).toHaveLength(120);
  });
});
