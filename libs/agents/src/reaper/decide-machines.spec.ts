import type { ListedMachine } from '@muster/vm';
import { decideGone, decideOrphan, isConfirmed } from './decide-machines';

const now = new Date('2026-05-04T12:00:00Z');
const later = new Date(now.getTime() + 3_600_000);
const earlier = new Date(now.getTime() - 3_600_000);
const machine = { ref: 'i-1', agentId: 'a', organizationId: null, state: 'running', expiresAt: null } as ListedMachine;

describe('a machine is nobody’s', () => {
  const ended = { status: 'terminated', ending: false } as const;
  it.each([
    ['its agent is terminated', {}, { isOwned: false, claimed: ended }, /terminated/],
    [
      'its agent is terminated, however long it was needed',
      { expiresAt: later },
      { isOwned: false, claimed: ended },
      /terminated/,
    ],
    ['nobody knows its agent', {}, { isOwned: false, claimed: null }, /no agent owns it/],
    [
      'nobody knows its agent and it has expired',
      { expiresAt: earlier },
      { isOwned: false, claimed: null },
      /no agent/,
    ],
    [
      'it carries the name of an agent with another machine, and its time is over',
      { expiresAt: earlier },
      { isOwned: false, claimed: { status: 'online', ending: false } as const },
      /another machine/,
    ],
  ])('when %s', (_, input, facts, words) => {
    expect(decideOrphan({ ...machine, ...input }, facts, now)).toMatch(words);
  });

  it.each([
    ['an agent owns it', {}, { isOwned: true, claimed: null }],
    ['it does not say whose it is', { agentId: null }, { isOwned: false, claimed: null }],
    ['it is gone', { state: 'gone' as const }, { isOwned: false, claimed: ended }],
    ['its agent is just being terminated', {}, { isOwned: false, claimed: { ...ended, ending: true } }],
    ['it is needed for longer', { expiresAt: later }, { isOwned: false, claimed: null }],
    ['its agent lives', {}, { isOwned: false, claimed: { status: 'stopped', ending: false } as const }],
  ])('but not when %s', (_, input, facts) => {
    expect(decideOrphan({ ...machine, ...input }, facts, now)).toBeNull();
  });
});

describe('an agent whose machine is gone', () => {
  it('has ended where the provider says so, and is offline where it only does not know it', () => {
    const agent = { status: 'stopped', heardAgoMs: 10 } as const;
    expect(decideGone(agent, { listed: true }, 100)).toMatchObject({ to: 'terminated' });
    expect(decideGone(agent, { listed: false }, 100)).toMatchObject({ to: 'offline' });
  });

  it.each(['online', 'draining', 'starting', 'stopping', 'rebooting', 'terminated'] as const)(
    'is left alone while it is %s',
    (status) => {
      expect(decideGone({ status, heardAgoMs: null }, { listed: true }, 100)).toBeNull();
    },
  );

  it('is believed more than its provider while it speaks', () => {
    expect(decideGone({ status: 'offline', heardAgoMs: 50 }, { listed: true }, 100)).toBeNull();
    expect(decideGone({ status: 'offline', heardAgoMs: 150 }, { listed: true }, 100)).not.toBeNull();
  });
});

it('a finding is confirmed by a later pass, and again only after as long', () => {
  const at = (agoMs: number) => new Date(now.getTime() - agoMs);
  expect(isConfirmed({ firstSeenAt: at(99), actedAt: null }, now, 100)).toBe(false);
  expect(isConfirmed({ firstSeenAt: at(100), actedAt: null }, now, 100)).toBe(true);
  expect(isConfirmed({ firstSeenAt: at(500), actedAt: at(99) }, now, 100)).toBe(false);
  expect(isConfirmed({ firstSeenAt: at(500), actedAt: at(100) }, now, 100)).toBe(true);
});
