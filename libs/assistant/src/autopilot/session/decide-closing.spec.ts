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
  const decideAction = (more: Partial<ClosingFacts>) => decideSessionClosing({ ...facts, ...more }).action;

  it('an autopilot session is finished once its browser is closed, or its machine is off or has rebooted', () => {
    expect(decideAction({ closed: true })).toBe('finish');
    expect(decideAction({ agentStatus: 'stopped' })).toBe('finish');
    expect(decideAction({ agentStatus: 'terminated' })).toBe('finish');
    expect(decideAction({ booted: true, closeStep: 3 })).toBe('finish');
  });

  it('a cancelled autopilot session’s machine, unless external, is rebooted after two unconfirmed close commands', () => {
    expect(decideAction({})).toBe('again');
    expect(decideAction({ closeStep: 2 })).toBe('reboot');
    expect(decideAction({ closeStep: 2, provider: 'external' })).toBe('wait');
    expect(decideAction({ closeStep: 3 })).toBe('wait');
  });

  it('an autopilot session that was not cancelled is finished after two unconfirmed close commands', () => {
    expect(decideAction({ to: 'completed' })).toBe('again');
    expect(decideAction({ to: 'failed', closeStep: 2 })).toBe('finish');
  });
});
