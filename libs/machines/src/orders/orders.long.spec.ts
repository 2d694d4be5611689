// This test is long because it waits for machines that answer late or never.
// A short test of the same code: libs/machines/src/orders/wakes.spec.ts
import { waitFor, useMachines } from '@muster/testing';
import { setAgentStatus } from '../life/set-agent-status';

describe('orders to machines', () => {
  const fixture = useMachines();
  const { agentAt, wake, handshake, heartbeat, messages, eventNames, statusOf, wakesOf, becomes, count } = fixture;

  describe('a stop', () => {
    it('concurrent workers stop a machine with one order', async () => {
      fixture.plane.state = 'running';
      const agentRef = await agentAt('stopping');
      await Promise.all([
        fixture.machines.executeOrder(agentRef.agentId),
        fixture.machines.executeOrder(agentRef.agentId),
      ]);
      await becomes(agentRef, 'stopped');
      expect(count('stop')).toBe(1);
      await fixture.machines.executeOrder(agentRef.agentId);
      expect(count('stop')).toBe(1);
    });

    it('the stop of a machine that the control plane refuses twice is retried', async () => {
      fixture.plane.state = 'running';
      fixture.plane.behaviour = 'fails';
      fixture.plane.failures = 2;
      const agentRef = await agentAt('stopping');
      await fixture.machines.executeOrder(agentRef.agentId);
      expect(await statusOf(agentRef)).toBe('stopping');
      await becomes(agentRef, 'stopped');
      expect(count('stop')).toBe(3);
    });

    it.each([
      ['by hand', 'console', []],
      ['by the idle monitor', 'idle_monitor', ['idle_stop_failed']],
    ])('an agent gets its status back if a stop %s is refused three times', async (_, statusSource, events) => {
      fixture.plane.state = 'running';
      fixture.plane.behaviour = 'fails';
      for (const [previousStatus, drain, left] of [
        ['online', null, 'online'],
        ['draining', 'finish', 'draining'],
        ['offline', null, 'offline'],
      ] as const) {
        const before = count('stop');
        const agentRef = await agentAt('stopping', { statusSource, previousStatus, drain });
        await fixture.machines.executeOrder(agentRef.agentId);
        await becomes(agentRef, left);
        expect([count('stop') - before, await eventNames(agentRef)]).toEqual([3, events]);
        const [entry] = await fixture.db.query<{ message: string }>(
          'system',
          `SELECT message FROM timeline_entry WHERE agent_id = $1 AND kind = 'status' ORDER BY seq DESC LIMIT 1`,
          [agentRef.agentId],
        );
        expect(entry!.message).toContain('It could not be stopped: The control plane answered the order to stop');
        // The boot that is still running stays valid, and jobs are dispatched again.
        expect(await heartbeat(agentRef, 'old boot', previousStatus !== 'offline')).toMatchObject({ status: left });
        expect(await messages(agentRef, 'dispatch-agent')).toBeGreaterThan(0);
      }
    });

    it('the stop of a machine ends within its time limit if the control plane does not answer', async () => {
      fixture.plane.state = 'running';
      fixture.plane.behaviour = 'hangs';
      const agentRef = await agentAt('stopping', {
        previousStatus: 'online',
        statusSince: new Date(Date.now() - 7500),
      });
      await fixture.machines.executeOrder(agentRef.agentId);
      await becomes(agentRef, 'online');
    }, 60_000);

    it('the stop of a machine is not ordered again if another process takes it over', async () => {
      fixture.plane.state = 'running';
      fixture.plane.behaviour = 'lies';
      const agentRef = await agentAt('stopping');
      await fixture.machines.executeOrder(agentRef.agentId);
      fixture.plane.state = 'stopping';
      // Simulates that the process died after the provider's answer and before it recorded the answer.
      await fixture.db.query(
        'system',
        'UPDATE agent_control SET issued_at = NULL, next_try_at = now() - make_interval(secs => 1) WHERE agent_id = $1',
        [agentRef.agentId],
      );
      await waitFor('the record', async () => {
        const sql = 'SELECT FROM agent_control WHERE agent_id = $1 AND issued_at IS NOT NULL';
        return (await fixture.db.query('system', sql, [agentRef.agentId])).length > 0;
      });
      fixture.plane.state = 'stopped';
      await becomes(agentRef, 'stopped');
      expect(count('stop')).toBe(1);
    });

    it('the stop of a machine is not ordered again if the machine has stopped or is stopping', async () => {
      fixture.plane.behaviour = 'lies';
      for (const state of ['stopped', 'stopping']) {
        fixture.plane.state = 'running';
        const before = count('stop');
        const agentRef = await agentAt('stopping');
        await fixture.machines.executeOrder(agentRef.agentId);
        fixture.plane.state = state;
        // Simulates that the process died before its check, and that no process continued for longer than the repeat
        // interval.
        await fixture.db.query(
          'system',
          `UPDATE agent_control SET issued_at = now() - interval '61 seconds', next_try_at = now() - make_interval(secs => 1) WHERE agent_id = $1`,
          [agentRef.agentId],
        );
        if (state === 'stopping') await waitFor('a check', () => fixture.plane.orders.at(-1) === 'describe');
        await waitFor('the next step', async () => {
          const sql = `SELECT FROM agent_control WHERE agent_id = $1 AND issued_at < now() - interval '60 seconds'`;
          return (await fixture.db.query('system', sql, [agentRef.agentId])).length === 0;
        });
        fixture.plane.state = 'stopped';
        await becomes(agentRef, 'stopped');
        expect(count('stop') - before).toBe(1);
      }
    });

    it('a stop order waits for the machine if the control plane accepts the order and does nothing', async () => {
      fixture.plane.state = 'running';
      fixture.plane.behaviour = 'lies';
      const agentRef = await agentAt('stopping');
      await fixture.machines.executeOrder(agentRef.agentId);
      await waitFor('some checks', () => count('describe') > 2);
      expect([await statusOf(agentRef), count('stop')]).toEqual(['stopping', 1]);
      fixture.plane.state = 'stopped';
      await becomes(agentRef, 'stopped');
    });

    it('the machine sweep processes stopping and starting agents that have no queue message', async () => {
      const agentRef = await agentAt('stopping', { statusSince: new Date(Date.now() - 60_000) });
      await becomes(agentRef, 'stopped');
      const starting = await agentAt('starting', { statusSince: new Date(Date.now() - 60_000) });
      await becomes(starting, 'offline');
    });

    it('the success or failure of an idle stop is recorded', async () => {
      fixture.plane.state = 'running';
      const agentRef = await agentAt('stopping', { statusSource: 'idle_monitor' });
      await fixture.machines.executeOrder(agentRef.agentId);
      await becomes(agentRef, 'stopped');
      expect(await eventNames(agentRef)).toEqual(['idle_stop_success']);
      // An agent whose machine could not be stopped is online if it still reports, otherwise offline.
      for (const [lastSeen, left] of [
        [new Date(), 'online'],
        [null, 'offline'],
      ] as const) {
        const broken = await agentAt('stopping', { statusSource: 'idle_monitor', provider: 'external', lastSeen });
        await fixture.machines.executeOrder(broken.agentId);
        await becomes(broken, left);
        expect(await eventNames(broken)).toEqual(['idle_stop_failed']);
      }
    });
  });

  describe('a reboot', () => {
    it('the reboot of a machine that is off starts the machine', async () => {
      fixture.plane.state = 'stopped';
      const agentRef = await agentAt('rebooting', { previousStatus: 'stopped' });
      await fixture.machines.executeOrder(agentRef.agentId);
      expect(fixture.plane.state).toBe('running');
      await handshake(agentRef, 'new boot');
      expect(await statusOf(agentRef)).toBe('online');
    });

    it('the reboot of a machine is ordered once, and ends with the handshake of the new boot', async () => {
      const agentRef = await agentAt('rebooting');
      await Promise.all([
        fixture.machines.executeOrder(agentRef.agentId),
        fixture.machines.executeOrder(agentRef.agentId),
      ]);
      await waitFor('the order', () => count('reboot') === 1);
      await handshake(agentRef, 'new boot');
      await fixture.machines.executeOrder(agentRef.agentId);
      expect([await statusOf(agentRef), count('reboot')]).toEqual(['online', 1]);
    });

    it('an agent whose machine does not report after a reboot is moved to offline', async () => {
      const agentRef = await agentAt('rebooting');
      await fixture.machines.executeOrder(agentRef.agentId);
      await becomes(agentRef, 'offline');
      expect(count('reboot')).toBe(1);
    });

    it('an agent gets its machine’s actual status if the control plane keeps refusing a reboot', async () => {
      fixture.plane.behaviour = 'fails';
      const agentRef = await agentAt('rebooting');
      await fixture.machines.executeOrder(agentRef.agentId);
      await becomes(agentRef, 'stopped');
    });
  });

  describe('a terminated agent', () => {
    it('the termination of an agent removes its machine and its keys, and cancels its open wake', async () => {
      const agentRef = await agentAt();
      await wake(agentRef);
      await fixture.db.transaction('system', (tx) =>
        setAgentStatus(tx, { ...agentRef, move: 'terminate', to: 'terminated', source: 'api', reason: 'test' }),
      );
      await fixture.db.query(
        'system',
        `INSERT INTO api_key (id, organization_id, agent_id, name, scope, secret_hash)
         VALUES ('key' || substr(md5($2::text), 1, 10), $1, $2::uuid, 'k', 'worker', md5($2::text))`,
        [agentRef.organizationId, agentRef.agentId],
      );
      await fixture.machines.executeOrder(agentRef.agentId);
      await waitFor('the termination of the machine', () => fixture.plane.state === 'gone');
      await waitFor('the revocation of the keys', async () => {
        return (
          (await fixture.db.query('system', 'SELECT FROM api_key WHERE agent_id = $1', [agentRef.agentId])).length === 0
        );
      });
      expect((await wakesOf(agentRef))[0]!.state).toBe('cancelled');
      await fixture.machines.executeOrder(agentRef.agentId);
      expect(await statusOf(agentRef)).toBe('terminated');
    });
  });

  it('the audit row of an order that no user requested has the name of the loop that requested it', async () => {
    fixture.plane.state = 'running';
    const agentRef = await agentAt('stopping', { statusSource: 'idle_monitor' });
    await fixture.machines.executeOrder(agentRef.agentId);
    await becomes(agentRef, 'stopped');
    await wake(agentRef);
    await handshake(agentRef, 'new boot');
    const rows = await fixture.db.query<{ action: string; by: string; changes: { status: string[] } }>(
      'system',
      `SELECT action, actor_kind || ' ' || actor_id AS by, changes FROM audit_entry WHERE target_id = $1 ORDER BY id`,
      [agentRef.agentId],
    );
    expect(rows.map(({ action, by, changes }) => [action, by, ...changes.status])).toEqual([
      ['agent.stopped', 'system idle_monitor', 'stopping', 'stopped'],
      ['agent.start', 'system dispatcher', 'stopped', 'starting'],
    ]);
  });

  it('a new agent gets its status from its control plane’s description', async () => {
    fixture.plane.state = 'running';
    const running = await agentAt('stopped', { lastSeen: null, bootId: null });
    await fixture.machines.executeOrder(running.agentId);
    expect(await statusOf(running)).toBe('offline');
    fixture.plane.behaviour = 'fails';
    fixture.plane.state = 'nonsense';
    const unknown = await agentAt('stopped', { lastSeen: null, bootId: null });
    await fixture.machines.executeOrder(unknown.agentId);
    expect(await statusOf(unknown)).toBe('stopped');
  });
});
