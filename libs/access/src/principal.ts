import type { ApiKeyScope, Permission, Role } from '@muster/contracts';

/** A caller with a session: a person. */
export interface UserPrincipal {
  kind: 'user';
  id: string;
  email: string;
  /** One of the four roles, or the name of an own role of the organization. */
  role: string;
  /** The permissions of an own role; absent for one of the four roles. */
  ownPermissions?: readonly Permission[];
  sessionId: string;
  /** The organization of every request: the user's own, or the one that a super_admin has switched to. */
  organizationId: string;
  organizationName: string;
  /** A suspended organization can read its data and stop its runs, but can start nothing new. */
  organizationSuspended: boolean;
  homeOrganizationId: string;
  /** When the session last proved its second factor, null if never; undefined if the account has no second factor. */
  secondFactorAt?: Date | null;
}

/** A caller with an API key: a program. */
export interface KeyPrincipal {
  kind: 'api_key';
  id: string;
  scope: ApiKeyScope;
  /** The agent that the key is bound to: the key can act only for this agent. Null if the key is not bound. */
  agentId: string | null;
  /** The role of an api key, member at most. A worker key only reports and receives commands. */
  role: Role;
  organizationId: string;
  organizationName: string;
  organizationSuspended: boolean;
}

export type Principal = UserPrincipal | KeyPrincipal;

/** The agent that a key is bound to; null for a session or a key that acts for the whole organization. */
export function getBoundAgent(principal: Principal): string | null {
  return principal.kind === 'api_key' ? principal.agentId : null;
}
