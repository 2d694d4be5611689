import type { AgentCommand, CommandKind, CommandResultBody } from '@muster/contracts';
import type { Fields } from './service';

export type Kind = CommandKind;

/** All kinds of the contract. A kind that is missing here, or missing in the contract, does not compile. */
const kinds: Record<Kind, true> = {
  run: true,
  snippet: true,
  function: true,
  builder: true,
  script: true,
  imaging_images: true,
  imaging_composite: true,
  stop_job: true,
  start_recording: true,
  attach_recording: true,
  stop_recording: true,
  deploy_extension: true,
  autopilot_open: true,
  autopilot_look: true,
  autopilot_attempt: true,
  autopilot_close: true,
  repair: true,
  restart: true,
  files: true,
  answer: true,
};

export interface Command extends Omit<AgentCommand, 'jobId' | 'deadline'> {
  jobId: NonNullable<AgentCommand['jobId']> | null;
  /** Milliseconds since 1970, by this machine's clock. */
  deadline: number | null;
}

/**
 * Difference below which two clocks count as equal: the service's time is in whole seconds, and the message takes time.
 */
const sameClockMs = 2000;

/**
 * Returns how many milliseconds this machine's clock is ahead of the service's clock; 0 if the clocks agree or the
 * service's time is unknown.
 */
export function computeClockAheadMs(serviceMs: number | null, now: number): number {
  const aheadMs = serviceMs === null ? 0 : now - serviceMs;
  return Math.abs(aheadMs) > sameClockMs ? aheadMs : 0;
}

export type Result = { [Name in keyof CommandResultBody]: NonNullable<CommandResultBody[Name]> };

/** Pattern of a valid id; ids are used as file names. */
const id = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;

/**
 * Returns the command, or a description of what is wrong with it. The service sets the deadline by its own clock, so
 * the deadline is moved by the difference of the clocks. Otherwise a machine whose clock is 90 s ahead would refuse a
 * snippet with a deadline in 30 s.
 */
export function parseCommand(body: unknown, agentId: string, aheadMs: number): Command | string {
  if (!isObject(body)) return 'the command must be an object';
  const fields: Fields<AgentCommand> = body;
  const { commandId, kind, deadline, organizationId } = fields;
  // A field that is null is treated as absent.
  const [jobId, env, payload] = [fields.jobId ?? null, fields.env ?? {}, fields.payload ?? {}];
  if (typeof commandId !== 'string' || !id.test(commandId)) return 'commandId must be an id';
  if (typeof kind !== 'string' || !Object.hasOwn(kinds, kind))
    return 'this worker does not know the kind of the command; upgrade the worker';
  if (fields.agentId !== agentId) return 'the command is for another agent';
  if (jobId !== null && (typeof jobId !== 'string' || !id.test(jobId))) return 'jobId must be an id';
  if (kind === 'run' && jobId === null) return 'a command of the kind run requires jobId';
  if (!isObject(env)) return 'env must be an object';
  if (!isObject(payload)) return 'payload must be an object';
  const time = typeof deadline === 'string' ? Date.parse(deadline) : NaN;
  return {
    commandId,
    kind: kind as Kind,
    agentId,
    organizationId: typeof organizationId === 'string' ? organizationId : '',
    jobId,
    deadline: Number.isNaN(time) ? null : time + aheadMs,
    env: Object.fromEntries(
      Object.entries(env)
        .filter(
          ([name, value]) =>
            value !== null && value !== undefined && !name.includes('=') && !`${name}${String(value)}`.includes('\0'),
        )
        .map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
    ),
    payload,
  };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function toStringOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function toPositiveNumberOrNull(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : null;
}
