import { type ClosingFacts, decideClosing } from './decide-closing';

describe('the end of a session', () => {
  const facts: ClosingFacts = {
    to: 'cancelled',
    closed: false,
    closeStep: 1,
    agentStatus: 'online',
    provider: 'ec2',
    booted: false,
  };
  const action = (more: Partial<ClosingFacts>) => decideClosing({ ...facts, ...more }).action;

  it('is there once its browser is closed, its machine off, or booted anew', () => {
    expect(action({ closed: true })).toBe('finish');
    expect(action({ agentStatus: 'stopped' })).toBe('finish');
    expect(action({ agentStatus: 'terminated' })).toBe('finish');
    expect(action({ booted: true, closeStep: 3 })).toBe('finish');
  });

  it('of a cancelled one is asked for again, then by a reboot, which nobody else’s machine gets', () => {
    expect(action({})).toBe('again');
    expect(action({ closeStep: 2 })).toBe('reboot');
    expect(action({ closeStep: 2, provider: 'external' })).toBe('wait');
    expect(action({ closeStep: 3 })).toBe('wait');
  });

  it('of any other waits for no word after the second', () => {
    expect(action({ to: 'completed' })).toBe('again');
    expect(action({ to: 'failed', closeStep: 2 })).toBe('finish');
  });
});
