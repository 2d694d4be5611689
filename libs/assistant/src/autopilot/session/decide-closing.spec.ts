import { type ClosingFacts, decideClosing } from './decide-closing';

describe('decideClosing', () => {
  const facts: ClosingFacts = {
    to: 'cancelled',
    closed: false,
    closeStep: 1,
    agentStatus: 'online',
    provider: 'ec2',
    booted: false,
  };
  const action = (more: Partial<ClosingFacts>) => decideClosing({ ...facts, ...more }).action;

  it('a session is finished once its browser is closed, its machine is off, or its machine has rebooted', () => {
    expect(action({ closed: true })).toBe('finish');
    expect(action({ agentStatus: 'stopped' })).toBe('finish');
    expect(action({ agentStatus: 'terminated' })).toBe('finish');
    expect(action({ booted: true, closeStep: 3 })).toBe('finish');
  });

  it('a cancelled session’s machine is rebooted after two close commands without a confirmation, unless it is external', () => {
    expect(action({})).toBe('again');
    expect(action({ closeStep: 2 })).toBe('reboot');
    expect(action({ closeStep: 2, provider: 'external' })).toBe('wait');
    expect(action({ closeStep: 3 })).toBe('wait');
  });

  it('a session that was not cancelled is finished after two close commands without a confirmation', () => {
    expect(action({ to: 'completed' })).toBe('again');
    expect(action({ to: 'failed', closeStep: 2 })).toBe('finish');
  });
});
