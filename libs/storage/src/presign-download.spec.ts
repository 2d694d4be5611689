import type { ObjectStorage } from './object-storage';
import { presignDownload } from './presign-download';

describe('the download of a file', () => {
  const now = new Date('2026-03-02T09:00:00.000Z');
  const storageWith = (presignGet: ObjectStorage['presignGet']) => ({ presignGet }) as ObjectStorage;

  it('the download URL of a file expires with its signature, after an hour', async () => {
    const seconds: (number | undefined)[] = [];
    const storage = storageWith((key, options) => {
      seconds.push(options?.expiresInSeconds);
      return Promise.resolve(`https://objects.test/${key}`);
    });
    expect(await presignDownload(storage, { storageKey: 'a' }, now)).toEqual({
      downloadUrl: 'https://objects.test/a',
      downloadUrlExpiresAt: '2026-03-02T10:00:00.000Z',
    });
    expect(seconds).toEqual([3600]);
  });

  it('a download without a file, or without a storage that signs URLs, has neither a URL nor an expiry', async () => {
    const nothing = { downloadUrl: null, downloadUrlExpiresAt: null };
    const storage = storageWith(() => Promise.reject(new Error('no storage')));
    expect(await presignDownload(storage, null, now)).toEqual(nothing);
    expect(await presignDownload(storage, { storageKey: 'a' }, now)).toEqual(nothing);
  });
});
