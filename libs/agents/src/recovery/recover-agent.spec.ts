import { makeJob } from '@muster/testing';
import { KeyRing } from '@muster/vault';
import { openPayload } from '../commands/sealed-payload';
import { type AgentOf, useMachines } from '../orders/machines.harness';
import { issueAgentKey } from '../agent-keys';

describe('auto-recovery of an agent', () => {
  const lab = useMachines();
  const { agentAt, heartbeat, handshake, statusOf } = lab;

  const sql = (text: string, values: unknown[]) => lab.db.query<any>('system', text, values);
  const unhealthy = async (of: AgentOf, times = 3, bootId = 'old boot') => {
    for (let i = 0; i < times; i += 1) await heartbeat(of, bootId, false);
  };
  /** Handles the enqueued messages like the dispatcher. */
  const keyRing = async ({ agentId }: AgentOf) => {
    const enqueued = await sql(
      `DELETE FROM outbox WHERE name = 'recover-agent' AND payload->>'agentId' = $1 RETURNING id`,
      [agentId],
    );
    // Two concurrent handlers make one attempt.
    if (enqueued.length) await Promise.all([lab.machines.recover(agentId), lab.machines.recover(agentId)]);
    return enqueued.length;
  };
  const attempts = ({ agentId }: AgentOf) =>
    sql('SELECT step, outcome FROM agent_recovery WHERE agent_id = $1 ORDER BY attempted_at', [agentId]);
  const commands = ({ agentId }: AgentOf) =>
    sql('SELECT kind, payload FROM agent_command WHERE agent_id = $1 ORDER BY created_at', [agentId]);
  const told = async ({ agentId }: AgentOf) =>
    (
      await sql(
        `SELECT message FROM timeline_entry
         WHERE agent_id = $1 AND kind = 'provisioning' AND data->>'step' IS NOT NULL ORDER BY seq`,
        [agentId],
      )
    ).map(({ message }: { message: string }) => message);

  it('tries each step in order, with a timeline entry, until one helps', async () => {
    lab.plane.state = 'running';
    const of = await agentAt('online', {
      tunnelUrl: 'https://a1.example.com',
      unreachableTunnel: 'https://a1.example.com',
    });
    await unhealthy(of, 2);
    expect(await keyRing(of)).toBe(0);
    await unhealthy(of, 1);
    await keyRing(of);
    expect(await statusOf(of)).toBe('offline');
    const [row] = await sql('SELECT public_tunnel_url, unreachable_tunnel FROM agent WHERE id = $1', [of.agentId]);
    expect(row).toEqual({ publicTunnelUrl: 'https://a1.example.com', unreachableTunnel: null });
    for (let round = 0; round < 2; round += 1) {
      await unhealthy(of);
      await keyRing(of);
    }
    const [repair, restart] = await commands(of);
    expect([repair.kind, restart.kind]).toEqual(['repair', 'restart']);
    const { apiKey } = openPayload(lab.harness.app.nest.get(KeyRing), of.agentId, repair.payload) as { apiKey: string };
    expect(apiKey).toMatch(/^msk_/);
    await unhealthy(of);
    await keyRing(of);
    expect(await statusOf(of)).toBe('rebooting');
    expect(await lab.messages(of, 'control-agent')).toBe(1);
    await handshake(of, 'new boot');
    await heartbeat(of, 'new boot');
    expect(await attempts(of)).toEqual([
      { step: 'resync', outcome: 'failed' },
      { step: 'repair', outcome: 'failed' },
      { step: 'restart', outcome: 'failed' },
      { step: 'reboot', outcome: 'helped' },
    ]);
    expect(await told(of)).toEqual([
      'Auto-recovery: re-sync of tunnel and commands: unhealthy 3 times in a row',
      'Auto-recovery: repair of its credentials: unhealthy 3 times in a row after re-sync of tunnel and commands, which did not help',
      'Auto-recovery: restart of the worker: unhealthy 3 times in a row after repair of its credentials, which did not help',
      'Auto-recovery: reboot of the machine: unhealthy 3 times in a row after restart of the worker, which did not help',
      'Auto-recovery: healthy again after reboot of the machine',
    ]);
    const audited = await sql(
      `SELECT action, actor_kind || ' ' || actor_id AS by FROM audit_entry
       WHERE target_id = $1 AND actor_id = 'auto_recovery' ORDER BY id`,
      [of.agentId],
    );
    expect(audited.map(({ action }: { action: string }) => action)).toEqual([
      ...Array(4).fill('agent.recover'),
      'agent.reboot',
    ]);
    // Six more unhealthy checks right after: recent steps are not tried again.
    await unhealthy(of, 6, 'new boot');
    await keyRing(of);
    expect(await attempts(of)).toHaveLength(4);
  });

  it('stops at the first step that helps, and sends the machine its existing key', async () => {
    const of = await agentAt('online');
    const ring0 = lab.harness.app.nest.get(KeyRing);
    const actor = { kind: 'system', id: 'test', organizationId: of.organizationId } as const;
    const own = await lab.db.transaction('system', (tx) => issueAgentKey(tx, ring0, actor, { ...of, name: 'a' }));
    for (let round = 0; round < 2; round += 1) {
      await unhealthy(of);
      await keyRing(of);
    }
    const [{ payload }] = await commands(of);
    expect(openPayload(ring0, of.agentId, payload)).toEqual({ apiKey: own });
    await heartbeat(of, 'old boot');
    expect(await statusOf(of)).toBe('online');
    expect((await attempts(of)).at(-1)).toEqual({ step: 'repair', outcome: 'helped' });
    await unhealthy(of, 2);
    expect(await keyRing(of)).toBe(0);
  });

  it('waits while a run on the machine still reports', async () => {
    const of = await agentAt('online');
    const job = await makeJob(lab.db, { ...of, status: 'running', lastHeartbeatAt: new Date() });
    await unhealthy(of);
    await keyRing(of);
    expect([await attempts(of), await commands(of)]).toEqual([[], []]);
    await sql(
      `UPDATE job SET started_at = now() - interval '1 hour', last_heartbeat_at = now() - interval '3 minutes'
               WHERE id = $1`,
      [job.id],
    );
    await unhealthy(of);
    await keyRing(of);
    expect(await attempts(of)).toEqual([{ step: 'resync', outcome: 'tried' }]);
  });
});
