import { toSafeFileName } from './request-upload';

describe('a file’s name in a key', () => {
  it.each([
    ['eob.pdf', 'eob.pdf'],
    ['../../etc/passwd', 'etc_passwd'],
    ['März 2026.pdf', 'Ma_rz_2026.pdf'],
    ['…', 'file'],
    ['.hidden', 'hidden'],
    ['x'.repeat(300), 'x'.repeat(100)],
  ])('the filename %p becomes %p in the storage key', (filename, name) => expect(toSafeFileName(filename)).toBe(name));
});
