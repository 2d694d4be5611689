import type { EntityManager } from 'typeorm';
import type { OwnConnection, TransactionConnection } from '../transactions/own-connection';
import { RunAlone } from '../transactions/run-alone';
import type { Answer, Statement } from '../transactions/statement-batch';
import { mergeStatements, splitAnswersByCaller } from './merge-statements';

interface Waiting {
  statements: readonly Statement[];
  resolve: (answers: Answer[]) => void;
  reject: (error: unknown) => void;
}

/**
 * Matches the text of a statement that changes rows. Row locks do not match, because the locks of a refused member do
 * no harm.
 */
const mayWrite = /\b(INSERT|DELETE|MERGE|(?<!\bFOR\s)(?<!\bNO KEY\s)UPDATE)\b/i;

/**
 * Sends the statements of several members through one connection. It waits until every member that is still working
 * has statements to send, or until the event loop's next turn, and sends them in one round trip.
 */
export class SharedConnection {
  /** Whether a statement has failed, so that nothing can be committed any more. */
  hasFailed = false;
  private working = 0;
  private waiting: Waiting[] = [];
  private sending = false;
  private readonly claims = new Map<string, number>();
  private timer?: NodeJS.Immediate;

  constructor(private readonly connection: OwnConnection) {}

  addMember(): Membership {
    this.working += 1;
    return new Membership(this);
  }

  removeMember(): void {
    this.working -= 1;
    this.scheduleSend();
  }

  sendStatements(statements: readonly Statement[]): Promise<Answer[]> {
    if (this.hasFailed) return Promise.reject(new RunAlone());
    return new Promise((resolve, reject) => {
      this.waiting.push({ statements, resolve, reject });
      this.scheduleSend();
    });
  }

  /** Commits what all members have left to write. Returns each member's answers. */
  async commitAll(last: readonly (readonly Statement[])[], options: { unflushed: boolean }): Promise<Answer[][]> {
    const { statements, places } = mergeStatements(last);
    return splitAnswersByCaller(await this.connection.commit(statements, options), places);
  }

  private scheduleSend(): void {
    if (this.sending || this.waiting.length === 0) return;
    if (this.waiting.length >= this.working) void this.sendWaitingStatements();
    else this.timer ??= setImmediate(() => void this.sendWaitingStatements());
  }

  private async sendWaitingStatements(): Promise<void> {
    clearImmediate(this.timer);
    delete this.timer;
    if (this.sending || this.waiting.length === 0) return;
    const sent = this.waiting.splice(0);
    const { statements, places } = mergeStatements(sent.map((each) => each.statements));
    this.sending = true;
    try {
      const answers = splitAnswersByCaller(await this.connection.sendStatements(statements), places);
      for (const [at, { resolve }] of sent.entries()) resolve(answers[at]!);
    } catch {
      // The failed statement of one member ends the transaction of all members. The faulty work fails again when it
      // runs alone, with its own error.
      this.hasFailed = true;
      for (const { reject } of [...sent, ...this.waiting.splice(0)]) reject(new RunAlone());
    } finally {
      this.sending = false;
    }
    this.scheduleSend();
  }

  countEarlierClaims(key: string): number {
    const earlier = this.claims.get(key) ?? 0;
    this.claims.set(key, earlier + 1);
    return earlier;
  }

  get hasBegun(): boolean {
    return this.connection.hasBegun;
  }
}

/** The connection as one member of a set uses it. */
export class Membership implements TransactionConnection {
  readonly isShared = true;
  /** Whether the member has sent a statement whose changes would be committed even if the member's work is refused. */
  hasWritten = false;

  constructor(private readonly shared: SharedConnection) {}

  get hasBegun(): boolean {
    return this.shared.hasBegun;
  }

  sendStatements(statements: readonly Statement[]): Promise<Answer[]> {
    this.hasWritten ||= statements.some(({ text }) => mayWrite.test(text));
    return this.shared.sendStatements(statements);
  }

  countEarlierClaims(key: string): number {
    return this.shared.countEarlierClaims(key);
  }

  leaveTransaction(): void {
    this.shared.removeMember();
  }

  entityManager(): EntityManager {
    throw new RunAlone();
  }
}
