import { AppError } from '@muster/contracts';
import { getClientAddress } from '@muster/platform';
import type { FastifyRequest } from 'fastify';

/**
 * Maximum number of bodies that one address may be sending at the same time. It is far more than an organization's
 * people and machines send at once, because a body arrives within milliseconds.
 */
const maxBodiesOfAddress = 64;
/**
 * Seconds after which a rejected client may try again: the default request timeout, which ends connections that are
 * held open.
 */
const retryAfterSeconds = 30;

/**
 * Limits how many request bodies without verified credentials one address may be sending to this process at the same
 * time, so that slow bodies to the sign-in routes cannot use up its connections.
 */
export class UnverifiedBodies {
  private readonly sending = new Map<string, number>();

  /**
   * Counts the request until its body has arrived or its connection is closed. Throws `rate_limited` above the limit.
   */
  limitBodiesOfSender(request: FastifyRequest): void {
    if (!requestHasBody(request)) return;
    const address = getClientAddress(request);
    const count = (this.sending.get(address) ?? 0) + 1;
    if (count > maxBodiesOfAddress) {
      throw new AppError('rate_limited', {
        detail: `Your address is sending ${maxBodiesOfAddress} other request bodies at the moment; try again in ${retryAfterSeconds} s.`,
        headers: { 'retry-after': String(retryAfterSeconds) },
      });
    }
    this.sending.set(address, count);
    request.raw.once('close', () => this.releaseSender(address));
  }

  private releaseSender(address: string): void {
    const count = (this.sending.get(address) ?? 1) - 1;
    if (count > 0) this.sending.set(address, count);
    else this.sending.delete(address);
  }
}

function requestHasBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
