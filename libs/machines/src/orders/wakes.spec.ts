import { deriveSigningSecrets, checkSignature } from '@muster/access';
import { newId } from '@muster/platform';
import { waitFor, type AgentRef, useMachines } from '@muster/testing';
import { KeyRing } from '@muster/vault';
import { setAgentStatus } from '../life/set-agent-status';
import { decideWakeStep } from './wake-machine';
import { readLastWakeFailures, recordWakeBlocked, requestWake, getWakeDelayMs } from '../life/wakes';

describe('machines', () => {
  const fixture = useMachines();
  const { agentAt, wake, handshake, heartbeat, eventsOf, eventNames, statusOf, wakesOf, becomes, messages, count } =
    fixture;

  describe('a wake', () => {
    it('concurrent requests join one wake, and the machine is started once', async () => {
      const agentRef = await agentAt();
      const requests = await Promise.all(Array.from({ length: 20 }, () => wake(agentRef)));
      expect(new Set(requests.map(({ wakeId }) => wakeId)).size).toBe(1);
      expect(requests.filter(({ joined }) => !joined)).toHaveLength(1);
      await Promise.all(Array.from({ length: 10 }, () => fixture.machines.attemptWake(requests[0]!.wakeId)));
      await waitFor('the start', () => count('start') === 1);
      await handshake(agentRef, 'new boot');
      await fixture.machines.startAllDueWork();
      expect(count('start')).toBe(1);
      expect(await eventsOf(agentRef)).toEqual([
        { event: 'wake_requested', source: 'dispatcher', from: 'stopped', to: 'starting' },
        { event: 'wake_ready', source: 'handshake', from: 'starting', to: 'online' },
      ]);
      expect(await wakesOf(agentRef)).toEqual([{ state: 'ready', attempt: 1, error: null }]);
    });

    it('requests to the control plane are signed with the organization’s secret', async () => {
      const agentRef = await agentAt();
      await fixture.machines.attemptWake((await wake(agentRef)).wakeId);
      await waitFor('a call', () => fixture.plane.signatures.length > 0);
      const secrets = deriveSigningSecrets(fixture.harness.app.nest.get(KeyRing), agentRef.organizationId);
      expect(fixture.plane.signatures.map((header) => checkSignature(secrets, header, '', new Date()))).toContain(
        'valid',
      );
    });

    it('a wake becomes ready with the handshake of a new boot, but not with reports of the stopped boot', async () => {
      fixture.plane.state = 'running';
      const agentRef = await agentAt('stopping');
      await fixture.machines.executeOrder(agentRef.agentId);
      await becomes(agentRef, 'stopped');
      await wake(agentRef);
      await expect(heartbeat(agentRef, 'old boot')).rejects.toMatchObject({ code: 'conflict' });
      await expect(handshake(agentRef, 'old boot')).rejects.toMatchObject({
        code: 'conflict',
        options: { extra: { agentStatus: 'starting', boot: 'ended' } },
      });
      expect([await statusOf(agentRef), (await wakesOf(agentRef))[0]!.state]).toEqual(['starting', 'open']);
      await handshake(agentRef, 'new boot');
      expect([await statusOf(agentRef), (await wakesOf(agentRef))[0]!.state]).toEqual(['online', 'ready']);
      await handshake(agentRef, 'new boot');
      await expect(handshake(agentRef, 'old boot')).rejects.toMatchObject({
        options: { extra: { boot: 'superseded' } },
      });
      expect(await heartbeat(agentRef, 'new boot')).toMatchObject({ status: 'online' });
      expect(await eventNames(agentRef)).toEqual(['wake_requested', 'wake_ready']);
    });

    it.each([
      ['a heartbeat', (agentRef: AgentRef) => heartbeat(agentRef, 'old boot')],
      ['a handshake', (agentRef: AgentRef) => handshake(agentRef, 'old boot')],
    ])('a wake becomes ready at once when %s of the silent boot arrives', async (_, report) => {
      fixture.plane.state = 'running';
      const agentRef = await agentAt('offline');
      await wake(agentRef);
      await waitFor('an attempt', async () => (await wakesOf(agentRef))[0]!.attempt > 0);
      await report(agentRef);
      expect([await statusOf(agentRef), (await wakesOf(agentRef))[0]!.state]).toEqual(['online', 'ready']);
      expect(await eventNames(agentRef)).toEqual(['wake_requested', 'wake_ready']);
    });

    it('an agent stays in the status starting if its worker reports that it is unhealthy', async () => {
      fixture.plane.state = 'running';
      const agentRef = await agentAt('offline');
      await wake(agentRef);
      expect(await heartbeat(agentRef, 'old boot', false)).toMatchObject({ status: 'starting' });
      expect((await wakesOf(agentRef))[0]!.state).toBe('open');
    });

    it('the handshake of a silent boot is rejected after its machine was rebooted', async () => {
      fixture.plane.state = 'running';
      const agentRef = await agentAt('offline', { lastSeen: new Date(Date.now() - 3_600_000) });
      await wake(agentRef, { timeoutMs: 200 });
      await waitFor('the timeout of the first wake', async () => (await wakesOf(agentRef))[0]!.state === 'timeout');
      await wake(agentRef);
      await waitFor('the reboot', () => count('reboot') === 1);
      await expect(handshake(agentRef, 'old boot')).rejects.toMatchObject({ options: { extra: { boot: 'ended' } } });
      await handshake(agentRef, 'new boot');
      expect(await statusOf(agentRef)).toBe('online');
    });

    it('a wake becomes ready if the machine comes back without a new boot', async () => {
      const agentRef = await agentAt('offline');
      await wake(agentRef);
      await fixture.db.transaction('system', (tx) =>
        setAgentStatus(tx, { ...agentRef, move: 'recover', to: 'online', source: 'heartbeat', reason: 'it is back' }),
      );
      await waitFor('the end', async () => {
        const [found] = await wakesOf(agentRef);
        await fixture.db.query(
          'system',
          'UPDATE agent_wake SET next_try_at = now() - make_interval(secs => 1) WHERE agent_id = $1',
          [agentRef.agentId],
        );
        return found!.state === 'ready';
      });
      expect(await eventNames(agentRef)).toEqual(['wake_requested', 'wake_ready']);
    });

    it('the status of an agent whose wake timed out follows from its provider’s description of the machine', async () => {
      fixture.plane.behaviour = 'lies';
      const agentRef = await agentAt();
      await fixture.timeOut(agentRef);
      await becomes(agentRef, 'stopped');
      expect(await eventsOf(agentRef)).toEqual([
        { event: 'wake_requested', source: 'dispatcher', from: 'stopped', to: 'starting' },
        { event: 'wake_timeout', source: 'provider', from: 'starting', to: 'stopped' },
      ]);
      expect(count('start')).toBe(1);
      expect(await messages(agentRef, 'dispatch-agent')).toBeGreaterThan(0);

      fixture.plane.behaviour = 'well';
      const other = await agentAt();
      await fixture.timeOut(other);
      await becomes(other, 'offline');
      expect(await eventNames(other)).toEqual(['wake_requested', 'wake_timeout']);
    });

    it('a wake times out once, in time, if the control plane hangs', async () => {
      fixture.plane.behaviour = 'hangs';
      const agentRef = await agentAt();
      await wake(agentRef, { timeoutMs: 300 });
      await becomes(agentRef, 'offline');
      expect(await eventNames(agentRef)).toEqual(['wake_requested', 'wake_timeout']);
    });

    it('a wake retries a failing provider, and fails with the provider’s error at the deadline', async () => {
      fixture.plane.behaviour = 'fails';
      const agentRef = await agentAt();
      await wake(agentRef, { timeoutMs: 2500 });
      await becomes(agentRef, 'stopped');
      expect(await eventNames(agentRef)).toEqual(['wake_requested', 'wake_failed']);
      const [only] = await wakesOf(agentRef);
      expect(only).toMatchObject({ state: 'failed', error: expect.stringMatching(/status 500/) });
      expect(only!.attempt).toBeGreaterThan(1);
    });

    it('a wake succeeds if a failing provider recovers', async () => {
      fixture.plane.behaviour = 'fails';
      const agentRef = await agentAt();
      await wake(agentRef);
      await waitFor('a first failure', () => count('start') > 0);
      fixture.plane.behaviour = 'well';
      await waitFor('the start', () => fixture.plane.state === 'running');
      await handshake(agentRef, 'new boot');
      expect(await wakesOf(agentRef)).toMatchObject([{ state: 'ready', error: null }]);
    });

    it.each([
      ['external', {}, /cannot be started/],
      ['http', { baseUrl: 'http://169.254.169.254', ref: 'a' }, /not a public address/],
      ['ec2', { instanceId: 'i-12345678' }, /has no region/],
    ])('a wake with a permanent error of the provider %s fails at once', async (provider, providerConfig, message) => {
      const agentRef = await agentAt('offline', { provider, providerConfig, providerRef: null });
      await wake(agentRef);
      await becomes(agentRef, 'offline');
      await waitFor('the end', async () => (await wakesOf(agentRef))[0]!.state === 'failed');
      expect(await wakesOf(agentRef)).toEqual([{ state: 'failed', attempt: 1, error: expect.stringMatching(message) }]);
    });

    it('a wake that another process takes over does not start the machine again', async () => {
      const agentRef = await agentAt();
      await fixture.db.transaction('system', (tx) =>
        requestWake(tx, { ...agentRef, source: 'api', reason: 'test', timeoutMs: 20_000 }),
      );
      await waitFor('the start', () => count('start') === 1);
      // Simulates that the process died after the provider's answer and before it recorded the answer. The process may
      // record it at this moment, so the update is repeated.
      await waitFor('another look', async () => {
        await fixture.db.query(
          'system',
          'UPDATE agent_wake SET next_try_at = now() - make_interval(secs => 1) WHERE agent_id = $1',
          [agentRef.agentId],
        );
        return count('describe') > 0;
      });
      await handshake(agentRef, 'new boot');
      expect(count('start')).toBe(1);
    });

    it('a wake reboots a machine that is on but did not report after the previous wake', async () => {
      const agentRef = await agentAt();
      await fixture.timeOut(agentRef);
      await becomes(agentRef, 'offline');
      expect([count('start'), count('reboot')]).toEqual([1, 0]);
      await wake(agentRef);
      await waitFor('a reboot', () => count('reboot') === 1);
      await handshake(agentRef, 'new boot');
      expect([count('start'), count('reboot')]).toEqual([1, 1]);
      expect((await wakesOf(agentRef)).map(({ state }) => state)).toEqual(['timeout', 'ready']);
    });

    it('a timed-out wake becomes ready if the machine boots late, and the boot is measured', async () => {
      const agentRef = await agentAt();
      await fixture.timeOut(agentRef);
      await becomes(agentRef, 'offline');
      await fixture.db.query(
        'system',
        `UPDATE agent_wake SET requested_at = now() - interval '150 seconds' WHERE agent_id = $1`,
        [agentRef.agentId],
      );
      await handshake(agentRef, 'new boot');
      expect((await wakesOf(agentRef)).map(({ state }) => state)).toEqual(['ready']);
      const [{ bootMs }] = await fixture.db.query<any>('system', 'SELECT boot_ms FROM agent WHERE id = $1', [
        agentRef.agentId,
      ]);
      expect(Math.round(bootMs / 1000)).toBe(150);
      const failures = await fixture.db.transaction('system', (tx) => readLastWakeFailures(tx, agentRef.agentId));
      expect(failures).toMatchObject({ consecutive: 0, lastAt: null });
      expect(await eventNames(agentRef)).toEqual(['wake_requested', 'wake_timeout']);
    });

    it('a timed-out wake stays timed out if the machine boots much later, or if the silent boot reports again', async () => {
      const agentRef = await agentAt();
      await fixture.timeOut(agentRef);
      await becomes(agentRef, 'offline');
      await fixture.db.query(
        'system',
        `UPDATE agent_wake SET requested_at = now() - interval '11 minutes' WHERE agent_id = $1`,
        [agentRef.agentId],
      );
      await handshake(agentRef, 'new boot');
      const silent = await agentAt('offline');
      await fixture.timeOut(silent);
      await becomes(silent, 'offline');
      await handshake(silent, 'old boot');
      for (const each of [agentRef, silent]) {
        expect((await wakesOf(each)).map(({ state }) => state)).toEqual(['timeout']);
        expect(await fixture.db.query('system', 'SELECT boot_ms FROM agent WHERE id = $1', [each.agentId])).toEqual([
          { bootMs: null },
        ]);
      }
    });

    it('a wake does not reboot a machine on which a job may be running', async () => {
      const agentRef = await agentAt();
      await fixture.timeOut(agentRef);
      await becomes(agentRef, 'offline');
      await fixture.db.query('system', 'UPDATE agent SET current_job_id = $2 WHERE id = $1', [
        agentRef.agentId,
        newId(),
      ]);
      await wake(agentRef, { timeoutMs: 300 });
      await waitFor(
        'the end',
        async () => (await wakesOf(agentRef)).filter(({ state }) => state === 'timeout').length === 2,
      );
      expect(count('reboot')).toBe(0);
    });

    it('a wake of a stopping machine starts it after it has stopped', async () => {
      fixture.plane.state = 'running';
      const agentRef = await agentAt('stopping');
      expect((await wake(agentRef)).joined).toBe(false);
      expect(await statusOf(agentRef)).toBe('stopping');
      await fixture.machines.executeOrder(agentRef.agentId);
      await waitFor('stop and start', () => count('stop') === 1 && count('start') === 1);
      expect(fixture.plane.orders.indexOf('stop')).toBeLessThan(fixture.plane.orders.indexOf('start'));
      await handshake(agentRef, 'new boot');
      expect(await eventNames(agentRef)).toEqual(['wake_requested', 'wake_ready']);
    });

    it('a wake of an online agent is ready at once, and a wake of a terminated agent is refused', async () => {
      const on = await agentAt('online');
      await wake(on);
      expect(await wakesOf(on)).toMatchObject([{ state: 'ready' }]);
      expect(await eventNames(on)).toEqual([]);
      await expect(wake(await agentAt('terminated'))).rejects.toMatchObject({ code: 'agent_not_ready' });
    });
  });

  describe('a blocked wake', () => {
    const blocked = (agentRef: AgentRef, jobId?: string) =>
      fixture.db.transaction('system', (tx) =>
        recordWakeBlocked(tx, {
          ...agentRef,
          source: 'dispatcher',
          reason: 'auto-wake is off',
          ...(jobId ? { jobId } : {}),
        }),
      );

    it('a blocked wake is recorded once for each job, and once in ten minutes for callers without a job', async () => {
      const agentRef = await agentAt();
      const [first, second] = ['01a1fce9-0000-7000-8000-000000000001', '01a1fce9-0000-7000-8000-000000000002'];
      for (const jobId of [first, first, second, first, undefined, undefined]) await blocked(agentRef, jobId);
      expect(await eventsOf(agentRef)).toEqual(
        Array(3).fill({ event: 'wake_blocked', source: 'dispatcher', from: 'stopped', to: 'stopped' }),
      );
    });
  });

  describe('failures in a row', () => {
    it('failed wakes in a row delay the next wake by 1, 2, 4 … 30 minutes', () => {
      expect([0, 1, 2, 3, 4, 5, 6, 7, 100].map((n) => getWakeDelayMs(n) / 60_000)).toEqual([
        0, 1, 2, 4, 8, 16, 30, 30, 30,
      ]);
    });

    it('the number of failed wakes in a row is counted since the last successful wake', async () => {
      const agentRef = await agentAt();
      const past = (state: string, minutes: number) =>
        fixture.db.query(
          'system',
          `INSERT INTO agent_wake (id, organization_id, agent_id, state, source, reason, requested_at, finished_at,
             deadline)
           VALUES (gen_random_uuid(), $1, $2, $3, 'api', 'test', now() - $4 * interval '1 minute',
             now() - $4 * interval '1 minute', now())`,
          [agentRef.organizationId, agentRef.agentId, state, minutes],
        );
      await past('failed', 50);
      await past('ready', 40);
      await past('timeout', 30);
      await past('cancelled', 20);
      await past('failed', 10);
      const failures = await fixture.db.transaction('system', (tx) => readLastWakeFailures(tx, agentRef.agentId));
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
  ] as const)('a wake with %j leads to the step %s', (facts, step) => expect(decideWakeStep(facts)).toBe(step));
});
