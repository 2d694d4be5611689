import { AppError, type BundleFaultReason } from '@muster/contracts';

export interface BundleFault {
  /** Empty where it is the archive as a whole. */
  path: string;
  reason: BundleFaultReason;
}

const shown = 50;

/** What is wrong with one bundle: told up to a number, and counted beyond it. */
export class BundleFaults {
  private readonly first: BundleFault[] = [];
  private readonly known = new Set<string>();
  private readonly paths = new Set<string>();
  private count = 0;

  get none(): boolean {
    return this.count === 0;
  }

  /** Nothing more is worth a look. */
  get full(): boolean {
    return this.count >= shown * 4;
  }

  /** Whether something is wrong with this path already. */
  has(path: string): boolean {
    return this.paths.has(path);
  }

  add(path: string, reason: BundleFaultReason): void {
    const key = `${reason}\0${path}`;
    if (this.known.has(key)) return;
    this.known.add(key);
    this.paths.add(path);
    this.count += 1;
    if (this.first.length < shown) this.first.push({ path: path.slice(0, 500), reason });
  }

  throwIfAny(): void {
    if (!this.none) throw this.error();
  }

  error(): AppError {
    const [{ path, reason }] = this.first as [BundleFault];
    const where = path === '' ? '' : ` (${path})`;
    const others = this.count > 1 ? `, and ${this.full ? 'many' : this.count - 1} more` : '';
    return new AppError('bundle_rejected', {
      detail: `The bundle cannot be taken: ${reason}${where}${others}. The draft is what it was.`,
      extra: { errors: this.first },
    });
  }
}

/** For what ends the reading at once. */
export function rejected(reason: BundleFaultReason, path = ''): AppError {
  const faults = new BundleFaults();
  faults.add(path, reason);
  return faults.error();
}
