import { createHmac } from 'node:crypto';
import type { KeyRing } from '@muster/vault';

interface AgentRef {
  organizationId: string;
  agentId: string;
}

/** An organization's signing secrets, the active one first. They are derived, so nothing is stored that could leak. */
export function deriveSigningSecrets(keyRing: KeyRing, organizationId: string): string[] {
  return keyRing.deriveKeys('signing-secret', organizationId).map(formatSigningSecret);
}

/**
 * The signing secrets of one agent, the active one first, derived from its organization's. A worker whose key is bound
 * to an agent gets one of these, so that it can sign for this agent's jobs and for no other's.
 */
export function deriveAgentSigningSecrets(keyRing: KeyRing, { organizationId, agentId }: AgentRef): string[] {
  return deriveSigningSecrets(keyRing, organizationId).map((secret) =>
    formatSigningSecret(createHmac('sha256', secret).update(`agent ${agentId}`).digest()),
  );
}

/**
 * Every secret that may have signed for an agent. A command that is pushed is signed with all of them, because the
 * service does not know whether the worker's key is bound to its agent.
 */
export function listSecretsForAgent(keyRing: KeyRing, agent: AgentRef): string[] {
  return [...deriveSigningSecrets(keyRing, agent.organizationId), ...deriveAgentSigningSecrets(keyRing, agent)];
}

function formatSigningSecret(secret: Buffer): string {
  return `mss_${secret.toString('base64url')}`;
}
