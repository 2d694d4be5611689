import { waitFor } from '@muster/testing';
import { moveAgent } from './move-agent';
import { useMachines } from './machines.harness';

describe('orders to machines', () => {
  const lab = useMachines();
  const { agentAt, wake, handshake, eventNames, statusOf, wakesOf, becomes, count } = lab;

  describe('a stop', () => {
    it('is over when the machine has stopped, and told once', async () => {
      lab.plane.state = 'running';
      const of = await agentAt('stopping');
      await Promise.all([lab.machines.control(of.agentId), lab.machines.control(of.agentId)]);
      await becomes(of, 'stopped');
      expect(count('stop')).toBe(1);
      await lab.machines.control(of.agentId);
      expect(count('stop')).toBe(1);
    });

    it('goes on until a control plane that fails has done it', async () => {
      lab.plane.state = 'running';
      lab.plane.behaviour = 'fails';
      const of = await agentAt('stopping');
      await lab.machines.control(of.agentId);
      expect(await statusOf(of)).toBe('stopping');
      lab.plane.behaviour = 'well';
      await becomes(of, 'stopped');
    });

    it('is not given a second time by whoever takes over from one that died with it', async () => {
      lab.plane.state = 'running';
      lab.plane.behaviour = 'lies';
      const of = await agentAt('stopping');
      await lab.machines.control(of.agentId);
      lab.plane.state = 'stopping';
      // As if the process had died between the provider's answer and its note of it.
      await lab.db.query(
        'system',
        'UPDATE agent_control SET issued_at = NULL, next_try_at = now() WHERE agent_id = $1',
        [of.agentId],
      );
      await waitFor('the note', async () => {
        const sql = 'SELECT FROM agent_control WHERE agent_id = $1 AND issued_at IS NOT NULL';
        return (await lab.db.query('system', sql, [of.agentId])).length > 0;
      });
      lab.plane.state = 'stopped';
      await becomes(of, 'stopped');
      expect(count('stop')).toBe(1);
    });

    it('does not believe a control plane that says yes and does nothing', async () => {
      lab.plane.state = 'running';
      lab.plane.behaviour = 'lies';
      const of = await agentAt('stopping');
      await lab.machines.control(of.agentId);
      await waitFor('some looks', () => count('describe') > 2);
      expect([await statusOf(of), count('stop')]).toEqual(['stopping', 1]);
      lab.plane.state = 'stopped';
      await becomes(of, 'stopped');
    });

    it('that nobody was told of is found by the sweep', async () => {
      const of = await agentAt('stopping', { statusSince: new Date(Date.now() - 60_000) });
      await becomes(of, 'stopped');
      const starting = await agentAt('starting', { statusSince: new Date(Date.now() - 60_000) });
      await becomes(starting, 'offline');
    });

    it('by the idle monitor is told as its success or failure', async () => {
      lab.plane.state = 'running';
      const of = await agentAt('stopping', { statusSource: 'idle_monitor' });
      await lab.machines.control(of.agentId);
      await becomes(of, 'stopped');
      expect(await eventNames(of)).toEqual(['idle_stop_success']);
      // One that could not be stopped is as it was: on where it still reports, and else nobody knows.
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
    it('is ordered once, and over with the handshake of the new boot', async () => {
      const of = await agentAt('rebooting');
      await Promise.all([lab.machines.control(of.agentId), lab.machines.control(of.agentId)]);
      await waitFor('the order', () => count('reboot') === 1);
      await handshake(of, 'new boot');
      await lab.machines.control(of.agentId);
      expect([await statusOf(of), count('reboot')]).toEqual(['online', 1]);
    });

    it('from which the machine does not come back leaves the agent offline', async () => {
      const of = await agentAt('rebooting');
      await lab.machines.control(of.agentId);
      await becomes(of, 'offline');
      expect(count('reboot')).toBe(1);
    });

    it('that its control plane keeps refusing leaves the agent as its machine is', async () => {
      lab.plane.behaviour = 'fails';
      const of = await agentAt('rebooting');
      await lab.machines.control(of.agentId);
      await becomes(of, 'stopped');
    });
  });

  describe('a terminated agent', () => {
    it('has no machine, no keys and no open wake any more', async () => {
      const of = await agentAt();
      await wake(of);
      await lab.db.transaction('system', (tx) =>
        moveAgent(tx, { ...of, from: ['starting'], to: 'terminated', source: 'api', reason: 'test' }),
      );
      await lab.db.query(
        'system',
        `INSERT INTO api_key (id, organization_id, agent_id, name, scope, secret_hash)
         VALUES ('key' || substr(md5($2::text), 1, 10), $1, $2::uuid, 'k', 'worker', md5($2::text))`,
        [of.organizationId, of.agentId],
      );
      await lab.machines.control(of.agentId);
      await waitFor('the end of its machine', () => lab.plane.state === 'gone');
      await waitFor('the end of its keys', async () => {
        return (await lab.db.query('system', 'SELECT FROM api_key WHERE agent_id = $1', [of.agentId])).length === 0;
      });
      expect((await wakesOf(of))[0]!.state).toBe('cancelled');
      await lab.machines.control(of.agentId);
      expect(await statusOf(of)).toBe('terminated');
    });
  });

  it('a new agent begins as its control plane describes its machine', async () => {
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
