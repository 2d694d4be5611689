import { AppError, type BundleFaultReason } from '@muster/contracts';
import { zipLimits } from './zip-limits';

export interface BundleFault {
  /** Path of the invalid entry; empty if the whole archive is invalid. */
  path: string;
  reason: BundleFaultReason;
}

const maxReported = 50;
const pathRule =
  ` A path may have at most ${zipLimits.pathBytes.toLocaleString('en-US')} bytes and ${zipLimits.segments} parts ` +
  `of at most ${zipLimits.segmentBytes} bytes each.`;

/** The faults of one bundle: the first ones in full, and the number of all. */
export class BundleFaults {
  private readonly first: BundleFault[] = [];
  private readonly keys = new Set<string>();
  private readonly paths = new Set<string>();
  private count = 0;

  get isEmpty(): boolean {
    return this.count === 0;
  }

  /** Whether the check can end early, because more than enough faults were found. */
  get isFull(): boolean {
    return this.count >= maxReported * 4;
  }

  /** Whether an error was already found for this path. */
  hasFaultAt(path: string): boolean {
    return this.paths.has(path);
  }

  addFault(path: string, reason: BundleFaultReason): void {
    const key = `${reason}\0${path}`;
    if (this.keys.has(key)) return;
    this.keys.add(key);
    this.paths.add(path);
    this.count += 1;
    if (this.first.length < maxReported) this.first.push({ path: path.slice(0, 500), reason });
  }

  throwIfAny(): void {
    if (!this.isEmpty) throw this.toError();
  }

  toError(): AppError {
    const [{ path, reason }] = this.first as [BundleFault];
    const where = path === '' ? '' : ` (${path})`;
    const others = this.count > 1 ? `, and ${this.isFull ? 'many' : this.count - 1} more` : '';
    const rule = reason === 'path_too_long' || reason === 'bad_name' ? pathRule : '';
    return new AppError('bundle_rejected', {
      detail: `The bundle was rejected: ${reason}${where}${others}.${rule} The draft has not changed.`,
      extra: { errors: this.first },
    });
  }
}

/** Returns the error for a fault after which the check cannot continue. */
export function bundleRejectedError(reason: BundleFaultReason, path = ''): AppError {
  const faults = new BundleFaults();
  faults.addFault(path, reason);
  return faults.toError();
}
