import type { RunErrorCode } from '@muster/contracts';
import { isObject, toStringOrEmpty } from '../protocol/command';

/** A bundle of files for runs. The digest identifies the bundle, and the bytes from the URL are verified against it. */
export interface Bundle {
  /** SHA-256 of the zip, in hex. */
  digest: string;
  url: string;
}

/** Returns the bundle of a command, or null if it has none. */
export function parseBundle(payload: Record<string, unknown>): Bundle | null {
  const { bundle } = payload;
  if (!isObject(bundle)) return null;
  const digest = toStringOrEmpty(bundle.digest)
    .replace(/^sha256:/, '')
    .toLowerCase();
  if (!/^[0-9a-f]{64}$/.test(digest)) throw new BundleRejected('the bundle has no sha256 digest');
  return { digest, url: toStringOrEmpty(bundle.url) };
}

/** The bundle does not match its digest or must not be unpacked. Another attempt would not change that. */
export class BundleRejected extends Error {
  readonly code = 'bundle_rejected' satisfies RunErrorCode;
}

/** The bundle could not be downloaded, or there is no room for it. */
export class BundleUnavailable extends Error {
  readonly code = 'bundle_unavailable' satisfies RunErrorCode;
}

/** The bundle is valid, but contains nothing that a run could start. */
export class NothingToRun extends Error {
  readonly code = 'nothing_to_run' satisfies RunErrorCode;
}

/** Returns the code of the error, if it has one. */
export function getRunErrorCode(error: unknown): RunErrorCode | undefined {
  const coded = [BundleRejected, BundleUnavailable, NothingToRun].find((each) => error instanceof each);
  return coded && (error as InstanceType<typeof coded>).code;
}

/** Whether the operating system refused a path because of its length. */
export function isPathTooLongError(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENAMETOOLONG';
}

export function isDiskFullError(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '');
}
