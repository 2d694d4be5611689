import { signingSecretsOf, verify } from '@muster/access';
import { newId } from '@muster/platform';
import { waitFor } from '@muster/testing';
import { KeyRing } from '@muster/vault';
import { type AgentOf, useMachines } from './machines.harness';
import { moveAgent } from '../lifecycle/move-agent';
import { decideWakeStep } from './wake-machine';
import { lastWakeFailures, recordWakeBlocked, requestWake, wakeBackoffMs } from '../lifecycle/wakes';

describe('machines', () => {
  const lab = useMachines();
  const { agentAt, wake, handshake, heartbeat, eventsOf, eventNames, statusOf, wakesOf, becomes, messages, count } =
    lab;

  describe('a wake', () => {
    it('joins concurrent requests into one wake and starts the machine once', async () => {
      const of = await agentAt();
      const asked = await Promise.all(Array.from({ length: 20 }, () => wake(of)));
      expect(new Set(asked.map(({ wakeId }) => wakeId)).size).toBe(1);
      expect(asked.filter(({ joined }) => !joined)).toHaveLength(1);
      await Promise.all(Array.from({ length: 10 }, () => lab.machines.wake(asked[0]!.wakeId)));
      await waitFor('the start', () => count('start') === 1);
      await handshake(of, 'new boot');
      await lab.machines.sweep();
      expect(count('start')).toBe(1);
      expect(await eventsOf(of)).toEqual([
        { event: 'wake_requested', source: 'dispatcher', from: 'stopped', to: 'starting' },
        { event: 'wake_ready', source: 'handshake', from: 'starting', to: 'online' },
      ]);
      expect(await wakesOf(of)).toEqual([{ state: 'ready', attempt: 1, error: null }]);
    });

    it('signs its requests to the control plane with the organization’s secret', async () => {
      const of = await agentAt();
      await lab.machines.wake((await wake(of)).wakeId);
      await waitFor('a call', () => lab.plane.signatures.length > 0);
      const secrets = signingSecretsOf(lab.harness.app.nest.get(KeyRing), of.organizationId);
      expect(lab.plane.signatures.map((header) => verify(secrets, header, '', new Date()))).toContain('valid');
    });

    it('makes a wake ready with the handshake of a new boot, and rejects reports of the stopped boot', async () => {
      lab.plane.state = 'running';
      const of = await agentAt('stopping');
      await lab.machines.control(of.agentId);
      await becomes(of, 'stopped');
      await wake(of);
      await expect(heartbeat(of, 'old boot')).rejects.toMatchObject({ code: 'conflict' });
      await expect(handshake(of, 'old boot')).rejects.toMatchObject({
        code: 'conflict',
        options: { extra: { agentStatus: 'starting', boot: 'ended' } },
      });
      expect([await statusOf(of), (await wakesOf(of))[0]!.state]).toEqual(['starting', 'open']);
      await handshake(of, 'new boot');
      expect([await statusOf(of), (await wakesOf(of))[0]!.state]).toEqual(['online', 'ready']);
      await handshake(of, 'new boot');
      await expect(handshake(of, 'old boot')).rejects.toMatchObject({ options: { extra: { boot: 'superseded' } } });
      expect(await heartbeat(of, 'new boot')).toMatchObject({ status: 'online' });
      expect(await eventNames(of)).toEqual(['wake_requested', 'wake_ready']);
    });

    it.each([
      ['a heartbeat', (of: AgentOf) => heartbeat(of, 'old boot')],
      ['a handshake', (of: AgentOf) => handshake(of, 'old boot')],
    ])('makes a wake ready at once with %s of a boot that was only silent', async (_, report) => {
      lab.plane.state = 'running';
      const of = await agentAt('offline');
      await wake(of);
      await waitFor('an attempt', async () => (await wakesOf(of))[0]!.attempt > 0);
      await report(of);
      expect([await statusOf(of), (await wakesOf(of))[0]!.state]).toEqual(['online', 'ready']);
      expect(await eventNames(of)).toEqual(['wake_requested', 'wake_ready']);
    });

    it('leaves an agent starting if its worker reports that it is unhealthy', async () => {
      lab.plane.state = 'running';
      const of = await agentAt('offline');
      await wake(of);
      expect(await heartbeat(of, 'old boot', false)).toMatchObject({ status: 'starting' });
      expect((await wakesOf(of))[0]!.state).toBe('open');
    });

    it('rejects the handshake of a silent boot that was rebooted', async () => {
      lab.plane.state = 'running';
      const of = await agentAt('offline', { lastSeen: new Date(Date.now() - 3_600_000) });
      await wake(of, { timeoutMs: 200 });
      await waitFor('the timeout of the first wake', async () => (await wakesOf(of))[0]!.state === 'timeout');
      await wake(of);
      await waitFor('the reboot', () => count('reboot') === 1);
      await expect(handshake(of, 'old boot')).rejects.toMatchObject({ options: { extra: { boot: 'ended' } } });
      await handshake(of, 'new boot');
      expect(await statusOf(of)).toBe('online');
    });

    it('makes a wake ready if the machine comes back without a new boot', async () => {
      const of = await agentAt('offline');
      await wake(of);
      await lab.db.transaction('system', (tx) =>
        moveAgent(tx, { ...of, move: 'recover', to: 'online', source: 'heartbeat', reason: 'it is back' }),
      );
      await waitFor('the end', async () => {
        const [found] = await wakesOf(of);
        await lab.db.query(
          'system',
          'UPDATE agent_wake SET next_try_at = now() - make_interval(secs => 1) WHERE agent_id = $1',
          [of.agentId],
        );
        return found!.state === 'ready';
      });
      expect(await eventNames(of)).toEqual(['wake_requested', 'wake_ready']);
    });

    it('times out if the machine never reports, and sets the status that the provider describes', async () => {
      lab.plane.behaviour = 'lies';
      const of = await agentAt();
      await wake(of, { timeoutMs: 300 });
      await becomes(of, 'stopped');
      expect(await eventsOf(of)).toEqual([
        { event: 'wake_requested', source: 'dispatcher', from: 'stopped', to: 'starting' },
        { event: 'wake_timeout', source: 'provider', from: 'starting', to: 'stopped' },
      ]);
      expect(count('start')).toBe(1);
      expect(await messages(of, 'dispatch-agent')).toBeGreaterThan(0);

      lab.plane.behaviour = 'well';
      const other = await agentAt();
      await wake(other, { timeoutMs: 300 });
      await becomes(other, 'offline');
      expect(await eventNames(other)).toEqual(['wake_requested', 'wake_timeout']);
    });

    it('times out once, in time, if the control plane hangs', async () => {
      lab.plane.behaviour = 'hangs';
      const of = await agentAt();
      await wake(of, { timeoutMs: 300 });
      await becomes(of, 'offline');
      expect(await eventNames(of)).toEqual(['wake_requested', 'wake_timeout']);
    });

    it('retries a failing provider, and fails with the provider’s error at the deadline', async () => {
      lab.plane.behaviour = 'fails';
      const of = await agentAt();
      await wake(of, { timeoutMs: 2500 });
      await becomes(of, 'stopped');
      expect(await eventNames(of)).toEqual(['wake_requested', 'wake_failed']);
      const [only] = await wakesOf(of);
      expect(only).toMatchObject({ state: 'failed', error: expect.stringMatching(/status 500/) });
      expect(only!.attempt).toBeGreaterThan(1);
    });

    it('succeeds if the provider recovers', async () => {
      lab.plane.behaviour = 'fails';
      const of = await agentAt();
      await wake(of);
      await waitFor('a first failure', () => count('start') > 0);
      lab.plane.behaviour = 'well';
      await waitFor('the start', () => lab.plane.state === 'running');
      await handshake(of, 'new boot');
      expect(await wakesOf(of)).toMatchObject([{ state: 'ready', error: null }]);
    });

    it.each([
      ['external', {}, /cannot be started/],
      ['http', { baseUrl: 'http://169.254.169.254', ref: 'a' }, /not a public address/],
      ['ec2', { instanceId: 'i-12345678' }, /has no region/],
    ])('fails at once with a permanent error: %s', async (provider, providerConfig, words) => {
      const of = await agentAt('offline', { provider, providerConfig, providerRef: null });
      await wake(of);
      await becomes(of, 'offline');
      await waitFor('the end', async () => (await wakesOf(of))[0]!.state === 'failed');
      expect(await wakesOf(of)).toEqual([{ state: 'failed', attempt: 1, error: expect.stringMatching(words) }]);
    });

    it('does not start the machine again if another process takes over a wake', async () => {
      const of = await agentAt();
      await lab.db.transaction('system', (tx) =>
        requestWake(tx, { ...of, source: 'api', reason: 'test', timeoutMs: 20_000 }),
      );
      await waitFor('the start', () => count('start') === 1);
      // As if the process had died after the provider's answer, before recording it. The record may be written only
      // now.
      await waitFor('another look', async () => {
        await lab.db.query(
          'system',
          'UPDATE agent_wake SET next_try_at = now() - make_interval(secs => 1) WHERE agent_id = $1',
          [of.agentId],
        );
        return count('describe') > 0;
      });
      await handshake(of, 'new boot');
      expect(count('start')).toBe(1);
    });

    it('reboots a machine that is on but did not report after the previous wake', async () => {
      const of = await agentAt();
      await wake(of, { timeoutMs: 300 });
      await becomes(of, 'offline');
      expect([count('start'), count('reboot')]).toEqual([1, 0]);
      await wake(of);
      await waitFor('a reboot', () => count('reboot') === 1);
      await handshake(of, 'new boot');
      expect([count('start'), count('reboot')]).toEqual([1, 1]);
      expect((await wakesOf(of)).map(({ state }) => state)).toEqual(['timeout', 'ready']);
    });

    it('marks a timed-out wake as ready if the machine boots late, and measures the boot', async () => {
      const of = await agentAt();
      await wake(of, { timeoutMs: 300 });
      await becomes(of, 'offline');
      await lab.db.query(
        'system',
        `UPDATE agent_wake SET requested_at = now() - interval '150 seconds' WHERE agent_id = $1`,
        [of.agentId],
      );
      await handshake(of, 'new boot');
      expect((await wakesOf(of)).map(({ state }) => state)).toEqual(['ready']);
      const [{ bootMs }] = await lab.db.query<any>('system', 'SELECT boot_ms FROM agent WHERE id = $1', [of.agentId]);
      expect(Math.round(bootMs / 1000)).toBe(150);
      const failures = await lab.db.transaction('system', (tx) => lastWakeFailures(tx, of.agentId));
      expect(failures).toMatchObject({ consecutive: 0, lastAt: null });
      expect(await eventNames(of)).toEqual(['wake_requested', 'wake_timeout']);
    });

    it('leaves a wake timed out if the boot comes much later or is the boot that was silent', async () => {
      const of = await agentAt();
      await wake(of, { timeoutMs: 300 });
      await becomes(of, 'offline');
      await lab.db.query(
        'system',
        `UPDATE agent_wake SET requested_at = now() - interval '11 minutes' WHERE agent_id = $1`,
        [of.agentId],
      );
      await handshake(of, 'new boot');
      const silent = await agentAt('offline');
      await wake(silent, { timeoutMs: 300 });
      await becomes(silent, 'offline');
      await handshake(silent, 'old boot');
      for (const each of [of, silent]) {
        expect((await wakesOf(each)).map(({ state }) => state)).toEqual(['timeout']);
        expect(await lab.db.query('system', 'SELECT boot_ms FROM agent WHERE id = $1', [each.agentId])).toEqual([
          { bootMs: null },
        ]);
      }
    });

    it('does not reboot a machine on which a job may be running', async () => {
      const of = await agentAt();
      await wake(of, { timeoutMs: 300 });
      await becomes(of, 'offline');
      await lab.db.query('system', 'UPDATE agent SET current_job_id = $2 WHERE id = $1', [of.agentId, newId()]);
      await wake(of, { timeoutMs: 300 });
      await waitFor('the end', async () => (await wakesOf(of)).filter(({ state }) => state === 'timeout').length === 2);
      expect(count('reboot')).toBe(0);
    });

    it('waits with a wake until a stopping machine has stopped', async () => {
      lab.plane.state = 'running';
      const of = await agentAt('stopping');
      expect((await wake(of)).joined).toBe(false);
      expect(await statusOf(of)).toBe('stopping');
      await lab.machines.control(of.agentId);
      await waitFor('stop and start', () => count('stop') === 1 && count('start') === 1);
      expect(lab.plane.orders.indexOf('stop')).toBeLessThan(lab.plane.orders.indexOf('start'));
      await handshake(of, 'new boot');
      expect(await eventNames(of)).toEqual(['wake_requested', 'wake_ready']);
    });

    it('makes a wake of an online agent ready at once, and refuses one of a terminated agent', async () => {
      const on = await agentAt('online');
      await wake(on);
      expect(await wakesOf(on)).toMatchObject([{ state: 'ready' }]);
      expect(await eventNames(on)).toEqual([]);
      await expect(wake(await agentAt('terminated'))).rejects.toMatchObject({ code: 'agent_not_ready' });
    });
  });

  describe('a blocked wake', () => {
    const blocked = (of: AgentOf, jobId?: string) =>
      lab.db.transaction('system', (tx) =>
        recordWakeBlocked(tx, { ...of, source: 'dispatcher', reason: 'auto-wake is off', ...(jobId ? { jobId } : {}) }),
      );

    it('records a blocked wake once for each job, and rarely for callers without a job', async () => {
      const of = await agentAt();
      const [first, second] = ['01a1fce9-0000-7000-8000-000000000001', '01a1fce9-0000-7000-8000-000000000002'];
      for (const jobId of [first, first, second, first, undefined, undefined]) await blocked(of, jobId);
      expect(await eventsOf(of)).toEqual(
        Array(3).fill({ event: 'wake_blocked', source: 'dispatcher', from: 'stopped', to: 'stopped' }),
      );
    });
  });

  describe('failures in a row', () => {
    it('delays the next wake by 1, 2, 4 … 30 minutes', () => {
      expect([0, 1, 2, 3, 4, 5, 6, 7, 100].map((n) => wakeBackoffMs(n) / 60_000)).toEqual([
        0, 1, 2, 4, 8, 16, 30, 30, 30,
      ]);
    });

    it('counts failed wakes since the last successful one', async () => {
      const of = await agentAt();
      const past = (state: string, minutes: number) =>
        lab.db.query(
          'system',
          `INSERT INTO agent_wake (id, organization_id, agent_id, state, source, reason, requested_at, finished_at,
             deadline)
           VALUES (gen_random_uuid(), $1, $2, $3, 'api', 'test', now() - $4 * interval '1 minute',
             now() - $4 * interval '1 minute', now())`,
          [of.organizationId, of.agentId, state, minutes],
        );
      await past('failed', 50);
      await past('ready', 40);
      await past('timeout', 30);
      await past('cancelled', 20);
      await past('failed', 10);
      const failures = await lab.db.transaction('system', (tx) => lastWakeFailures(tx, of.agentId));
      expect(failures.consecutive).toBe(2);
      expect(Math.round((Date.now() - failures.lastAt!.getTime()) / 60_000)).toBe(10);
    });
  });
});

describe('the next step of a wake', () => {
  it.each([
    [{ open: false, due: true, over: true, agentStatus: 'starting' }, 'none'],
    [{ open: true, due: true, over: false, agentStatus: 'starting' }, 'try'],
    [{ open: true, due: false, over: false, agentStatus: 'starting' }, 'none'],
    [{ open: true, due: false, over: true, agentStatus: 'starting' }, 'expire'],
    [{ open: true, due: true, over: false, agentStatus: 'stopping' }, 'later'],
    [{ open: true, due: true, over: false, agentStatus: 'rebooting' }, 'later'],
    [{ open: true, due: true, over: true, agentStatus: 'online' }, 'ready'],
    [{ open: true, due: true, over: true, agentStatus: 'terminated' }, 'cancel'],
  ] as const)('%j: %s', (facts, step) => expect(decideWakeStep(facts)).toBe(step));
});
