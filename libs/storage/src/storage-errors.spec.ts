import { isStorageFullError, readStorageError } from './storage-errors';

const createError = (httpStatusCode?: number, name = 'Error') =>
  Object.assign(new Error(name), { name, $metadata: { httpStatusCode } });

describe('an error of the object storage', () => {
  it.each<[string, unknown, RegExp | null]>([
    ['no answer', createError(), /does not answer/],
    ['status 500', createError(500), /does not answer/],
    ['status 503', createError(503), /does not answer/],
    ['status 499', createError(499), null],
    ['status 403', createError(403, 'AccessDenied'), null],
    ['status 507', createError(507), /is full/],
    ['the name of a full disk', createError(400, 'XMinioStorageFull'), /is full/],
    ['an error of something else', new Error('no'), null],
    ['nothing', undefined, null],
  ])('%s is unavailable, full or unknown', (_, error, detail) => {
    const read = readStorageError(error);
    expect(read?.code).toBe(detail ? 'service_unavailable' : undefined);
    if (detail) expect(read!.options.detail).toMatch(detail);
  });

  it('an error of the object storage means that it is full by its status or by its name', () => {
    const full = [createError(507), createError(500, 'InsufficientStorage'), createError(500, 'DiskFull')];
    expect([...full, createError(500)].map(isStorageFullError)).toEqual([true, true, true, false]);
  });
});
