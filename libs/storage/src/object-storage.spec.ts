import { loadConfig, Readiness } from '@muster/platform';
import { testEnvironment } from '@muster/testing';
import { ObjectStorage } from './object-storage';
import { StorageConfig } from './storage-config';

describe('object storage', () => {
  const make = (overrides = {}) => {
    const readiness = new Readiness();
    const config = loadConfig(StorageConfig, testEnvironment('postgres://none', overrides));
    return { storage: new ObjectStorage(config, readiness), readiness };
  };
  const { storage, readiness } = make();
  afterAll(() => storage.onApplicationShutdown());

  it('keeps, reads and forgets an object', async () => {
    await storage.put('spec/a.txt', Buffer.from('hello'), 'text/plain');
    expect((await storage.get('spec/a.txt'))?.toString()).toBe('hello');
    await storage.delete('spec/a.txt');
    expect(await storage.get('spec/a.txt')).toBeNull();
  });

  it('lends an object by a URL that needs no credentials and works for it alone', async () => {
    await storage.put('spec/b.txt', Buffer.from('lent'), 'text/plain');
    const url = await storage.presignGet('spec/b.txt', 60);
    expect(await (await fetch(url)).text()).toBe('lent');
    expect((await fetch(url.replace('b.txt', 'a.txt'))).status).toBe(403);
    expect((await fetch(url.split('?')[0]!)).status).toBe(403);
  });

  it('reports itself ready with the right credentials, and not with wrong ones', async () => {
    expect((await readiness.run('storage')).status).toBe('ok');
    const wrong = make({ S3_SECRET_ACCESS_KEY: 'wrong' });
    expect((await wrong.readiness.run('storage')).status).toBe('failed');
    await wrong.storage.onApplicationShutdown();
  });
});
