import type { Scope } from '../transactions/scope';

/** Result of a member of a set. With 'alone', the member runs again in a separate transaction. */
export type SetResult = { value: unknown } | { error: unknown } | 'alone';

/** Maximum number of members of one set. */
const maxMembers = 32;
/** Maximum number of sets of one kind that are in progress at the same time. */
const maxRunning = 4;
/** Milliseconds after which a set probably waits for a lock, so that the next set starts before this one has ended. */
const maxAgeMs = 20;

interface Member<Work> {
  work: Work;
  key: string;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

interface Kind<Work> {
  scope: Scope;
  waiting: Member<Work>[];
  running: number;
  newestAt: number;
  timer?: NodeJS.Timeout;
}

/**
 * Collects works of the same name and scope. A work that arrives while no set of its kind is in progress starts at
 * once, as a set of one. Those that arrive in the meantime form the next set, so nothing waits for a set to fill.
 */
export class Sets<Work> {
  private readonly kinds = new Map<string, Kind<Work>>();

  constructor(
    private readonly runSet: (scope: Scope, works: Work[]) => Promise<SetResult[]>,
    private readonly runAlone: (scope: Scope, work: Work) => Promise<unknown>,
  ) {}

  /** Members of a set run in the order of their keys, so that two sets lock the same rows in the same order. */
  runInSet(name: string, scope: Scope, work: Work, key = ''): Promise<unknown> {
    const kindKey = `${name} ${scope === 'system' ? scope : scope.organizationId}`;
    const kind = this.kinds.get(kindKey) ?? { scope, waiting: [], running: 0, newestAt: 0 };
    this.kinds.set(kindKey, kind);
    // If all sets wait for locks, a separate transaction is not delayed by them.
    if (kind.running >= maxRunning) return this.runAlone(scope, work);
    return new Promise((resolve, reject) => {
      kind.waiting.push({ work, key, resolve, reject });
      this.startNextSet(kindKey, kind);
    });
  }

  private startNextSet(kindKey: string, kind: Kind<Work>): void {
    if (kind.waiting.length === 0) {
      if (kind.running === 0) this.kinds.delete(kindKey);
      return;
    }
    const age = performance.now() - kind.newestAt;
    if (kind.running > 0 && age < maxAgeMs) {
      kind.timer ??= setTimeout(() => {
        delete kind.timer;
        this.startNextSet(kindKey, kind);
      }, maxAgeMs - age);
      return;
    }
    clearTimeout(kind.timer);
    delete kind.timer;
    kind.running += 1;
    kind.newestAt = performance.now();
    const members = this.takeSetMembers(kind).sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
    void this.finishMembers(kind.scope, members).finally(() => {
      kind.running -= 1;
      this.startNextSet(kindKey, kind);
    });
  }

  /** Takes the next members, oldest first. A set has one member of each key. */
  private takeSetMembers(kind: Kind<Work>): Member<Work>[] {
    const keys = new Set<string>();
    const members: Member<Work>[] = [];
    kind.waiting = kind.waiting.filter((member) => {
      const { key } = member;
      if (members.length === maxMembers || (key !== '' && keys.has(key))) return true;
      keys.add(key);
      members.push(member);
      return false;
    });
    return members;
  }

  private async finishMembers(scope: Scope, members: Member<Work>[]): Promise<void> {
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
