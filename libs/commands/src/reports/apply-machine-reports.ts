import type { AgentStatus, HandshakeBody, HeartbeatAnswer, HeartbeatBody } from '@muster/contracts';
import type { Database, Transaction } from '@muster/database';
import { failRecordingsOfOldBoot } from '../ends/apply-recording-result';
import { type OnReachable, recordHandshake, recordHeartbeat } from '@muster/machines';
import { resumeWorkOfAgent } from '../delivery/resume-work';

/** Processes the handshake of a booted machine, and resumes its work. Returns the agent's status. */
export function applyHandshake(
  tx: Transaction,
  organizationId: string,
  body: HandshakeBody,
  /** The address from which the request came, and the base URL at which it reached the service. */
  origin: { from?: string; serviceUrl?: string } = {},
): Promise<{ status: AgentStatus }> {
  return recordHandshake(tx, organizationId, body, origin, resumeReachableAgent);
}

/** Processes a heartbeat, and resumes the work of an agent that is reachable again. */
export function applyHeartbeat(
  database: Database,
  organizationId: string,
  body: HeartbeatBody,
  now: Date,
  /** The address from which the heartbeat came. */
  from?: string,
): Promise<HeartbeatAnswer> {
  return recordHeartbeat(database, organizationId, body, { now, from, onReachable: resumeReachableAgent });
}

const resumeReachableAgent: OnReachable = async (tx, agentRef, { sameBoot }) => {
  await resumeWorkOfAgent(tx, agentRef);
  if (!sameBoot) failRecordingsOfOldBoot(tx, agentRef);
};
