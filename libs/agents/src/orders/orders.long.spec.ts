// Long: waits for machines that answer late or never.
// Short: libs/agents/src/orders/wakes.spec.ts
import { waitFor } from '@muster/testing';
import { moveAgent } from '../lifecycle/move-agent';
import { useMachines } from './machines.harness';

describe('orders to machines', () => {
  const lab = useMachines();
  const { agentAt, wake, handshake, heartbeat, messages, eventNames, statusOf, wakesOf, becomes, count } = lab;

  describe('a stop', () => {
    it('stops the machine with one order', async () => {
      lab.plane.state = 'running';
      const of = await agentAt('stopping');
      await Promise.all([lab.machines.control(of.agentId), lab.machines.control(of.agentId)]);
      await becomes(of, 'stopped');
      expect(count('stop')).toBe(1);
      await lab.machines.control(of.agentId);
      expect(count('stop')).toBe(1);
    });

    it('retries a stop that the control plane refuses twice', async () => {
      lab.plane.state = 'running';
      lab.plane.behaviour = 'fails';
      lab.plane.failures = 2;
      const of = await agentAt('stopping');
      await lab.machines.control(of.agentId);
      expect(await statusOf(of)).toBe('stopping');
      await becomes(of, 'stopped');
      expect(count('stop')).toBe(3);
    });

    it.each([
      ['by hand', 'console', []],
      ['by the idle monitor', 'idle_monitor', ['idle_stop_failed']],
    ])('restores the agent’s status after three refusals of a stop %s', async (_, statusSource, events) => {
      lab.plane.state = 'running';
      lab.plane.behaviour = 'fails';
      for (const [previousStatus, drain, left] of [
        ['online', null, 'online'],
        ['draining', 'finish', 'draining'],
        ['offline', null, 'offline'],
      ] as const) {
        const before = count('stop');
        const of = await agentAt('stopping', { statusSource, previousStatus, drain });
        await lab.machines.control(of.agentId);
        await becomes(of, left);
        expect([count('stop') - before, await eventNames(of)]).toEqual([3, events]);
        const [told] = await lab.db.query<{ message: string }>(
          'system',
          `SELECT message FROM timeline_entry WHERE agent_id = $1 AND kind = 'status' ORDER BY seq DESC LIMIT 1`,
          [of.agentId],
        );
        expect(told!.message).toContain('It could not be stopped: The control plane answered the order to stop');
        // The same boot stays valid, and jobs are dispatched again.
        expect(await heartbeat(of, 'old boot', previousStatus !== 'offline')).toMatchObject({ status: left });
        expect(await messages(of, 'dispatch-agent')).toBeGreaterThan(0);
      }
    });

    it('ends a stop within its time limit if the control plane does not answer', async () => {
      lab.plane.state = 'running';
      lab.plane.behaviour = 'hangs';
      const of = await agentAt('stopping', { previousStatus: 'online', statusSince: new Date(Date.now() - 7500) });
      await lab.machines.control(of.agentId);
      await becomes(of, 'online');
    }, 60_000);

    it('does not order a stop again if another process takes it over', async () => {
      lab.plane.state = 'running';
      lab.plane.behaviour = 'lies';
      const of = await agentAt('stopping');
      await lab.machines.control(of.agentId);
      lab.plane.state = 'stopping';
      // As if the process had died after the provider's answer, before recording it.
      await lab.db.query(
        'system',
        'UPDATE agent_control SET issued_at = NULL, next_try_at = now() - make_interval(secs => 1) WHERE agent_id = $1',
        [of.agentId],
      );
      await waitFor('the record', async () => {
        const sql = 'SELECT FROM agent_control WHERE agent_id = $1 AND issued_at IS NOT NULL';
        return (await lab.db.query('system', sql, [of.agentId])).length > 0;
      });
      lab.plane.state = 'stopped';
      await becomes(of, 'stopped');
      expect(count('stop')).toBe(1);
    });

    it('does not order a stop again if the machine has stopped or is stopping', async () => {
      lab.plane.behaviour = 'lies';
      for (const state of ['stopped', 'stopping']) {
        lab.plane.state = 'running';
        const before = count('stop');
        const of = await agentAt('stopping');
        await lab.machines.control(of.agentId);
        lab.plane.state = state;
        // As if the process had died before its check, and no process had continued for longer than the repeat
        // interval.
        await lab.db.query(
          'system',
          `UPDATE agent_control SET issued_at = now() - interval '61 seconds', next_try_at = now() - make_interval(secs => 1) WHERE agent_id = $1`,
          [of.agentId],
        );
        if (state === 'stopping') await waitFor('a check', () => lab.plane.orders.at(-1) === 'describe');
        await waitFor('the next step', async () => {
          const sql = `SELECT FROM agent_control WHERE agent_id = $1 AND issued_at < now() - interval '60 seconds'`;
          return (await lab.db.query('system', sql, [of.agentId])).length === 0;
        });
        lab.plane.state = 'stopped';
        await becomes(of, 'stopped');
        expect(count('stop') - before).toBe(1);
      }
    });

    it('waits for the machine to stop if the control plane accepts the stop and does nothing', async () => {
      lab.plane.state = 'running';
      lab.plane.behaviour = 'lies';
      const of = await agentAt('stopping');
      await lab.machines.control(of.agentId);
      await waitFor('some checks', () => count('describe') > 2);
      expect([await statusOf(of), count('stop')]).toEqual(['stopping', 1]);
      lab.plane.state = 'stopped';
      await becomes(of, 'stopped');
    });

    it('finds stopping and starting agents without a message in the sweep', async () => {
      const of = await agentAt('stopping', { statusSince: new Date(Date.now() - 60_000) });
      await becomes(of, 'stopped');
      const starting = await agentAt('starting', { statusSince: new Date(Date.now() - 60_000) });
      await becomes(starting, 'offline');
    });

    it('records the success or failure of an idle stop', async () => {
      lab.plane.state = 'running';
      const of = await agentAt('stopping', { statusSource: 'idle_monitor' });
      await lab.machines.control(of.agentId);
      await becomes(of, 'stopped');
      expect(await eventNames(of)).toEqual(['idle_stop_success']);
      // A machine that could not be stopped is online if it still reports, otherwise offline.
      for (const [lastSeen, left] of [
        [new Date(), 'online'],
        [null, 'offline'],
      ] as const) {
        const broken = await agentAt('stopping', { statusSource: 'idle_monitor', provider: 'external', lastSeen });
        await lab.machines.control(broken.agentId);
        await becomes(broken, left);
        expect(await eventNames(broken)).toEqual(['idle_stop_failed']);
      }
    });
  });

  describe('a reboot', () => {
    it('starts a machine that is off', async () => {
      lab.plane.state = 'stopped';
      const of = await agentAt('rebooting', { previousStatus: 'stopped' });
      await lab.machines.control(of.agentId);
      expect(lab.plane.state).toBe('running');
      await handshake(of, 'new boot');
      expect(await statusOf(of)).toBe('online');
    });

    it('orders a reboot once, and ends it with the handshake of the new boot', async () => {
      const of = await agentAt('rebooting');
      await Promise.all([lab.machines.control(of.agentId), lab.machines.control(of.agentId)]);
      await waitFor('the order', () => count('reboot') === 1);
      await handshake(of, 'new boot');
      await lab.machines.control(of.agentId);
      expect([await statusOf(of), count('reboot')]).toEqual(['online', 1]);
    });

    it('moves the agent to offline if the machine does not report after a reboot', async () => {
      const of = await agentAt('rebooting');
      await lab.machines.control(of.agentId);
      await becomes(of, 'offline');
      expect(count('reboot')).toBe(1);
    });

    it('sets the machine’s actual status if the control plane keeps refusing a reboot', async () => {
      lab.plane.behaviour = 'fails';
      const of = await agentAt('rebooting');
      await lab.machines.control(of.agentId);
      await becomes(of, 'stopped');
    });
  });

  describe('a terminated agent', () => {
    it('removes the machine, the keys and the open wake of a terminated agent', async () => {
      const of = await agentAt();
      await wake(of);
      await lab.db.transaction('system', (tx) =>
        moveAgent(tx, { ...of, move: 'terminate', to: 'terminated', source: 'api', reason: 'test' }),
      );
      await lab.db.query(
        'system',
        `INSERT INTO api_key (id, organization_id, agent_id, name, scope, secret_hash)
         VALUES ('key' || substr(md5($2::text), 1, 10), $1, $2::uuid, 'k', 'worker', md5($2::text))`,
        [of.organizationId, of.agentId],
      );
      await lab.machines.control(of.agentId);
      await waitFor('the termination of the machine', () => lab.plane.state === 'gone');
      await waitFor('the revocation of the keys', async () => {
        return (await lab.db.query('system', 'SELECT FROM api_key WHERE agent_id = $1', [of.agentId])).length === 0;
      });
      expect((await wakesOf(of))[0]!.state).toBe('cancelled');
      await lab.machines.control(of.agentId);
      expect(await statusOf(of)).toBe('terminated');
    });
  });

  it('writes an audit row with the name of the loop for orders without a user', async () => {
    lab.plane.state = 'running';
    const of = await agentAt('stopping', { statusSource: 'idle_monitor' });
    await lab.machines.control(of.agentId);
    await becomes(of, 'stopped');
    await wake(of);
    await handshake(of, 'new boot');
    const rows = await lab.db.query<{ action: string; by: string; changes: { status: string[] } }>(
      'system',
      `SELECT action, actor_kind || ' ' || actor_id AS by, changes FROM audit_entry WHERE target_id = $1 ORDER BY id`,
      [of.agentId],
    );
    expect(rows.map(({ action, by, changes }) => [action, by, ...changes.status])).toEqual([
      ['agent.stopped', 'system idle_monitor', 'stopping', 'stopped'],
      ['agent.start', 'system dispatcher', 'stopped', 'starting'],
    ]);
  });

  it('sets a new agent’s status from its control plane’s description', async () => {
    lab.plane.state = 'running';
    const running = await agentAt('stopped', { lastSeen: null, bootId: null });
    await lab.machines.control(running.agentId);
    expect(await statusOf(running)).toBe('offline');
    lab.plane.behaviour = 'fails';
    lab.plane.state = 'nonsense';
    const unknown = await agentAt('stopped', { lastSeen: null, bootId: null });
    await lab.machines.control(unknown.agentId);
    expect(await statusOf(unknown)).toBe('stopped');
  });
});
