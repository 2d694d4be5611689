import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { Inject, Injectable } from '@nestjs/common';
import { hash, verify } from '@node-rs/argon2';
import { AppError, invalidField } from '@muster/contracts';
import { Metrics } from '@muster/platform';
import { passwordFault } from '../users/password-rules';
import { SignInConfig } from './sign-in.config';
import { WaitingLines } from './waiting-lines';

const lines = ['known', 'stranger', 'change'] as const;

/** Who asks: an address that the account knows, any other one, or an admin who sets a password. */
export type PasswordLine = (typeof lines)[number];

/** Passwords are slow to hash on purpose, so a process hashes a few at a time, and looks up the accounts of a few. */
@Injectable()
export class Passwords {
  private readonly hashing: WaitingLines<PasswordLine>;
  private readonly lookingUp: WaitingLines<'all'>;
  private nobody?: Promise<string>;

  constructor(
    @Inject(SignInConfig) { signInConcurrency }: SignInConfig,
    @Inject(Metrics) private readonly metrics: Metrics,
  ) {
    const waitingInLine = signInConcurrency * 8;
    // With every processor at passwords, nobody would be left to answer.
    const atOnce = Math.min(signInConcurrency, Math.max(1, availableParallelism() - 1));
    this.hashing = new WaitingLines({ lines, atOnce, waitingInLine }, () => this.refusal());
    // Quick, so that its line can be long; and never all of the database's connections.
    this.lookingUp = new WaitingLines({ lines: ['all'], atOnce: 2, waitingInLine: 200 }, () => this.refusal());
  }

  /** Of a new password; throws invalid_payload for one that is guessed first. */
  async hash(password: string, { email, field = 'password' }: { email: string; field?: string }): Promise<string> {
    const fault = passwordFault(password, email);
    if (fault) throw invalidField(field, `${field} ${fault}`, `The password ${fault}.`);
    return this.hashing.run('change', () => hash(password));
  }

  /** For what has to be known of an account before its password is looked at. */
  lookUp<T>(work: () => Promise<T>): Promise<T> {
    return this.lookingUp.run('all', work);
  }

  /** Takes as long for an account that does not exist, so that an answer's time tells nothing. */
  check(password: string, passwordHash: string | undefined, line: PasswordLine): Promise<boolean> {
    return this.hashing.run(line, async () => {
      this.nobody ??= hash(randomBytes(16).toString('hex'));
      const matches = await verify(passwordHash ?? (await this.nobody), password).catch(() => false);
      return matches && passwordHash !== undefined;
    });
  }

  private refusal(): AppError {
    this.metrics.rateLimited.inc({ policy: 'passwords' });
    return new AppError('rate_limited', {
      detail: 'Too many passwords are being looked at; try again in a moment.',
      headers: { 'retry-after': '1' },
    });
  }
}
