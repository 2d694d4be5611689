import type { ApiKeyScope, Role } from '@muster/contracts';

/** A person with a session. */
export interface UserPrincipal {
  kind: 'user';
  id: string;
  email: string;
  role: Role;
  sessionId: string;
  /** The organization that every request is about: the own one, or a super_admin's override. */
  organizationId: string;
  organizationName: string;
  /** It reads, and what it has may be stopped; nothing new begins. */
  organizationSuspended: boolean;
  homeOrganizationId: string;
  /** When the session last proved its second factor; undefined for an account that has none. */
  secondFactorAt?: Date | null;
}

/** A program with a key. */
export interface KeyPrincipal {
  kind: 'api_key';
  id: string;
  scope: ApiKeyScope;
  /** A key that is bound to an agent acts for it alone. */
  agentId: string | null;
  /** What an api key may do, a member's rights at most; a worker key reports and takes commands. */
  role: Role;
  organizationId: string;
  organizationName: string;
  organizationSuspended: boolean;
}

export type Principal = UserPrincipal | KeyPrincipal;

/** The agent that a key is bound to; null for a session or a key that acts for the whole organization. */
export function boundAgentOf(principal: Principal): string | null {
  return principal.kind === 'api_key' ? principal.agentId : null;
}
