import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { AppError } from '@muster/contracts';
import { Database, type IdempotencyKeyEntity, type Scope, type Transaction, tryLock } from '@muster/database';
import { digestOf, isUuid } from '@muster/platform';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { wasAudited } from '../audit/audit';
import type { Principal } from '../principal';
import { principalOf } from './access-guard';

/** The request that asks for a change: `Mutations` alone looks into it. */
export class MutationRequest {
  constructor(
    readonly request: FastifyRequest,
    readonly reply: FastifyReply,
  ) {}
}

export interface MutationResult<Body> {
  body: Body;
  /** Another status than the route's own. */
  status?: number;
  /** Where the thing that was made can be read. */
  location?: string;
  etag?: string;
}

export interface MutationOptions {
  /** 'system' for what crosses organizations; the caller's organization otherwise. */
  scope?: 'system';
  /** Changes that are no mutation of an organization's things and leave no audit row, with the reason. */
  unaudited?: string;
}

const keepHours = 24;

/**
 * A change that a request asks for: one transaction in the caller's organization, with the audit row that it owes
 * and, where the client sent an Idempotency-Key, with its answer, so that a repeat finds both or neither.
 */
@Injectable()
export class Mutations {
  constructor(@Inject(Database) private readonly database: Database) {}

  async run<Body>(
    { request, reply }: MutationRequest,
    work: (tx: Transaction, caller: Principal) => Promise<MutationResult<Body>>,
    options: MutationOptions = {},
  ): Promise<Body> {
    const caller = principalOf(request);
    const scope: Scope = options.scope ?? { organizationId: caller.organizationId };
    const key = idempotencyKeyOf(request);
    const result = await this.database.transaction(scope, async (tx) => {
      const stored = key ? await recall<Body>(tx, caller.organizationId, request, key) : null;
      if (stored) return { ...stored, replayed: true };
      const made = await work(tx, caller);
      if (!wasAudited(tx) && !options.unaudited) {
        throw new Error(`${request.method} ${request.routeOptions.url} changed something and left no audit row`);
      }
      const { status = reply.statusCode } = made;
      if (key) await store(tx, caller.organizationId, request, key, { ...made, status });
      return { ...made, status, replayed: false };
    });
    if (result.replayed) void reply.header('idempotency-replayed', 'true');
    void reply.status(result.status);
    if (result.location) void reply.header('location', result.location);
    if (result.etag) void reply.header('etag', result.etag);
    return result.body;
  }
}

function idempotencyKeyOf(request: FastifyRequest): string | null {
  const key = request.headers['idempotency-key'];
  if (key === undefined || request.method !== 'POST') return null;
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw new AppError('invalid_payload', { detail: 'Idempotency-Key must be 1 to 255 printable characters.' });
  }
  return key;
}

interface StoredAnswer<Body> extends Pick<IdempotencyKeyEntity, 'requestHash' | 'status' | 'location'> {
  body: Body;
}

async function recall<Body>(tx: Transaction, organizationId: string, request: FastifyRequest, key: string) {
  const route = routeOf(request);
  if (!(await tryLock(tx, 'idempotency', organizationId, route, key))) {
    throw new AppError('idempotency_key_in_flight', {
      detail: 'The first request with this Idempotency-Key is still at work; repeat this one in a moment.',
      headers: { 'retry-after': '1' },
    });
  }
  const [stored] = await tx.query<StoredAnswer<Body>>(
    `SELECT request_hash, status, location, body FROM idempotency_key
     WHERE organization_id = $1 AND route = $2 AND key = $3 AND expires_at > now()`,
    [organizationId, route, key],
  );
  if (!stored) return null;
  if (stored.requestHash !== hashOf(request)) {
    throw new AppError('idempotency_key_reused', { detail: 'This Idempotency-Key was used with another request.' });
  }
  return { body: stored.body, status: stored.status, location: stored.location ?? undefined, etag: undefined };
}

async function store(
  tx: Transaction,
  organizationId: string,
  request: FastifyRequest,
  key: string,
  { body, status, location }: MutationResult<unknown> & { status: number },
): Promise<void> {
  await tx.execute(
    `INSERT INTO idempotency_key (organization_id, route, key, request_hash, status, location, body, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, now() + $8 * interval '1 hour')
     ON CONFLICT (organization_id, route, key) DO UPDATE
     SET request_hash = excluded.request_hash, status = excluded.status, location = excluded.location,
         body = excluded.body, created_at = now(), expires_at = excluded.expires_at`,
    [
      organizationId,
      routeOf(request),
      key,
      hashOf(request),
      status,
      location ?? null,
      JSON.stringify(body ?? null),
      keepHours,
    ],
  );
}

/** The path and not its pattern: two agents' run-snippet are two routes to a client, and one agent's are one. */
function routeOf(request: FastifyRequest): string {
  const params = request.params as Record<string, string>;
  const path = request.routeOptions.url!.replaceAll(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(inOneSpelling(params[name] ?? '')),
  );
  return `${request.method} ${path}`;
}

/** The same request again is the same however its fields are ordered and its ids spelled. */
function hashOf(request: FastifyRequest): string {
  const digest = digestOf(request);
  if (digest) return digest;
  const text = JSON.stringify(request.body ?? null, (_, value: unknown) => {
    if (typeof value === 'string') return inOneSpelling(value);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
  return createHash('sha256').update(text).digest('hex');
}

function inOneSpelling(text: string): string {
  return isUuid(text) ? text.toLowerCase() : text;
}
