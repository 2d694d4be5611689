import { resolve } from 'node:path';
import { readImagingEnvironment } from './read-imaging-environment';

describe('the paths of an organization that local workers can read', () => {
  const ownerReadable = (env: Record<string, string>) => readImagingEnvironment(env).ownerReadable;

  it.each([
    ['an image folder', { IMAGING_ROOT: '/mnt/share/images' }, ['/mnt/share/images']],
    ['an image folder right below the root', { IMAGING_ROOT: '/images/' }, ['/images/']],
    ['a share that is mounted as a whole', { IMAGING_ROOT: '/mnt' }, ['/mnt']],
    ['system folders', { IMAGING_ROOT: '/', IMAGING_ALLOWED_ROOTS: '/tmp;/home;/var/;/usr/..;/etc' }, []],
    ['several allowed folders', { IMAGING_ALLOWED_ROOTS: '/a/b; /c/d' }, ['/a/b', '/c/d']],
    ['mapped shares', { IMAGING_PATH_MAP: '\\\\one\\a=/mnt/a;\\\\two\\b=/mnt/b' }, ['/mnt/a', '/mnt/b']],
    ['a list file', { IMAGING_DATA_FILE: '/data/lists/images.dat' }, ['/data/lists']],
    ['a list file with a relative path', { IMAGING_DATA_FILE: 'lists/images.dat' }, []],
    ['a database file', { PRACTICE_DATABASE: 'sqlite:////data/practice.db' }, ['/data']],
    ['a database file in a system folder', { PRACTICE_DATABASE: 'sqlite:////tmp/a.db' }, ['/tmp/a.db']],
    ['a database without a file', { PRACTICE_DATABASE: 'odbc:DSN=/x/y' }, []],
  ])('the imaging variables determine the paths that local workers can read: %s', (_, env, paths) => {
    expect(ownerReadable(env as Record<string, string>)).toEqual(paths);
  });

  it('relative image folders start at the service’s working directory', () => {
    const { env, ownerReadable } = readImagingEnvironment({
      IMAGING_ROOT: './images',
      IMAGING_ALLOWED_ROOTS: 'images; /a/b;\\\\x\\y',
    });
    const root = resolve('images');
    expect(env).toEqual({ IMAGING_ROOT: root, IMAGING_ALLOWED_ROOTS: `${root};/a/b;\\\\x\\y` });
    expect(ownerReadable).toEqual([root, '/a/b']);
  });

  it('the relative path of an organization’s patient database starts at the service’s working directory', () => {
    const { env, ownerReadable } = readImagingEnvironment({ PRACTICE_DATABASE: 'sqlite:///practice/patients.db' });
    expect(env['PRACTICE_DATABASE']).toBe(`sqlite:///${resolve('practice/patients.db')}`);
    expect(ownerReadable).toEqual([resolve('practice')]);
  });
});
