import { loadConfig, Readiness } from '@muster/platform';
import { buildTestEnvironment } from '@muster/testing';
import { ObjectStorage } from './object-storage';
import { StorageConfig } from './storage.config';

describe('object storage', () => {
  const makeStorage = (overrides = {}) => {
    const readiness = new Readiness();
    const config = loadConfig(StorageConfig, buildTestEnvironment('postgres://none', overrides));
    return { storage: new ObjectStorage(config, readiness), readiness };
  };
  const { storage, readiness } = makeStorage();
  afterAll(() => storage.onApplicationShutdown());

  it('object storage stores, reads and deletes an object', async () => {
    await storage.put('spec/a.txt', Buffer.from('hello'), 'text/plain');
    expect((await storage.get('spec/a.txt'))?.toString()).toBe('hello');
    await storage.delete('spec/a.txt');
    expect(await storage.get('spec/a.txt')).toBeNull();
  });

  it('object storage does not read an object that exceeds maxBytes', async () => {
    await storage.put('spec/large', Buffer.alloc(1001), 'image/jpeg');
    expect(await storage.get('spec/large', { maxBytes: 1000 })).toBeNull();
    expect(await storage.get('spec/large', { maxBytes: 1001 })).toHaveLength(1001);
  });

  it('a presigned URL needs no credentials and works for one object only', async () => {
    await storage.put('spec/b.txt', Buffer.from('presigned'), 'text/plain');
    const url = await storage.presignGet('spec/b.txt', { expiresInSeconds: 60 });
    expect(await (await fetch(url)).text()).toBe('presigned');
    expect((await fetch(url.replace('b.txt', 'a.txt'))).status).toBe(403);
    expect((await fetch(url.split('?')[0]!)).status).toBe(403);
  });

  describe('presigned URLs for browsers', () => {
    const bytes = Buffer.from('<script>alert(1)</script>');
    const fetchHeaders = async (
      key: string,
      storedAs: string,
      options: { filename?: string; contentType?: string } = {},
    ) => {
      await storage.put(key, bytes, storedAs);
      const { headers } = await fetch(await storage.presignGet(key, { expiresInSeconds: 60, ...options }));
      return Object.fromEntries(
        ['content-type', 'content-disposition', 'x-content-type-options'].map((name) => [name, headers.get(name)]),
      );
    };

    it.each([
      ['spec/page.html', 'text/html'],
      ['spec/drawing.svg', 'image/svg+xml'],
      ['spec/paper.pdf', 'application/pdf'],
      ['spec/film.webm', 'video/webm'],
      ['spec/nothing', ''],
    ])('a presigned URL makes browsers save %s as a file', async (key, type) => {
      const answer = await fetchHeaders(key, type || 'application/octet-stream', type ? { contentType: type } : {});
      expect(answer['content-disposition']).toBe(`attachment; filename="${key.slice('spec/'.length)}"`);
      expect(answer['x-content-type-options']).toBe('nosniff');
    });

    it.each(['png', 'jpeg', 'webp', 'gif'])(
      'a presigned URL of an image (%s) makes browsers show it as an image only',
      async (kind) => {
        const picture = `image/${kind}`;
        expect(await fetchHeaders(`spec/a.${kind}`, 'text/html')).toEqual({
          'content-type': picture,
          'content-disposition': `inline; filename="a.${kind}"`,
          'x-content-type-options': 'nosniff',
        });
        expect((await fetchHeaders('spec/b', 'text/html', { contentType: picture }))['content-type']).toBe(picture);
      },
    );

    it.each([
      ['Größe "1"\r\n%41.txt', `"Gr__e _1____41.txt"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%20%221%22__%2541.txt`],
      ['../../.ssh\\authorized_keys', '".._.._.ssh_authorized_keys"'],
      // A browser would show this name as claimexe.png.
      ['claim\u202egnp.exe', '"claim_gnp.exe"'],
    ])('a presigned URL removes misleading characters from the file name %j', async (filename, name) => {
      const answer = await fetchHeaders('spec/c', 'text/plain', { filename, contentType: 'text/plain' });
      expect(answer['content-disposition']).toBe(`attachment; filename=${name}`);
    });
  });

  it('object storage is ready only with the right credentials', async () => {
    expect((await readiness.runCheck('storage')).status).toBe('ok');
    const wrong = makeStorage({ S3_SECRET_ACCESS_KEY: 'wrong' });
    expect((await wrong.readiness.runCheck('storage')).status).toBe('failed');
    await wrong.storage.onApplicationShutdown();
  });
});
