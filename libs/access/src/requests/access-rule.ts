import { AppError, hasRole, type Role } from '@muster/contracts';
import type { Principal } from '../principal';

/** Who may call a route. `anyone` needs no credentials; `cron` needs the deployment's cron secret and nothing else. */
export type AccessRule =
  | 'anyone'
  | 'cron'
  | {
      sessions: Role | null;
      keys: readonly ('api' | 'worker')[];
      /** A signature over the body, which the handler verifies, is enough; what is sent beside it has to be right too. */
      signed?: true;
    };

export const anyone: AccessRule = 'anyone';

/** Who holds CRON_SECRET: an operator's crontab. It is nobody in particular, so there is no principal. */
export const cron: AccessRule = 'cron';

/** People with at least this role; a key gets 403. */
export function sessionsOf(role: Role): AccessRule {
  return { sessions: role, keys: [] };
}

/** People with at least this role, and api keys, which have a member's rights. */
export function sessionsAndKeysOf(role: Role): AccessRule {
  return { sessions: role, keys: ['api'] };
}

/** Machines. */
export const workers: AccessRule = { sessions: null, keys: ['worker'] };

/** Machines, people with at least this role, and api keys. */
export function workersAndSessionsOf(role: Role): AccessRule {
  return { sessions: role, keys: ['worker', 'api'] };
}

/** Machines, and whoever holds the organization's signing secret. */
export const signers: AccessRule = { sessions: null, keys: ['worker'], signed: true };

/** Throws unless the rule lets the principal in. */
export function admit(rule: AccessRule, principal: Principal): void {
  if (rule === 'anyone') return;
  if (rule === 'cron') throw denied('This needs the cron secret.');
  if (principal.kind === 'api_key') {
    if (!rule.keys.includes(principal.scope)) {
      const needed = rule.keys.length ? `a key of scope ${rule.keys.join(' or ')}` : 'a signed-in person';
      throw denied(`This needs ${needed}.`);
    }
    if (principal.scope === 'worker') return;
  } else if (rule.sessions === null) {
    throw denied(`This needs a key of scope ${rule.keys.join(' or ')}.`);
  }
  const needed = rule.sessions;
  if (needed && !hasRole(principal.role, needed)) throw denied(`This needs the role ${needed}.`);
}

/** For what a suspended organization may not begin: throws billing_gate_closed, as the gate in front of a run does. */
export function requireUnsuspended({ organizationSuspended }: Principal): void {
  if (!organizationSuspended) return;
  throw new AppError('billing_gate_closed', {
    detail: 'The organization is suspended: what it has can be read and stopped, and nothing new begins.',
  });
}

const steppedUpMs = 15 * 60_000;

/** For acts that an open session does not suffice for, of whoever has a second factor. */
export function requireRecentFactor(principal: Principal, now: Date): void {
  if (principal.kind !== 'user' || principal.secondFactorAt === undefined) return;
  if (principal.secondFactorAt && now.getTime() - principal.secondFactorAt.getTime() <= steppedUpMs) return;
  throw new AppError('step_up_required', {
    detail: 'This needs a code of your second factor that is no older than 15 minutes.',
  });
}

function denied(detail: string): AppError {
  return new AppError('permission_denied', { detail });
}
