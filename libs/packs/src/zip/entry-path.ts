import { isUtf8 } from 'node:buffer';
import type { BundleFaultReason } from '@muster/contracts';
import { zipLimits } from './zip-limits';

export type EntryPath =
  { path: string; isFolder: boolean; fault?: undefined } | { path: string; fault: BundleFaultReason };

/** What an entry is called, or why nobody may be asked to unpack something of that name. */
export function readEntryPath(name: Buffer, saysUtf8: boolean): EntryPath {
  const shown = name.toString('utf8');
  if (!isUtf8(name) || (!saysUtf8 && name.some((byte) => byte > 0x7f))) return { path: shown, fault: 'bad_name' };
  const isFolder = shown.endsWith('/');
  const path = isFolder ? shown.slice(0, -1) : shown;
  const fault = faultOfPath(path);
  return fault ? { path: shown, fault } : { path, isFolder };
}

/** As a machine of any kind would take it: a backslash and a drive's letter lead out of a folder on some. */
function faultOfPath(path: string): BundleFaultReason | null {
  if (/^[/\\]/.test(path) || /^[A-Za-z]:/.test(path)) return 'absolute_path';
  const segments = path.split('/');
  if (path.split(/[/\\]/).includes('..')) return 'parent_path';
  // eslint-disable-next-line no-control-regex -- these are what no name may have
  if (/[\u0000-\u001f\u007f-\u009f\\]/.test(path) || path !== path.normalize('NFC')) return 'bad_name';
  if (Buffer.byteLength(path) > zipLimits.pathBytes || segments.length > zipLimits.segments) return 'path_too_long';
  const isBad = (segment: string) =>
    segment === '' || segment === '.' || Buffer.byteLength(segment) > zipLimits.segmentBytes;
  return segments.some(isBad) ? 'bad_name' : null;
}
