import { BaseConfig, EnvInt } from '@muster/platform';

/** For the app where people sign in. */
export class SignInConfig extends BaseConfig {
  @EnvInt('SIGN_IN_CONCURRENCY', {
    description:
      'Passwords that one process hashes at a time, at most; one processor is left to the rest where there are several. ' +
      'Eight times as many wait, and what is over gets 429.',
    default: 4,
    min: 1,
    max: 64,
  })
  readonly signInConcurrency!: number;

  @EnvInt('RATE_LIMIT_FAILED_LOGINS_PER_MINUTE', {
    description:
      'Failed sign-ins of one account or one address in a minute, over all replicas. An address that has signed in to ' +
      'an account within 30 days has as many of its own there.',
    default: 20,
    min: 1,
  })
  readonly rateLimitFailedLoginsPerMinute!: number;
}
