import { isUtf8 } from 'node:buffer';
import type { BundleFaultReason } from '@muster/contracts';
import { zipLimits } from './zip-limits';

export type EntryPath =
  { path: string; isFolder: boolean; fault?: undefined } | { path: string; fault: BundleFaultReason };

/** Returns the path of an entry, or the fault that forbids unpacking a file of that name. */
export function decodeEntryPath(name: Buffer, declaresUtf8: boolean): EntryPath {
  const decoded = name.toString('utf8');
  if (!isUtf8(name) || (!declaresUtf8 && name.some((byte) => byte > 0x7f))) return { path: decoded, fault: 'bad_name' };
  const isFolder = decoded.endsWith('/');
  const path = isFolder ? decoded.slice(0, -1) : decoded;
  const fault = checkEntryPath(path);
  return fault ? { path: decoded, fault } : { path, isFolder };
}

/**
 * Checks the path as any operating system would read it: on some, a backslash or a drive letter leads out of the
 * folder.
 */
function checkEntryPath(path: string): BundleFaultReason | null {
  if (/^[/\\]/.test(path) || /^[A-Za-z]:/.test(path)) return 'absolute_path';
  const segments = path.split('/');
  if (path.split(/[/\\]/).includes('..')) return 'parent_path';
  // eslint-disable-next-line no-control-regex -- these characters are forbidden in names
  if (/[\u0000-\u001f\u007f-\u009f\\]/.test(path) || path !== path.normalize('NFC')) return 'bad_name';
  if (Buffer.byteLength(path) > zipLimits.pathBytes || segments.length > zipLimits.segments) return 'path_too_long';
  const isForbiddenSegment = (segment: string) =>
    segment === '' || segment === '.' || Buffer.byteLength(segment) > zipLimits.segmentBytes;
  return segments.some(isForbiddenSegment) ? 'bad_name' : null;
}
