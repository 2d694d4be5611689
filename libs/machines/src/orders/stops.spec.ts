import { useMachines } from '@muster/testing';

describe('a stop', () => {
  const fixture = useMachines();
  const { agentAt, statusOf, count } = fixture;

  it('the stop of a machine fails when the control plane refuses it for the third time', async () => {
    fixture.plane.state = 'running';
    fixture.plane.behaviour = 'fails';
    const agentRef = await agentAt('stopping', { previousStatus: 'online' });
    const readAttempts = async () => [count('stop'), await statusOf(agentRef)];
    const attemptStop = async () => {
      await fixture.db.query('system', 'UPDATE agent_control SET next_try_at = muster_now() WHERE agent_id = $1', [
        agentRef.agentId,
      ]);
      await fixture.machines.executeOrder(agentRef.agentId);
      return readAttempts();
    };
    expect([await attemptStop(), await attemptStop(), await attemptStop()]).toEqual([
      [1, 'stopping'],
      [2, 'stopping'],
      [3, 'online'],
    ]);
  });
});
