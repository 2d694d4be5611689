import type { ListedMachine } from '@muster/vm';
import { decideMissingMachine, findOrphanReason, isConfirmedFinding } from './decide-machines';

const now = new Date('2026-05-04T12:00:00Z');
const later = new Date(now.getTime() + 3_600_000);
const earlier = new Date(now.getTime() - 3_600_000);
const machine = { ref: 'i-1', agentId: 'a', organizationId: null, state: 'running', expiresAt: null } as ListedMachine;

describe('an orphan', () => {
  const ended = { status: 'terminated', ending: false } as const;
  it.each([
    ['its agent is terminated', {}, { isOwned: false, claimed: ended }, /terminated/],
    [
      'its agent is terminated, even before its expiry',
      { expiresAt: later },
      { isOwned: false, claimed: ended },
      /terminated/,
    ],
    ['its agent does not exist', {}, { isOwned: false, claimed: null }, /no agent owns it/],
    [
      'its agent does not exist and it has expired',
      { expiresAt: earlier },
      { isOwned: false, claimed: null },
      /no agent/,
    ],
    [
      'it has the tag of an agent with another machine, and it has expired',
      { expiresAt: earlier },
      { isOwned: false, claimed: { status: 'online', ending: false } as const },
      /another machine/,
    ],
  ])('a machine is an orphan, which belongs to no agent, if %s', (_, input, facts, reason) => {
    expect(findOrphanReason({ ...machine, ...input }, facts, now)).toMatch(reason);
  });

  it.each([
    ['an agent owns it', {}, { isOwned: true, claimed: null }],
    ['it has no tag', { agentId: null }, { isOwned: false, claimed: null }],
    ['it is gone', { state: 'gone' as const }, { isOwned: false, claimed: ended }],
    ['its agent is being terminated', {}, { isOwned: false, claimed: { ...ended, ending: true } }],
    ['it has not expired', { expiresAt: later }, { isOwned: false, claimed: null }],
    ['its agent is not terminated', {}, { isOwned: false, claimed: { status: 'stopped', ending: false } as const }],
  ])('a machine is not an orphan if %s', (_, input, facts) => {
    expect(findOrphanReason({ ...machine, ...input }, facts, now)).toBeNull();
  });
});

describe('an agent whose machine is gone', () => {
  it('an agent is terminated if its machine is terminated, and moved to offline if its machine is unknown', () => {
    const agent = { status: 'stopped', lastSeenAgoMs: 10 } as const;
    expect(decideMissingMachine(agent, { listed: true }, 100)).toMatchObject({ to: 'terminated' });
    expect(decideMissingMachine(agent, { listed: false }, 100)).toMatchObject({ to: 'offline' });
  });

  it.each(['online', 'draining', 'starting', 'stopping', 'rebooting', 'terminated'] as const)(
    'an agent whose machine is gone does not change while the agent is %s',
    (status) => {
      expect(decideMissingMachine({ status, lastSeenAgoMs: null }, { listed: true }, 100)).toBeNull();
    },
  );

  it('a missing machine is ignored while its agent reports', () => {
    expect(decideMissingMachine({ status: 'offline', lastSeenAgoMs: 50 }, { listed: true }, 100)).toBeNull();
    expect(decideMissingMachine({ status: 'offline', lastSeenAgoMs: 150 }, { listed: true }, 100)).not.toBeNull();
  });
});

it('a finding of the reaper is confirmed once the finding and the last action on it are old enough', () => {
  const at = (agoMs: number) => new Date(now.getTime() - agoMs);
  expect(isConfirmedFinding({ firstSeenAt: at(99), actedAt: null }, now, 100)).toBe(false);
  expect(isConfirmedFinding({ firstSeenAt: at(100), actedAt: null }, now, 100)).toBe(true);
  expect(isConfirmedFinding({ firstSeenAt: at(500), actedAt: at(99) }, now, 100)).toBe(false);
  expect(isConfirmedFinding({ firstSeenAt: at(500), actedAt: at(100) }, now, 100)).toBe(true);
});
