import { isIP } from 'node:net';
import { BaseConfig, EnvInt, EnvList, isLoopback } from '@muster/platform';

/** Configuration of sign-in, for the app that serves it. */
export class SignInConfig extends BaseConfig {
  @EnvInt('SIGN_IN_CONCURRENCY', {
    description:
      'Maximum number of passwords that one process hashes at the same time. At least one CPU core is left free if ' +
      'the machine has several. Sign-ins from known addresses, other sign-ins and password changes wait in three ' +
      'separate lines. Each line has room for eight times as many requests as this value; further requests get 429.',
    default: 4,
    min: 1,
    max: 64,
  })
  readonly signInConcurrency!: number;

  @EnvInt('RESET_LINK_MS', {
    description: 'Milliseconds for which a link to replace a forgotten password is valid.',
    default: 1_800_000,
    min: 1000,
  })
  readonly resetLinkMs!: number;

  @EnvInt('DEVICE_CODE_MS', {
    description: 'Milliseconds for which the codes of a program that signs in from a browser are valid.',
    default: 600_000,
    min: 1000,
  })
  readonly deviceCodeMs!: number;

  @EnvInt('RATE_LIMIT_FAILED_LOGINS_PER_MINUTE', {
    description:
      'Maximum number of failed sign-ins per minute for one account or one address, over all replicas. Sign-ins ' +
      'from an address that was used for the account in the last 30 days have a separate limit of the same size.',
    default: 20,
    min: 1,
  })
  readonly rateLimitFailedLoginsPerMinute!: number;

  @EnvList('DOMAIN_PROOF_DNS_SERVERS', {
    description:
      'Addresses of the DNS servers that are asked for the TXT records that prove email domains, each with an optional ' +
      'port. The servers of the machine by default. Set public servers if those of the machine answer differently.',
    default: [],
    check: (words) =>
      words
        .filter((word) => !isServerAddress(word))
        .map((word) => `DOMAIN_PROOF_DNS_SERVERS: ${word} is not an IP address with an optional port`),
  })
  readonly domainProofDnsServers!: string[];

  /** Whether PUBLIC_APP_URL names a host that is not this machine. */
  get hasPublicAddress(): boolean {
    return this.publicAppUrl !== undefined && !isLoopback(new URL(this.publicAppUrl).hostname);
  }
}

function isServerAddress(word: string): boolean {
  const [, bracketed] = /^\[(.+)\](?::\d{1,5})?$/.exec(word) ?? [];
  return isIP(bracketed ?? word) !== 0 || isIP(word.replace(/:\d{1,5}$/, '')) === 4;
}
