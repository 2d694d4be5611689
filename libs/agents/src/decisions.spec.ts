import { decideCommand } from './commands/start-command';
import { decideSilence } from './lifecycle/fail-silent-agents';
import { decideHeartbeat } from './machines/decide-heartbeat';
import { tunnelUrlOf } from './machines/tunnel-url';
import { safeName } from './uploads/request-upload';
import { explainAgent } from './agents/explain-agent';

const now = new Date('2026-03-02T09:00:00.000Z');
const minutesAgo = (minutes: number) => new Date(now.getTime() - minutes * 60_000);

describe('why a machine is on, and until when', () => {
  const agent = {
    status: 'online' as const,
    statusSince: minutesAgo(60),
    statusSource: 'handshake',
    statusReason: 'the worker reported',
    lastSeen: now,
    lastActivityAt: minutesAgo(10),
    idleAutoStopExempt: false,
    hasWork: false,
  };
  const settings = { autoStopEnabled: true, idleStopMinutes: 30 };

  it('counts from the last activity, and without one from its being on', () => {
    expect(explainAgent(agent, settings, now).stopAt).toEqual(new Date('2026-03-02T09:20:00.000Z'));
    const fresh = { ...agent, lastActivityAt: null };
    expect(explainAgent(fresh, settings, now)).toEqual({
      stopAt: new Date('2026-03-02T08:30:00.000Z'),
      why: expect.stringContaining('about to be stopped'),
    });
  });

  it.each([
    [{ hasWork: true }, {}, 'it has work'],
    [{ idleAutoStopExempt: true }, {}, 'it is pinned'],
    [{}, { autoStopEnabled: false }, 'idle stop is off'],
  ])('has no end with %j and %j', (facts, setting, reason) => {
    const { stopAt, why } = explainAgent({ ...agent, ...facts }, { ...settings, ...setting }, now);
    expect([stopAt, why]).toEqual([null, expect.stringContaining(`It stays on: ${reason}.`)]);
  });

  it('is only asked of machines that are on', () => {
    for (const status of ['offline', 'stopped', 'starting', 'stopping', 'rebooting', 'draining'] as const) {
      const { stopAt, why } = explainAgent({ ...agent, status }, settings, now);
      expect([stopAt, why.endsWith('(handshake): the worker reported.')]).toEqual([null, true]);
    }
  });
});

describe('a heartbeat', () => {
  const facts = { status: 'online' as const, healthy: true, unhealthyBefore: 0, unhealthyNow: 0, drain: null };

  it('moves nothing, nearly always', () => {
    expect(decideHeartbeat(facts)).toBeNull();
    expect(decideHeartbeat({ ...facts, healthy: false, unhealthyNow: 2 })).toBeNull();
    for (const status of ['starting', 'stopping', 'rebooting', 'stopped', 'terminated'] as const) {
      expect(decideHeartbeat({ ...facts, status })).toBeNull();
      expect(decideHeartbeat({ ...facts, status, healthy: false, unhealthyNow: 9 })).toBeNull();
    }
    expect(decideHeartbeat({ ...facts, status: 'offline', healthy: false, unhealthyNow: 4 })).toBeNull();
  });

  it('recovers what is offline and well', () => {
    expect(decideHeartbeat({ ...facts, status: 'offline' })).toMatchObject({ to: 'online', recovered: true });
    expect(decideHeartbeat({ ...facts, status: 'offline', drain: 'now' })?.to).toBe('draining');
  });
});

describe('silence', () => {
  const agent = { status: 'online' as const, lastSeen: minutesAgo(2), statusSince: minutesAgo(5) };

  it('makes a machine offline once it has lasted too long', () => {
    expect(decideSilence(agent, now, 120_000)).toBeNull();
    expect(decideSilence(agent, now, 119_999)).toBe('not heard of for 120 s');
    expect(decideSilence({ ...agent, status: 'draining' }, now, 1000)).not.toBeNull();
  });

  it('counts from the moment of being online, and is expected of machines that are not', () => {
    expect(decideSilence({ ...agent, lastSeen: null, statusSince: minutesAgo(1) }, now, 90_000)).toBeNull();
    expect(decideSilence({ ...agent, statusSince: minutesAgo(1) }, now, 90_000)).toBeNull();
    for (const status of ['offline', 'stopped', 'starting', 'stopping', 'rebooting', 'terminated'] as const) {
      expect(decideSilence({ ...agent, status }, now, 1)).toBeNull();
    }
  });
});

describe('a command', () => {
  const decide = (status: Parameters<typeof decideCommand>[0]['status'], more: object = {}) =>
    decideCommand({ status, provider: 'local', autoWake: true, ...more }).action;

  it('goes to a machine that is on or about to be, wakes one that is not, and leaves alone what nobody can start', () => {
    for (const status of ['online', 'draining', 'starting', 'rebooting'] as const) expect(decide(status)).toBe('issue');
    for (const status of ['stopped', 'stopping', 'offline'] as const) {
      expect(decide(status)).toBe('wake');
      expect(decide(status, { autoWake: false })).toBe('blocked');
      expect(decide(status, { provider: 'external' })).toBe('refuse');
    }
    expect(decide('terminated')).toBe('refuse');
  });
});

describe('a tunnel', () => {
  it.each([
    ['a1.example.com', 'https://a1.example.com'],
    ['a1.example.com:8443', 'https://a1.example.com:8443'],
    ['http://127.0.0.1:9000/', 'http://127.0.0.1:9000'],
    ['https://t.example.com/a1/', 'https://t.example.com/a1'],
    ['', null],
    [null, null],
  ])('from %p is %p', (given, url) => expect(tunnelUrlOf(given)).toBe(url));

  it.each(['a b', 'ftp://a', 'https://u:p@a', 'https://a/?q', '//a', 'javascript:x'])('is not %p', (given) => {
    expect(() => tunnelUrlOf(given)).toThrow();
  });
});

describe('a file’s name in a key', () => {
  it.each([
    ['eob.pdf', 'eob.pdf'],
    ['../../etc/passwd', 'etc_passwd'],
    ['März 2026.pdf', 'Ma_rz_2026.pdf'],
    ['…', 'file'],
    ['.hidden', 'hidden'],
    ['x'.repeat(300), 'x'.repeat(100)],
  ])('%p becomes %p', (given, name) => expect(safeName(given)).toBe(name));
});
