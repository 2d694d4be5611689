import { Inject, Injectable } from '@nestjs/common';
import { AppError } from '@muster/contracts';
import { Database, type Scope, type Transaction } from '@muster/database';
import { KeyRing } from '@muster/vault';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { hasAuditEntry } from '../audit/audit';
import type { Principal } from '../principal';
import { requirePrincipal } from './access-guard';
import { findStoredAnswer, storeAnswer } from './stored-answers';

/** The HTTP request of a change; only `Mutations` reads it. */
export class MutationRequest {
  constructor(
    readonly request: FastifyRequest,
    readonly reply: FastifyReply,
  ) {}
}

export interface MutationResult<Body> {
  body: Body;
  /** HTTP status of the response, if it differs from the route's usual one. */
  status?: number;
  /** URL of the created resource. */
  location?: string;
  etag?: string;
}

export interface MutationOptions {
  /** 'system' for a change across organizations; the caller's organization by default. */
  scope?: 'system';
  /**
   * The name under which concurrent requests of one organization may share a transaction; see
   * `Database.sharedTransaction`.
   */
  shared?: string;
  /** Why there is no audit row. Only for changes that modify no resource of an organization. */
  unaudited?: string;
}

/**
 * Runs a requested change in one transaction in the caller's organization, with the audit row that every change needs.
 * If the client sent an Idempotency-Key, the transaction also stores the response, so that a repeated request finds
 * both the change and the response, or neither.
 */
@Injectable()
export class Mutations {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
  ) {}

  async runMutation<Body>(
    { request, reply }: MutationRequest,
    work: (tx: Transaction, caller: Principal) => Promise<MutationResult<Body>>,
    options: MutationOptions = {},
  ): Promise<Body> {
    const caller = requirePrincipal(request);
    const scope: Scope = options.scope ?? { organizationId: caller.organizationId };
    const key = readIdempotencyKey(request);
    const repeatable = key ? { keyRing: this.keyRing, organizationId: caller.organizationId, request, key } : null;
    const runChange = async (tx: Transaction) => {
      const stored = repeatable ? await findStoredAnswer<Body>(tx, repeatable) : null;
      if (stored) return { ...stored, replayed: true };
      const response = await work(tx, caller);
      if (!hasAuditEntry(tx) && !options.unaudited) {
        throw new Error(`${request.method} ${request.routeOptions.url} made a change without an audit row`);
      }
      const { status = reply.statusCode } = response;
      if (repeatable) await storeAnswer(tx, repeatable, { ...response, status });
      return { ...response, status, replayed: false };
    };
    const result = await (options.shared && !repeatable
      ? this.database.sharedTransaction(options.shared, scope, runChange)
      : this.database.transaction(scope, runChange));
    if (result.replayed) void reply.header('idempotency-replayed', 'true');
    void reply.status(result.status);
    if (result.location) void reply.header('location', result.location);
    if (result.etag) void reply.header('etag', result.etag);
    return result.body;
  }
}

function readIdempotencyKey(request: FastifyRequest): string | null {
  const key = request.headers['idempotency-key'];
  if (key === undefined || request.method !== 'POST') return null;
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw new AppError('invalid_payload', { detail: 'Idempotency-Key must be 1 to 255 printable characters.' });
  }
  return key;
}
