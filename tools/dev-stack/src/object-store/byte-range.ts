import { S3Error } from './errors';

export interface ByteRange {
  start: number;
  end: number;
}

/**
 * Parses the Range header. Undefined means the whole object: as RFC 9110 allows, S3 ignores a header that is not one
 * single range.
 */
export function readByteRange(header: string | undefined, size: number): ByteRange | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  const throwUnsatisfiable = () => new S3Error('InvalidRange', { RangeRequested: header, ActualObjectSize: `${size}` });
  if (first === '') {
    const suffix = Number(last);
    if (suffix === 0 || size === 0) throw throwUnsatisfiable();
    return { start: Math.max(0, size - suffix), end: size - 1 };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return undefined;
  if (start >= size) throw throwUnsatisfiable();
  return { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
}
