import { AppError, getLowestRole, hasPermission, type Permission, type Role } from '@muster/contracts';
import type { BaseConfig } from '@muster/platform';
import type { Principal } from '../principal';

/**
 * The callers of a route. `anyone` needs no credentials; `cron` needs the deployment's cron secret and nothing else;
 * `scim` needs the SCIM token of an organization.
 */
export type AccessRule =
  | 'anyone'
  | 'cron'
  | 'scim'
  | {
      /** The permission that people and API keys need; null if people cannot call the route. */
      sessions: Permission | typeof signedIn | null;
      keys: readonly ('api' | 'worker')[];
      /**
       * A signature over the body is enough; the handler verifies it. Other credentials of the request must be valid
       * too.
       */
      signed?: true;
      /** Instead of credentials, the body may have the ticket of a sign-in; the handler verifies it. */
      ticket?: true;
    };

/** In place of a permission: everybody who is signed in is admitted. */
export const signedIn = 'signed_in';

export const anyone: AccessRule = 'anyone';

/** Admits only a client with CRON_SECRET, such as an operator's crontab. The request has no principal. */
export const cron: AccessRule = 'cron';

/** Admits only the identity provider of an organization. The request has no principal, but a SCIM client. */
export const scim: AccessRule = 'scim';

/** Admits people with this permission. A key gets 403. */
export function allowSessions(permission: Permission | typeof signedIn): AccessRule {
  return { sessions: permission, keys: [] };
}

/** Admits everybody who is signed in, and those whose sign-in has issued a ticket. */
export const signedInOrTicket: AccessRule = { sessions: signedIn, keys: [], ticket: true };

/** Admits people with this permission, and API keys whose role has it. */
export function allowSessionsAndKeys(permission: Permission | typeof signedIn): AccessRule {
  return { sessions: permission, keys: ['api'] };
}

/** Admits only workers. */
export const workers: AccessRule = { sessions: null, keys: ['worker'] };

/** Admits workers, people with this permission, and API keys whose role has it. */
export function allowWorkersAndSessions(permission: Permission): AccessRule {
  return { sessions: permission, keys: ['worker', 'api'] };
}

/** Admits workers, and clients that sign with the organization's signing secret. */
export const signers: AccessRule = { sessions: null, keys: ['worker'], signed: true };

/** Throws unless the rule admits the principal. */
export function requireAccess(rule: AccessRule, principal: Principal): void {
  if (rule === 'anyone') return;
  if (rule === 'cron')
    throw permissionDeniedError('This operation requires the cron secret (CRON_SECRET). Send it as x-cron-key.');
  if (rule === 'scim') throw permissionDeniedError('This operation requires the SCIM token of an organization.');
  if (principal.kind === 'api_key') {
    if (!rule.keys.includes(principal.scope)) {
      const needed = rule.keys.length ? `a key of scope ${rule.keys.join(' or ')}` : 'a signed-in person';
      throw permissionDeniedError(`This operation requires ${needed}.`);
    }
    if (principal.scope === 'worker') return;
  } else if (rule.sessions === null) {
    throw permissionDeniedError(
      `This operation requires an API key of the scope ${rule.keys.join(' or ')}. Use such a key.`,
    );
  }
  const needed = rule.sessions;
  if (needed && needed !== signedIn && !hasPermission(principal, needed))
    throw permissionDeniedError(
      `This operation requires the permission ${needed}. Ask an admin of the organization for it.`,
    );
}

/** Returns the permission that a route needs; null if it needs none. Routes of workers need a worker key's. */
export function getNeededPermission(rule: AccessRule): Permission | null {
  if (typeof rule === 'string' || rule.sessions === signedIn) return null;
  if (rule.sessions === null && rule.keys.includes('worker')) return 'work.report';
  return rule.sessions;
}

/** Describes the rule for the OpenAPI document, where `sessions` is the lowest of the four roles that is admitted. */
export function describeAccessRule(rule: AccessRule): unknown {
  if (typeof rule === 'string') return rule;
  const { sessions } = rule;
  const role: Role | null = sessions === null ? null : sessions === signedIn ? 'viewer' : getLowestRole(sessions);
  return { ...rule, sessions: role };
}

/** Throws billing_gate_closed for a suspended organization, as the billing gate of a run does. */
export function requireUnsuspended({ organizationSuspended }: Pick<Principal, 'organizationSuspended'>): void {
  if (!organizationSuspended) return;
  throw new AppError('billing_gate_closed', {
    detail:
      'The organization is suspended: its data can be read and its runs can be stopped, but nothing can be started. ' +
      'Ask the operator of the service to resume it.',
  });
}

/** Throws step_up_required if the user has a second factor and has not proved it recently. */
export function requireRecentFactor(
  principal: Principal,
  { now, stepUpAfterMs }: { now: Date } & Pick<BaseConfig, 'stepUpAfterMs'>,
): void {
  if (principal.kind !== 'user' || principal.secondFactorAt === undefined) return;
  if (principal.secondFactorAt && now.getTime() - principal.secondFactorAt.getTime() <= stepUpAfterMs) return;
  throw new AppError('step_up_required', {
    detail:
      'This operation requires a second factor that you confirmed recently. Confirm it again, then repeat the request.',
  });
}

function permissionDeniedError(detail: string): AppError {
  return new AppError('permission_denied', { detail });
}
