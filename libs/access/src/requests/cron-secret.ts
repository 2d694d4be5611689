import { AppError } from '@muster/contracts';
import { BaseConfig, EnvText } from '@muster/platform';
import type { FastifyRequest } from 'fastify';
import { equalsInConstantTime, sha256Hex } from '../authentication/credentials';

/** Configuration of an app with routes for cron. Without a secret the routes refuse all requests. */
export class CronConfig extends BaseConfig {
  @EnvText('CRON_SECRET', {
    description:
      'Secret that authorizes requests to /api/cron/*, sent as x-cron-key or Authorization: Bearer. If absent, these ' +
      'paths refuse all requests.',
    optional: true,
    secret: true,
  })
  readonly cronSecret?: string;
}

/** Throws unless one of the two headers has the secret. The comparison takes constant time for any length. */
export function requireCronSecret({ headers }: FastifyRequest, secret: string | undefined): void {
  const sentSecret = headers['x-cron-key'] ?? /^Bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1];
  const matches = equalsInConstantTime(
    sha256Hex(typeof sentSecret === 'string' ? sentSecret : ''),
    sha256Hex(secret ?? ''),
  );
  if (!secret || !matches) {
    throw new AppError('unauthenticated', {
      detail: 'Send the cron secret as x-cron-key, or as Authorization: Bearer.',
    });
  }
}
