import type { RunErrorCode } from '@muster/contracts';
import { isObject, textOf } from '../protocol/command';

/** A bundle by its content: whatever is fetched from the address is looked at against the digest. */
export interface Bundle {
  /** SHA-256 of the zip, in hex. */
  digest: string;
  url: string;
}

/** The bundle that a command brings, null when it brings none. */
export function bundleOf(payload: Record<string, unknown>): Bundle | null {
  const { bundle } = payload;
  if (!isObject(bundle)) return null;
  const digest = textOf(bundle.digest)
    .replace(/^sha256:/, '')
    .toLowerCase();
  if (!/^[0-9a-f]{64}$/.test(digest)) throw new BundleRejected('the bundle has no sha256 digest');
  return { digest, url: textOf(bundle.url) };
}

/** It is not what it is said to be, or nothing that may be unpacked: another attempt would not change that. */
export class BundleRejected extends Error {
  readonly code = 'bundle_rejected' satisfies RunErrorCode;
}

/** It could not be had, or there is no room for it. */
export class BundleUnavailable extends Error {
  readonly code = 'bundle_unavailable' satisfies RunErrorCode;
}

/** It is right, and holds nothing that would begin a run. */
export class NothingToRun extends Error {
  readonly code = 'nothing_to_run' satisfies RunErrorCode;
}

/** A word for machines, where the error has one. */
export function codeOf(error: unknown): RunErrorCode | undefined {
  const ours = [BundleRejected, BundleUnavailable, NothingToRun].find((each) => error instanceof each);
  return ours && (error as InstanceType<typeof ours>).code;
}

export function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '');
}
