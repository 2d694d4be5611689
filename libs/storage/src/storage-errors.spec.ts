import { isStorageFullError, readStorageError } from './storage-errors';

const answered = (httpStatusCode?: number, name = 'Error') =>
  Object.assign(new Error(name), { name, $metadata: { httpStatusCode } });

describe('an error of the object storage', () => {
  it.each<[string, unknown, RegExp | null]>([
    ['no answer', answered(), /does not answer/],
    ['status 500', answered(500), /does not answer/],
    ['status 503', answered(503), /does not answer/],
    ['status 499', answered(499), null],
    ['status 403', answered(403, 'AccessDenied'), null],
    ['status 507', answered(507), /is full/],
    ['the name of a full disk', answered(400, 'XMinioStorageFull'), /is full/],
    ['an error of something else', new Error('no'), null],
    ['nothing', undefined, null],
  ])('%s is unavailable, full or unknown', (_, error, detail) => {
    const read = readStorageError(error);
    expect(read?.code).toBe(detail ? 'service_unavailable' : undefined);
    if (detail) expect(read!.options.detail).toMatch(detail);
  });

  it('a storage is full by its status or by the name of its error', () => {
    const full = [answered(507), answered(500, 'InsufficientStorage'), answered(500, 'DiskFull')];
    expect([...full, answered(500)].map(isStorageFullError)).toEqual([true, true, true, false]);
  });
});
