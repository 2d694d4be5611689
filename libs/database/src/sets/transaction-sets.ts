import { AsyncResource } from 'node:async_hooks';
import type { Scope } from '../transactions/scope';
import type { Transaction } from '../transactions/transaction';

export type Work = (tx: Transaction) => Promise<unknown>;

/** Result of a member of a set. With 'alone' it runs again in a transaction of its own. */
export type SetResult = { value: unknown } | { error: unknown } | 'alone';

/** Members of one set. */
const maxMembers = 32;
/** Sets of one kind that are in progress at the same time. */
const maxRunning = 4;
/** A set that takes longer probably waits for a lock; the next set starts beside it. */
const maxAgeMs = 20;

interface Member {
  work: Work;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

interface Kind {
  scope: Scope;
  waiting: Member[];
  running: number;
  newestAt: number;
  timer?: NodeJS.Timeout;
}

/**
 * Collects works of the same name and scope. A work that arrives while no set of its kind is in progress starts at
 * once, as a set of one. Those that arrive in the meantime form the next set, so nothing waits for a set to fill.
 */
export class TransactionSets {
  private readonly kinds = new Map<string, Kind>();

  constructor(
    private readonly runSet: (scope: Scope, works: Work[]) => Promise<SetResult[]>,
    private readonly runAlone: (scope: Scope, work: Work) => Promise<unknown>,
  ) {}

  run(name: string, scope: Scope, work: Work): Promise<unknown> {
    const key = `${name} ${scope === 'system' ? scope : scope.organizationId}`;
    const kind = this.kinds.get(key) ?? { scope, waiting: [], running: 0, newestAt: 0 };
    this.kinds.set(key, kind);
    // If all sets wait for locks, a transaction of its own is not held up by them.
    if (kind.running >= maxRunning) return this.runAlone(scope, work);
    return new Promise((resolve, reject) => {
      // A work keeps its caller's context, also if another caller starts the set.
      kind.waiting.push({ work: AsyncResource.bind(work), resolve, reject });
      this.startNext(key, kind);
    });
  }

  private startNext(key: string, kind: Kind): void {
    if (kind.waiting.length === 0) {
      if (kind.running === 0) this.kinds.delete(key);
      return;
    }
    const age = performance.now() - kind.newestAt;
    if (kind.running > 0 && age < maxAgeMs) {
      kind.timer ??= setTimeout(() => {
        delete kind.timer;
        this.startNext(key, kind);
      }, maxAgeMs - age);
      return;
    }
    clearTimeout(kind.timer);
    delete kind.timer;
    kind.running += 1;
    kind.newestAt = performance.now();
    const members = kind.waiting.splice(0, maxMembers);
    void this.finish(kind.scope, members).finally(() => {
      kind.running -= 1;
      this.startNext(key, kind);
    });
  }

  private async finish(scope: Scope, members: Member[]): Promise<void> {
    const results = await this.runSet(
      scope,
      members.map(({ work }) => work),
    ).catch((error: unknown) => members.map(() => ({ error })));
    for (const [at, { work, resolve, reject }] of members.entries()) {
      const result = results[at]!;
      if (result === 'alone') this.runAlone(scope, work).then(resolve, reject);
      else if ('error' in result) reject(result.error);
      else resolve(result.value);
    }
  }
}
