import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { Inject, Injectable } from '@nestjs/common';
import { hash, verify } from '@node-rs/argon2';
import { AppError, invalidFieldError } from '@muster/contracts';
import { Metrics } from '@muster/platform';
import { checkPasswordRules } from '../users/password-rules';
import { SignInConfig } from './sign-in.config';
import { WaitingLines } from './waiting-lines';

const lines = ['known', 'other', 'change'] as const;

/** The kind of a request: a sign-in from an address that the account knows, any other sign-in, or a new password. */
export type PasswordLine = (typeof lines)[number];

/**
 * Hashes and checks passwords. Hashing is slow on purpose, so a process hashes only a few passwords at the same time.
 */
@Injectable()
export class Passwords {
  private readonly hashing: WaitingLines<PasswordLine>;
  private readonly lookingUp: WaitingLines<'all'>;
  private dummyHash?: Promise<string>;

  constructor(
    @Inject(SignInConfig) { signInConcurrency }: SignInConfig,
    @Inject(Metrics) private readonly metrics: Metrics,
  ) {
    const waitingInLine = signInConcurrency * 8;
    // One processor core is not used for hashing, so that other requests are still served.
    const concurrency = Math.min(signInConcurrency, Math.max(1, availableParallelism() - 1));
    this.hashing = new WaitingLines({ lines, concurrency, waitingInLine }, () => this.tooManyChecksError());
    // Lookups are fast, so their line can be long. Only two run at once, so that they never use all database
    // connections.
    this.lookingUp = new WaitingLines({ lines: ['all'], concurrency: 2, waitingInLine: 200 }, () =>
      this.tooManyChecksError(),
    );
  }

  /** Hashes a new password; throws invalid_payload if it breaks the password rules. */
  async hashNewPassword(
    password: string,
    { email, field = 'password' }: { email: string; field?: string },
  ): Promise<string> {
    const fault = checkPasswordRules(password, email);
    if (fault) throw invalidFieldError(field, `${field} ${fault}`, `The password ${fault}.`);
    return this.hashing.runInLine('change', () => hash(password));
  }

  /** Runs a query that reads the account of a sign-in. Only a few of these queries run at the same time. */
  runAccountLookup<T>(work: () => Promise<T>): Promise<T> {
    return this.lookingUp.runInLine('all', work);
  }

  /**
   * Returns whether the password is right. Takes the same time if the account does not exist, so that the response time
   * reveals nothing.
   */
  checkPassword(password: string, passwordHash: string | undefined, line: PasswordLine): Promise<boolean> {
    return this.hashing.runInLine(line, async () => {
      this.dummyHash ??= hash(randomBytes(16).toString('hex'));
      const matches = await verify(passwordHash ?? (await this.dummyHash), password).catch(() => false);
      return matches && passwordHash !== undefined;
    });
  }

  private tooManyChecksError(): AppError {
    this.metrics.rateLimited.inc({ policy: 'passwords' });
    return new AppError('rate_limited', {
      detail: 'Too many passwords are being checked; try again in a moment.',
      headers: { 'retry-after': '1' },
    });
  }
}
