import { resolve } from 'node:path';
import { imagingGround } from './imaging-ground';

describe('what local workers are lent of a practice', () => {
  const lent = (env: Record<string, string>) => imagingGround(env).lent;

  it.each([
    ['the folder of its images', { IMAGING_ROOT: '/mnt/share/images' }, ['/mnt/share/images']],
    ['one right below the root', { IMAGING_ROOT: '/images/' }, ['/images/']],
    ['a share that is mounted as a whole', { IMAGING_ROOT: '/mnt' }, ['/mnt']],
    ['nothing of the system’s', { IMAGING_ROOT: '/', IMAGING_ALLOWED_ROOTS: '/tmp;/home;/var/;/usr/..;/etc' }, []],
    ['all that is allowed', { IMAGING_ALLOWED_ROOTS: '/a/b; /c/d' }, ['/a/b', '/c/d']],
    ['where its shares are', { IMAGING_PATH_MAP: '\\\\one\\a=/mnt/a;\\\\two\\b=/mnt/b' }, ['/mnt/a', '/mnt/b']],
    ['the folder of its list', { IMAGING_DATA_FILE: '/data/lists/images.dat' }, ['/data/lists']],
    ['nothing for a list beside the images', { IMAGING_DATA_FILE: 'lists/images.dat' }, []],
    ['its database with what lies beside', { PRACTICE_DATABASE: 'sqlite:////data/practice.db' }, ['/data']],
    ['its database alone, of a folder of the system', { PRACTICE_DATABASE: 'sqlite:////tmp/a.db' }, ['/tmp/a.db']],
    ['nothing for a database that is elsewhere', { PRACTICE_DATABASE: 'odbc:DSN=/x/y' }, []],
  ])('is %s', (_, env, paths) => {
    expect(lent(env as Record<string, string>)).toEqual(paths);
  });

  it('has relative folders from where we stand', () => {
    const { env, lent } = imagingGround({ IMAGING_ROOT: './images', IMAGING_ALLOWED_ROOTS: 'images; /a/b;\\\\x\\y' });
    const root = resolve('images');
    expect(env).toEqual({ IMAGING_ROOT: root, IMAGING_ALLOWED_ROOTS: `${root};/a/b;\\\\x\\y` });
    expect(lent).toEqual([root, '/a/b']);
  });

  it('has a relative path of the database from where we stand', () => {
    const { env, lent } = imagingGround({ PRACTICE_DATABASE: 'sqlite:///practice/patients.db' });
    expect(env['PRACTICE_DATABASE']).toBe(`sqlite:///${resolve('practice/patients.db')}`);
    expect(lent).toEqual([resolve('practice')]);
  });
});
