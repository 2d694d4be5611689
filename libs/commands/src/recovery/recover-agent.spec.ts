import { makeJob, type AgentRef, useMachines } from '@muster/testing';
import { KeyRing } from '@muster/vault';
import { decryptPayload } from '../command/sealed-payload';
import { issueAgentKey } from '@muster/machines';
import { recoverAgent } from './recover-agent';

describe('auto-recovery of an agent', () => {
  const fixture = useMachines();
  const { agentAt, heartbeat, handshake, statusOf } = fixture;

  const querySql = (text: string, values: unknown[]) => fixture.db.query<any>('system', text, values);
  const sendUnhealthyHeartbeats = async (agentRef: AgentRef, times = 3, bootId = 'old boot') => {
    for (let i = 0; i < times; i += 1) await heartbeat(agentRef, bootId, false);
  };
  /** Handles the enqueued recovery messages as the dispatcher does. */
  const handleMessages = async ({ agentId }: AgentRef) => {
    const enqueued = await querySql(
      `DELETE FROM outbox WHERE name = 'recover-agent' AND payload->>'agentId' = $1 RETURNING id`,
      [agentId],
    );
    // Two handlers run concurrently and must make only one attempt.
    const parts = { database: fixture.db, keyRing: fixture.harness.app.nest.get(KeyRing) };
    if (enqueued.length) await Promise.all([recoverAgent(parts, agentId), recoverAgent(parts, agentId)]);
    return enqueued.length;
  };
  const readRecoveryAttempts = ({ agentId }: AgentRef) =>
    querySql('SELECT step, outcome FROM agent_recovery WHERE agent_id = $1 ORDER BY attempted_at', [agentId]);
  const readCommands = ({ agentId }: AgentRef) =>
    querySql('SELECT kind, payload FROM agent_command WHERE agent_id = $1 ORDER BY created_at', [agentId]);
  const recoveryMessages = async ({ agentId }: AgentRef) =>
    (
      await querySql(
        `SELECT message FROM timeline_entry
         WHERE agent_id = $1 AND kind = 'provisioning' AND data->>'step' IS NOT NULL ORDER BY seq`,
        [agentId],
      )
    ).map(({ message }: { message: string }) => message);

  it('auto-recovery tries each step in order, with a timeline entry, until one helps', async () => {
    fixture.plane.state = 'running';
    const agentRef = await agentAt('online', {
      tunnelUrl: 'https://a1.example.com',
      unreachableTunnel: 'https://a1.example.com',
    });
    await sendUnhealthyHeartbeats(agentRef, 2);
    expect(await handleMessages(agentRef)).toBe(0);
    await sendUnhealthyHeartbeats(agentRef, 1);
    await handleMessages(agentRef);
    expect(await statusOf(agentRef)).toBe('offline');
    const [row] = await querySql('SELECT public_tunnel_url, unreachable_tunnel FROM agent WHERE id = $1', [
      agentRef.agentId,
    ]);
    expect(row).toEqual({ publicTunnelUrl: 'https://a1.example.com', unreachableTunnel: null });
    for (let round = 0; round < 2; round += 1) {
      await sendUnhealthyHeartbeats(agentRef);
      await handleMessages(agentRef);
    }
    const [repair, restart] = await readCommands(agentRef);
    expect([repair.kind, restart.kind]).toEqual(['repair', 'restart']);
    const { apiKey } = decryptPayload(fixture.harness.app.nest.get(KeyRing), agentRef.agentId, repair.payload) as {
      apiKey: string;
    };
    expect(apiKey).toMatch(/^msk_/);
    await sendUnhealthyHeartbeats(agentRef);
    await handleMessages(agentRef);
    expect(await statusOf(agentRef)).toBe('rebooting');
    expect(await fixture.messages(agentRef, 'control-agent')).toBe(1);
    await handshake(agentRef, 'new boot');
    await heartbeat(agentRef, 'new boot');
    expect(await readRecoveryAttempts(agentRef)).toEqual([
      { step: 'resync', outcome: 'failed' },
      { step: 'repair', outcome: 'failed' },
      { step: 'restart', outcome: 'failed' },
      { step: 'reboot', outcome: 'helped' },
    ]);
    expect(await recoveryMessages(agentRef)).toEqual([
      'Auto-recovery: re-sync of tunnel and commands: unhealthy 3 times in a row',
      'Auto-recovery: repair of its credentials: unhealthy 3 times in a row after re-sync of tunnel and commands, which did not help',
      'Auto-recovery: restart of the worker: unhealthy 3 times in a row after repair of its credentials, which did not help',
      'Auto-recovery: reboot of the machine: unhealthy 3 times in a row after restart of the worker, which did not help',
      'Auto-recovery: healthy again after reboot of the machine',
    ]);
    const audited = await querySql(
      `SELECT action, actor_kind || ' ' || actor_id AS by FROM audit_entry
       WHERE target_id = $1 AND actor_id = 'auto_recovery' ORDER BY id`,
      [agentRef.agentId],
    );
    expect(audited.map(({ action }: { action: string }) => action)).toEqual([
      ...Array(4).fill('agent.recover'),
      'agent.reboot',
    ]);
    // After six more unhealthy checks, steps that were tried recently are not tried again.
    await sendUnhealthyHeartbeats(agentRef, 6, 'new boot');
    await handleMessages(agentRef);
    expect(await readRecoveryAttempts(agentRef)).toHaveLength(4);
  });

  it('auto-recovery stops once a repair, which sends the machine its existing key, has helped', async () => {
    const agentRef = await agentAt('online');
    const keyRing = fixture.harness.app.nest.get(KeyRing);
    const actor = { kind: 'system', id: 'test', organizationId: agentRef.organizationId } as const;
    const own = await fixture.db.transaction('system', (tx) =>
      issueAgentKey(tx, keyRing, actor, { ...agentRef, name: 'a' }),
    );
    for (let round = 0; round < 2; round += 1) {
      await sendUnhealthyHeartbeats(agentRef);
      await handleMessages(agentRef);
    }
    const [{ payload }] = await readCommands(agentRef);
    expect(decryptPayload(keyRing, agentRef.agentId, payload)).toEqual({ apiKey: own });
    await heartbeat(agentRef, 'old boot');
    expect(await statusOf(agentRef)).toBe('online');
    expect((await readRecoveryAttempts(agentRef)).at(-1)).toEqual({ step: 'repair', outcome: 'helped' });
    await sendUnhealthyHeartbeats(agentRef, 2);
    expect(await handleMessages(agentRef)).toBe(0);
    // A later recovery of the agent does not change the outcomes of this one.
    await querySql("UPDATE agent_recovery SET attempted_at = attempted_at - interval '2 days' WHERE agent_id = $1", [
      agentRef.agentId,
    ]);
    await sendUnhealthyHeartbeats(agentRef, 1);
    expect(await handleMessages(agentRef)).toBe(1);
    expect(await readRecoveryAttempts(agentRef)).toEqual([
      { step: 'resync', outcome: 'failed' },
      { step: 'repair', outcome: 'helped' },
      { step: 'resync', outcome: 'tried' },
    ]);
  });

  it('auto-recovery waits while a run on the machine still reports', async () => {
    const agentRef = await agentAt('online');
    const job = await makeJob(fixture.db, { ...agentRef, status: 'running', lastHeartbeatAt: new Date() });
    await sendUnhealthyHeartbeats(agentRef);
    await handleMessages(agentRef);
    expect([await readRecoveryAttempts(agentRef), await readCommands(agentRef)]).toEqual([[], []]);
    await querySql(
      `UPDATE job SET started_at = now() - interval '1 hour', last_heartbeat_at = now() - interval '3 minutes'
               WHERE id = $1`,
      [job.id],
    );
    await sendUnhealthyHeartbeats(agentRef);
    await handleMessages(agentRef);
    expect(await readRecoveryAttempts(agentRef)).toEqual([{ step: 'resync', outcome: 'tried' }]);
  });
});
