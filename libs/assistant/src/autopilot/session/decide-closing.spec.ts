import { type ClosingFacts, decideSessionClosing } from './decide-closing';

describe('decideClosing', () => {
  const facts: ClosingFacts = {
    to: 'cancelled',
    closed: false,
    closeStep: 1,
    agentStatus: 'online',
    provider: 'ec2',
    booted: false,
  };
  const action = (more: Partial<ClosingFacts>) => decideSessionClosing({ ...facts, ...more }).action;

  it('an autopilot session is finished once its browser is closed, or its machine is off or has rebooted', () => {
    expect(action({ closed: true })).toBe('finish');
    expect(action({ agentStatus: 'stopped' })).toBe('finish');
    expect(action({ agentStatus: 'terminated' })).toBe('finish');
    expect(action({ booted: true, closeStep: 3 })).toBe('finish');
  });

  it('a cancelled autopilot session’s machine, unless external, is rebooted after two unconfirmed close commands', () => {
    expect(action({})).toBe('again');
    expect(action({ closeStep: 2 })).toBe('reboot');
    expect(action({ closeStep: 2, provider: 'external' })).toBe('wait');
    expect(action({ closeStep: 3 })).toBe('wait');
  });

  it('an autopilot session that was not cancelled is finished after two unconfirmed close commands', () => {
    expect(action({ to: 'completed' })).toBe('again');
    expect(action({ to: 'failed', closeStep: 2 })).toBe('finish');
  });
});
